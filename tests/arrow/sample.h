/* Made-up Arrow data for the tests: a schema with every type of the model, nested ones included,
 * and random batches of it. All of it lives in the caller's arena; release only marks. */
#ifndef MTR_TESTS_ARROW_SAMPLE_H
#define MTR_TESTS_ARROW_SAMPLE_H

#include "arrow/schema.h"

struct sample {
  struct mtr_arena arena;
  struct ArrowSchema c_schema;
  struct mtr_arrow_schema schema; /* imported from c_schema */
};

/* Every type, or only the columns [first, first + count) of that. Ends the test when it can't. */
void sample_init(struct sample *s);
void sample_init_some(struct sample *s, int64_t first, int64_t count);
void sample_fini(struct sample *s);

/* A batch of so many rows whose arrays lie at that offset, at every level. null_percent of the
 * nullable values are null. */
struct ArrowArray sample_batch(struct sample *s, uint32_t seed, int64_t rows, int64_t offset,
                               uint32_t null_percent);

#endif
