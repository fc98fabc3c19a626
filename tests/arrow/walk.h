/* Reads every byte that a consumer of Arrow arrays may read, and sums it up: equal rows give equal
 * sums whatever their layout in memory. Under AddressSanitizer it is the judge of the reader. */
#ifndef MTR_TESTS_ARROW_WALK_H
#define MTR_TESTS_ARROW_WALK_H

#include "arrow/schema.h"

/* Rows [first, first + rows) of a struct array of schema. */
uint64_t walk_batch(const struct mtr_arrow_schema *schema, const struct ArrowArray *batch,
                    int64_t first, int64_t rows);

/* The nulls of a column as the bits say, for comparing with null_count. */
int64_t walk_nulls(const struct ArrowArray *array);

#endif
