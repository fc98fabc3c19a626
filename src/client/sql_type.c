/* Names of SQL types. The server's own word wins; nothing is parsed. */
#include "client/sql_type.h"

#include "base/error.h"

/* Names of types without parameters; NULL: built below. Unsigned types have no SQL name of their
 * own: the next wider signed one holds their values. */
static const char *plain_name(const struct mtr_arrow_field *field)
{
  switch (field->type) {
    case MTR_ARROW_NULL:
      return "VOID";
    case MTR_ARROW_BOOL:
      return "BOOLEAN";
    case MTR_ARROW_INT8:
      return "TINYINT";
    case MTR_ARROW_INT16:
    case MTR_ARROW_UINT8:
      return "SMALLINT";
    case MTR_ARROW_INT32:
    case MTR_ARROW_UINT16:
      return "INT";
    case MTR_ARROW_INT64:
    case MTR_ARROW_UINT32:
      return "BIGINT";
    case MTR_ARROW_UINT64:
      return "DECIMAL(20,0)";
    case MTR_ARROW_HALF:
    case MTR_ARROW_FLOAT:
      return "FLOAT";
    case MTR_ARROW_DOUBLE:
      return "DOUBLE";
    case MTR_ARROW_DATE32:
    case MTR_ARROW_DATE64:
      return "DATE";
    case MTR_ARROW_TIMESTAMP:
      return field->timezone ? "TIMESTAMP" : "TIMESTAMP_NTZ";
    case MTR_ARROW_DURATION:
    case MTR_ARROW_INTERVAL_DAY_TIME:
      return "INTERVAL DAY TO SECOND";
    case MTR_ARROW_INTERVAL_MONTHS:
      return "INTERVAL YEAR TO MONTH";
    case MTR_ARROW_INTERVAL_MONTH_DAY_NANO:
      return "INTERVAL";
    case MTR_ARROW_TIME32:
    case MTR_ARROW_TIME64:
    case MTR_ARROW_UTF8:
    case MTR_ARROW_LARGE_UTF8:
      return "STRING";
    case MTR_ARROW_FIXED_BINARY:
    case MTR_ARROW_BINARY:
    case MTR_ARROW_LARGE_BINARY:
      return "BINARY";
    case MTR_ARROW_DECIMAL:
    case MTR_ARROW_LIST:
    case MTR_ARROW_LARGE_LIST:
    case MTR_ARROW_FIXED_LIST:
    case MTR_ARROW_STRUCT:
    case MTR_ARROW_MAP:
      break;
  }
  return NULL;
}

static enum mortar_status struct_name(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                      struct mortar_error *err)
{
  int64_t i;

  for (i = 0; i < field->child_count; i++) {
    MTR_TRY(mtr_buf_printf(out, err, "%s%s: ", i ? ", " : "STRUCT<", field->children[i].name));
    MTR_TRY(mtr_sql_type_name(&field->children[i], out, err));
  }
  return mtr_buf_append(out, field->child_count ? ">" : "STRUCT<>", field->child_count ? 1 : 8,
                        err);
}

static enum mortar_status map_name(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                   struct mortar_error *err)
{
  const struct mtr_arrow_field *entries = field->children;

  MTR_TRY(mtr_buf_append(out, "MAP<", 4, err));
  MTR_TRY(mtr_sql_type_name(&entries->children[0], out, err));
  MTR_TRY(mtr_buf_append(out, ", ", 2, err));
  MTR_TRY(mtr_sql_type_name(&entries->children[1], out, err));
  return mtr_buf_append(out, ">", 1, err);
}

enum mortar_status mtr_sql_type_name(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                     struct mortar_error *err)
{
  struct mtr_span own = mtr_arrow_metadata_get(field, "Spark:DataType:SqlName");
  const char *plain = plain_name(field);

  if (own.size) return mtr_buf_append(out, own.data, own.size, err);
  if (plain) return mtr_buf_append(out, plain, strlen(plain), err);
  if (field->type == MTR_ARROW_DECIMAL)
    return mtr_buf_printf(out, err, "DECIMAL(%d,%d)", (int)field->precision, (int)field->scale);
  if (field->type == MTR_ARROW_STRUCT) return struct_name(field, out, err);
  if (field->type == MTR_ARROW_MAP) return map_name(field, out, err);
  MTR_TRY(mtr_buf_append(out, "ARRAY<", 6, err));
  MTR_TRY(mtr_sql_type_name(&field->children[0], out, err));
  return mtr_buf_append(out, ">", 1, err);
}
