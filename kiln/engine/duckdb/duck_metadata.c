/* From the filters of a metadata call to a WHERE clause. Case does not matter, as in all names of a
 * warehouse. The functions are those that are built in: every schema has them. What the columns are
 * is the views' business. */
#include "kiln/engine/duckdb/duck_metadata.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

struct condition {
  const char *column;
  size_t offset; /* of the filter */
};

#define ON(column, filter)                                                                         \
  {                                                                                                \
    column, offsetof(struct mortar_metadata, filter)                                               \
  }
static const struct question {
  const char *view, *order;
  bool names; /* the filters are names, not patterns */
  struct condition conditions[7];
} questions[] = {
    [MORTAR_METADATA_CATALOGS] = {"catalogs", "1", false, {{NULL, 0}}},
    [MORTAR_METADATA_SCHEMAS] = {"schemas",
                                 "2, 1",
                                 false,
                                 {ON("TABLE_CATALOG", catalog), ON("TABLE_SCHEM", schema)}},
    [MORTAR_METADATA_TABLES] = {"tables",
                                "1, 2, 3",
                                false,
                                {ON("TABLE_CAT", catalog), ON("TABLE_SCHEM", schema),
                                 ON("TABLE_NAME", table)}},
    [MORTAR_METADATA_COLUMNS] = {"columns",
                                 "1, 2, 3, ORDINAL_POSITION",
                                 false,
                                 {ON("TABLE_CAT", catalog), ON("TABLE_SCHEM", schema),
                                  ON("TABLE_NAME", table), ON("COLUMN_NAME", column)}},
    [MORTAR_METADATA_TABLE_TYPES] = {"table_types", "1", false, {{NULL, 0}}},
    [MORTAR_METADATA_TYPE_INFO] = {"type_info", "2, 1", false, {{NULL, 0}}},
    [MORTAR_METADATA_FUNCTIONS] = {"functions", "3", false, {ON("FUNCTION_NAME", function)}},
    [MORTAR_METADATA_PRIMARY_KEYS] = {"primary_keys",
                                      "1, 2, 3, KEQ_SEQ",
                                      true,
                                      {ON("TABLE_CAT", catalog), ON("TABLE_SCHEM", schema),
                                       ON("TABLE_NAME", table)}},
    [MORTAR_METADATA_CROSS_REFERENCE] = {"cross_reference",
                                         "5, 6, 7, FK_NAME, KEQ_SEQ",
                                         true,
                                         {ON("PKTABLE_CAT", catalog), ON("PKTABLE_SCHEM", schema),
                                          ON("PKTABLE_NAME", table),
                                          ON("FKTABLE_CAT", foreign_catalog),
                                          ON("FKTABLE_SCHEM", foreign_schema),
                                          ON("FKTABLE_NAME", foreign_table)}},
};

static enum mortar_status put(struct mtr_buf *sql, const char *text, struct mortar_error *err)
{
  return mtr_buf_append(sql, text, strlen(text), err);
}

static enum mortar_status put_literal(struct mtr_buf *sql, const char *text,
                                      struct mortar_error *err)
{
  MTR_TRY(put(sql, "'", err));
  for (; *text; text++) {
    if (*text == '\'') MTR_TRY(put(sql, "'", err));
    MTR_TRY(mtr_buf_append(sql, text, 1, err));
  }
  return put(sql, "'", err);
}

/* A pattern that every name meets: so also those that are not there. Clients of Hive's family write
 * it as a regular expression, which their servers take. */
static bool is_all(const char *pattern)
{
  return strcmp(pattern, "%") == 0 || strcmp(pattern, ".*") == 0 || strcmp(pattern, "*") == 0;
}

/* DuckDB refuses a pattern that ends with its escape: one that has nothing to escape is itself. */
static bool ends_in_escape(const char *pattern)
{
  const size_t size = strlen(pattern);
  size_t n = 0;

  while (n < size && pattern[size - 1 - n] == '\\')
    n++;
  return n % 2 == 1;
}

static enum mortar_status put_pattern(struct mtr_buf *sql, const char *column, const char *pattern,
                                      struct mortar_error *err)
{
  if (is_all(pattern)) return MORTAR_OK;
  MTR_TRY(mtr_buf_printf(sql, err, " AND %s ILIKE ", column));
  MTR_TRY(put_literal(sql, pattern, err));
  if (ends_in_escape(pattern)) MTR_TRY(put(sql, " || '\\'", err));
  return put(sql, " ESCAPE '\\'", err);
}

static enum mortar_status put_name(struct mtr_buf *sql, const char *column, const char *name,
                                   struct mortar_error *err)
{
  MTR_TRY(mtr_buf_printf(sql, err, " AND lower(%s) = lower(", column));
  MTR_TRY(put_literal(sql, name, err));
  return put(sql, ")", err);
}

static enum mortar_status put_types(struct mtr_buf *sql, const struct mortar_metadata *metadata,
                                    struct mortar_error *err)
{
  size_t i;

  if (metadata->table_type_count == 0) return MORTAR_OK;
  MTR_TRY(put(sql, " AND TABLE_TYPE IN (", err));
  for (i = 0; i < metadata->table_type_count; i++) {
    if (i) MTR_TRY(put(sql, ", ", err));
    MTR_TRY(put_literal(sql, metadata->table_types[i], err));
  }
  return put(sql, ")", err);
}

enum mortar_status duck_metadata_write(const struct mortar_metadata *metadata, struct mtr_buf *sql,
                                       struct mortar_error *err)
{
  const struct question *question = &questions[metadata->kind];
  const struct condition *on;

  MTR_TRY(
      mtr_buf_printf(sql, err, "SELECT * FROM kiln.main.metadata_%s WHERE true", question->view));
  for (on = question->conditions; on->column; on++) {
    const char *filter;
    memcpy(&filter, (const char *)metadata + on->offset, sizeof filter);
    if (filter)
      MTR_TRY(question->names ? put_name(sql, on->column, filter, err)
                              : put_pattern(sql, on->column, filter, err));
  }
  MTR_TRY(put_types(sql, metadata, err));
  MTR_TRY(mtr_buf_printf(sql, err, " ORDER BY %s", question->order));
  return mtr_buf_append(sql, "", 1, err);
}

bool duck_metadata_names_samples(const struct mortar_metadata *metadata)
{
  const char *catalog = metadata->catalog;

  if (metadata->kind != MORTAR_METADATA_SCHEMAS && metadata->kind != MORTAR_METADATA_TABLES &&
      metadata->kind != MORTAR_METADATA_COLUMNS)
    return false;
  return !catalog || strpbrk(catalog, "%_*") || strcasecmp(catalog, "samples") == 0;
}
