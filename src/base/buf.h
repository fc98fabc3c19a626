/* A growable run of bytes with a stated maximum. Value in the caller's storage.
 *
 * init cannot fail, reset keeps the memory, fini frees it and leaves a valid empty value. Crossing
 * the maximum is MORTAR_LIMIT with both numbers and `what` in the text; a failed call changes
 * nothing. */
#ifndef MTR_BASE_BUF_H
#define MTR_BASE_BUF_H

#include "base/span.h"
#include "mortar/mortar.h"

struct mtr_buf {
  uint8_t *data; /* 16-byte aligned with the default allocator; NULL before the first byte */
  size_t size, capacity, max;
  const char *what; /* a constant, for errors: "reply body" */
  const struct mortar_alloc *alloc;
};

void mtr_buf_init(struct mtr_buf *buf, const struct mortar_alloc *alloc, const char *what,
                  size_t max);
void mtr_buf_reset(struct mtr_buf *buf);
void mtr_buf_fini(struct mtr_buf *buf);

/* Gives memory back when more than `keep` bytes are held; drops the contents then. */
void mtr_buf_trim(struct mtr_buf *buf, size_t keep);

/* Makes room for n more bytes behind size without adding them. */
MORTAR_MUST_USE enum mortar_status mtr_buf_reserve(struct mtr_buf *buf, size_t n,
                                                   struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status mtr_buf_append(struct mtr_buf *buf, const void *data, size_t n,
                                                  struct mortar_error *err);
MORTAR_PRINTF(3, 4)
MORTAR_MUST_USE enum mortar_status mtr_buf_printf(struct mtr_buf *buf, struct mortar_error *err,
                                                  const char *fmt, ...);

static inline struct mtr_span mtr_buf_span(const struct mtr_buf *buf)
{
  return mtr_span_of(buf->data, buf->size);
}

#endif
