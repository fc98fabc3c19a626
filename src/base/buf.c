/* Growth by doubling up to the stated maximum. Never shrinks but by mtr_buf_trim. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_CAPACITY = 256 };

void mtr_buf_init(struct mtr_buf *buf, const struct mortar_alloc *alloc, const char *what,
                  size_t max)
{
  memset(buf, 0, sizeof *buf);
  buf->alloc = alloc;
  buf->what = what;
  buf->max = max;
}

void mtr_buf_reset(struct mtr_buf *buf) { buf->size = 0; }

void mtr_buf_fini(struct mtr_buf *buf)
{
  mtr_free(buf->alloc, buf->data, buf->capacity);
  buf->data = NULL;
  buf->size = buf->capacity = 0;
}

void mtr_buf_trim(struct mtr_buf *buf, size_t keep)
{
  if (buf->capacity > keep) mtr_buf_fini(buf);
}

enum mortar_status mtr_buf_reserve(struct mtr_buf *buf, size_t n, struct mortar_error *err)
{
  size_t need, cap;
  uint8_t *grown;

  if (n <= buf->capacity - buf->size) return MORTAR_OK;
  if (!mtr_size_add(buf->size, n, &need) || need > buf->max)
    return mtr_fail(err, MORTAR_LIMIT, "%s of %zu and %zu more bytes crosses its limit of %zu",
                    buf->what, buf->size, n, buf->max);
  cap = buf->capacity > buf->max / 2 ? buf->max : buf->capacity * 2;
  if (cap < FIRST_CAPACITY) cap = FIRST_CAPACITY;
  if (cap > buf->max) cap = buf->max;
  if (cap < need) cap = need;
  grown = mtr_realloc(buf->alloc, buf->data, buf->capacity, cap);
  if (!grown) return mtr_fail_nomem(err, buf->what);
  buf->data = grown;
  buf->capacity = cap;
  return MORTAR_OK;
}

enum mortar_status mtr_buf_append(struct mtr_buf *buf, const void *data, size_t n,
                                  struct mortar_error *err)
{
  MTR_TRY(mtr_buf_reserve(buf, n, err));
  if (n) memcpy(buf->data + buf->size, data, n);
  buf->size += n;
  return MORTAR_OK;
}

enum mortar_status mtr_buf_printf(struct mtr_buf *buf, struct mortar_error *err, const char *fmt,
                                  ...)
{
  va_list args;
  int n;

  va_start(args, fmt);
  n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0) return mtr_fail(err, MORTAR_INVALID, "%s: text can't be formatted", buf->what);
  MTR_TRY(mtr_buf_reserve(buf, (size_t)n + 1, err));
  va_start(args, fmt);
  (void)vsnprintf((char *)buf->data + buf->size, (size_t)n + 1, fmt, args);
  va_end(args);
  buf->size += (size_t)n;
  return MORTAR_OK;
}
