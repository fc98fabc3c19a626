/* Several batches of one schema as one: for consumers that pay for each batch. Copies every value.
 */
#ifndef MTR_ARROW_JOIN_H
#define MTR_ARROW_JOIN_H

#include "arrow/schema.h"

/* The rows of n struct arrays, in order; the arrays stay the caller's. Any offsets, at any level.
 * n >= 1. MORTAR_LIMIT when one column's text or items would pass what 32-bit offsets can say. */
MORTAR_MUST_USE enum mortar_status mtr_arrow_join(const struct mtr_arrow_schema *schema,
                                                  const struct ArrowArray *batches, size_t n,
                                                  const struct mortar_alloc *alloc,
                                                  struct ArrowArray *out, struct mortar_error *err);

#endif
