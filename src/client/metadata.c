/* Filters of metadata calls: which kind takes which, and copies of them. */
#include "client/metadata.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

static const char *const kinds[] = {
    [MORTAR_METADATA_CATALOGS] = "catalogs",
    [MORTAR_METADATA_SCHEMAS] = "schemas",
    [MORTAR_METADATA_TABLES] = "tables",
    [MORTAR_METADATA_COLUMNS] = "columns",
    [MORTAR_METADATA_TABLE_TYPES] = "table types",
    [MORTAR_METADATA_TYPE_INFO] = "type info",
    [MORTAR_METADATA_FUNCTIONS] = "functions",
    [MORTAR_METADATA_PRIMARY_KEYS] = "primary keys",
    [MORTAR_METADATA_CROSS_REFERENCE] = "cross reference",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

#define BIT(kind) (1u << MORTAR_METADATA_##kind)
enum {
  KEYS = BIT(PRIMARY_KEYS) | BIT(CROSS_REFERENCE),
  OF_TABLE = BIT(TABLES) | BIT(COLUMNS) | KEYS,
  OF_SCHEMA = BIT(SCHEMAS) | BIT(FUNCTIONS) | OF_TABLE
};
#define FILTER(name) #name, offsetof(struct mortar_metadata, name)
static const struct filter {
  const char *name;
  size_t offset;
  unsigned kinds; /* that take it */
} filters[] = {
    {FILTER(catalog), OF_SCHEMA},
    {FILTER(schema), OF_SCHEMA},
    {FILTER(table), OF_TABLE},
    {FILTER(column), BIT(COLUMNS)},
    {FILTER(function), BIT(FUNCTIONS)},
    {FILTER(foreign_catalog), BIT(CROSS_REFERENCE)},
    {FILTER(foreign_schema), BIT(CROSS_REFERENCE)},
    {FILTER(foreign_table), BIT(CROSS_REFERENCE)},
};
enum { FILTERS = sizeof filters / sizeof *filters };
#undef FILTER

static const char *text_of(const struct mortar_metadata *metadata, const struct filter *filter)
{
  const char *text;

  memcpy(&text, (const char *)metadata + filter->offset, sizeof text);
  return text;
}

static enum mortar_status check(const struct mortar_metadata *metadata, struct mortar_error *err)
{
  const char *wrong = NULL;
  size_t i;

  if ((unsigned)metadata->kind >= KINDS)
    return mtr_fail(err, MORTAR_INVALID, "there is no metadata call %d", (int)metadata->kind);
  for (i = 0; i < FILTERS; i++)
    if (text_of(metadata, &filters[i]) && !(filters[i].kinds >> metadata->kind & 1))
      wrong = filters[i].name;
  if (metadata->table_type_count && metadata->kind != MORTAR_METADATA_TABLES) wrong = "table_types";
  for (i = 0; i < metadata->table_type_count; i++)
    if (!metadata->table_types || !metadata->table_types[i])
      return mtr_fail(err, MORTAR_INVALID, "table type %zu must not be NULL", i);
  if (!wrong) return MORTAR_OK;
  return mtr_fail(err, MORTAR_INVALID, "the metadata call '%s' takes no filter '%s'",
                  kinds[metadata->kind], wrong);
}

static enum mortar_status copy(const char *text, struct mtr_arena *arena, const char **out,
                               struct mortar_error *err)
{
  *out = text ? mtr_arena_text(arena, text, strlen(text)) : NULL;
  return text && !*out ? mtr_fail_nomem(err, "metadata filter") : MORTAR_OK;
}

static enum mortar_status copy_types(const struct mortar_metadata *from, struct mtr_arena *arena,
                                     struct mortar_metadata *out, struct mortar_error *err)
{
  const char **types = mtr_arena_alloc(arena, from->table_type_count, sizeof *types);
  size_t i;

  if (!types) return mtr_fail_nomem(err, "table types");
  for (i = 0; i < from->table_type_count; i++)
    MTR_TRY(copy(from->table_types[i], arena, &types[i], err));
  out->table_types = types;
  out->table_type_count = from->table_type_count;
  return MORTAR_OK;
}

enum mortar_status mtr_metadata_copy(const struct mortar_metadata *from, struct mtr_arena *arena,
                                     struct mortar_metadata *out, struct mortar_error *err)
{
  size_t i;

  MTR_TRY(check(from, err));
  memset(out, 0, sizeof *out);
  out->kind = from->kind;
  for (i = 0; i < FILTERS; i++) {
    const char *text;
    MTR_TRY(copy(text_of(from, &filters[i]), arena, &text, err));
    memcpy((char *)out + filters[i].offset, &text, sizeof text);
  }
  return from->table_type_count ? copy_types(from, arena, out, err) : MORTAR_OK;
}

enum mortar_status mtr_metadata_show(const struct mortar_metadata *metadata, struct mtr_buf *out,
                                     struct mortar_error *err)
{
  size_t i;

  MTR_TRY(mtr_buf_printf(out, err, "%s", kinds[metadata->kind]));
  for (i = 0; i < FILTERS; i++) {
    const char *text = text_of(metadata, &filters[i]);
    if (text) MTR_TRY(mtr_buf_printf(out, err, " %s=%s", filters[i].name, text));
  }
  for (i = 0; i < metadata->table_type_count; i++)
    MTR_TRY(mtr_buf_printf(out, err, " type=%s", metadata->table_types[i]));
  return MORTAR_OK;
}
