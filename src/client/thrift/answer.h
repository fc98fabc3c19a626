/* From the structs of a reply to a mtr_answer. Points into the channel like they do. */
#ifndef MTR_CLIENT_THRIFT_ANSWER_H
#define MTR_CLIENT_THRIFT_ANSWER_H

#include "client/backend.h"
#include "codec/thrift/tcli.h"

MORTAR_MUST_USE enum mortar_status mtr_thrift_take_handle(const struct mtr_THandleIdentifier *id,
                                                          struct mtr_handle *out,
                                                          struct mortar_error *err);

MORTAR_MUST_USE enum mortar_status mtr_thrift_take_operation(
    const struct mtr_TOperationHandle *operation, struct mtr_handle *out, struct mortar_error *err);

/* The operation's state: sets live, pending and rows_affected, or fails when it ended badly. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_take_state(
    const struct mtr_TGetOperationStatusResp *state, struct mtr_answer *out,
    struct mortar_error *err);

/* meta's schema is a struct that the reader left on the wire; it is decoded only where it matters.
 */
MORTAR_MUST_USE enum mortar_status mtr_thrift_take_metadata(
    const struct mtr_TGetResultSetMetadataResp *meta, struct mtr_arena *arena,
    struct mtr_answer *out, struct mortar_error *err);

/* reliable_more: the server's hasMoreRows means something (Databricks); otherwise the end is the
 * first page without rows. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_take_rows(const struct mtr_TFetchResultsResp *rows,
                                                        bool reliable_more, struct mtr_arena *arena,
                                                        struct mtr_answer *out,
                                                        struct mortar_error *err);

MORTAR_MUST_USE enum mortar_status mtr_thrift_take_execute(
    const struct mtr_TExecuteStatementResp *resp, bool reliable_more, struct mtr_arena *arena,
    struct mtr_answer *out, struct mortar_error *err);

#endif
