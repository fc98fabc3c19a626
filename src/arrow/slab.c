/* Counted memory, see slab.h. Refuses nothing: the limit is that of its buffer. */
#include "arrow/slab.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
  CARVE_ALIGNMENT = 16,
  KEEP_UNUSED = 32 * 1024, /* kept however little of it is used */
  MOST_UNUSED = 8          /* of a larger one at least an eighth must be */
};

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

static size_t round_up(size_t size)
{
  return (size + CARVE_ALIGNMENT - 1) / CARVE_ALIGNMENT * CARVE_ALIGNMENT;
}

enum mortar_status mtr_slab_reserve(struct mtr_slab *slab, size_t count, size_t size,
                                    struct mortar_error *err)
{
  /* The end of the capacity need not be aligned. */
  const size_t piece = round_up(size), used = slab->buf.size + CARVE_ALIGNMENT;
  size_t need;

  if (used > MTR_SLAB_KEEP || count > (MTR_SLAB_KEEP - used) / piece) return MORTAR_OK;
  need = count * piece + CARVE_ALIGNMENT;
  /* The usual case, without a call. */
  if (need <= slab->buf.capacity - slab->buf.size) return MORTAR_OK;
  return mtr_buf_reserve(&slab->buf, need, err);
}

void *mtr_slab_carve(struct mtr_slab *slab, size_t size)
{
  const size_t rounded = round_up(size);
  const size_t capacity = slab->buf.capacity / CARVE_ALIGNMENT * CARVE_ALIGNMENT;

  if (capacity < slab->carved || capacity - slab->carved < rounded ||
      capacity - slab->carved - rounded < slab->buf.size)
    return NULL;
  slab->carved += rounded;
  return slab->buf.data + (capacity - slab->carved);
}

bool mtr_slab_reuse(struct mtr_slab *slab)
{
  /* Acquire: what the last holder did with the memory is done. */
  if (!slab || atomic_load_explicit(&slab->count, memory_order_acquire) != 1) return false;
  mtr_buf_reset(&slab->buf);
  slab->carved = 0;
  return true;
}

enum mortar_status mtr_slab_renew(struct mtr_slab **slab, const struct mortar_alloc *alloc,
                                  size_t max, struct mortar_error *err)
{
  if (mtr_slab_reuse(*slab)) return MORTAR_OK;
  mtr_slab_unref(*slab);
  return mtr_slab_new(alloc, max, slab, err);
}

void mtr_slab_rest(struct mtr_slab **slab)
{
  const size_t used = *slab ? (*slab)->buf.size + (*slab)->carved : 0;

  if (mtr_slab_reuse(*slab) && used <= MTR_SLAB_KEEP &&
      ((*slab)->buf.capacity <= KEEP_UNUSED || (*slab)->buf.capacity / MOST_UNUSED <= used))
    return;
  mtr_slab_unref(*slab);
  *slab = NULL;
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
