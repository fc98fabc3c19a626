/* Where the text of a cell goes: a caller's buffer that may be too small. Everything is counted,
 * what fits is stored; no allocation, no failure. */
#ifndef MTR_ARROW_TEXT_OUT_H
#define MTR_ARROW_TEXT_OUT_H

#include "base/span.h"

struct mtr_text_out {
  char *buf;             /* may be NULL when capacity is 0 */
  size_t capacity, size; /* size is that of the whole text and may exceed capacity */
};

void mtr_out_bytes(struct mtr_text_out *out, const void *bytes, size_t size);
void mtr_out_char(struct mtr_text_out *out, char c);
void mtr_out_text(struct mtr_text_out *out, const char *text);
void mtr_out_u64(struct mtr_text_out *out, uint64_t v, int min_digits);
void mtr_out_i64(struct mtr_text_out *out, int64_t v);

/* Hex of the bytes between X' and '. */
void mtr_out_binary(struct mtr_text_out *out, struct mtr_span bytes);

/* A JSON string, quotes included. Bytes that are no UTF-8 go through as they are. */
void mtr_out_json(struct mtr_text_out *out, struct mtr_span text);

/* Puts the NUL; a text that does not fit is cut at a character. */
void mtr_out_end(struct mtr_text_out *out);

/* text_number.c: numbers as Spark writes them. */
void mtr_out_double(struct mtr_text_out *out, double v);
void mtr_out_float(struct mtr_text_out *out, float v);
float mtr_half_to_float(uint16_t half);
/* A little-endian two's complement number of width 4, 8, 16 or 32 bytes. */
void mtr_out_decimal(struct mtr_text_out *out, const uint8_t *value, int width, int32_t scale);

/* text_time.c: dates, times and intervals. per_second: units in a second, 1 to 1000000000. */
void mtr_out_date(struct mtr_text_out *out, int64_t days);
void mtr_out_time(struct mtr_text_out *out, int64_t value, int64_t per_second);
void mtr_out_timestamp(struct mtr_text_out *out, int64_t value, int64_t per_second,
                       const char *zone);
void mtr_out_months(struct mtr_text_out *out, int32_t months);
/* Days and a part of days in nanoseconds, which may differ in sign: "-1 02:03:04.000000". */
void mtr_out_day_time(struct mtr_text_out *out, int64_t days, int64_t value, int64_t per_second);

#endif
