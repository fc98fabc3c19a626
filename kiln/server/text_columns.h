/* Arrow batches as Databricks' protocols before V5 have them: decimals, intervals and nested values
 * are text, the same as in Thrift columns. All other columns stay what they are, and are not
 * copied. */
#ifndef KILN_SERVER_TEXT_COLUMNS_H
#define KILN_SERVER_TEXT_COLUMNS_H

#include "kiln/server/cell.h"

struct kiln_text_columns {
  struct kiln_cells cells;
  struct mtr_arena arena;       /* schema */
  struct mtr_arrow_schema wire; /* what the batches are then */
  struct mtr_arena batch_arena; /* the current batch */
};

MORTAR_MUST_USE enum mortar_status kiln_text_columns_init(struct kiln_text_columns *t,
                                                          const struct kiln_page_source *source,
                                                          struct mortar_error *err);
void kiln_text_columns_fini(struct kiln_text_columns *t);

/* `count` rows of batch from row `first` on, as a batch of t->wire that owns nothing. It lives
 * until the next call. */
MORTAR_MUST_USE enum mortar_status kiln_text_columns_view(struct kiln_text_columns *t,
                                                          const struct ArrowArray *batch,
                                                          int64_t first, int64_t count,
                                                          struct ArrowArray *out,
                                                          struct mortar_error *err);

#endif
