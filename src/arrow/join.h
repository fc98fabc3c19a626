/* Several batches of one schema as one: for consumers that pay for each batch. Copies every value.
 */
#ifndef MTR_ARROW_JOIN_H
#define MTR_ARROW_JOIN_H

#include "arrow/schema.h"
#include "arrow/slab.h"

/* What one join leaves for the next: no allocation in the steady state. Value in the caller's
 * storage; one thread at a time. */
struct mtr_joiner {
  const struct mortar_alloc *alloc;
  struct mtr_slab *slab; /* of the last joined batch, NULL: none */
  struct mtr_arena scratch;
};

/* alloc as everywhere; it must outlive the joiner, and is copied for the batches. Cannot fail. */
void mtr_joiner_init(struct mtr_joiner *joiner, const struct mortar_alloc *alloc);
/* Keeps the memory that is small and its own. */
void mtr_joiner_rest(struct mtr_joiner *joiner);
void mtr_joiner_fini(struct mtr_joiner *joiner);

/* The rows of n struct arrays, in order; the arrays stay the caller's. Any offsets, at any level.
 * n >= 1. MORTAR_LIMIT when one column's text or items would pass what 32-bit offsets can say. *out
 * does not depend on the joiner. */
MORTAR_MUST_USE enum mortar_status mtr_joiner_join(struct mtr_joiner *joiner,
                                                   const struct mtr_arrow_schema *schema,
                                                   const struct ArrowArray *batches, size_t n,
                                                   struct ArrowArray *out,
                                                   struct mortar_error *err);

/* The same, once. */
MORTAR_MUST_USE enum mortar_status mtr_arrow_join(const struct mtr_arrow_schema *schema,
                                                  const struct ArrowArray *batches, size_t n,
                                                  const struct mortar_alloc *alloc,
                                                  struct ArrowArray *out, struct mortar_error *err);

#endif
