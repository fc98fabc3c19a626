/* Many small objects that die together. Value in the caller's storage.
 *
 * init cannot fail; reset forgets the objects and keeps one chunk, so that a steady state
 * allocates nothing; fini frees. Crossing the maximum gives NULL, like memory that ran out. */
#ifndef MTR_BASE_ARENA_H
#define MTR_BASE_ARENA_H

#include "mortar/mortar.h"

struct mtr_arena_chunk;

struct mtr_arena {
  struct mtr_arena_chunk *head; /* the chunk in use; older ones hang behind it */
  size_t used, total, max;      /* bytes used of head; bytes of all chunks; their limit */
  const struct mortar_alloc *alloc;
};

void mtr_arena_init(struct mtr_arena *arena, const struct mortar_alloc *alloc, size_t max);
void mtr_arena_reset(struct mtr_arena *arena);
void mtr_arena_fini(struct mtr_arena *arena);

/* Zeroed memory, aligned to 16 bytes; NULL when there is none. size 0 gives a valid pointer. */
void *mtr_arena_alloc(struct mtr_arena *arena, size_t count, size_t size);

/* A copy of size bytes with a NUL behind them. */
char *mtr_arena_text(struct mtr_arena *arena, const void *text, size_t size);

#endif
