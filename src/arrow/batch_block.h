/* The memory of one batch: every ArrowArray of it, their pointers, in one piece: a corner of the
 * slab that has room, else an allocation.
 *
 *     [head][ArrowArray of each field, root left out][child pointers][buffer pointers]
 *
 * The block is counted by the arrays that are not released yet and holds one count of the slab
 * that the buffers point into. Children may be moved out and released after their parent, on any
 * thread. Knows nothing of IPC and checks nothing. */
#ifndef MTR_ARROW_BATCH_BLOCK_H
#define MTR_ARROW_BATCH_BLOCK_H

#include "arrow/schema.h"
#include "arrow/slab.h"

struct mtr_batch_block;

/* Hands out the parts of a block in depth-first order. */
struct mtr_batch_parts {
  struct mtr_batch_block *block;
  struct ArrowArray *arrays;
  struct ArrowArray **children;
  const void **buffers;
};

/* The bytes of one block. */
size_t mtr_batch_block_size(const struct mtr_arrow_schema *schema);

/* Takes one count of slab, which must not be NULL. The parts are not zeroed. */
MORTAR_MUST_USE enum mortar_status mtr_batch_block_new(const struct mtr_arrow_schema *schema,
                                                       struct mtr_slab *slab,
                                                       struct mtr_batch_parts *out,
                                                       struct mortar_error *err);

/* For a block whose arrays were never handed to anyone. NULL is fine. */
void mtr_batch_block_free(struct mtr_batch_block *block);

/* Gives an array its pointers and its release; the lengths and the buffers are the caller's to
 * fill, and each child is to be begun in turn. */
void mtr_batch_block_begin(struct mtr_batch_parts *parts, const struct mtr_arrow_field *field,
                           struct ArrowArray *out);

#endif
