/* The C data interface as the schema model. The producer is trusted to keep the interface's own
 * rules (texts end, counts are true); types that Mortar refuses are named. */
#include "arrow/schema.h"

#include "arrow/format_string.h"
#include "base/error.h"

struct reader {
  struct mtr_arena *arena;
  int64_t fields;
  struct mortar_error *err;
};

/* Reads "int32 size, bytes" and moves text behind it. */
static bool read_sized(struct mtr_arena *arena, const char **text, const char **out, size_t *size)
{
  int32_t n;

  memcpy(&n, *text, sizeof n);
  *size = n > 0 ? (size_t)n : 0;
  *out = mtr_arena_text(arena, *text + sizeof n, *size);
  *text += sizeof n + *size;
  return *out != NULL;
}

static enum mortar_status read_metadata(struct reader *rd, const char *text,
                                        struct mtr_arrow_field *out)
{
  int32_t i, n = 0;

  if (text) memcpy(&n, text, sizeof n);
  if (n <= 0) return MORTAR_OK;
  out->metadata = mtr_arena_alloc(rd->arena, (size_t)n, sizeof *out->metadata);
  if (!out->metadata) return mtr_schema_nomem(rd->arena, rd->err);
  text += sizeof n;
  for (i = 0; i < n; i++) {
    struct mtr_arrow_metadata *pair = &out->metadata[i];
    if (!read_sized(rd->arena, &text, &pair->key, &pair->key_size) ||
        !read_sized(rd->arena, &text, &pair->value, &pair->value_size))
      return mtr_schema_nomem(rd->arena, rd->err);
  }
  out->metadata_count = n;
  return MORTAR_OK;
}

static enum mortar_status read_texts(struct reader *rd, const struct ArrowSchema *in,
                                     struct mtr_arrow_field *out)
{
  out->name = mtr_arena_text(rd->arena, in->name, in->name ? strlen(in->name) : 0);
  if (!out->name) return mtr_schema_nomem(rd->arena, rd->err);
  if (out->timezone) {
    out->timezone = mtr_arena_text(rd->arena, out->timezone, strlen(out->timezone));
    if (!out->timezone) return mtr_schema_nomem(rd->arena, rd->err);
  }
  out->format = mtr_format_make(out, rd->arena);
  return out->format ? MORTAR_OK : mtr_schema_nomem(rd->arena, rd->err);
}

static enum mortar_status read_field(struct reader *rd, const struct ArrowSchema *in, int depth,
                                     struct mtr_arrow_field *out);

static enum mortar_status read_children(struct reader *rd, const struct ArrowSchema *in, int depth,
                                        struct mtr_arrow_field *out)
{
  int64_t i;

  if (in->n_children <= 0) return MORTAR_OK;
  rd->fields += in->n_children;
  if (depth >= MTR_SCHEMA_MAX_DEPTH || rd->fields > MTR_SCHEMA_MAX_FIELDS)
    return mtr_fail(rd->err, MORTAR_LIMIT, "schema of more than %d levels or %d fields",
                    MTR_SCHEMA_MAX_DEPTH, MTR_SCHEMA_MAX_FIELDS);
  out->children = mtr_arena_alloc(rd->arena, (size_t)in->n_children, sizeof *out->children);
  if (!out->children) return mtr_schema_nomem(rd->arena, rd->err);
  out->child_count = in->n_children;
  for (i = 0; i < in->n_children; i++)
    MTR_TRY(read_field(rd, in->children[i], depth + 1, &out->children[i]));
  return MORTAR_OK;
}

static enum mortar_status read_parts(struct reader *rd, const struct ArrowSchema *in, int depth,
                                     struct mtr_arrow_field *out)
{
  if (in->dictionary)
    return mtr_fail(rd->err, MORTAR_UNSUPPORTED, "dictionary-encoded columns are not supported");
  MTR_TRY(mtr_format_parse(in->format, out, rd->err));
  out->nullable = (in->flags & ARROW_FLAG_NULLABLE) != 0;
  out->keys_sorted = (in->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0;
  MTR_TRY(read_texts(rd, in, out));
  MTR_TRY(read_metadata(rd, in->metadata, out));
  MTR_TRY(read_children(rd, in, depth, out));
  return mtr_field_check(out, rd->err);
}

static enum mortar_status read_field(struct reader *rd, const struct ArrowSchema *in, int depth,
                                     struct mtr_arrow_field *out)
{
  enum mortar_status st = read_parts(rd, in, depth, out);

  if (st != MORTAR_OK && depth > 0) mtr_field_blame(rd->err, depth, in->name);
  return st;
}

enum mortar_status mtr_arrow_schema_import(const struct ArrowSchema *in, struct mtr_arena *arena,
                                           struct mtr_arrow_schema *out, struct mortar_error *err)
{
  struct reader rd = {arena, 0, err};

  memset(out, 0, sizeof *out);
  if (!in->release || !in->format || strcmp(in->format, "+s") != 0)
    return mtr_fail(err, MORTAR_INVALID, "the schema is no struct of columns");
  MTR_TRY(read_field(&rd, in, 0, &out->root));
  out->metadata = out->root.metadata;
  out->metadata_count = out->root.metadata_count;
  mtr_schema_count(out);
  return MORTAR_OK;
}
