/* The C library's allocator behind the interface of mortar_alloc, and checked sizes. The only file
 * of src/ that calls realloc and free. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *libc_fn(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  (void)ctx;
  (void)old_size;
  if (new_size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, new_size);
}

const struct mortar_alloc *mtr_alloc_default(void)
{
  static const struct mortar_alloc libc = {libc_fn, NULL};
  return &libc;
}

static const struct mortar_alloc *or_default(const struct mortar_alloc *alloc)
{
  return alloc && alloc->fn ? alloc : mtr_alloc_default();
}

void *mtr_malloc(const struct mortar_alloc *alloc, size_t size)
{
  alloc = or_default(alloc);
  return alloc->fn(alloc->ctx, NULL, 0, size ? size : 1);
}

void *mtr_calloc(const struct mortar_alloc *alloc, size_t count, size_t size)
{
  size_t total;
  void *p;

  if (!mtr_size_mul(count, size, &total)) return NULL;
  p = mtr_malloc(alloc, total);
  if (p) memset(p, 0, total);
  return p;
}

void *mtr_realloc(const struct mortar_alloc *alloc, void *ptr, size_t old_size, size_t new_size)
{
  alloc = or_default(alloc);
  return alloc->fn(alloc->ctx, ptr, old_size, new_size ? new_size : 1);
}

void mtr_free(const struct mortar_alloc *alloc, void *ptr, size_t size)
{
  if (!ptr) return;
  alloc = or_default(alloc);
  (void)alloc->fn(alloc->ctx, ptr, size ? size : 1, 0);
}

char *mtr_strndup(const struct mortar_alloc *alloc, const char *text, size_t size)
{
  char *copy = size < SIZE_MAX ? mtr_malloc(alloc, size + 1) : NULL;

  if (!copy) return NULL;
  if (size) memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

void mtr_free_text(const struct mortar_alloc *alloc, char *text)
{
  if (text) mtr_free(alloc, text, strlen(text) + 1);
}

bool mtr_size_mul(size_t a, size_t b, size_t *out)
{
  if (b && a > SIZE_MAX / b) return false;
  *out = a * b;
  return true;
}

bool mtr_size_add(size_t a, size_t b, size_t *out)
{
  if (a > SIZE_MAX - b) return false;
  *out = a + b;
  return true;
}
