/* One block for a batch, see batch_block.h. */
#include "arrow/batch_block.h"

#include <stdatomic.h>

#include "arrow/bits.h"
#include "arrow/ipc_reader.h"
#include "base/alloc.h"
#include "base/error.h"

struct mtr_batch_block {
  struct mtr_slab *slab;
  size_t size;           /* of an allocation of its own; 0: the slab has it */
  _Atomic int64_t count; /* arrays that are not released */
};

size_t mtr_batch_block_size(const struct mtr_arrow_schema *schema)
{
  /* No overflow: MTR_SCHEMA_MAX_FIELDS bounds the nodes, and a node has at most 3 buffers. The
   * root has a validity buffer that is not among the schema's. */
  return sizeof(struct mtr_batch_block) +
         (size_t)schema->node_count * (sizeof(struct ArrowArray) + sizeof(void *)) +
         ((size_t)schema->buffer_count + 1) * sizeof(void *);
}

enum mortar_status mtr_batch_block_new(const struct mtr_arrow_schema *schema, struct mtr_slab *slab,
                                       struct mtr_batch_parts *out, struct mortar_error *err)
{
  const size_t nodes = (size_t)schema->node_count, size = mtr_batch_block_size(schema);
  struct mtr_batch_block *block = mtr_slab_carve(slab, size);
  const bool carved = block != NULL;

  memset(out, 0, sizeof *out);
  if (!carved) block = mtr_malloc(&slab->alloc, size);
  if (!block) return mtr_fail_nomem(err, "arrays of a batch");
  block->slab = mtr_slab_ref(slab);
  block->size = carved ? 0 : size;
  atomic_init(&block->count, schema->node_count + 1);
  out->block = block;
  out->arrays = (struct ArrowArray *)(void *)(block + 1);
  out->children = (struct ArrowArray **)(void *)(out->arrays + nodes);
  out->buffers = (const void **)(void *)(out->children + nodes);
  return MORTAR_OK;
}

void mtr_batch_block_free(struct mtr_batch_block *block)
{
  struct mtr_slab *slab;

  if (!block) return;
  slab = block->slab;
  if (block->size) mtr_free(&slab->alloc, block, block->size);
  mtr_slab_unref(slab);
}

/* Marks the tree as released, but for children that were moved out, and counts it. */
static int64_t release_tree(struct ArrowArray *array)
{
  int64_t i, released = 1;

  for (i = 0; i < array->n_children; i++)
    if (array->children[i]->release) released += release_tree(array->children[i]);
  array->release = NULL;
  return released;
}

static void release_array(struct ArrowArray *array)
{
  struct mtr_batch_block *block = array->private_data;
  int64_t released = release_tree(array);

  if (atomic_fetch_sub_explicit(&block->count, released, memory_order_acq_rel) == released)
    mtr_batch_block_free(block);
}

void mtr_batch_block_begin(struct mtr_batch_parts *parts, const struct mtr_arrow_field *field,
                           struct ArrowArray *out)
{
  int64_t i;

  out->length = out->null_count = out->offset = 0;
  out->n_buffers = mtr_arrow_buffer_count(field->type);
  out->n_children = field->child_count;
  out->buffers = parts->buffers;
  out->children = field->child_count ? parts->children : NULL;
  out->dictionary = NULL;
  out->release = release_array;
  out->private_data = parts->block;
  parts->buffers += out->n_buffers;
  parts->children += out->n_children;
  for (i = 0; i < out->n_children; i++)
    out->children[i] = parts->arrays++;
}

void mtr_arrow_truncate(struct ArrowArray *batch, int64_t rows)
{
  int64_t i;

  batch->length = rows;
  for (i = 0; i < batch->n_children; i++) {
    struct ArrowArray *column = batch->children[i];
    column->length = rows;
    if (column->n_buffers == 0)
      column->null_count = rows;
    else if (column->null_count != 0)
      column->null_count = rows - mtr_bits_count(column->buffers[0], 0, rows);
  }
}
