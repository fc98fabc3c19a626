/* Counted memory, see slab.h. Refuses nothing: the limit is that of its buffer. */
#include "arrow/slab.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"

enum mortar_status mtr_slab_new(const struct mortar_alloc *alloc, size_t max, struct mtr_slab **out,
                                struct mortar_error *err)
{
  struct mtr_slab *slab = mtr_calloc(alloc, 1, sizeof *slab);

  *out = NULL;
  if (!slab) return mtr_fail_nomem(err, "slab of decoded batches");
  slab->alloc = alloc && alloc->fn ? *alloc : *mtr_alloc_default();
  mtr_buf_init(&slab->buf, &slab->alloc, "slab of decoded batches", max);
  atomic_init(&slab->count, 1);
  *out = slab;
  return MORTAR_OK;
}

struct mtr_slab *mtr_slab_ref(struct mtr_slab *slab)
{
  atomic_fetch_add_explicit(&slab->count, 1, memory_order_relaxed);
  return slab;
}

void mtr_slab_unref(struct mtr_slab *slab)
{
  struct mortar_alloc alloc;

  /* Acquire and release: whoever frees must see what every other holder did with the memory. */
  if (!slab || atomic_fetch_sub_explicit(&slab->count, 1, memory_order_acq_rel) != 1) return;
  alloc = slab->alloc;
  mtr_buf_fini(&slab->buf);
  mtr_free(&alloc, slab, sizeof *slab);
}
