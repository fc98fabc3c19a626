/* Runs statements, makes pages, cancels, cleans up. Two FetchResults for one operation at the same
 * time are refused by the caller (calls.c): rows have one reader. */
#include "kiln/server/operation.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "codec/thrift/metadata.h"
#include "kiln/server/faults.h"
#include "kiln/server/reply.h"
#include "kiln/server/status.h"

/* As for a decoded request in exchange.c, and the copy of its bytes. */
enum { ARENA_LIMIT = 384 * 1024 * 1024 };

/* An interrupt may come a moment before the engine can hear it, so it is repeated. */
enum { NUDGE_US = 20 * 1000 };

static void submit(struct kiln_operation *op, void (*run)(struct kiln_job *),
                   void (*done)(struct kiln_job *))
{
  op->busy = true;
  op->job.run = run;
  op->job.done = done;
  kiln_core_submit(op->core, &op->job);
}

/* ---- The engine's handle ------------------------------------------------------------------ */

static void interrupt(struct kiln_operation *op)
{
  struct kiln_core *core = op->core;
  void *ctx;

  (void)pthread_mutex_lock(&op->ctx_lock);
  ctx = atomic_load(&op->ctx);
  if (ctx && core->engine->interrupt) core->engine->interrupt(core->engine_ctx, ctx);
  (void)pthread_mutex_unlock(&op->ctx_lock);
}

/* On the thread of a job, after the stream was released. */
static void finish(struct kiln_operation *op)
{
  struct kiln_core *core = op->core;
  void *ctx;

  (void)pthread_mutex_lock(&op->ctx_lock);
  ctx = atomic_exchange(&op->ctx, NULL);
  (void)pthread_mutex_unlock(&op->ctx_lock);
  if (ctx && core->engine->finish) core->engine->finish(core->engine_ctx, ctx);
}

static void arm_nudge(struct kiln_core *core)
{
  struct timeval tv = {0, NUDGE_US};

  (void)evtimer_add(core->nudge, &tv);
}

void kiln_operation_nudge(struct kiln_core *core)
{
  struct kiln_link *link;

  for (link = core->canceling.next; link != &core->canceling; link = link->next)
    interrupt(KILN_OWNER(link, struct kiln_operation, in_canceling));
  if (!kiln_list_empty(&core->canceling)) arm_nudge(core);
}

/* ---- Layout ------------------------------------------------------------------------------- */

/* Thrift columns came with the sixth protocol of Hive's, Arrow with the first one of Databricks'.
 */
static int32_t layout_of(const struct kiln_session *session,
                         const struct mtr_TExecuteStatementReq *req)
{
  if (!kiln_session_knows(session, MTR_PROTOCOL_HIVE_V6)) return MTR_ROWSET_ROWS;
  if (session->core->options.columns) return MTR_ROWSET_COLUMNS;
  if (kiln_session_knows(session, MTR_PROTOCOL_SPARK_V1) && req->can_read_arrow_result)
    return MTR_ROWSET_ARROW;
  return MTR_ROWSET_COLUMNS;
}

/* ---- Making and freeing ------------------------------------------------------------------- */

static void destroy(struct kiln_operation *op)
{
  struct kiln_session *session = op->session;

  kiln_rows_free(op->rows);
  kiln_list_remove(&op->in_canceling);
  (void)evtimer_del(&op->deadline);
  mtr_arena_fini(&op->arena);
  (void)pthread_mutex_destroy(&op->ctx_lock);
  mtr_free(NULL, op, sizeof *op);
  kiln_session_leave(session);
}

static bool reads_lz4(const struct kiln_session *session,
                      const struct mtr_TExecuteStatementReq *req)
{
  return req->can_decompress_lz4_result && kiln_session_knows(session, MTR_PROTOCOL_SPARK_V6);
}

/* A younger server reads them whatever was agreed on: the Python connector, which speaks V7, sends
 * them all the same. */
static bool reads_parameters(const struct kiln_session *session)
{
  return session->core->protocol >= MTR_PROTOCOL_SPARK_V8;
}

bool kiln_operation_describe(const struct kiln_session *session,
                             const struct mtr_TExecuteStatementReq *req, struct mtr_arena *arena,
                             struct kiln_statement *out)
{
  out->metadata = NULL;
  out->sql = mtr_arena_text(arena, req->statement.data, req->statement.size);
  out->size = req->statement.size;
  out->catalog = session->catalog;
  out->schema = session->schema;
  out->parameters = req->parameters.items;
  out->parameter_count = reads_parameters(session) ? req->parameters.count : 0;
  out->lz4 = reads_lz4(session, req);
  out->prepared_ok = req->get_direct_results && req->get_direct_results->max_rows > 0 &&
                     layout_of(session, req) == MTR_ROWSET_ARROW;
  return out->sql != NULL;
}

static enum mortar_status copy_statement(struct kiln_operation *op, struct mtr_span bytes,
                                         struct mortar_error *err)
{
  struct mtr_TExecuteStatementReq *req = mtr_arena_alloc(&op->arena, 1, sizeof *req);
  const char *copy = mtr_arena_text(&op->arena, bytes.data, bytes.size);
  struct mtr_message head;

  if (!req || !copy) return mtr_fail_nomem(err, "statement");
  MTR_TRY(mtr_message_read(mtr_span_of(copy, bytes.size), &mtr_TExecuteStatementReq_info, req,
                           &op->arena, &head, err));
  if (!kiln_session_knows(op->session, MTR_PROTOCOL_SPARK_V1)) req->get_direct_results = NULL;
  op->req = req;
  op->layout = layout_of(op->session, req);
  if (!kiln_operation_describe(op->session, req, &op->arena, &op->statement))
    return mtr_fail_nomem(err, "statement text");
  return MORTAR_OK;
}

/* A metadata call is run like a statement whose client reads no Arrow: warehouses answer it in
 * columns. */
static enum mortar_status copy_metadata(struct kiln_operation *op, const struct kiln_exchange *x,
                                        enum mortar_metadata_kind kind, struct mortar_error *err)
{
  struct made {
    struct mtr_metadata_call call;
    struct mtr_TExecuteStatementReq req;
    struct mtr_TSparkGetDirectResults direct;
  } *made = mtr_arena_alloc(&op->arena, 1, sizeof *made);

  if (!made) return mtr_fail_nomem(err, "metadata call");
  MTR_TRY(mtr_metadata_from_request(kind, x->request, &op->arena, &made->call, err));
  if (made->call.direct && kiln_session_knows(op->session, MTR_PROTOCOL_SPARK_V1)) {
    made->direct = *made->call.direct;
    MTR_SET(&made->req, TExecuteStatementReq, get_direct_results, &made->direct);
  }
  MTR_SET(&made->req, TExecuteStatementReq, run_async, made->call.run_async);
  op->req = &made->req;
  op->layout = layout_of(op->session, op->req);
  if (!kiln_operation_describe(op->session, op->req, &op->arena, &op->statement))
    return mtr_fail_nomem(err, "metadata call");
  op->statement.metadata = &made->call.what;
  return MORTAR_OK;
}

static enum mortar_status copy_request(struct kiln_operation *op, const struct kiln_exchange *x,
                                       struct mortar_error *err)
{
  enum mortar_metadata_kind kind;

  if (mtr_metadata_kind_of(mtr_span_text(x->call->name), &kind))
    return copy_metadata(op, x, kind, err);
  return copy_statement(op, x->bytes, err);
}

/* Links to volumes lead to where the client has reached the server. */
static enum mortar_status set_origin(struct kiln_operation *op, const struct kiln_exchange *x,
                                     struct mortar_error *err)
{
  static const char allowed[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:[]";
  const char *host = evhttp_find_header(evhttp_request_get_input_headers(x->http), "Host");

  if (!op->core->volumes) return MORTAR_OK;
  if (!host || !*host || host[strspn(host, allowed)]) return MORTAR_OK;
  op->origin.scheme = op->core->tls ? "https" : "http";
  op->origin.now_ms = kiln_clock_now(&op->core->clock) / 1000000;
  op->origin.host = mtr_arena_text(&op->arena, host, strlen(host));
  return op->origin.host ? MORTAR_OK : mtr_fail_nomem(err, "host");
}

static void adopt_outcome(struct kiln_operation *op, const struct kiln_outcome *known)
{
  op->answered = true;
  op->run_ok = known->ok;
  op->answer = known->answer;
  if (!known->ok) op->error = known->error;
  atomic_store(&op->ctx, known->ctx);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg);

static struct kiln_operation *make(struct kiln_session *session)
{
  struct kiln_operation *op = mtr_calloc(NULL, 1, sizeof *op);

  if (!op) return NULL;
  op->core = session->core;
  op->session = session;
  session->users++;
  op->answer.rows_affected = -1;
  op->state = MTR_OPERATION_RUNNING;
  mtr_arena_init(&op->arena, NULL, ARENA_LIMIT);
  (void)evtimer_assign(&op->deadline, op->core->base, on_deadline, op);
  (void)pthread_mutex_init(&op->ctx_lock, NULL);
  kiln_list_init(&op->in_session);
  kiln_list_init(&op->in_canceling);
  kiln_list_init(&op->waiters);
  return op;
}

enum mortar_status kiln_operation_new(struct kiln_session *session, const struct kiln_exchange *x,
                                      struct kiln_operation **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_core *core = session->core;
  struct kiln_operation *op = make(session);

  *out = NULL;
  if (!op) return mtr_fail_nomem(err, "operation");
  MTR_GOTO(copy_request(op, x, err));
  MTR_GOTO(set_origin(op, x, err));
  MTR_GOTO(kiln_table_add(&core->operations, &core->ids, "operation", &op->entry, err));
  kiln_list_append(&session->operations, &op->in_session);
  op->last_used = session->last_used;
  core->stats.operations_open++;
  core->stats.operations_total++;
  *out = op;
  op = NULL;
done:
  if (op) destroy(op);
  return st;
}

/* ---- Finding ------------------------------------------------------------------------------ */

bool kiln_operation_at_work(const struct kiln_operation *op)
{
  return op->busy || op->state == MTR_OPERATION_RUNNING;
}

bool kiln_operation_expired(const struct kiln_operation *op)
{
  const struct kiln_clock *clock = &op->core->clock;

  return !kiln_operation_at_work(op) &&
         kiln_clock_expired(clock, op->last_used, clock->operation_idle_ms);
}

static void touch(struct kiln_operation *op)
{
  if (op->core->clock.watched) op->last_used = kiln_clock_now(&op->core->clock);
  kiln_session_touch(op->session);
}

struct kiln_operation *kiln_operation_find(struct kiln_core *core,
                                           const struct mtr_TOperationHandle *handle)
{
  const struct mtr_THandleIdentifier *id = handle ? handle->operation_id : NULL;
  struct kiln_entry *entry = id ? kiln_table_find(&core->operations, id->guid, id->secret) : NULL;
  struct kiln_operation *op = entry ? KILN_OWNER(entry, struct kiln_operation, entry) : NULL;

  if (!op || !core->clock.watched) return op;
  if (kiln_session_expired(op->session)) {
    kiln_session_close(op->session);
    return NULL;
  }
  if (kiln_operation_expired(op)) {
    kiln_operation_close(op);
    return NULL;
  }
  touch(op);
  return op;
}

void kiln_operation_refuse(struct kiln_exchange *x, const struct mtr_TOperationHandle *handle)
{
  struct mtr_span guid = mtr_span_of(NULL, 0);
  struct kiln_error error;
  char text[37];

  if (handle && handle->operation_id) guid = handle->operation_id->guid;
  mtr_uuid_text(guid, text);
  kiln_fail(&error, "08000",
            "Invalid OperationHandle: OperationHandle [opType=EXECUTE_STATEMENT, "
            "getHandleIdentifier()=%s]",
            text);
  kiln_exchange_refuse(x, &error);
}

int32_t kiln_operation_shown(const struct kiln_operation *op)
{
  if (op->state != MTR_OPERATION_RUNNING || op->answered || atomic_load(&op->entered))
    return op->state;
  return MTR_OPERATION_PENDING;
}

/* ---- Waiting ------------------------------------------------------------------------------ */

static void wake(struct kiln_exchange *x)
{
  struct kiln_operation *op = x->operation;

  kiln_exchange_disarm(x);
  kiln_list_remove(&x->wait_link);
  x->operation = NULL;
  x->resume(x, op);
}

void kiln_operation_wait(struct kiln_operation *op, struct kiln_exchange *x, int64_t wait_ms,
                         void (*resume)(struct kiln_exchange *x, struct kiln_operation *op))
{
  x->operation = op;
  x->resume = resume;
  kiln_list_append(&op->waiters, &x->wait_link);
  if (wait_ms >= 0) kiln_exchange_after(x, wait_ms * 1000, wake);
}

/* Whoever is woken may close the operation; waking keeps it from being freed meanwhile. The caller
 * calls settle afterwards. */
static void set_state(struct kiln_operation *op, int32_t state)
{
  op->state = state;
  op->waking = true;
  while (!kiln_list_empty(&op->waiters))
    wake(KILN_OWNER(op->waiters.next, struct kiln_exchange, wait_link));
  op->waking = false;
}

/* ---- Cleaning up -------------------------------------------------------------------------- */

static void run_clean(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);

  kiln_rows_free(op->rows);
  op->rows = NULL;
  finish(op);
}

static void settle(struct kiln_operation *op);

static void job_ended(struct kiln_operation *op)
{
  op->busy = false;
  kiln_list_remove(&op->in_canceling);
  touch(op);
}

static void done_clean(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);

  job_ended(op);
  settle(op);
}

static bool wants_rows(const struct kiln_operation *op)
{
  return !op->closed && (op->state == MTR_OPERATION_RUNNING || op->state == MTR_OPERATION_FINISHED);
}

/* Once nobody works for the operation or is being told about it: gives the engine its part back,
 * on a worker, when nobody will ask for rows any more; frees what is closed. */
static void settle(struct kiln_operation *op)
{
  if (op->busy || op->waking || wants_rows(op)) return;
  if (op->rows || atomic_load(&op->ctx))
    submit(op, run_clean, done_clean);
  else if (op->closed)
    destroy(op);
}

static void stop_work(struct kiln_operation *op)
{
  atomic_store(&op->canceled, true);
  if (!op->busy) return;
  kiln_list_remove(&op->in_canceling);
  kiln_list_append(&op->core->canceling, &op->in_canceling);
  interrupt(op);
  arm_nudge(op->core);
}

/* Ends what runs or is making a page; what has ended, or waits for its client, is left alone. */
static void end_early(struct kiln_operation *op, int32_t state)
{
  if (op->state != MTR_OPERATION_RUNNING && !(op->state == MTR_OPERATION_FINISHED && op->busy))
    return;
  stop_work(op);
  set_state(op, state);
  settle(op);
}

void kiln_operation_cancel(struct kiln_operation *op) { end_early(op, MTR_OPERATION_CANCELED); }

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
  (void)fd;
  (void)what;
  end_early(arg, MTR_OPERATION_TIMEDOUT);
}

static void fail_canceled(struct kiln_error *out)
{
  kiln_fail(out, "HY008", "[OPERATION_CANCELED] Operation has been canceled. SQLSTATE: HY008");
}

/* The worker owns op->error as long as it works, so only a state of ERROR may read it. */
void kiln_operation_failure(const struct kiln_operation *op, struct kiln_error *out)
{
  switch (op->state) {
    case MTR_OPERATION_ERROR:
      *out = op->error;
      break;
    case MTR_OPERATION_TIMEDOUT:
      kiln_fail(out, "HYT00", "the statement ran longer than its %s of %lld seconds",
                op->timeout == op->req->query_timeout ? "queryTimeout" : "session's timeout",
                (long long)op->timeout);
      break;
    default:
      fail_canceled(out);
  }
}

void kiln_operation_close(struct kiln_operation *op)
{
  if (op->closed) {
    settle(op);
    return;
  }
  op->closed = true;
  kiln_table_remove(&op->core->operations, &op->entry);
  kiln_list_remove(&op->in_session);
  op->core->stats.operations_open--;
  (void)evtimer_del(&op->deadline);
  stop_work(op);
  if (op->state == MTR_OPERATION_RUNNING) set_state(op, MTR_OPERATION_CLOSED);
  settle(op);
}

/* ---- Running ------------------------------------------------------------------------------ */

static void rows_options(const struct kiln_operation *op, struct kiln_rows_options *out)
{
  const struct kiln_options *options = &op->core->options;
  const struct mtr_TExecuteStatementReq *req = op->req;

  out->layout = op->layout;
  out->batch_rows = options->batch_rows;
  out->page_batches = options->page_batches;
  out->row_limit = -1;
  if (req->result_row_limit > 0 && kiln_session_knows(op->session, MTR_PROTOCOL_SPARK_V4))
    out->row_limit = req->result_row_limit;
  out->protocol = op->session->protocol;
  out->lz4 = reads_lz4(op->session, req);
  out->checksum = options->checksum;
  out->volume = op->answer.volume;
}

/* Volumes are the server's, whatever the engine. */
static bool answer_volume(struct kiln_operation *op, bool *ok)
{
  const struct kiln_core *core = op->core;

  return core->volumes && !op->statement.metadata &&
         kiln_volume_answer(core->volumes, &op->statement, &op->origin, &op->answer, ok,
                            &op->error);
}

static bool call_engine(struct kiln_operation *op)
{
  struct kiln_core *core = op->core;
  bool ok;

  if (op->answered) return op->run_ok;
  if (atomic_load(&op->canceled)) {
    fail_canceled(&op->error);
    return false;
  }
  atomic_store(&op->entered, true);
  if (answer_volume(op, &ok)) return ok;
  return core->engine->execute(core->engine_ctx, op->session->engine_session, &op->statement,
                               &op->ctx, &op->answer, &op->error);
}

static void run_statement(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);
  struct kiln_rows_options options;

  op->run_ok = call_engine(op);
  if (op->run_ok && op->answer.prepared && !op->statement.prepared_ok) {
    kiln_fail(&op->error, "0A000",
              "this statement has a prepared reply only, for clients that read Arrow and ask for "
              "direct results");
    op->run_ok = false;
  }
  if (op->run_ok && !op->answer.prepared) {
    rows_options(op, &options);
    op->run_ok = kiln_rows_new(&op->answer.stream, &options, &op->rows, &op->error);
  }
  if (!op->run_ok) finish(op);
}

/* Shown from the start, since tests look while a statement runs; taken back by done_statement when
 * it was canceled before the engine saw it. */
static void count_execution(struct kiln_operation *op, int by)
{
  struct kiln_faults *faults = op->core->faults;

  if (faults && !op->statement.metadata)
    kiln_attempts_executed(&faults->attempts, op->req->statement, by);
}

static void done_statement(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);

  if (!op->run_ok) op->core->stats.errors++;
  if (!op->answered && !atomic_load(&op->entered)) count_execution(op, -1);
  job_ended(op);
  if (op->state == MTR_OPERATION_RUNNING)
    set_state(op, op->run_ok ? MTR_OPERATION_FINISHED : MTR_OPERATION_ERROR);
  if (!op->busy) (void)evtimer_del(&op->deadline);
  settle(op);
}

/* The shorter one of the statement's and the session's; beyond a year it is none. Metadata calls
 * have none. */
static int64_t timeout_of(const struct kiln_operation *op)
{
  enum { YEAR = 366 * 24 * 3600 };
  const struct kiln_core *core = op->core;
  int64_t own = op->req->query_timeout, all = 0;

  if (core->engine->timeout && !op->statement.metadata)
    all = core->engine->timeout(core->engine_ctx, op->session->engine_session);
  if (own <= 0 || (all > 0 && all < own)) own = all;
  return own > 0 && own <= YEAR ? own : 0;
}

/* The clock runs until the statement has finished, and on while its first page is made if that goes
 * with the reply: pages that a client fetches are as slow as the client. */
static void arm_deadline(struct kiln_operation *op)
{
  struct timeval tv = {0, 0};

  op->timeout = timeout_of(op);
  tv.tv_sec = (time_t)op->timeout;
  if (op->timeout > 0) (void)evtimer_add(&op->deadline, &tv);
}

void kiln_operation_start(struct kiln_operation *op, const struct kiln_outcome *known)
{
  if (known) adopt_outcome(op, known);
  if (!known) count_execution(op, 1);
  arm_deadline(op);
  submit(op, run_statement, done_statement);
}

/* ---- Pages -------------------------------------------------------------------------------- */

static enum mortar_status encode_page(struct kiln_operation *op, struct mtr_TRowSet *page,
                                      struct mortar_error *err)
{
  struct kiln_exchange *x = op->reader;

  if (x->call->kind == KILN_CALL_FETCH) return kiln_reply_page(x, op, page, op->page_more, err);
  return kiln_reply_direct(x, op, MTR_OPERATION_FINISHED, page, op->page_more, !op->page_more, err);
}

static void run_page(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);
  struct mtr_TRowSet *page = NULL;
  struct mortar_error err = {0};

  op->page_ok =
      kiln_rows_page(op->rows, op->max_rows, op->max_bytes, &page, &op->page_more, &op->error);
  if (op->page_ok && encode_page(op, page, &err) != MORTAR_OK) {
    kiln_error_from(&op->error, &err);
    op->page_ok = false;
  }
  if (op->page_ok) op->next_row = kiln_rows_sent(op->rows);
  if (op->page_ok && !op->page_more) finish(op);
}

/* The rows are lost: what was sent can't be sent again, so the operation has failed. */
static void page_failed(struct kiln_operation *op, struct kiln_exchange *x)
{
  struct mortar_error err = {0};
  struct kiln_error error;

  if (x->call->kind == KILN_CALL_FETCH) {
    kiln_operation_failure(op, &error);
    kiln_exchange_refuse(x, &error);
    return;
  }
  op->core->stats.errors++;
  if (kiln_reply_direct(x, op, op->state, NULL, false, op->state != MTR_OPERATION_TIMEDOUT, &err) ==
      MORTAR_OK)
    kiln_exchange_send(x);
  else
    kiln_exchange_refuse_with(x, &err);
}

static void done_page(struct kiln_job *job)
{
  struct kiln_operation *op = KILN_OWNER(job, struct kiln_operation, job);
  struct kiln_exchange *x = op->reader;
  bool direct = x->call->kind != KILN_CALL_FETCH, good, goes_on;

  op->reader = NULL;
  if (op->closed)
    op->state = MTR_OPERATION_CLOSED;
  else if (op->state == MTR_OPERATION_FINISHED && !op->page_ok)
    op->state = MTR_OPERATION_ERROR;
  good = op->state == MTR_OPERATION_FINISHED;
  goes_on = good ? op->page_more : op->state == MTR_OPERATION_TIMEDOUT;
  (void)evtimer_del(&op->deadline);
  if (good)
    kiln_exchange_send(x);
  else
    page_failed(op, x);
  job_ended(op);
  if (direct && !goes_on)
    kiln_operation_close(op);
  else
    settle(op);
}

void kiln_operation_page(struct kiln_operation *op, struct kiln_exchange *x, int64_t max_rows,
                         int64_t max_bytes)
{
  int64_t limit = op->core->options.max_inline_rows;

  if (max_rows <= 0 || (limit > 0 && limit < max_rows)) max_rows = limit;
  op->max_rows = max_rows;
  op->max_bytes = max_bytes;
  op->reader = x;
  submit(op, run_page, done_page);
}
