/* Counts, fails the n-th call, moves every block at each resize, and checks sizes. */
#include "tests/support/failing_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each block has its size before it, so that a wrong old size is seen. */
enum { HEADER = 16 };

static void *fn(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  struct failing_alloc *fa = ctx;
  unsigned char *block = ptr ? (unsigned char *)ptr - HEADER : NULL;
  size_t have = 0;

  if (block) {
    memcpy(&have, block, sizeof have);
    if (have != old_size) fa->size_mismatches++;
  }
  if (new_size == 0) {
    if (!block) return NULL;
    fa->live--;
    fa->live_bytes -= (long)have;
    memset(ptr, 0xDD, have);
    free(block);
    return NULL;
  }
  if (++fa->calls == fa->fail_at) {
    fa->failed = true;
    return NULL;
  }
  {
    /* Always a new block, so that a kept old pointer is caught. */
    unsigned char *fresh = malloc(HEADER + new_size);
    if (!fresh) abort();
    memcpy(fresh, &new_size, sizeof new_size);
    memset(fresh + HEADER, 0xCC, new_size);
    if (block) {
      memcpy(fresh + HEADER, ptr, have < new_size ? have : new_size);
      memset(ptr, 0xDD, have);
      free(block);
    } else {
      fa->live++;
    }
    fa->live_bytes += (long)new_size - (long)have;
    return fresh + HEADER;
  }
}

void failing_alloc_init(struct failing_alloc *fa, long fail_at)
{
  memset(fa, 0, sizeof *fa);
  fa->alloc.fn = fn;
  fa->alloc.ctx = fa;
  fa->fail_at = fail_at;
}

bool failing_alloc_next(struct failing_alloc *fa)
{
  bool first = fa->fail_at < 0;
  long next = first ? 1 : fa->fail_at + 1, rounds = fa->rounds;

  if (fa->live || fa->size_mismatches) {
    fprintf(stderr, "round %ld: %ld blocks (%ld bytes) left, %ld wrong sizes\n", fa->fail_at,
            fa->live, fa->live_bytes, fa->size_mismatches);
    abort();
  }
  if (!first && !fa->failed) return false;
  failing_alloc_init(fa, next);
  fa->rounds = rounds + 1;
  return true;
}
