/* Plans by statement text and current names, so that a statement that comes again is not
 * translated again. Bounded in entries and in bytes; the one that was used longest ago goes first.
 * Any thread. */
#ifndef KILN_ENGINE_TRANSLATE_PLAN_CACHE_H
#define KILN_ENGINE_TRANSLATE_PLAN_CACHE_H

#include "kiln/engine/translate/plan.h"

struct kiln_plan_cache;

/* What a plan depends on. */
struct kiln_plan_key {
  struct mtr_span sql, catalog, schema;
  struct mtr_span parameters; /* names and types, encoded as fields */
  struct mtr_span valued;     /* the same with values, which the cache does not look at */
};

MORTAR_MUST_USE enum mortar_status kiln_plan_cache_new(size_t max_entries, size_t max_bytes,
                                                       struct kiln_plan_cache **out,
                                                       struct mortar_error *err);

/* A reference for the caller, or NULL. */
struct kiln_plan *kiln_plan_cache_get(struct kiln_plan_cache *cache,
                                      const struct kiln_plan_key *key);

/* Keeps a reference of its own. Memory that runs out, or a plan too large to keep, is no failure:
 * the plan is then not kept. */
void kiln_plan_cache_put(struct kiln_plan_cache *cache, const struct kiln_plan_key *key,
                         struct kiln_plan *plan);
void kiln_plan_cache_free(struct kiln_plan_cache *cache);

#endif
