/* From TTableSchema to an Arrow Schema message. Qualifiers are kept for decimals only: a length of
 * text has no place in Arrow. */
#include "client/thrift/table_schema.h"

#include <stdio.h>

#include "arrow/ipc_writer.h"
#include "arrow/text_in.h"
#include "base/error.h"

enum {
  MESSAGE_MAX = 64 << 20, /* a schema of 100,000 columns takes a tenth of it */
  DECIMAL_PRECISION = MTR_DECIMAL_MAX_PRECISION, /* where the server states none */
  DECIMAL_SCALE = 18
};

/* The Arrow type of a Thrift type; TEXT where Thrift columns carry text that nobody defines. A
 * timestamp comes without its zone, which is that of the session. */
#define TEXT MTR_ARROW_UTF8, "u", 0
static const struct {
  enum mtr_arrow_type type;
  const char *format;
  int byte_width;
  const char *sql_name;
} types[] = {
    [MTR_TYPE_BOOLEAN] = {MTR_ARROW_BOOL, "b", 0, "BOOLEAN"},
    [MTR_TYPE_TINYINT] = {MTR_ARROW_INT8, "c", 1, "TINYINT"},
    [MTR_TYPE_SMALLINT] = {MTR_ARROW_INT16, "s", 2, "SMALLINT"},
    [MTR_TYPE_INT] = {MTR_ARROW_INT32, "i", 4, "INT"},
    [MTR_TYPE_BIGINT] = {MTR_ARROW_INT64, "l", 8, "BIGINT"},
    [MTR_TYPE_FLOAT] = {MTR_ARROW_FLOAT, "f", 4, "FLOAT"},
    [MTR_TYPE_DOUBLE] = {MTR_ARROW_DOUBLE, "g", 8, "DOUBLE"},
    [MTR_TYPE_STRING] = {TEXT, "STRING"},
    [MTR_TYPE_TIMESTAMP] = {MTR_ARROW_TIMESTAMP, "tsu:", 8, "TIMESTAMP"},
    [MTR_TYPE_BINARY] = {MTR_ARROW_BINARY, "z", 0, "BINARY"},
    [MTR_TYPE_ARRAY] = {TEXT, "ARRAY"},
    [MTR_TYPE_MAP] = {TEXT, "MAP"},
    [MTR_TYPE_STRUCT] = {TEXT, "STRUCT"},
    [MTR_TYPE_UNION] = {TEXT, "UNION"},
    [MTR_TYPE_USER_DEFINED] = {TEXT, "USER_DEFINED"},
    [MTR_TYPE_DECIMAL] = {MTR_ARROW_DECIMAL, NULL, 16, NULL}, /* see make_decimal */
    [MTR_TYPE_NULL] = {MTR_ARROW_NULL, "n", 0, "VOID"},
    [MTR_TYPE_DATE] = {MTR_ARROW_DATE32, "tdD", 4, "DATE"},
    [MTR_TYPE_VARCHAR] = {TEXT, "VARCHAR"},
    [MTR_TYPE_CHAR] = {TEXT, "CHAR"},
    [MTR_TYPE_INTERVAL_YEAR_MONTH] = {TEXT, "INTERVAL YEAR TO MONTH"},
    [MTR_TYPE_INTERVAL_DAY_TIME] = {TEXT, "INTERVAL DAY TO SECOND"},
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

static const struct mtr_TPrimitiveTypeEntry *primitive_of(const struct mtr_TColumnDesc *column)
{
  const struct mtr_TTypeDesc *desc = column->type_desc;

  return desc && desc->types.count ? desc->types.items[0].primitive_entry : NULL;
}

/* The i32 of a type qualifier, or what stands for it. */
static int32_t qualifier(const struct mtr_TPrimitiveTypeEntry *entry, const char *key,
                         int32_t otherwise, struct mtr_arena *arena)
{
  const struct mtr_TTypeQualifiers *q = entry->type_qualifiers;
  struct mtr_tr rd;
  uint32_t i;

  if (!q) return otherwise;
  mtr_tr_init(&rd, q->qualifiers.bytes);
  for (i = 0; i < q->qualifiers.count && mtr_tr_ok(&rd); i++) {
    struct mtr_TTypeQualifierValue value = {0};
    struct mtr_span name = mtr_tr_string(&rd);
    const uint8_t *begin = rd.pos;
    mtr_tr_skip(&rd, MTR_T_STRUCT, 1);
    if (!mtr_span_equal(name, mtr_span_text(key)) || !mtr_tr_ok(&rd)) continue;
    if (mtr_thrift_decode(mtr_span_of(begin, (size_t)(rd.pos - begin)),
                          &mtr_TTypeQualifierValue_info, &value, arena, NULL) == MORTAR_OK &&
        MTR_HAS(&value, TTypeQualifierValue, i32_value))
      return value.i32_value;
  }
  return otherwise;
}

static const char *text_of(struct mtr_arena *arena, const char *format, int precision, int scale)
{
  char text[40];
  const int n = snprintf(text, sizeof text, format, precision, scale);

  return mtr_arena_text(arena, text, (size_t)n);
}

static enum mortar_status make_decimal(const struct mtr_TPrimitiveTypeEntry *entry,
                                       struct mtr_arena *arena, struct mtr_arrow_field *out,
                                       const char **sql_name, struct mortar_error *err)
{
  out->precision = qualifier(entry, "precision", DECIMAL_PRECISION, arena);
  out->scale = qualifier(entry, "scale", DECIMAL_SCALE, arena);
  if (out->precision < 1 || out->precision > MTR_DECIMAL_MAX_PRECISION || out->scale < 0 ||
      out->scale > out->precision)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "column '%.64s' is a DECIMAL(%d,%d)", out->name,
                    (int)out->precision, (int)out->scale);
  out->format = text_of(arena, "d:%d,%d", out->precision, out->scale);
  *sql_name = text_of(arena, "DECIMAL(%d,%d)", out->precision, out->scale);
  return out->format && *sql_name ? MORTAR_OK : mtr_fail_nomem(err, "schema");
}

static enum mortar_status make_field(const struct mtr_TColumnDesc *column, struct mtr_arena *arena,
                                     struct mtr_arrow_field *out, struct mortar_error *err)
{
  static const char key[] = "Spark:DataType:SqlName";
  const struct mtr_TPrimitiveTypeEntry *entry = primitive_of(column);
  const int32_t type =
      entry && entry->type >= 0 && entry->type < TYPE_COUNT ? entry->type : MTR_TYPE_STRING;
  const char *sql_name = types[type].sql_name;

  out->name = mtr_arena_text(arena, column->column_name.data, column->column_name.size);
  out->metadata = mtr_arena_alloc(arena, 1, sizeof *out->metadata);
  if (!out->name || !out->metadata) return mtr_fail_nomem(err, "schema");
  out->type = types[type].type;
  out->format = types[type].format;
  out->byte_width = types[type].byte_width;
  out->unit = MTR_UNIT_MICRO;
  out->nullable = true;
  if (type == MTR_TYPE_DECIMAL) MTR_TRY(make_decimal(entry, arena, out, &sql_name, err));
  out->metadata_count = 1;
  out->metadata->key = key;
  out->metadata->key_size = sizeof key - 1;
  out->metadata->value = sql_name;
  out->metadata->value_size = strlen(out->metadata->value);
  return MORTAR_OK;
}

static enum mortar_status write_message(const struct mtr_arrow_schema *schema,
                                        struct mtr_arena *arena, struct mtr_span *message,
                                        struct mortar_error *err)
{
  enum mortar_status st;
  struct mtr_buf buf;
  char *copy;

  mtr_buf_init(&buf, arena->alloc, "schema", MESSAGE_MAX);
  MTR_GOTO(mtr_ipc_write_schema(schema, &buf, err));
  copy = mtr_arena_text(arena, buf.data, buf.size);
  if (!copy) MTR_GOTO(mtr_fail_nomem(err, "schema"));
  *message = mtr_span_of(copy, buf.size);
done:
  mtr_buf_fini(&buf);
  return st;
}

enum mortar_status mtr_thrift_table_schema(const struct mtr_TTableSchema *left,
                                           struct mtr_arena *arena, struct mtr_span *message,
                                           struct mortar_error *err)
{
  struct mtr_arrow_schema schema = {.root = {.name = "", .type = MTR_ARROW_STRUCT, .format = "+s"}};
  struct mtr_TTableSchema table = {0};
  size_t i;

  *message = mtr_span_of(NULL, 0);
  if (left) MTR_TRY(mtr_thrift_decode(left->wire, &mtr_TTableSchema_info, &table, arena, err));
  if (table.columns.count == 0) return MORTAR_OK;
  schema.root.child_count = (int64_t)table.columns.count;
  schema.root.children = mtr_arena_alloc(arena, table.columns.count, sizeof *schema.root.children);
  if (!schema.root.children) return mtr_fail_nomem(err, "schema");
  for (i = 0; i < table.columns.count; i++)
    MTR_TRY(make_field(&table.columns.items[i], arena, &schema.root.children[i], err));
  return write_message(&schema, arena, message, err);
}
