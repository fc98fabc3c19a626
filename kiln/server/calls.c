/* The table of calls and the handlers of those about statements. A metadata call is a statement
 * without a text: its rows are fetched and closed like any. */
#include "base/error.h"
#include "base/text.h"
#include "kiln/server/faults.h"
#include "kiln/server/info.h"
#include "kiln/server/operation.h"
#include "kiln/server/reply.h"
#include "kiln/server/session.h"

/* A poll is held open for so long while the statement runs, as warehouses do: clients that poll
 * without a pause of their own rely on it. */
enum { POLL_MS = 1000 };

/* ---- Refusing ----------------------------------------------------------------------------- */

static void refuse(struct kiln_exchange *x, const char *sqlstate, const char *text)
{
  struct kiln_error error;

  kiln_fail(&error, sqlstate, "%s", text);
  kiln_exchange_refuse(x, &error);
}

/* That the operation has failed, timed out or was canceled. */
static void refuse_ended(struct kiln_exchange *x, const struct kiln_operation *op)
{
  struct kiln_error error;

  kiln_operation_failure(op, &error);
  kiln_exchange_refuse(x, &error);
}

static void send_or_refuse(struct kiln_exchange *x, enum mortar_status st,
                           const struct mortar_error *err)
{
  if (st == MORTAR_OK)
    kiln_exchange_send(x);
  else
    kiln_exchange_refuse_with(x, err);
}

/* ---- ExecuteStatement --------------------------------------------------------------------- */

/* The state alone: the statement still runs, has failed, was canceled, or timed out. One that has
 * failed is closed here, since a client that has its error asks for nothing more; with one that
 * timed out databricks-sql-connector goes on, until a call about its rows is refused. */
static void reply_without_rows(struct kiln_exchange *x, struct kiln_operation *op)
{
  struct mortar_error err = {0};
  bool failed = op->state == MTR_OPERATION_ERROR;
  enum mortar_status st;

  st = kiln_reply_direct(x, op, kiln_operation_shown(op), NULL, false, failed, &err);
  send_or_refuse(x, st, &err);
  if (failed) kiln_operation_close(op);
}

/* A client that waited for the end and asked for nothing with it. Its failed statement is a failed
 * call, as Spark and Hive have it; one that was timed out or canceled is told of by its state. */
static void reply_synchronous(struct kiln_exchange *x, struct kiln_operation *op)
{
  struct mortar_error err = {0};

  if (op->state == MTR_OPERATION_ERROR) {
    refuse_ended(x, op);
    kiln_operation_close(op);
  } else {
    send_or_refuse(x, kiln_reply_handle(x, op, &err), &err);
  }
}

static void execute_ended(struct kiln_exchange *x, struct kiln_operation *op)
{
  const struct mtr_TSparkGetDirectResults *direct = op->req->get_direct_results;
  bool finished = op->state == MTR_OPERATION_FINISHED;

  if (finished && op->answer.prepared) {
    kiln_exchange_prepared(x, &op->answer, op->entry.id);
    kiln_operation_close(op);
    return;
  }
  x->delay_us = op->state == MTR_OPERATION_RUNNING ? 0 : op->answer.delay_us;
  if (!direct)
    reply_synchronous(x, op);
  else if (finished && direct->max_rows > 0)
    kiln_operation_page(op, x, direct->max_rows, direct->max_bytes);
  else
    reply_without_rows(x, op);
}

static void start(struct kiln_exchange *x, struct kiln_session *session,
                  const struct kiln_outcome *known)
{
  struct kiln_operation *op;
  struct mortar_error err = {0};

  if (kiln_operation_new(session, x, &op, &err) != MORTAR_OK) {
    kiln_exchange_refuse_with(x, &err);
    return;
  }
  if (known && known->ok) x->delay_us = known->answer.delay_us;
  if (op->req->get_direct_results)
    kiln_operation_wait(op, x, x->core->options.direct_wait_ms, execute_ended);
  else if (!op->req->run_async)
    kiln_operation_wait(op, x, -1, execute_ended);
  else
    send_or_refuse(x, kiln_reply_handle(x, op, &err), &err);
  kiln_operation_start(op, known);
}

static void drop_outcome(struct kiln_core *core, struct kiln_outcome *known)
{
  if (known->answer.stream.release) known->answer.stream.release(&known->answer.stream);
  if (known->ctx && core->engine->finish) core->engine->finish(core->engine_ctx, known->ctx);
}

/* An engine that never blocks is asked on the spot; what it has prepared goes out without an
 * operation, for the reply says that it is closed. */
static void execute_inline(struct kiln_exchange *x, struct kiln_session *session)
{
  const struct mtr_TExecuteStatementReq *req = x->request;
  struct kiln_core *core = x->core;
  struct kiln_statement statement;
  struct kiln_outcome known;
  _Atomic(void *) ctx = NULL;
  uint8_t guid[KILN_ID_SIZE];

  memset(&known.answer, 0, sizeof known.answer);
  known.answer.rows_affected = -1;
  if (!kiln_operation_describe(session, req, &x->arena, &statement)) {
    refuse(x, "HY001", "out of memory: statement text");
    return;
  }
  known.ok = core->engine->execute(core->engine_ctx, session->engine_session, &statement, &ctx,
                                   &known.answer, &known.error);
  known.ctx = atomic_load(&ctx);
  if (core->faults) kiln_attempts_executed(&core->faults->attempts, req->statement, 1);
  if (!known.ok || !known.answer.prepared || !statement.prepared_ok ||
      !kiln_ids_uuid(&core->ids, guid)) {
    start(x, session, &known);
    return;
  }
  core->stats.operations_total++;
  kiln_exchange_prepared(x, &known.answer, guid);
  drop_outcome(core, &known);
}

static void on_execute(struct kiln_exchange *x)
{
  const struct mtr_TExecuteStatementReq *req = x->request;
  struct kiln_session *session = kiln_session_find(x->core, req->session_handle);

  if (!session) {
    kiln_session_refuse(x, req->session_handle);
    return;
  }
  kiln_stats_executed(&x->core->stats, req->statement);
  if (x->core->engine->inline_ok)
    execute_inline(x, session);
  else if (kiln_pool_full(x->core->pool))
    kiln_exchange_unavailable(x);
  else
    start(x, session, NULL);
}

/* ---- Metadata ----------------------------------------------------------------------------- */

/* The first field of every request that names a session. */
static struct kiln_session *session_of(const struct kiln_exchange *x,
                                       struct mtr_TSessionHandle **handle)
{
  memcpy(handle, (const char *)x->request + x->call->request->fields[0].offset, sizeof *handle);
  return kiln_session_find(x->core, *handle);
}

static void on_catalogue(struct kiln_exchange *x)
{
  struct mtr_TSessionHandle *handle;
  struct kiln_session *session = session_of(x, &handle);

  if (!session)
    kiln_session_refuse(x, handle);
  else if (!x->core->engine->metadata_ok)
    refuse(x, "0A000", "this server has no catalogue to ask");
  else if (kiln_pool_full(x->core->pool))
    kiln_exchange_unavailable(x);
  else
    start(x, session, NULL);
}

/* ---- The others --------------------------------------------------------------------------- */

static void status_known(struct kiln_exchange *x, struct kiln_operation *op)
{
  struct mortar_error err = {0};

  send_or_refuse(x, kiln_reply_state(x, op, &err), &err);
}

static void on_status(struct kiln_exchange *x)
{
  const struct mtr_TGetOperationStatusReq *req = x->request;
  struct kiln_operation *op = kiln_operation_find(x->core, req->operation_handle);

  if (!op)
    kiln_operation_refuse(x, req->operation_handle);
  else if (op->state == MTR_OPERATION_RUNNING)
    kiln_operation_wait(op, x, POLL_MS, status_known);
  else
    status_known(x, op);
}

static bool ended_badly(const struct kiln_operation *op)
{
  return op->state != MTR_OPERATION_RUNNING && op->state != MTR_OPERATION_FINISHED;
}

/* Why rows of an operation that has not failed can't be had now; NULL: they can. */
static const char *why_no_rows(const struct kiln_operation *op)
{
  if (op->state == MTR_OPERATION_RUNNING) return "the statement still runs";
  if (op->busy) return "another call reads this operation";
  return op->rows ? NULL : "the rows were prepared and come with the statement only";
}

enum { FETCH_NEXT = 0, FETCH_FIRST = 4 };

/* The driver for Node asks for its first page with FETCH_FIRST. */
static const char *why_no_fetch(const struct kiln_operation *op,
                                const struct mtr_TFetchResultsReq *req)
{
  if (req->orientation != FETCH_NEXT && !(req->orientation == FETCH_FIRST && op->next_row == 0))
    return "rows are read forward only: FETCH_NEXT";
  if (MTR_HAS(req, TFetchResultsReq, start_row_offset) && req->start_row_offset != op->next_row)
    return "rows that were sent can't be sent again";
  return why_no_rows(op);
}

enum { FETCH_LOG = 1 };

static void fetch_log(struct kiln_exchange *x)
{
  struct mortar_error err = {0};

  send_or_refuse(x, kiln_reply_log(x, &err), &err);
}

static void on_fetch(struct kiln_exchange *x)
{
  const struct mtr_TFetchResultsReq *req = x->request;
  struct kiln_operation *op = kiln_operation_find(x->core, req->operation_handle);
  const char *why = op ? why_no_fetch(op, req) : NULL;

  if (!op)
    kiln_operation_refuse(x, req->operation_handle);
  else if (req->fetch_type == FETCH_LOG)
    fetch_log(x);
  else if (ended_badly(op))
    refuse_ended(x, op);
  else if (why)
    refuse(x, "HY010", why);
  else if (kiln_pool_full(x->core->pool))
    kiln_exchange_unavailable(x);
  else
    kiln_operation_page(op, x, req->max_rows, req->max_bytes);
}

static void on_metadata(struct kiln_exchange *x)
{
  const struct mtr_TGetResultSetMetadataReq *req = x->request;
  struct kiln_operation *op = kiln_operation_find(x->core, req->operation_handle);
  const char *why = op ? why_no_rows(op) : NULL;

  if (!op)
    kiln_operation_refuse(x, req->operation_handle);
  else if (ended_badly(op))
    refuse_ended(x, op);
  else if (why)
    refuse(x, "HY010", why);
  else
    kiln_exchange_reply(x, kiln_rows_metadata(op->rows));
}

static void on_close(struct kiln_exchange *x)
{
  const struct mtr_TCloseOperationReq *req = x->request;
  struct kiln_operation *op = kiln_operation_find(x->core, req->operation_handle);

  if (!op) {
    kiln_operation_refuse(x, req->operation_handle);
    return;
  }
  kiln_operation_close(op);
  kiln_exchange_accept(x);
}

static void on_cancel(struct kiln_exchange *x)
{
  const struct mtr_TCancelOperationReq *req = x->request;
  struct kiln_operation *op = kiln_operation_find(x->core, req->operation_handle);

  if (!op) {
    kiln_operation_refuse(x, req->operation_handle);
    return;
  }
  kiln_operation_cancel(op);
  kiln_exchange_accept(x);
}

/* ---- The table ---------------------------------------------------------------------------- */

#define CALL(name, kind, handler)                                                                  \
  {                                                                                                \
#name, kind, &mtr_T##name##Req_info, &mtr_T##name##Resp_info, handler                          \
  }

static const struct kiln_call calls[] = {
    CALL(ExecuteStatement, KILN_CALL_EXECUTE, on_execute),
    CALL(FetchResults, KILN_CALL_FETCH, on_fetch),
    CALL(CloseOperation, KILN_CALL_CLOSE, on_close),
    CALL(GetOperationStatus, KILN_CALL_STATUS, on_status),
    CALL(GetResultSetMetadata, KILN_CALL_METADATA, on_metadata),
    CALL(CancelOperation, KILN_CALL_CANCEL, on_cancel),
    CALL(OpenSession, KILN_CALL_OPEN_SESSION, kiln_session_on_open),
    CALL(CloseSession, KILN_CALL_CLOSE_SESSION, kiln_session_on_close),
    CALL(GetInfo, KILN_CALL_OTHER, kiln_info_on_get),
#define X(kind, call, type)                                                                        \
  {#call, KILN_CALL_##call, &mtr_T##call##Req_info, &mtr_TExecuteStatementResp_info, on_catalogue},
    MTR_METADATA_MAP(X)
#undef X
};

const struct kiln_call *kiln_call_find(struct mtr_span name)
{
  size_t i;

  for (i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (mtr_span_equal(name, mtr_span_text(calls[i].name))) return &calls[i];
  return NULL;
}
