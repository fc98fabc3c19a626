/* One page of rows in the making. Three layouts, one table of functions for each: Arrow record
 * batches for clients that read them, Thrift columns for those that do not, and rows for Hive's
 * protocols before version 6.
 *
 * A page takes rows until it is finished; what finish gave lives until reset. One thread. */
#ifndef KILN_SERVER_PAGE_H
#define KILN_SERVER_PAGE_H

#include "arrow/schema.h"
#include "codec/thrift/tcli.h"
#include "kiln/server/rows.h"

/* The most that a page may hold: room for one batch of very long values beyond what rows.c stops
 * at, and far away from Thrift's signed lengths. */
enum { KILN_PAGE_HARD_LIMIT = 1024 * 1024 * 1024 };

struct kiln_page;

struct kiln_page_layout {
  int32_t result_format; /* MTR_ROWSET_... */
  /* Adds `count` rows of batch from row `first` on. */
  enum mortar_status (*append)(struct kiln_page *page, const struct ArrowArray *batch,
                               int64_t first, int64_t count, struct mortar_error *err);
  /* Sets the member of out that this layout has, and `rows`, which every TRowSet must have. */
  enum mortar_status (*finish)(struct kiln_page *page, struct mtr_TRowSet *out,
                               struct mortar_error *err);
  void (*reset)(struct kiln_page *page);
  void (*free)(struct kiln_page *page);
};

/* The first member of each layout's struct. */
struct kiln_page {
  const struct kiln_page_layout *layout;
  int64_t plain_bytes, sent_bytes; /* before and after compressing; sent ones known at finish */
};

/* The columns of a stream, in both forms. They outlive the page. */
struct kiln_page_source {
  const struct mtr_arrow_schema *schema;
  const struct ArrowSchema *c_schema;
};

MORTAR_MUST_USE enum mortar_status kiln_page_arrow_new(const struct kiln_page_source *source,
                                                       const struct kiln_rows_options *options,
                                                       struct kiln_page **out,
                                                       struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status kiln_page_columns_new(const struct kiln_page_source *source,
                                                         struct kiln_page **out,
                                                         struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status kiln_page_rows_new(const struct kiln_page_source *source,
                                                      struct kiln_page **out,
                                                      struct mortar_error *err);

#endif
