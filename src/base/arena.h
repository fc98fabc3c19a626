/* Many small objects that die together. Value in the caller's storage.
 *
 * init cannot fail; reset forgets the objects and keeps one chunk, so that a steady state
 * allocates nothing; fini frees. Crossing the maximum gives NULL, like memory that ran out;
 * mtr_arena_fail tells them apart. */
#ifndef MTR_BASE_ARENA_H
#define MTR_BASE_ARENA_H

#include "mortar/mortar.h"

struct mtr_arena_chunk;

/* What is free is zero already: reset clears what was used, so that no object needs clearing. */
struct mtr_arena {
  struct mtr_arena_chunk *head; /* the chunk in use; older ones hang behind it */
  unsigned char *next;          /* the free bytes of head; NULL without a chunk */
  size_t left, total, max;      /* bytes at next, a multiple of 16; of all chunks; their limit */
  const struct mortar_alloc *alloc;
  bool full; /* what gave NULL last was max, not the allocator */
};

void mtr_arena_init(struct mtr_arena *arena, const struct mortar_alloc *alloc, size_t max);
void mtr_arena_reset(struct mtr_arena *arena);
void mtr_arena_fini(struct mtr_arena *arena);

/* Zeroed memory, aligned to 16 bytes; NULL when there is none. size 0 gives a valid pointer. */
void *mtr_arena_alloc(struct mtr_arena *arena, size_t count, size_t size);

/* The same for one object, without a call as long as it is smaller than what is left of the chunk:
 * then its size can be rounded up, too. */
static inline void *mtr_arena_one(struct mtr_arena *arena, size_t size)
{
  void *p = arena->next;
  size_t rounded;

  if (size >= arena->left) return mtr_arena_alloc(arena, 1, size);
  rounded = (size + 15) & ~(size_t)15;
  arena->next += rounded;
  arena->left -= rounded;
  return p;
}

/* A copy of size bytes with a NUL behind them. */
char *mtr_arena_text(struct mtr_arena *arena, const void *text, size_t size);

/* The error of an allocation that gave NULL: LIMIT where it would have crossed the arena's maximum,
 * so that a peer's bytes do not look like a machine without memory; NOMEM otherwise. */
enum mortar_status mtr_arena_fail(const struct mtr_arena *arena, struct mortar_error *err,
                                  const char *what);

#endif
