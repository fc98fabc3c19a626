/* The schema model as the C data interface.
 *
 *     one block: [head][ArrowSchema of each field, root left out][child pointers][texts]
 *
 * Every ArrowSchema of the tree, the caller's root too, holds one count of the block until it is
 * released, so that children may be moved out. Cannot fail but for memory. */
#include "arrow/schema.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"

struct block {
  struct mortar_alloc alloc;
  size_t size;
  _Atomic int64_t count;
};

/* Where the next thing goes. */
struct cursor {
  struct block *block;
  struct ArrowSchema *schemas;
  struct ArrowSchema **pointers;
  char *text;
};

static int64_t release_tree(struct ArrowSchema *schema)
{
  int64_t i, released = 1;

  for (i = 0; i < schema->n_children; i++)
    if (schema->children[i]->release) released += release_tree(schema->children[i]);
  schema->release = NULL;
  return released;
}

static void release_schema(struct ArrowSchema *schema)
{
  struct block *block = schema->private_data;
  int64_t released = release_tree(schema);
  struct mortar_alloc alloc;

  if (atomic_fetch_sub_explicit(&block->count, released, memory_order_acq_rel) != released) return;
  alloc = block->alloc;
  mtr_free(&alloc, block, block->size);
}

/* The metadata text of the interface: count, then size and bytes of each key and value. */
static size_t metadata_size(const struct mtr_arrow_field *field)
{
  size_t n = field->metadata_count ? 4 : 0;
  int64_t i;

  for (i = 0; i < field->metadata_count; i++)
    n += 8 + field->metadata[i].key_size + field->metadata[i].value_size;
  return n;
}

/* No overflow: all of these texts lie in memory already, and a pair takes more there. */
static size_t text_size(const struct mtr_arrow_field *field)
{
  size_t n = metadata_size(field) + strlen(field->name) + strlen(field->format) + 2;
  int64_t i;

  for (i = 0; i < field->child_count; i++)
    n += text_size(&field->children[i]);
  return n;
}

static const char *put(struct cursor *at, const void *data, size_t size)
{
  char *text = at->text;

  if (size) memcpy(text, data, size);
  at->text += size;
  return text;
}

static void put_sized(struct cursor *at, const char *data, size_t size)
{
  int32_t n = (int32_t)size;

  (void)put(at, &n, sizeof n);
  (void)put(at, data, size);
}

static const char *put_metadata(struct cursor *at, const struct mtr_arrow_field *field)
{
  int32_t n = (int32_t)field->metadata_count;
  const char *text;
  int64_t i;

  if (n == 0) return NULL;
  text = put(at, &n, sizeof n);
  for (i = 0; i < field->metadata_count; i++) {
    put_sized(at, field->metadata[i].key, field->metadata[i].key_size);
    put_sized(at, field->metadata[i].value, field->metadata[i].value_size);
  }
  return text;
}

static int64_t flags_of(const struct mtr_arrow_field *field)
{
  int64_t flags = field->nullable ? ARROW_FLAG_NULLABLE : 0;

  return field->keys_sorted ? flags | ARROW_FLAG_MAP_KEYS_SORTED : flags;
}

static void fill(struct cursor *at, const struct mtr_arrow_field *field, struct ArrowSchema *out)
{
  int64_t i;

  memset(out, 0, sizeof *out);
  out->metadata = put_metadata(at, field);
  out->format = put(at, field->format, strlen(field->format) + 1);
  out->name = put(at, field->name, strlen(field->name) + 1);
  out->flags = flags_of(field);
  out->n_children = field->child_count;
  out->children = field->child_count ? at->pointers : NULL;
  out->release = release_schema;
  out->private_data = at->block;
  at->pointers += field->child_count;
  for (i = 0; i < field->child_count; i++) {
    out->children[i] = at->schemas++;
    fill(at, &field->children[i], out->children[i]);
  }
}

enum mortar_status mtr_arrow_schema_export(const struct mtr_arrow_schema *schema,
                                           const struct mortar_alloc *alloc,
                                           struct ArrowSchema *out, struct mortar_error *err)
{
  size_t n = (size_t)schema->node_count;
  size_t fixed = sizeof(struct block) + n * (sizeof(struct ArrowSchema) + sizeof(void *));
  size_t size = fixed + text_size(&schema->root);
  struct block *block = mtr_malloc(alloc, size);
  struct cursor at;

  memset(out, 0, sizeof *out);
  if (!block) return mtr_fail_nomem(err, "copy of the schema");
  block->alloc = alloc && alloc->fn ? *alloc : *mtr_alloc_default();
  block->size = size;
  atomic_init(&block->count, schema->node_count + 1);
  at.block = block;
  at.schemas = (struct ArrowSchema *)(void *)(block + 1);
  at.pointers = (struct ArrowSchema **)(void *)(at.schemas + n);
  at.text = (char *)block + fixed;
  fill(&at, &schema->root, out);
  return MORTAR_OK;
}
