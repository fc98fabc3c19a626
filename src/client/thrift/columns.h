/* From the Thrift columns of one page to one Arrow batch.
 *
 * Numbers change their byte order, nulls their sense (a set bit means null on the wire, valid in
 * Arrow), decimals, dates and timestamps are read from their text. What does not match the schema,
 * or has no exact value in it, is an error: never a shifted column, never a rounded cell. */
#ifndef MTR_CLIENT_THRIFT_COLUMNS_H
#define MTR_CLIENT_THRIFT_COLUMNS_H

#include "client/backend.h"
#include "client/thrift/column_values.h"
#include "codec/thrift/tcli.h"

/* The columns of a page; all have the same number of values. */
struct mtr_thrift_columns {
  size_t count, rows;
  struct mtr_thrift_column items[];
};

/* Makes page hold the columns of set, which has some. They lie in the channel, as set does. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_take_columns(const struct mtr_TRowSet *set,
                                                           struct mtr_arena *arena,
                                                           struct mtr_page *page,
                                                           struct mortar_error *err);

/* What build of such a page does: one batch of the columns, which are copied. out->release NULL on
 * failure. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_build_columns(
    const struct mtr_thrift_columns *columns, const struct mtr_arrow_schema *schema,
    const struct mortar_alloc *alloc, struct ArrowArray *out, struct mortar_error *err);

#endif
