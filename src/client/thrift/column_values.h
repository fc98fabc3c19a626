/* The values of one Thrift column in Arrow's form. Writes into room that the caller measured. */
#ifndef MTR_CLIENT_THRIFT_COLUMN_VALUES_H
#define MTR_CLIENT_THRIFT_COLUMN_VALUES_H

#include "arrow/schema.h"
#include "codec/thrift/binary.h"

/* A column of whichever member, as it stands on the wire. */
struct mtr_thrift_column {
  struct mtr_thrift_values values; /* whole, the codec has seen to it */
  struct mtr_span nulls;           /* set bits; may be shorter than the values, or longer */
};

/* The wire type (enum mtr_thrift_type) of a field's values; MTR_T_STOP: it has none. */
uint8_t mtr_thrift_wire_of(const struct mtr_arrow_field *field);

/* Whether values of this column can become a field's. Fields of every type that table_schema.h
 * makes, and no others. */
bool mtr_thrift_column_fits(const struct mtr_thrift_column *column,
                            const struct mtr_arrow_field *field);

/* The bytes of all its texts, without their lengths. For columns of strings. */
size_t mtr_thrift_text_size(const struct mtr_thrift_column *column);

/* Bits or values of byte_width, one for each row. Fails only on text that has no exact value in the
 * field's type. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_fill_values(const struct mtr_thrift_column *column,
                                                          const struct mtr_arrow_field *field,
                                                          uint8_t *out, struct mortar_error *err);

/* One cell's text as byte_width bytes of a decimal, date or timestamp; row is for the error, which
 * is UNSUPPORTED: the text has no exact value. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_parse_cell(const struct mtr_arrow_field *field,
                                                         size_t row, struct mtr_span text,
                                                         uint8_t *out, struct mortar_error *err);

/* The offsets, one more than rows, and the text. text_size is at most INT32_MAX. */
void mtr_thrift_fill_text(const struct mtr_thrift_column *column, uint8_t *offsets, uint8_t *text);

#endif
