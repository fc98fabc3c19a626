/* Writes the casting SELECT. Types are walked through DuckDB's own type handles. */
#include "kiln/engine/duckdb/duck_types.h"

#include <string.h>

#include "base/error.h"

/* Deeper nesting than any schema that Mortar's reader takes. */
enum { MAX_DEPTH = 64 };

struct writer {
  const struct duck_api *api;
  struct mtr_buf *out;
  bool changed; /* some type written so far differs from what DuckDB has */
  struct mortar_error *err;
};

struct scalar {
  int type;
  bool changed;
  const char *name;
};

static const struct scalar scalars[] = {
    {DUCK_TYPE_BOOLEAN, false, "BOOLEAN"},
    {DUCK_TYPE_TINYINT, false, "TINYINT"},
    {DUCK_TYPE_SMALLINT, false, "SMALLINT"},
    {DUCK_TYPE_INTEGER, false, "INTEGER"},
    {DUCK_TYPE_BIGINT, false, "BIGINT"},
    {DUCK_TYPE_UTINYINT, true, "SMALLINT"},
    {DUCK_TYPE_USMALLINT, true, "INTEGER"},
    {DUCK_TYPE_UINTEGER, true, "BIGINT"},
    {DUCK_TYPE_UBIGINT, true, "DECIMAL(20,0)"},
    {DUCK_TYPE_HUGEINT, true, "BIGINT"},
    {DUCK_TYPE_UHUGEINT, true, "BIGINT"},
    {DUCK_TYPE_FLOAT, false, "FLOAT"},
    {DUCK_TYPE_DOUBLE, false, "DOUBLE"},
    {DUCK_TYPE_DATE, false, "DATE"},
    {DUCK_TYPE_TIMESTAMP, false, "TIMESTAMP"},
    {DUCK_TYPE_TIMESTAMP_TZ, false, "TIMESTAMPTZ"},
    {DUCK_TYPE_TIMESTAMP_S, true, "TIMESTAMP"},
    {DUCK_TYPE_TIMESTAMP_MS, true, "TIMESTAMP"},
    {DUCK_TYPE_TIMESTAMP_NS, true, "TIMESTAMP"},
    {DUCK_TYPE_VARCHAR, false, "VARCHAR"},
    {DUCK_TYPE_BLOB, false, "BLOB"},
    {DUCK_TYPE_SQLNULL, false, "\"NULL\""},
};

static const struct scalar text = {0, true, "VARCHAR"};

static enum mortar_status put(struct writer *wr, const char *word)
{
  return mtr_buf_append(wr->out, word, strlen(word), wr->err);
}

static enum mortar_status put_name(struct writer *wr, const char *name)
{
  MTR_TRY(put(wr, "\""));
  for (; *name; name++) {
    if (*name == '"') MTR_TRY(put(wr, "\""));
    MTR_TRY(mtr_buf_append(wr->out, name, 1, wr->err));
  }
  return put(wr, "\"");
}

static enum mortar_status write_type(struct writer *wr, duck_handle type, int depth);

/* Takes the handle, which may be NULL when DuckDB had no memory for it. */
static enum mortar_status write_child(struct writer *wr, duck_handle type, int depth)
{
  enum mortar_status st;

  if (!type) return mtr_fail_nomem(wr->err, "type of a column");
  st = write_type(wr, type, depth + 1);
  wr->api->destroy_logical_type(&type);
  return st;
}

static enum mortar_status write_field(struct writer *wr, duck_handle type, duck_idx i, int depth)
{
  enum mortar_status st;
  char *name = wr->api->struct_type_child_name(type, i);

  if (!name) return mtr_fail_nomem(wr->err, "name of a field");
  if (i > 0) MTR_GOTO(put(wr, ", "));
  MTR_GOTO(put_name(wr, name));
  MTR_GOTO(put(wr, " "));
  MTR_GOTO(write_child(wr, wr->api->struct_type_child_type(type, i), depth));
done:
  wr->api->free(name);
  return st;
}

static enum mortar_status write_struct(struct writer *wr, duck_handle type, int depth)
{
  duck_idx i, count = wr->api->struct_type_child_count(type);

  MTR_TRY(put(wr, "STRUCT("));
  for (i = 0; i < count; i++)
    MTR_TRY(write_field(wr, type, i, depth));
  return put(wr, ")");
}

static enum mortar_status write_map(struct writer *wr, duck_handle type, int depth)
{
  MTR_TRY(put(wr, "MAP("));
  MTR_TRY(write_child(wr, wr->api->map_type_key_type(type), depth));
  MTR_TRY(put(wr, ", "));
  MTR_TRY(write_child(wr, wr->api->map_type_value_type(type), depth));
  return put(wr, ")");
}

static enum mortar_status write_scalar(struct writer *wr, int id)
{
  const struct scalar *found = &text;
  size_t i;

  for (i = 0; i < sizeof scalars / sizeof *scalars; i++)
    if (scalars[i].type == id) found = &scalars[i];
  wr->changed |= found->changed;
  return put(wr, found->name);
}

static enum mortar_status write_type(struct writer *wr, duck_handle type, int depth)
{
  int id = wr->api->get_type_id(type);

  if (depth > MAX_DEPTH)
    return mtr_fail(wr->err, MORTAR_LIMIT, "a type nested more than %d deep", MAX_DEPTH);
  switch (id) {
    case DUCK_TYPE_DECIMAL:
      return mtr_buf_printf(wr->out, wr->err, "DECIMAL(%u,%u)", wr->api->decimal_width(type),
                            wr->api->decimal_scale(type));
    case DUCK_TYPE_LIST:
      MTR_TRY(write_child(wr, wr->api->list_type_child_type(type), depth));
      return put(wr, "[]");
    case DUCK_TYPE_ARRAY:
      wr->changed = true;
      MTR_TRY(write_child(wr, wr->api->array_type_child_type(type), depth));
      return put(wr, "[]");
    case DUCK_TYPE_STRUCT:
      return write_struct(wr, type, depth);
    case DUCK_TYPE_MAP:
      return write_map(wr, type, depth);
    default:
      return write_scalar(wr, id);
  }
}

/* `CAST(c0 AS BIGINT) AS "name"`, or `c0 AS "name"`; *changed tells which. */
static enum mortar_status write_column(struct writer *wr, duck_handle prepared, duck_idx i)
{
  enum mortar_status st = MORTAR_OK;
  bool changed = wr->changed;
  size_t start;
  const char *name = wr->api->prepared_statement_column_name(prepared, i);

  MTR_GOTO(put(wr, i > 0 ? ", " : "SELECT "));
  start = wr->out->size;
  MTR_GOTO(mtr_buf_printf(wr->out, wr->err, "CAST(c%d AS ", (int)i));
  wr->changed = false;
  MTR_GOTO(write_child(wr, wr->api->prepared_statement_column_logical_type(prepared, i), 0));
  MTR_GOTO(put(wr, ") AS "));
  if (!wr->changed) {
    wr->out->size = start;
    MTR_GOTO(mtr_buf_printf(wr->out, wr->err, "c%d AS ", (int)i));
  }
  wr->changed |= changed;
  if (!name)
    st = mtr_fail_nomem(wr->err, "name of a column");
  else
    st = put_name(wr, name);
done:
  wr->api->free((void *)(uintptr_t)name);
  return st;
}

/* The columns get names of ours inside: the statement's own need not be unique. */
static enum mortar_status write_rest(struct writer *wr, duck_idx count, const char *sql)
{
  duck_idx i;

  MTR_TRY(mtr_buf_printf(wr->out, wr->err, " FROM (%s) AS kiln_rows(", sql));
  for (i = 0; i < count; i++)
    MTR_TRY(mtr_buf_printf(wr->out, wr->err, i > 0 ? ", c%d" : "c%d", (int)i));
  return mtr_buf_printf(wr->out, wr->err, ")");
}

enum mortar_status duck_types_wrap(const struct duck_api *api, duck_handle prepared,
                                   const char *sql, struct mtr_buf *out, struct mortar_error *err)
{
  struct writer wr = {api, out, false, err};
  duck_idx i, count = api->prepared_statement_column_count(prepared);

  mtr_buf_reset(out);
  for (i = 0; i < count; i++)
    MTR_TRY(write_column(&wr, prepared, i));
  if (wr.changed) return write_rest(&wr, count, sql);
  mtr_buf_reset(out);
  return MORTAR_OK;
}
