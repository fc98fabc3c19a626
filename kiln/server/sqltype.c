/* SQL names for Arrow types. One table for the plain types; arrays, maps and structs are written
 * from their children. Trusts the schema's shape, which schema import has checked. */
#include "kiln/server/sqltype.h"

#include <ctype.h>

#include "base/error.h"
#include "kiln/server/status.h"

/* A struct of many fields has a long name; past this it is no type but a mistake. */
enum { MAX_NAME = 1024 * 1024 };

static const char sql_key[] = "Spark:DataType:SqlName";
static const char json_key[] = "Spark:DataType:JsonType";

struct plain {
  const char *sql, *json; /* NULL: no SQL type, or one that is written from its parts */
  int32_t id;
};

static const struct plain plain_types[] = {
    [MTR_ARROW_NULL] = {"VOID", "void", MTR_TYPE_NULL},
    [MTR_ARROW_BOOL] = {"BOOLEAN", "boolean", MTR_TYPE_BOOLEAN},
    [MTR_ARROW_INT8] = {"TINYINT", "byte", MTR_TYPE_TINYINT},
    [MTR_ARROW_INT16] = {"SMALLINT", "short", MTR_TYPE_SMALLINT},
    [MTR_ARROW_INT32] = {"INT", "integer", MTR_TYPE_INT},
    [MTR_ARROW_INT64] = {"BIGINT", "long", MTR_TYPE_BIGINT},
    [MTR_ARROW_FLOAT] = {"FLOAT", "float", MTR_TYPE_FLOAT},
    [MTR_ARROW_DOUBLE] = {"DOUBLE", "double", MTR_TYPE_DOUBLE},
    [MTR_ARROW_DECIMAL] = {NULL, NULL, MTR_TYPE_DECIMAL},
    [MTR_ARROW_DATE32] = {"DATE", "date", MTR_TYPE_DATE},
    [MTR_ARROW_TIMESTAMP] = {NULL, NULL, MTR_TYPE_TIMESTAMP},
    [MTR_ARROW_DURATION] = {"INTERVAL DAY TO SECOND", "interval day to second",
                            MTR_TYPE_INTERVAL_DAY_TIME},
    [MTR_ARROW_INTERVAL_MONTHS] = {"INTERVAL YEAR TO MONTH", "interval year to month",
                                   MTR_TYPE_INTERVAL_YEAR_MONTH},
    [MTR_ARROW_UTF8] = {"STRING", "string", MTR_TYPE_STRING},
    [MTR_ARROW_LARGE_UTF8] = {"STRING", "string", MTR_TYPE_STRING},
    [MTR_ARROW_BINARY] = {"BINARY", "binary", MTR_TYPE_BINARY},
    [MTR_ARROW_LARGE_BINARY] = {"BINARY", "binary", MTR_TYPE_BINARY},
    [MTR_ARROW_FIXED_BINARY] = {"BINARY", "binary", MTR_TYPE_BINARY},
    [MTR_ARROW_LIST] = {NULL, NULL, MTR_TYPE_ARRAY},
    [MTR_ARROW_LARGE_LIST] = {NULL, NULL, MTR_TYPE_ARRAY},
    [MTR_ARROW_FIXED_LIST] = {NULL, NULL, MTR_TYPE_ARRAY},
    [MTR_ARROW_STRUCT] = {NULL, NULL, MTR_TYPE_STRUCT},
    [MTR_ARROW_MAP] = {NULL, NULL, MTR_TYPE_MAP},
};

static const struct plain *plain_of(const struct mtr_arrow_field *field)
{
  static const struct plain none = {NULL, NULL, -1};
  const struct plain *found = &none;

  if ((size_t)field->type < sizeof plain_types / sizeof plain_types[0])
    found = &plain_types[field->type];
  /* The gaps of the table are zero, and zero is BOOLEAN's number: only a name tells them apart. */
  return found->sql || found->id != 0 ? found : &none;
}

static bool is_list(const struct mtr_arrow_field *field)
{
  return plain_of(field)->id == MTR_TYPE_ARRAY;
}

/* ---- SQL names ---------------------------------------------------------------------------- */

static enum mortar_status write_sql(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                    struct mortar_error *err);

static enum mortar_status put(struct mtr_buf *out, const char *text, struct mortar_error *err)
{
  return mtr_buf_append(out, text, strlen(text), err);
}

static enum mortar_status write_sql_struct(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                           struct mortar_error *err)
{
  int64_t i;

  MTR_TRY(put(out, "STRUCT<", err));
  for (i = 0; i < field->child_count; i++) {
    MTR_TRY(mtr_buf_printf(out, err, "%s%s: ", i ? ", " : "", field->children[i].name));
    MTR_TRY(write_sql(&field->children[i], out, err));
  }
  return put(out, ">", err);
}

static enum mortar_status write_sql_map(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                        struct mortar_error *err)
{
  const struct mtr_arrow_field *entries = field->children;

  MTR_TRY(put(out, "MAP<", err));
  MTR_TRY(write_sql(&entries->children[0], out, err));
  MTR_TRY(put(out, ", ", err));
  MTR_TRY(write_sql(&entries->children[1], out, err));
  return put(out, ">", err);
}

static enum mortar_status write_sql(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                    struct mortar_error *err)
{
  struct mtr_span named = mtr_arrow_metadata_get(field, sql_key);
  const struct plain *type = plain_of(field);

  if (named.size) return mtr_buf_append(out, named.data, named.size, err);
  if (type->sql) return put(out, type->sql, err);
  if (type->id == MTR_TYPE_DECIMAL)
    return mtr_buf_printf(out, err, "DECIMAL(%d,%d)", (int)field->precision, (int)field->scale);
  if (type->id == MTR_TYPE_TIMESTAMP)
    return put(out, field->timezone ? "TIMESTAMP" : "TIMESTAMP_NTZ", err);
  if (type->id == MTR_TYPE_STRUCT) return write_sql_struct(field, out, err);
  if (type->id == MTR_TYPE_MAP) return write_sql_map(field, out, err);
  if (!is_list(field))
    return mtr_fail(err, MORTAR_UNSUPPORTED, "the Arrow format \"%s\" has no SQL type",
                    field->format);
  MTR_TRY(put(out, "ARRAY<", err));
  MTR_TRY(write_sql(field->children, out, err));
  return put(out, ">", err);
}

/* ---- JSON types --------------------------------------------------------------------------- */

static enum mortar_status write_json(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                     struct mortar_error *err);

static enum mortar_status write_json_string(const char *text, struct mtr_buf *out,
                                            struct mortar_error *err)
{
  MTR_TRY(put(out, "\"", err));
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      MTR_TRY(mtr_buf_printf(out, err, "\\%c", c));
    else if (c < 0x20)
      MTR_TRY(mtr_buf_printf(out, err, "\\u%04x", c));
    else
      MTR_TRY(mtr_buf_append(out, text, 1, err));
  }
  return put(out, "\"", err);
}

static const char *truth(bool value) { return value ? "true" : "false"; }

static enum mortar_status write_json_array(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                           struct mortar_error *err)
{
  MTR_TRY(put(out, "{\"type\":\"array\",\"elementType\":", err));
  MTR_TRY(write_json(field->children, out, err));
  return mtr_buf_printf(out, err, ",\"containsNull\":%s}", truth(field->children->nullable));
}

static enum mortar_status write_json_map(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                         struct mortar_error *err)
{
  const struct mtr_arrow_field *pair = field->children->children;

  MTR_TRY(put(out, "{\"type\":\"map\",\"keyType\":", err));
  MTR_TRY(write_json(&pair[0], out, err));
  MTR_TRY(put(out, ",\"valueType\":", err));
  MTR_TRY(write_json(&pair[1], out, err));
  return mtr_buf_printf(out, err, ",\"valueContainsNull\":%s}", truth(pair[1].nullable));
}

static enum mortar_status write_json_struct(const struct mtr_arrow_field *field,
                                            struct mtr_buf *out, struct mortar_error *err)
{
  int64_t i;

  MTR_TRY(put(out, "{\"type\":\"struct\",\"fields\":[", err));
  for (i = 0; i < field->child_count; i++) {
    const struct mtr_arrow_field *child = &field->children[i];
    MTR_TRY(put(out, i ? ",{\"name\":" : "{\"name\":", err));
    MTR_TRY(write_json_string(child->name, out, err));
    MTR_TRY(put(out, ",\"type\":", err));
    MTR_TRY(write_json(child, out, err));
    MTR_TRY(mtr_buf_printf(out, err, ",\"nullable\":%s,\"metadata\":{}}", truth(child->nullable)));
  }
  return put(out, "]}", err);
}

/* A name that the engine gave, in lower case: "variant", "interval year". */
static enum mortar_status write_json_named(struct mtr_span name, struct mtr_buf *out,
                                           struct mortar_error *err)
{
  size_t i;

  MTR_TRY(put(out, "\"", err));
  for (i = 0; i < name.size; i++) {
    char c = (char)tolower(name.data[i]);
    if (c == '"' || c == '\\') continue;
    MTR_TRY(mtr_buf_append(out, &c, 1, err));
  }
  return put(out, "\"", err);
}

static enum mortar_status write_json(const struct mtr_arrow_field *field, struct mtr_buf *out,
                                     struct mortar_error *err)
{
  struct mtr_span named = mtr_arrow_metadata_get(field, sql_key);
  const struct plain *type = plain_of(field);

  if (type->id == MTR_TYPE_STRUCT) return write_json_struct(field, out, err);
  if (type->id == MTR_TYPE_MAP) return write_json_map(field, out, err);
  if (is_list(field)) return write_json_array(field, out, err);
  if (type->id == MTR_TYPE_DECIMAL)
    return mtr_buf_printf(out, err, "\"decimal(%d,%d)\"", (int)field->precision, (int)field->scale);
  if (type->sql && (named.size == 0 || mtr_span_equal(named, mtr_span_text(type->sql))))
    return mtr_buf_printf(out, err, "\"%s\"", type->json);
  if (named.size) return write_json_named(named, out, err);
  return put(out, field->timezone ? "\"timestamp\"" : "\"timestamp_ntz\"", err);
}

/* ---- Columns ------------------------------------------------------------------------------ */

static bool set_metadata(struct mtr_arrow_metadata *entry, struct mtr_arena *arena, const char *key,
                         const struct mtr_buf *value)
{
  entry->key = key;
  entry->key_size = strlen(key);
  entry->value = mtr_arena_text(arena, value->data, value->size);
  entry->value_size = value->size;
  return entry->value != NULL;
}

/* The engine's other metadata first, then the two keys. */
static bool replace_metadata(struct mtr_arrow_field *field, struct mtr_arena *arena,
                             const struct mtr_buf *sql, const struct mtr_buf *json)
{
  struct mtr_arrow_metadata *list;
  int64_t i, n = 0;

  list = mtr_arena_alloc(arena, (size_t)field->metadata_count + 2, sizeof *list);
  if (!list) return false;
  for (i = 0; i < field->metadata_count; i++) {
    struct mtr_span key = mtr_span_of(field->metadata[i].key, field->metadata[i].key_size);
    if (mtr_span_equal(key, mtr_span_text(sql_key))) continue;
    if (mtr_span_equal(key, mtr_span_text(json_key))) continue;
    list[n++] = field->metadata[i];
  }
  if (!set_metadata(&list[n++], arena, sql_key, sql)) return false;
  if (!set_metadata(&list[n++], arena, json_key, json)) return false;
  field->metadata = list;
  field->metadata_count = n;
  return true;
}

static enum mortar_status annotate(struct mtr_arrow_field *field, struct mtr_arena *arena,
                                   struct mtr_buf *sql, struct mtr_buf *json,
                                   struct mortar_error *err)
{
  mtr_buf_reset(sql);
  mtr_buf_reset(json);
  if (plain_of(field)->id < 0)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "the Arrow format \"%s\" has no SQL type",
                    field->format);
  MTR_TRY(write_sql(field, sql, err));
  MTR_TRY(write_json(field, json, err));
  return replace_metadata(field, arena, sql, json) ? MORTAR_OK
                                                   : mtr_fail_nomem(err, "column metadata");
}

enum mortar_status kiln_sqltype_annotate(struct mtr_arrow_schema *schema, struct mtr_arena *arena,
                                         struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct mtr_buf sql, json;
  int64_t i;

  mtr_buf_init(&sql, NULL, "SQL type name", MAX_NAME);
  mtr_buf_init(&json, NULL, "JSON type", MAX_NAME);
  for (i = 0; st == MORTAR_OK && i < schema->root.child_count; i++) {
    struct mtr_arrow_field *field = &schema->root.children[i];
    st = annotate(field, arena, &sql, &json, err);
    if (st != MORTAR_OK) mtr_error_prefix(err, "column \"%s\"", field->name);
  }
  mtr_buf_fini(&json);
  mtr_buf_fini(&sql);
  return st;
}

/* Both qualifiers of a DECIMAL as the wire has them: a map of text to unions of one i32. */
static enum mortar_status write_qualifiers(const struct mtr_arrow_field *field,
                                           struct mtr_arena *arena, struct mtr_TTypeQualifiers *out,
                                           struct mortar_error *err)
{
  const char *names[] = {"precision", "scale"};
  const int32_t values[] = {field->precision, field->scale};
  enum mortar_status st = MORTAR_OK;
  struct mtr_thrift_values map = {2, MTR_T_STRUCT, MTR_T_STRING, {NULL, 0}};
  struct mtr_buf buf;
  struct mtr_tw wr;
  int i;

  mtr_buf_init(&buf, NULL, "type qualifiers", 256);
  mtr_tw_init(&wr, &buf, err);
  for (i = 0; i < 2; i++) {
    struct mtr_TTypeQualifierValue value = {0};
    MTR_SET(&value, TTypeQualifierValue, i32_value, values[i]);
    mtr_tw_string(&wr, mtr_span_text(names[i]));
    mtr_thrift_write_struct(&wr, &mtr_TTypeQualifierValue_info, &value);
  }
  MTR_GOTO(mtr_tw_finish(&wr));
  map.bytes = mtr_span_of(mtr_arena_text(arena, buf.data, buf.size), buf.size);
  if (!map.bytes.data) st = mtr_fail_nomem(err, buf.what);
  MTR_SET(out, TTypeQualifiers, qualifiers, map);
done:
  mtr_buf_fini(&buf);
  return st;
}

/* The structs of one column, made together. */
struct column_parts {
  struct mtr_TTypeDesc desc;
  struct mtr_TTypeEntry entry;
  struct mtr_TPrimitiveTypeEntry primitive;
  struct mtr_TTypeQualifiers qualifiers;
};

static enum mortar_status fill_column(const struct mtr_arrow_field *field, int32_t position,
                                      struct mtr_arena *arena, struct mtr_TColumnDesc *out,
                                      struct mortar_error *err)
{
  struct column_parts *parts = mtr_arena_alloc(arena, 1, sizeof *parts);
  int32_t id = plain_of(field)->id;

  if (!parts) return mtr_fail_nomem(err, "column description");
  MTR_SET(&parts->primitive, TPrimitiveTypeEntry, type, id);
  if (id == MTR_TYPE_DECIMAL) {
    MTR_TRY(write_qualifiers(field, arena, &parts->qualifiers, err));
    MTR_SET(&parts->primitive, TPrimitiveTypeEntry, type_qualifiers, &parts->qualifiers);
  }
  MTR_SET(&parts->entry, TTypeEntry, primitive_entry, &parts->primitive);
  MTR_SET_LIST(&parts->desc, TTypeDesc, types, &parts->entry, 1);
  MTR_SET(out, TColumnDesc, column_name, mtr_span_text(field->name));
  MTR_SET(out, TColumnDesc, type_desc, &parts->desc);
  MTR_SET(out, TColumnDesc, position, position);
  MTR_SET(out, TColumnDesc, comment, mtr_span_text(""));
  return MORTAR_OK;
}

enum mortar_status kiln_sqltype_table(const struct mtr_arrow_schema *schema,
                                      struct mtr_arena *arena, struct mtr_TTableSchema *out,
                                      struct mortar_error *err)
{
  size_t count = (size_t)schema->root.child_count, i;
  struct mtr_TColumnDesc *columns = mtr_arena_alloc(arena, count, sizeof *columns);

  if (!columns) return mtr_fail_nomem(err, "column descriptions");
  for (i = 0; i < count; i++)
    MTR_TRY(fill_column(&schema->root.children[i], (int32_t)i + 1, arena, &columns[i], err));
  memset(out, 0, sizeof *out);
  MTR_SET_LIST(out, TTableSchema, columns, columns, count);
  return MORTAR_OK;
}
