/* The metadata calls of TCLIService: nine requests that differ in their filters, one layout of
 * replies, which is TExecuteStatementResp. Both ends use this. */
#ifndef MTR_CODEC_THRIFT_METADATA_H
#define MTR_CODEC_THRIFT_METADATA_H

#include "codec/thrift/tcli.h"

/* Columns: kind, call, operationType of its handle (servers of Hive's family know the keys' calls
 * by that of functions). */
#define MTR_METADATA_MAP(X)                                                                        \
  X(CATALOGS, GetCatalogs, 2)                                                                      \
  X(SCHEMAS, GetSchemas, 3)                                                                        \
  X(TABLES, GetTables, 4)                                                                          \
  X(COLUMNS, GetColumns, 5)                                                                        \
  X(TABLE_TYPES, GetTableTypes, 6)                                                                 \
  X(TYPE_INFO, GetTypeInfo, 1)                                                                     \
  X(FUNCTIONS, GetFunctions, 7)                                                                    \
  X(PRIMARY_KEYS, GetPrimaryKeys, 7)                                                               \
  X(CROSS_REFERENCE, GetCrossReference, 7)

/* "GetTables"; NULL for a number that is no kind. */
const char *mtr_metadata_call_name(enum mortar_metadata_kind kind);
/* The kind of a call; false: it is no metadata call. */
bool mtr_metadata_kind_of(struct mtr_span call_name, enum mortar_metadata_kind *out);
int32_t mtr_metadata_operation_type(enum mortar_metadata_kind kind);

/* A request in terms of its filters. */
struct mtr_metadata_call {
  struct mortar_metadata what;
  struct mtr_TSessionHandle *session;
  struct mtr_TSparkGetDirectResults *direct; /* NULL: not asked for */
  bool run_async;                            /* with direct only */
};

/* The request struct of the call's kind, in arena; it points into call. A filter that the kind does
 * not take is left out. */
MORTAR_MUST_USE enum mortar_status mtr_metadata_to_request(const struct mtr_metadata_call *call,
                                                           struct mtr_arena *arena, void **request,
                                                           struct mortar_error *err);

/* The other way round. Texts are copied into arena; INVALID when one holds NUL. */
MORTAR_MUST_USE enum mortar_status mtr_metadata_from_request(enum mortar_metadata_kind kind,
                                                             const void *request,
                                                             struct mtr_arena *arena,
                                                             struct mtr_metadata_call *out,
                                                             struct mortar_error *err);

#endif
