/* The nested replies, field by field as recorded warehouses fill them. Reads an operation whose
 * job has ended, or is the caller. */
#include "kiln/server/reply.h"

#include "codec/thrift/metadata.h"
#include "kiln/server/status.h"

struct handle_parts {
  struct mtr_TOperationHandle handle;
  struct mtr_THandleIdentifier id;
};

static int32_t type_of(const struct kiln_operation *op)
{
  const struct mortar_metadata *metadata = op->statement.metadata;

  return metadata ? mtr_metadata_operation_type(metadata->kind) : 0;
}

static void fill_handle(struct handle_parts *parts, const struct kiln_operation *op)
{
  struct mtr_THandleIdentifier *id = &parts->id;

  memset(parts, 0, sizeof *parts);
  MTR_SET(id, THandleIdentifier, guid, mtr_span_of(op->entry.id, KILN_ID_SIZE));
  MTR_SET(id, THandleIdentifier, secret, mtr_span_of(op->entry.secret, KILN_ID_SIZE));
  MTR_SET(&parts->handle, TOperationHandle, operation_id, id);
  MTR_SET(&parts->handle, TOperationHandle, operation_type, type_of(op));
  MTR_SET(&parts->handle, TOperationHandle, has_result_set, true);
}

struct state_parts {
  struct mtr_TGetOperationStatusResp status;
  struct kiln_error error;
};

/* What is wrong with an operation that has ended badly. Cancelling is no failure. */
static void fill_failure(struct mtr_TGetOperationStatusResp *out, const struct kiln_error *error)
{
  MTR_SET(out, TGetOperationStatusResp, sql_state, mtr_span_text(error->sqlstate));
  MTR_SET(out, TGetOperationStatusResp, error_code, 0);
  MTR_SET(out, TGetOperationStatusResp, error_message, mtr_span_text(error->message));
  MTR_SET(out, TGetOperationStatusResp, display_message, mtr_span_text(error->message));
}

static void fill_state(struct state_parts *parts, const struct kiln_operation *op, int32_t state)
{
  struct mtr_TGetOperationStatusResp *out = &parts->status;

  memset(out, 0, sizeof *out);
  MTR_SET(out, TGetOperationStatusResp, status, &kiln_status_success);
  MTR_SET(out, TGetOperationStatusResp, operation_state, state);
  if (state == MTR_OPERATION_ERROR || state == MTR_OPERATION_TIMEDOUT) {
    kiln_operation_failure(op, &parts->error);
    fill_failure(out, &parts->error);
  }
  if (state == MTR_OPERATION_FINISHED && op->answer.rows_affected >= 0)
    MTR_SET(out, TGetOperationStatusResp, num_modified_rows, op->answer.rows_affected);
}

enum mortar_status kiln_reply_handle(struct kiln_exchange *x, const struct kiln_operation *op,
                                     struct mortar_error *err)
{
  struct mtr_TExecuteStatementResp resp = {0};
  struct handle_parts handle;

  fill_handle(&handle, op);
  MTR_SET(&resp, TExecuteStatementResp, status, &kiln_status_success);
  MTR_SET(&resp, TExecuteStatementResp, operation_handle, &handle.handle);
  return kiln_exchange_encode(x, &resp, err);
}

static void fill_page(struct mtr_TFetchResultsResp *out, struct mtr_TRowSet *page, bool more)
{
  memset(out, 0, sizeof *out);
  MTR_SET(out, TFetchResultsResp, status, &kiln_status_success);
  MTR_SET(out, TFetchResultsResp, has_more_rows, more);
  MTR_SET(out, TFetchResultsResp, results, page);
}

enum mortar_status kiln_reply_direct(struct kiln_exchange *x, const struct kiln_operation *op,
                                     int32_t state, struct mtr_TRowSet *page, bool more,
                                     bool closed, struct mortar_error *err)
{
  struct mtr_TExecuteStatementResp resp = {0};
  struct mtr_TSparkDirectResults direct = {0};
  struct state_parts state_of;
  struct mtr_TFetchResultsResp fetched;
  struct mtr_TCloseOperationResp closing = {0};
  struct handle_parts handle;

  fill_handle(&handle, op);
  fill_state(&state_of, op, state);
  fill_page(&fetched, page, more);
  MTR_SET(&closing, TCloseOperationResp, status, &kiln_status_success);
  MTR_SET(&direct, TSparkDirectResults, operation_status, &state_of.status);
  if (state == MTR_OPERATION_FINISHED)
    MTR_SET(&direct, TSparkDirectResults, result_set_metadata, kiln_rows_metadata(op->rows));
  if (page) MTR_SET(&direct, TSparkDirectResults, result_set, &fetched);
  if (closed) MTR_SET(&direct, TSparkDirectResults, close_operation, &closing);
  MTR_SET(&resp, TExecuteStatementResp, status, &kiln_status_success);
  MTR_SET(&resp, TExecuteStatementResp, operation_handle, &handle.handle);
  MTR_SET(&resp, TExecuteStatementResp, direct_results, &direct);
  return kiln_exchange_encode(x, &resp, err);
}

/* Since it may be asked for, the metadata always goes along: the connector falls over a page
 * without it. Of Hive's servers hasMoreRows is false, whatever is true. */
enum mortar_status kiln_reply_page(struct kiln_exchange *x, const struct kiln_operation *op,
                                   struct mtr_TRowSet *page, bool more, struct mortar_error *err)
{
  struct mtr_TFetchResultsResp resp;

  fill_page(&resp, page, more && kiln_session_knows(op->session, MTR_PROTOCOL_SPARK_V1));
  if (kiln_session_knows(op->session, MTR_PROTOCOL_SPARK_V5))
    MTR_SET(&resp, TFetchResultsResp, result_set_metadata, kiln_rows_metadata(op->rows));
  return kiln_exchange_encode(x, &resp, err);
}

/* One column of text without rows, which readers of rows see as none at all. */
enum mortar_status kiln_reply_log(struct kiln_exchange *x, struct mortar_error *err)
{
  static const uint8_t no_nulls[] = {0};
  struct mtr_thrift_values none = {0, MTR_T_STRING, MTR_T_STOP, {NULL, 0}};
  struct mtr_TStringColumn lines = {0};
  struct mtr_TColumn column = {0};
  struct mtr_TRowSet page = {0};
  struct mtr_TFetchResultsResp resp;

  MTR_SET(&lines, TStringColumn, values, none);
  MTR_SET(&lines, TStringColumn, nulls, mtr_span_of(no_nulls, sizeof no_nulls));
  MTR_SET(&column, TColumn, string_val, &lines);
  MTR_SET(&page, TRowSet, start_row_offset, 0);
  MTR_SET_LIST(&page, TRowSet, rows, NULL, 0);
  MTR_SET_LIST(&page, TRowSet, columns, &column, 1);
  fill_page(&resp, &page, false);
  return kiln_exchange_encode(x, &resp, err);
}

enum mortar_status kiln_reply_state(struct kiln_exchange *x, const struct kiln_operation *op,
                                    struct mortar_error *err)
{
  struct state_parts parts;

  fill_state(&parts, op, kiln_operation_shown(op));
  MTR_SET(&parts.status, TGetOperationStatusResp, has_result_set, true);
  return kiln_exchange_encode(x, &parts.status, err);
}
