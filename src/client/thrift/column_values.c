/* From big-endian values to Arrow's, see column_values.h. Allocates nothing. */
#include "client/thrift/column_values.h"

#include "arrow/bits.h"
#include "arrow/text_in.h"
#include "base/error.h"

enum { LENGTH_SIZE = 4, SHOWN_MAX = 64 };

static void fill_i8(uint8_t *out, const struct mtr_thrift_values *values)
{
  memcpy(out, values->bytes.data, values->count);
}

static void fill_bits(uint8_t *out, const struct mtr_thrift_values *values)
{
  const uint8_t *in = values->bytes.data;
  size_t i;

  memset(out, 0, values->count / 8 + 1);
  for (i = 0; i < values->count; i++)
    out[i / 8] |= (uint8_t)((in[i] != 0) << i % 8);
}

/* Written so that compilers make wide shuffles of it. */
#define FILL_BIG_ENDIAN(name, type, load)                                                          \
  static void name(uint8_t *out, const struct mtr_thrift_values *values)                           \
  {                                                                                                \
    size_t i;                                                                                      \
                                                                                                   \
    for (i = 0; i < values->count; i++) {                                                          \
      const type v = load(values->bytes.data + i * sizeof v);                                      \
      memcpy(out + i * sizeof v, &v, sizeof v);                                                    \
    }                                                                                              \
  }
FILL_BIG_ENDIAN(fill_i16, uint16_t, mtr_be16)
FILL_BIG_ENDIAN(fill_i32, uint32_t, mtr_be32)
FILL_BIG_ENDIAN(fill_i64, uint64_t, mtr_be64) /* of doubles, too */
#undef FILL_BIG_ENDIAN

/* Servers have widened them, so nothing is lost on the way back. */
static void fill_floats(uint8_t *out, const struct mtr_thrift_values *values)
{
  size_t i;

  for (i = 0; i < values->count; i++) {
    const uint64_t bits = mtr_be64(values->bytes.data + i * sizeof bits);
    double wide;
    float narrow;
    memcpy(&wide, &bits, sizeof wide);
    narrow = (float)wide;
    memcpy(out + i * sizeof narrow, &narrow, sizeof narrow);
  }
}

typedef void fill_fn(uint8_t *out, const struct mtr_thrift_values *values);

/* How the values of a wire type become those of an Arrow type. */
static const struct {
  uint8_t wire;  /* enum mtr_thrift_type; MTR_T_STOP: not in columns */
  fill_fn *fill; /* NULL: read from text, or text itself */
} types[] = {
    [MTR_ARROW_BOOL] = {MTR_T_BOOL, fill_bits},    [MTR_ARROW_INT8] = {MTR_T_I8, fill_i8},
    [MTR_ARROW_INT16] = {MTR_T_I16, fill_i16},     [MTR_ARROW_INT32] = {MTR_T_I32, fill_i32},
    [MTR_ARROW_INT64] = {MTR_T_I64, fill_i64},     [MTR_ARROW_FLOAT] = {MTR_T_DOUBLE, fill_floats},
    [MTR_ARROW_DOUBLE] = {MTR_T_DOUBLE, fill_i64}, [MTR_ARROW_DECIMAL] = {MTR_T_STRING, NULL},
    [MTR_ARROW_DATE32] = {MTR_T_STRING, NULL},     [MTR_ARROW_TIMESTAMP] = {MTR_T_STRING, NULL},
    [MTR_ARROW_UTF8] = {MTR_T_STRING, NULL},       [MTR_ARROW_BINARY] = {MTR_T_STRING, NULL},
};
#define TYPE_COUNT (sizeof types / sizeof *types)

uint8_t mtr_thrift_wire_of(const struct mtr_arrow_field *field)
{
  return (size_t)field->type < TYPE_COUNT ? types[field->type].wire : MTR_T_STOP;
}

bool mtr_thrift_column_fits(const struct mtr_thrift_column *column,
                            const struct mtr_arrow_field *field)
{
  const uint8_t wire = mtr_thrift_wire_of(field);

  if (field->type == MTR_ARROW_NULL || column->values.count == 0) return true;
  return wire != MTR_T_STOP && wire == column->values.element;
}

/* ---- Text ---------------------------------------------------------------------------------- */

size_t mtr_thrift_text_size(const struct mtr_thrift_column *column)
{
  return column->values.bytes.size - (size_t)column->values.count * LENGTH_SIZE;
}

static struct mtr_span next_text(const uint8_t **at)
{
  const size_t size = mtr_be32(*at);
  const struct mtr_span text = mtr_span_of(*at + LENGTH_SIZE, size);

  *at += LENGTH_SIZE + size;
  return text;
}

void mtr_thrift_fill_text(const struct mtr_thrift_column *column, uint8_t *offsets, uint8_t *text)
{
  const uint8_t *at = column->values.bytes.data;
  int32_t offset = 0;
  size_t i;

  memcpy(offsets, &offset, sizeof offset);
  for (i = 1; i <= column->values.count; i++) {
    const struct mtr_span s = next_text(&at);
    memcpy(text + offset, s.data, s.size);
    offset += (int32_t)s.size;
    memcpy(offsets + i * sizeof offset, &offset, sizeof offset);
  }
}

/* Reads one cell's text into byte_width bytes. */
static bool parse(const struct mtr_arrow_field *field, struct mtr_span text, uint8_t *out)
{
  int64_t micros;
  int32_t days;

  if (field->type == MTR_ARROW_DECIMAL)
    return mtr_in_decimal(text, field->precision, field->scale, out);
  if (field->type == MTR_ARROW_DATE32) {
    if (!mtr_in_date(text, &days)) return false;
    memcpy(out, &days, sizeof days);
    return true;
  }
  if (!mtr_in_timestamp(text, &micros)) return false;
  memcpy(out, &micros, sizeof micros);
  return true;
}

enum mortar_status mtr_thrift_parse_cell(const struct mtr_arrow_field *field, size_t row,
                                         struct mtr_span text, uint8_t *out,
                                         struct mortar_error *err)
{
  if (parse(field, text, out)) return MORTAR_OK;
  return mtr_fail(err, MORTAR_UNSUPPORTED,
                  "row %zu of the page: '%.*s' has no exact value of the column's type; "
                  "cast the column to STRING to read its text",
                  row, text.size > SHOWN_MAX ? SHOWN_MAX : (int)text.size, (const char *)text.data);
}

static enum mortar_status fill_parsed(const struct mtr_thrift_column *column,
                                      const struct mtr_arrow_field *field, uint8_t *out,
                                      struct mortar_error *err)
{
  const size_t width = (size_t)field->byte_width;
  const uint8_t *at = column->values.bytes.data;
  size_t i;

  for (i = 0; i < column->values.count; i++, out += width) {
    const struct mtr_span text = next_text(&at);
    const bool null = i / 8 < column->nulls.size && mtr_bit(column->nulls.data, (int64_t)i);
    if (null)
      memset(out, 0, width);
    else
      MTR_TRY(mtr_thrift_parse_cell(field, i, text, out, err));
  }
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_fill_values(const struct mtr_thrift_column *column,
                                          const struct mtr_arrow_field *field, uint8_t *out,
                                          struct mortar_error *err)
{
  if (!types[field->type].fill) return fill_parsed(column, field, out, err);
  types[field->type].fill(out, &column->values);
  return MORTAR_OK;
}
