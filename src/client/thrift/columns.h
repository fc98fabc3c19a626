/* From the Thrift columns of one page to one Arrow batch.
 *
 * Numbers change their byte order, nulls their sense (a set bit means null on the wire, valid in
 * Arrow), decimals, dates and timestamps are read from their text. What does not match the schema,
 * or has no exact value in it, is an error: never a shifted column, never a rounded cell. */
#ifndef MTR_CLIENT_THRIFT_COLUMNS_H
#define MTR_CLIENT_THRIFT_COLUMNS_H

#include "client/backend.h"
#include "codec/thrift/tcli.h"

/* Makes page hold the columns of set, which has some. They lie in the channel, as set does. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_take_columns(const struct mtr_TRowSet *set,
                                                           struct mtr_arena *arena,
                                                           struct mtr_page *page,
                                                           struct mortar_error *err);

#endif
