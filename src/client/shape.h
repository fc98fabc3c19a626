/* What follows from a result's schema, derived once and kept: the Arrow schema and the SQL types.
 * Immutable and counted. A cache finds it again by the bytes of the schema as the server sent it,
 * so that a statement that runs often derives nothing. */
#ifndef MTR_CLIENT_SHAPE_H
#define MTR_CLIENT_SHAPE_H

#include <pthread.h>

#include "arrow/schema.h"

struct mtr_shape {
  struct mortar_alloc alloc;
  _Atomic int64_t count;
  uint64_t id;            /* never 0 */
  struct mtr_arena arena; /* everything below lives here */
  struct mtr_arrow_schema schema;
  const char **type_names; /* one for each column, ended with NUL */
  struct mtr_span key;     /* the Schema message it was made from */
};

/* Derives a shape from an encapsulated Arrow Schema message; empty bytes: no columns. Count 1. */
MORTAR_MUST_USE enum mortar_status mtr_shape_new(const struct mortar_alloc *alloc,
                                                 struct mtr_span schema_message, uint64_t id,
                                                 struct mtr_shape **out, struct mortar_error *err);
struct mtr_shape *mtr_shape_ref(struct mtr_shape *shape);
void mtr_shape_unref(struct mtr_shape *shape); /* NULL is fine */

/* OK when a Schema message, as it may stand before a batch, says what the shape was made from, but
 * for names of columns: a server that keeps results sends those of the statement that it first ran.
 * CORRUPT when it does not. */
MORTAR_MUST_USE enum mortar_status mtr_shape_check(const struct mtr_shape *shape,
                                                   struct mtr_span schema_message,
                                                   struct mortar_error *err);

enum { MTR_SHAPE_CACHE_SIZE = 64 }; /* statements of one program are few; a scan of 64 is short */

/* Most recently used first. Any thread; its lock is held for a scan and a move only. */
struct mtr_shape_cache {
  pthread_mutex_t lock;
  struct mtr_shape *shapes[MTR_SHAPE_CACHE_SIZE];
  size_t used;
  uint64_t next_id;
  uint64_t hits, misses;
};

void mtr_shape_cache_init(struct mtr_shape_cache *cache);
void mtr_shape_cache_fini(struct mtr_shape_cache *cache);

/* The shape for these bytes, found or made, with one count for the caller. */
MORTAR_MUST_USE enum mortar_status mtr_shape_cache_get(struct mtr_shape_cache *cache,
                                                       const struct mortar_alloc *alloc,
                                                       struct mtr_span schema_message,
                                                       struct mtr_shape **out,
                                                       struct mortar_error *err);

#endif
