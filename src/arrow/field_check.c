/* The rules that a field obeys whoever sent it, see format_string.h. Does not look at batches. */
#include "arrow/format_string.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/text.h"

/* Bytes of one value where the type alone says it; 0 elsewhere. */
static int32_t natural_width(enum mtr_arrow_type type)
{
  switch (type) {
    case MTR_ARROW_INT8:
    case MTR_ARROW_UINT8:
      return 1;
    case MTR_ARROW_INT16:
    case MTR_ARROW_UINT16:
    case MTR_ARROW_HALF:
      return 2;
    case MTR_ARROW_INT32:
    case MTR_ARROW_UINT32:
    case MTR_ARROW_FLOAT:
    case MTR_ARROW_DATE32:
    case MTR_ARROW_TIME32:
    case MTR_ARROW_INTERVAL_MONTHS:
      return 4;
    case MTR_ARROW_INT64:
    case MTR_ARROW_UINT64:
    case MTR_ARROW_DOUBLE:
    case MTR_ARROW_DATE64:
    case MTR_ARROW_TIME64:
    case MTR_ARROW_TIMESTAMP:
    case MTR_ARROW_DURATION:
    case MTR_ARROW_INTERVAL_DAY_TIME:
      return 8;
    case MTR_ARROW_INTERVAL_MONTH_DAY_NANO:
      return 16;
    default:
      return 0;
  }
}

/* The digits that 32, 64, 128 and 256 bits hold: 9, 18, 38, 76. */
static int32_t decimal_digits(int32_t byte_width)
{
  switch (byte_width) {
    case 4:
      return 9;
    case 8:
      return 18;
    case 16:
      return 38;
    case 32:
      return 76;
    default:
      return 0;
  }
}

static enum mortar_status check_parameters(struct mtr_arrow_field *field, struct mortar_error *err)
{
  int32_t width = natural_width(field->type);

  if (width) field->byte_width = width;
  if (field->byte_width < 0)
    return mtr_fail(err, MORTAR_CORRUPT, "width or list size %" PRId32 " is negative",
                    field->byte_width);
  if (field->type != MTR_ARROW_DECIMAL) return MORTAR_OK;
  if (field->precision < 1 || field->precision > decimal_digits(field->byte_width))
    return mtr_fail(err, MORTAR_CORRUPT, "decimal of %" PRId32 " bytes has a precision of %" PRId32,
                    field->byte_width, field->precision);
  return MORTAR_OK;
}

static enum mortar_status check_map(struct mtr_arrow_field *field, struct mortar_error *err)
{
  struct mtr_arrow_field *entries = field->children;

  if (entries->type != MTR_ARROW_STRUCT || entries->child_count != 2)
    return mtr_fail(err, MORTAR_CORRUPT, "map entries are no struct of key and value");
  entries->nullable = false;
  entries->children[0].nullable = false;
  return MORTAR_OK;
}

enum mortar_status mtr_field_check(struct mtr_arrow_field *field, struct mortar_error *err)
{
  int64_t want = 0;

  MTR_TRY(check_parameters(field, err));
  if (field->type == MTR_ARROW_STRUCT) return MORTAR_OK;
  if (field->type == MTR_ARROW_LIST || field->type == MTR_ARROW_LARGE_LIST ||
      field->type == MTR_ARROW_FIXED_LIST || field->type == MTR_ARROW_MAP)
    want = 1;
  if (field->child_count != want)
    return mtr_fail(err, MORTAR_CORRUPT, "%" PRId64 " children where the type has %" PRId64,
                    field->child_count, want);
  return field->type == MTR_ARROW_MAP ? check_map(field, err) : MORTAR_OK;
}

enum { SHOWN = 60 }; /* bytes of a name in an error: the reason behind it must still fit */

/* A name from the wire as an error may show it: control characters, and all that is beyond ASCII
 * in a name that is no UTF-8, become question marks. */
static void show_name(const char *name, char out[SHOWN + 1])
{
  size_t i, n = strlen(name);
  bool ascii;

  if (n > SHOWN) n = mtr_utf8_cut(name, SHOWN);
  ascii = !mtr_utf8_valid(mtr_span_of(name, n));
  for (i = 0; i < n; i++) {
    unsigned char c = (unsigned char)name[i];
    out[i] = c < 0x20 || c == 0x7F || (ascii && c > 0x7F) ? '?' : name[i];
  }
  out[n] = '\0';
}

void mtr_field_blame(struct mortar_error *err, int depth, const char *name)
{
  char shown[SHOWN + 1];

  show_name(name ? name : "", shown);
  mtr_error_prefix(err, "%s \"%s\"", depth <= 1 ? "column" : "field", shown);
}

static void count_fields(struct mtr_arrow_schema *schema, const struct mtr_arrow_field *field)
{
  int64_t i;

  for (i = 0; i < field->child_count; i++) {
    schema->node_count++;
    schema->buffer_count += mtr_arrow_buffer_count(field->children[i].type);
    count_fields(schema, &field->children[i]);
  }
}

void mtr_schema_count(struct mtr_arrow_schema *schema)
{
  schema->node_count = schema->buffer_count = 0;
  count_fields(schema, &schema->root);
}

enum mortar_status mtr_schema_nomem(const struct mtr_arena *arena, struct mortar_error *err)
{
  return mtr_arena_fail(arena, err, "schema");
}
