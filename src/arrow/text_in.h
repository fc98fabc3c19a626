/* Cells that come as text, read into the values that Arrow has for them. The counterpart of what
 * text_out.h writes; for wires that send decimals, dates and times as text.
 *
 * A value is read whole or refused: no digit is dropped, no field rounded. No locale, no zones. */
#ifndef MTR_ARROW_TEXT_IN_H
#define MTR_ARROW_TEXT_IN_H

#include "base/span.h"

enum { MTR_DECIMAL_MAX_PRECISION = 38, MTR_DECIMAL_SIZE = 16 };

/* [+-]digits[.digits] as a little-endian two's complement number of 16 bytes with `scale` digits
 * behind the point. False: other text, more digits than precision has room for, or digits other
 * than 0 behind the scale. 0 <= scale <= precision <= 38. */
bool mtr_in_decimal(struct mtr_span text, int precision, int scale, uint8_t out[MTR_DECIMAL_SIZE]);

/* [+-]year-month-day of the proleptic Gregorian calendar as days since 1970-01-01. */
bool mtr_in_date(struct mtr_span text, int32_t *days);

/* A date, blank or T, hours:minutes:seconds[.fraction], as microseconds since 1970-01-01 00:00:00
 * on the same clock. False as well for digits other than 0 behind the microseconds. */
bool mtr_in_timestamp(struct mtr_span text, int64_t *micros);

#endif
