/* Chunks that double in size up to a bound; freed all at once, never one object at a time. */
#include "base/arena.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { ALIGNMENT = 16, FIRST_CHUNK = 2048, LARGEST_CHUNK = 1 << 20 };

struct mtr_arena_chunk {
  struct mtr_arena_chunk *next;
  size_t capacity; /* of bytes[] */
  _Alignas(ALIGNMENT) unsigned char bytes[];
};

void mtr_arena_init(struct mtr_arena *arena, const struct mortar_alloc *alloc, size_t max)
{
  memset(arena, 0, sizeof *arena);
  arena->alloc = alloc;
  arena->max = max;
}

static void free_chunks(struct mtr_arena *arena, struct mtr_arena_chunk *chunk)
{
  while (chunk) {
    struct mtr_arena_chunk *next = chunk->next;
    mtr_free(arena->alloc, chunk, sizeof *chunk + chunk->capacity);
    chunk = next;
  }
}

void mtr_arena_reset(struct mtr_arena *arena)
{
  if (!arena->head) return;
  free_chunks(arena, arena->head->next);
  arena->head->next = NULL;
  arena->total = arena->head->capacity;
  memset(arena->head->bytes, 0, arena->total - arena->left);
  arena->next = arena->head->bytes;
  arena->left = arena->total;
}

void mtr_arena_fini(struct mtr_arena *arena)
{
  free_chunks(arena, arena->head);
  arena->head = NULL;
  arena->next = NULL;
  arena->left = arena->total = 0;
}

static bool add_chunk(struct mtr_arena *arena, size_t need)
{
  size_t want = arena->head ? arena->head->capacity * 2 : FIRST_CHUNK;
  struct mtr_arena_chunk *chunk;

  if (want > LARGEST_CHUNK) want = LARGEST_CHUNK;
  if (want < need) want = need;
  if (arena->total > arena->max || want > arena->max - arena->total) want = need;
  arena->full = want > arena->max || arena->total > arena->max - want;
  if (arena->full) return false;
  chunk = mtr_calloc(arena->alloc, 1, sizeof *chunk + want);
  if (!chunk) return false;
  chunk->capacity = want;
  chunk->next = arena->head;
  arena->head = chunk;
  arena->total += want;
  arena->next = chunk->bytes;
  arena->left = want;
  return true;
}

void *mtr_arena_alloc(struct mtr_arena *arena, size_t count, size_t size)
{
  size_t n;
  void *p;

  if (!mtr_size_mul(count, size, &n) || n > SIZE_MAX - ALIGNMENT - sizeof(struct mtr_arena_chunk)) {
    arena->full = true;
    return NULL;
  }
  n = (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (!arena->head || n > arena->left)
    if (!add_chunk(arena, n ? n : ALIGNMENT)) return NULL;
  p = arena->next;
  arena->next += n;
  arena->left -= n;
  return p;
}

char *mtr_arena_text(struct mtr_arena *arena, const void *text, size_t size)
{
  char *copy = size < SIZE_MAX ? mtr_arena_alloc(arena, 1, size + 1) : NULL;

  if (copy && size) memcpy(copy, text, size);
  return copy;
}

enum mortar_status mtr_arena_fail(const struct mtr_arena *arena, struct mortar_error *err,
                                  const char *what)
{
  if (!arena->full) return mtr_fail_nomem(err, what);
  return mtr_fail(err, MORTAR_LIMIT, "%s crosses its limit of %zu bytes of memory", what,
                  arena->max);
}
