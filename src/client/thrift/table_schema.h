/* The columns of a result that comes as Thrift columns or without an Arrow schema. The Thrift
 * schema is written as an Arrow Schema message, so that everything above knows one kind of schema
 * only. */
#ifndef MTR_CLIENT_THRIFT_TABLE_SCHEMA_H
#define MTR_CLIENT_THRIFT_TABLE_SCHEMA_H

#include "codec/thrift/tcli.h"

/* `left` was left on the wire by the reader; NULL or no columns give an empty message. *message
 * lives in arena. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_table_schema(const struct mtr_TTableSchema *left,
                                                           struct mtr_arena *arena,
                                                           struct mtr_span *message,
                                                           struct mortar_error *err);

#endif
