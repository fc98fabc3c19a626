/* mortar_format_cell: one cell of anyone's Arrow arrays as SQL text. Reads the C data interface as
 * it is specified, offsets of slices included; trusts it as every consumer does. Allocates nothing.
 *
 *     NULL; true, false; 1; 1.5, 1.0E20, NaN, Infinity; DECIMAL 12.30; text as it is; X'CAFE'
 *     DATE 2013-01-01       TIME 05:00:00.25       TIMESTAMP 2013-01-01 05:00:00.5
 *     interval of months 1-2       of days and time 1 02:03:04.000000       of all 1-2 3
 * 04:05:06...
 *
 * A timestamp's fraction goes as far as it is needed. One with a time zone is an instant: it is
 * shown in UTC, and "+00:00" is appended unless the zone itself is a name of UTC. Nested values are
 * JSON: a list is an array, a struct an object, a map an object whose keys are the keys' texts (or,
 * when the keys are nested, an array of objects of key and value). In JSON, numbers and booleans
 * are bare, null is null, all else is a string of the text above, NaN and Infinity too. */
#include <inttypes.h>
#include <math.h>

#include "arrow/bits.h"
#include "arrow/format_string.h"
#include "arrow/text_out.h"
#include "arrow/values.h"
#include "base/error.h"

struct printer {
  struct mtr_text_out out;
  struct mortar_error *err;
};

/* One value: the type, and where it lies. i counts with the array's offset. */
struct cell {
  struct mtr_arrow_field type; /* of the format string only: no name, no children */
  const struct ArrowSchema *schema;
  const struct ArrowArray *array;
  int64_t i;
};

static uint64_t load_unsigned(const uint8_t *at, int width)
{
  uint64_t v = 0;

  memcpy(&v, at, (size_t)width);
  return v;
}

static const uint8_t *value_at(const struct cell *c)
{
  return (const uint8_t *)c->array->buffers[1] + c->i * c->type.byte_width;
}

static int64_t per_second(const struct cell *c)
{
  static const int64_t units[] = {1, 1000, 1000000, 1000000000};
  return units[c->type.unit];
}

/* Elements [first, end) that row i of a list, text or binary column covers. */
static void extent(const struct cell *c, int64_t *first, int64_t *end)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(c->type.type);
  const void *offsets = c->array->buffers[1];

  if (layout == MTR_LAYOUT_BINARY64 || layout == MTR_LAYOUT_LIST64) {
    *first = ((const int64_t *)offsets)[c->i];
    *end = ((const int64_t *)offsets)[c->i + 1];
  } else {
    *first = ((const int32_t *)offsets)[c->i];
    *end = ((const int32_t *)offsets)[c->i + 1];
  }
}

static struct mtr_span bytes_of(const struct cell *c)
{
  const uint8_t *bytes = c->array->n_buffers > 2 ? c->array->buffers[2] : NULL;
  int64_t first, end;

  if (c->type.type == MTR_ARROW_FIXED_BINARY)
    return mtr_span_of(c->type.byte_width ? value_at(c) : NULL, (size_t)c->type.byte_width);
  extent(c, &first, &end);
  return mtr_span_of(end > first ? bytes + first : NULL, (size_t)(end - first));
}

static bool is_text(const struct cell *c)
{
  return c->type.type == MTR_ARROW_UTF8 || c->type.type == MTR_ARROW_LARGE_UTF8;
}

/* Numbers, and what is shown like them. */
static bool put_number(struct mtr_text_out *out, const struct cell *c)
{
  const uint8_t *at = value_at(c);
  int width = c->type.byte_width;
  double real;
  float single;

  switch (c->type.type) {
    case MTR_ARROW_BOOL:
      mtr_out_text(out, mtr_bit(c->array->buffers[1], c->i) ? "true" : "false");
      return true;
    case MTR_ARROW_INT8:
    case MTR_ARROW_INT16:
    case MTR_ARROW_INT32:
    case MTR_ARROW_INT64:
      mtr_out_i64(out, mtr_value_signed(at, width));
      return true;
    case MTR_ARROW_UINT8:
    case MTR_ARROW_UINT16:
    case MTR_ARROW_UINT32:
    case MTR_ARROW_UINT64:
      mtr_out_u64(out, load_unsigned(at, width), 1);
      return true;
    case MTR_ARROW_HALF:
      mtr_out_float(out, mtr_half_to_float((uint16_t)load_unsigned(at, 2)));
      return true;
    case MTR_ARROW_FLOAT:
      memcpy(&single, at, sizeof single);
      mtr_out_float(out, single);
      return true;
    case MTR_ARROW_DOUBLE:
      memcpy(&real, at, sizeof real);
      mtr_out_double(out, real);
      return true;
    case MTR_ARROW_DECIMAL:
      mtr_out_decimal(out, at, width, c->type.scale);
      return true;
    default:
      return false;
  }
}

static void put_month_day_nano(struct mtr_text_out *out, const uint8_t *at)
{
  mtr_out_months(out, (int32_t)mtr_value_signed(at, 4));
  mtr_out_char(out, ' ');
  mtr_out_day_time(out, mtr_value_signed(at + 4, 4), mtr_value_signed(at + 8, 8), 1000000000);
}

static bool put_moment(struct mtr_text_out *out, const struct cell *c)
{
  const uint8_t *at = value_at(c);
  int64_t v = c->type.byte_width <= 8 ? mtr_value_signed(at, c->type.byte_width) : 0;

  switch (c->type.type) {
    case MTR_ARROW_DATE32:
      mtr_out_date(out, v);
      return true;
    case MTR_ARROW_DATE64:
      mtr_out_date(out, v / 86400000 - (v % 86400000 < 0));
      return true;
    case MTR_ARROW_TIME32:
    case MTR_ARROW_TIME64:
      mtr_out_time(out, v, per_second(c));
      return true;
    case MTR_ARROW_TIMESTAMP:
      mtr_out_timestamp(out, v, per_second(c), c->type.timezone);
      return true;
    case MTR_ARROW_DURATION:
      mtr_out_day_time(out, 0, v, per_second(c));
      return true;
    case MTR_ARROW_INTERVAL_MONTHS:
      mtr_out_months(out, (int32_t)v);
      return true;
    case MTR_ARROW_INTERVAL_DAY_TIME:
      mtr_out_day_time(out, mtr_value_signed(at, 4), mtr_value_signed(at + 4, 4), 1000);
      return true;
    case MTR_ARROW_INTERVAL_MONTH_DAY_NANO:
      put_month_day_nano(out, at);
      return true;
    default:
      return false;
  }
}

static void put_scalar(struct mtr_text_out *out, const struct cell *c)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(c->type.type);

  if (layout == MTR_LAYOUT_BINARY32 || layout == MTR_LAYOUT_BINARY64 ||
      c->type.type == MTR_ARROW_FIXED_BINARY) {
    struct mtr_span bytes = bytes_of(c);
    if (is_text(c))
      mtr_out_bytes(out, bytes.data, bytes.size);
    else
      mtr_out_binary(out, bytes);
    return;
  }
  if (!put_number(out, c)) (void)put_moment(out, c);
}

static bool is_nested(enum mtr_arrow_type type)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(type);
  return layout == MTR_LAYOUT_LIST32 || layout == MTR_LAYOUT_LIST64 ||
         layout == MTR_LAYOUT_CHILDREN;
}

/* Whether a scalar stands in JSON without quotes. */
static bool is_bare(const struct cell *c)
{
  double real;
  float single;

  switch (c->type.type) {
    case MTR_ARROW_DOUBLE:
      memcpy(&real, value_at(c), sizeof real);
      return isfinite(real);
    case MTR_ARROW_FLOAT:
      memcpy(&single, value_at(c), sizeof single);
      return isfinite(single);
    case MTR_ARROW_HALF:
      return isfinite(mtr_half_to_float((uint16_t)load_unsigned(value_at(c), 2)));
    default:
      return c->type.type <= MTR_ARROW_DECIMAL;
  }
}

static void put_quoted(struct mtr_text_out *out, const struct cell *c)
{
  if (is_text(c)) {
    mtr_out_json(out, bytes_of(c));
    return;
  }
  mtr_out_char(out, '"'); /* no other scalar has a character to escape */
  put_scalar(out, c);
  mtr_out_char(out, '"');
}

/* Row i of array, its own offset not yet added. */
static enum mortar_status open_cell(struct printer *p, const struct ArrowSchema *schema,
                                    const struct ArrowArray *array, int64_t i, struct cell *out)
{
  memset(out, 0, sizeof *out);
  out->schema = schema;
  out->array = array;
  out->i = array->offset + i;
  if (schema->dictionary)
    return mtr_fail(p->err, MORTAR_UNSUPPORTED, "dictionary-encoded columns are not supported");
  MTR_TRY(mtr_format_parse(schema->format, &out->type, p->err));
  out->type.child_count = schema->n_children;
  if (out->type.type != MTR_ARROW_MAP) return mtr_field_check(&out->type, p->err);
  if (schema->n_children == 1 && schema->children[0]->n_children == 2) return MORTAR_OK;
  return mtr_fail(p->err, MORTAR_INVALID, "map entries are no struct of key and value");
}

static enum mortar_status put_json(struct printer *p, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, int64_t i, int depth);

static void put_name(struct mtr_text_out *out, const char *name)
{
  mtr_out_json(out, mtr_span_text(name));
  mtr_out_char(out, ':');
}

/* c->i is where the struct's children are read: its own offset counts for them. */
static enum mortar_status put_struct(struct printer *p, const struct cell *c, int depth)
{
  int64_t k;

  mtr_out_char(&p->out, '{');
  for (k = 0; k < c->schema->n_children; k++) {
    if (k) mtr_out_char(&p->out, ',');
    put_name(&p->out, c->schema->children[k]->name);
    MTR_TRY(put_json(p, c->schema->children[k], c->array->children[k], c->i, depth));
  }
  mtr_out_char(&p->out, '}');
  return MORTAR_OK;
}

static enum mortar_status put_list(struct printer *p, const struct cell *c, int depth)
{
  int64_t k, first, end;

  if (c->type.type == MTR_ARROW_FIXED_LIST) {
    first = c->i * c->type.byte_width;
    end = first + c->type.byte_width;
  } else {
    extent(c, &first, &end);
  }
  mtr_out_char(&p->out, '[');
  for (k = first; k < end; k++) {
    if (k > first) mtr_out_char(&p->out, ',');
    MTR_TRY(put_json(p, c->schema->children[0], c->array->children[0], k, depth));
  }
  mtr_out_char(&p->out, ']');
  return MORTAR_OK;
}

static enum mortar_status put_entry(struct printer *p, const struct ArrowSchema *entries,
                                    const struct ArrowArray *array, int64_t i, int depth)
{
  struct cell key;

  MTR_TRY(open_cell(p, entries->children[0], array->children[0], array->offset + i, &key));
  if (mtr_value_is_null(key.array, key.i))
    mtr_out_text(&p->out, "\"null\"");
  else
    put_quoted(&p->out, &key);
  mtr_out_char(&p->out, ':');
  return put_json(p, entries->children[1], array->children[1], array->offset + i, depth);
}

static enum mortar_status put_map(struct printer *p, const struct cell *c, int depth)
{
  const struct ArrowSchema *entries = c->schema->children[0];
  const struct ArrowArray *array = c->array->children[0];
  int64_t k, first, end;
  struct cell key;

  MTR_TRY(open_cell(p, entries->children[0], array->children[0], 0, &key));
  if (is_nested(key.type.type)) return put_list(p, c, depth);
  extent(c, &first, &end);
  mtr_out_char(&p->out, '{');
  for (k = first; k < end; k++) {
    if (k > first) mtr_out_char(&p->out, ',');
    MTR_TRY(put_entry(p, entries, array, k, depth));
  }
  mtr_out_char(&p->out, '}');
  return MORTAR_OK;
}

static enum mortar_status put_nested(struct printer *p, const struct cell *c, int depth)
{
  if (depth >= MTR_SCHEMA_MAX_DEPTH)
    return mtr_fail(p->err, MORTAR_LIMIT, "a value nested in more than %d levels",
                    MTR_SCHEMA_MAX_DEPTH);
  if (c->type.type == MTR_ARROW_STRUCT) return put_struct(p, c, depth + 1);
  if (c->type.type == MTR_ARROW_MAP) return put_map(p, c, depth + 1);
  return put_list(p, c, depth + 1);
}

static enum mortar_status put_json(struct printer *p, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, int64_t i, int depth)
{
  struct cell c;

  MTR_TRY(open_cell(p, schema, array, i, &c));
  if (mtr_value_is_null(array, c.i))
    mtr_out_text(&p->out, "null");
  else if (is_nested(c.type.type))
    return put_nested(p, &c, depth);
  else if (is_bare(&c))
    put_scalar(&p->out, &c);
  else
    put_quoted(&p->out, &c);
  return MORTAR_OK;
}

static enum mortar_status check_arguments(const struct ArrowSchema *schema,
                                          const struct ArrowArray *array, int64_t column,
                                          int64_t row, const char *buf, size_t capacity,
                                          struct mortar_error *err)
{
  if (!schema || !array || !schema->release || !array->release || (!buf && capacity))
    return mtr_fail(err, MORTAR_INVALID, "mortar_format_cell: an argument is NULL or released");
  if (column < 0 || column >= schema->n_children || column >= array->n_children)
    return mtr_fail(err, MORTAR_INVALID, "column %" PRId64 " of %" PRId64, column,
                    schema->n_children);
  if (row < 0 || row >= array->length)
    return mtr_fail(err, MORTAR_INVALID, "row %" PRId64 " of %" PRId64, row, array->length);
  return MORTAR_OK;
}

static enum mortar_status put_cell(struct printer *p, const struct ArrowSchema *schema,
                                   const struct ArrowArray *array, int64_t row)
{
  struct cell c;

  MTR_TRY(open_cell(p, schema, array, row, &c));
  if (mtr_value_is_null(array, c.i))
    mtr_out_text(&p->out, "NULL");
  else if (is_nested(c.type.type))
    return put_nested(p, &c, 0);
  else
    put_scalar(&p->out, &c);
  return MORTAR_OK;
}

enum mortar_status mortar_format_cell(const struct ArrowSchema *schema,
                                      const struct ArrowArray *array, int64_t column, int64_t row,
                                      char *buf, size_t capacity, size_t *size,
                                      struct mortar_error *err)
{
  struct printer p = {{buf, capacity, 0}, err};
  enum mortar_status st;

  if (size) *size = 0;
  if (buf && capacity) buf[0] = '\0';
  MTR_TRY(check_arguments(schema, array, column, row, buf, capacity, err));
  st = put_cell(&p, schema->children[column], array->children[column], array->offset + row);
  if (st != MORTAR_OK) {
    mtr_field_blame(err, 1, schema->children[column]->name);
    if (capacity) buf[0] = '\0';
    return st;
  }
  mtr_out_end(&p.out);
  if (size) *size = p.out.size;
  return MORTAR_OK;
}
