/* Counted memory that decoded batches live in: filled by one owner, then lent to any number of
 * Arrow arrays, each of which holds one count. Unref on any thread; it takes no lock. */
#ifndef MTR_ARROW_SLAB_H
#define MTR_ARROW_SLAB_H

#include "base/buf.h"

/* What a slab may hold and be kept for the next use, see mtr_slab_rest. */
enum { MTR_SLAB_KEEP = 128 * 1024 };

/* Where batches and buffers of one slab begin: at multiples of this. */
enum { MTR_SLAB_ALIGNMENT = 64 };

/* size and the gap behind it. */
static inline size_t mtr_slab_align(size_t size)
{
  return (size + MTR_SLAB_ALIGNMENT - 1) & ~(size_t)(MTR_SLAB_ALIGNMENT - 1);
}

struct mtr_slab {
  struct mtr_buf buf; /* grows only while count is 1; never after the first array points into it */
  size_t carved;      /* bytes at the end of buf's capacity that mtr_slab_carve gave away */
  struct mortar_alloc alloc; /* a copy, since the slab may outlive every handle */
  _Atomic int64_t count;
};

/* A slab with count 1, whose buffer may grow to max bytes. */
MORTAR_MUST_USE enum mortar_status mtr_slab_new(const struct mortar_alloc *alloc, size_t max,
                                                struct mtr_slab **out, struct mortar_error *err);
/* Makes *slab an empty one with count 1: that which is there if nobody else holds it, else a new
 * one. *slab may be NULL. */
MORTAR_MUST_USE enum mortar_status mtr_slab_renew(struct mtr_slab **slab,
                                                  const struct mortar_alloc *alloc, size_t max,
                                                  struct mortar_error *err);

/* Empties *slab for a use that may come or not. Lets it go, and sets *slab to NULL, when somebody
 * else holds it, when it is large and little of that was used, or when more than
 * MTR_SLAB_KEEP bytes were. */
void mtr_slab_rest(struct mtr_slab **slab);

/* size bytes of what is left behind the buffer's bytes, aligned to 16, or NULL when that is too
 * little. They last as long as the slab. Not while others fill the buffer. */
void *mtr_slab_carve(struct mtr_slab *slab, size_t size);

/* Room for count pieces of size bytes behind the buffer's bytes, as mtr_slab_carve gives them. Does
 * nothing for a slab that passes MTR_SLAB_KEEP with it: that one is made anew each time anyway. */
MORTAR_MUST_USE enum mortar_status mtr_slab_reserve(struct mtr_slab *slab, size_t count,
                                                    size_t size, struct mortar_error *err);

/* True when nobody else holds it: then what was in it may be forgotten, and it is empty again. */
bool mtr_slab_reuse(struct mtr_slab *slab);

struct mtr_slab *mtr_slab_ref(struct mtr_slab *slab);
void mtr_slab_unref(struct mtr_slab *slab); /* NULL is fine */

#endif
