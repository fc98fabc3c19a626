/* Sessions and operations of a replay: live ids in front of recorded replies. Loop thread only. */
#include "kiln/replay/replay.h"

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/replay/tape.h"
#include "kiln/server/faults.h"
#include "kiln/server/info.h"
#include "kiln/server/operation.h"
#include "kiln/server/session.h"
#include "kiln/server/status.h"

struct session {
  struct kiln_entry entry;
  struct kiln_link operations;
};

struct operation {
  struct kiln_entry entry;
  struct kiln_link in_session;
  const struct kiln_taped *origin;
  const struct kiln_taped *given[KILN_CALL_COUNT]; /* the last reply to each kind of call */
  bool direct; /* the rows of direct results are still to be fetched, as they were not asked for */
  bool more;
};

struct kiln_replay {
  struct kiln_tape tape;
  struct kiln_table sessions, operations;
};

enum mortar_status kiln_replay_new(const char *path, struct kiln_replay **out,
                                   struct mortar_error *err)
{
  struct kiln_replay *replay = mtr_calloc(NULL, 1, sizeof *replay);
  enum mortar_status st;

  *out = NULL;
  if (!replay) return mtr_fail_nomem(err, "replay");
  st = kiln_tape_read(&replay->tape, path, err);
  if (st == MORTAR_OK)
    *out = replay;
  else
    kiln_replay_free(replay);
  return st;
}

static void free_operation(struct kiln_replay *replay, struct operation *op)
{
  kiln_table_remove(&replay->operations, &op->entry);
  kiln_list_remove(&op->in_session);
  mtr_free(NULL, op, sizeof *op);
}

static size_t free_session(struct kiln_replay *replay, struct session *session)
{
  size_t count = 0;

  for (; !kiln_list_empty(&session->operations); count++)
    free_operation(replay, KILN_OWNER(session->operations.next, struct operation, in_session));
  kiln_table_remove(&replay->sessions, &session->entry);
  mtr_free(NULL, session, sizeof *session);
  return count;
}

void kiln_replay_free(struct kiln_replay *replay)
{
  struct kiln_entry *entry;

  if (!replay) return;
  while ((entry = kiln_table_any(&replay->sessions)))
    (void)free_session(replay, KILN_OWNER(entry, struct session, entry));
  kiln_tape_fini(&replay->tape);
  mtr_free(NULL, replay, sizeof *replay);
}

struct kiln_replay_counts kiln_replay_count(const struct kiln_replay *replay)
{
  const struct kiln_tape *tape = &replay->tape;

  return (struct kiln_replay_counts){tape->files, tape->exchanges, tape->statements,
                                     tape->passed_over};
}

/* ---- Replies ------------------------------------------------------------------------------ */

static void refuse_nomem(struct kiln_exchange *x)
{
  struct mortar_error err = {0};

  (void)mtr_fail_nomem(&err, "reply");
  kiln_exchange_refuse_with(x, &err);
}

/* The recorded bytes; entry has the ids that stand in the place of the recorded ones. */
static void send_taped(struct kiln_exchange *x, const struct kiln_taped *taped,
                       const struct kiln_entry *entry)
{
  struct mtr_buf *out = &x->out;

  mtr_buf_reset(out);
  if (mtr_buf_append(out, taped->bytes.data, taped->bytes.size, NULL) != MORTAR_OK) {
    refuse_nomem(x);
    return;
  }
  mtr_put_be32(out->data + taped->seqid_at, (uint32_t)x->seqid);
  if (entry && taped->guid_at) {
    memcpy(out->data + taped->guid_at, entry->id, KILN_ID_SIZE);
    memcpy(out->data + taped->secret_at, entry->secret, KILN_ID_SIZE);
  }
  kiln_exchange_send(x);
}

/* A recorded reply, decoded; NULL: it is an exception, or there is no memory. */
static void *decode_taped(struct kiln_exchange *x, const struct kiln_taped *taped)
{
  const struct mtr_struct_info *info = taped->call->reply;
  void *reply = mtr_arena_alloc(&x->arena, 1, info->size);
  struct mtr_message head;

  if (!reply || mtr_message_read(taped->bytes, info, reply, &x->arena, &head, NULL) != MORTAR_OK ||
      head.type != MTR_MESSAGE_REPLY)
    return NULL;
  return reply;
}

/* Of the statement's reply; NULL: there are none. */
static const struct mtr_TSparkDirectResults *direct_results(struct kiln_exchange *x,
                                                            const struct operation *op)
{
  const struct mtr_TExecuteStatementResp *resp = decode_taped(x, op->origin);

  return resp ? resp->direct_results : NULL;
}

/* What a reply says about the shape of the rows, or NULL. */
static struct mtr_TGetResultSetMetadataResp *metadata_in(struct kiln_exchange *x,
                                                         const struct kiln_taped *taped)
{
  struct mtr_TFetchResultsResp *page;

  if (taped->call->kind == KILN_CALL_METADATA) return decode_taped(x, taped);
  if (taped->call->kind != KILN_CALL_FETCH) return NULL;
  page = decode_taped(x, taped);
  return page ? page->result_set_metadata : NULL;
}

/* The shape of an operation's rows, wherever it was recorded. */
static struct mtr_TGetResultSetMetadataResp *result_metadata(struct kiln_exchange *x,
                                                             const struct operation *op)
{
  const struct mtr_TSparkDirectResults *direct = direct_results(x, op);
  struct mtr_TGetResultSetMetadataResp *metadata = direct ? direct->result_set_metadata : NULL;
  const struct kiln_taped *taped;

  for (taped = op->origin->calls; taped && !metadata; taped = taped->next)
    metadata = metadata_in(x, taped);
  return metadata;
}

/* ---- Sessions ----------------------------------------------------------------------------- */

/* Requests name their session or their operation in their first field. */
static const void *handle_of(const struct kiln_exchange *x)
{
  const void *handle;

  memcpy(&handle, (const char *)x->request + x->call->request->fields[0].offset, sizeof handle);
  return handle;
}

static struct kiln_entry *find_entry(const struct kiln_table *table,
                                     const struct mtr_THandleIdentifier *id)
{
  return id ? kiln_table_find(table, id->guid, id->secret) : NULL;
}

/* NULL: it was refused. */
static struct session *session_of(struct kiln_replay *replay, struct kiln_exchange *x)
{
  const struct mtr_TSessionHandle *handle = handle_of(x);
  struct kiln_entry *entry = find_entry(&replay->sessions, handle ? handle->session_id : NULL);

  if (entry) return KILN_OWNER(entry, struct session, entry);
  kiln_session_refuse(x, handle);
  return NULL;
}

static enum mortar_status add_session(struct kiln_replay *replay, struct kiln_core *core,
                                      struct session **out, struct mortar_error *err)
{
  struct session *session = mtr_calloc(NULL, 1, sizeof *session);
  enum mortar_status st;

  *out = session;
  if (!session) return mtr_fail_nomem(err, "session");
  kiln_list_init(&session->operations);
  st = kiln_table_add(&replay->sessions, &core->ids, "session", &session->entry, err);
  if (st != MORTAR_OK) {
    mtr_free(NULL, session, sizeof *session);
    return st;
  }
  core->stats.sessions_open++;
  core->stats.sessions_total++;
  return MORTAR_OK;
}

static void on_open(struct kiln_replay *replay, struct kiln_exchange *x)
{
  struct mortar_error err = {0};
  struct kiln_error why;
  struct session *session = NULL;
  const struct kiln_taped *taped = kiln_tape_answer(&replay->tape, x->call, x->request, &why);

  if (!taped)
    kiln_exchange_refuse(x, &why);
  else if (taped->guid_at && add_session(replay, x->core, &session, &err) != MORTAR_OK)
    kiln_exchange_refuse_with(x, &err);
  else
    send_taped(x, taped, session ? &session->entry : NULL);
}

static void on_close_session(struct kiln_replay *replay, struct kiln_exchange *x)
{
  struct session *session = session_of(replay, x);

  if (!session) return;
  x->core->stats.operations_open -= free_session(replay, session);
  x->core->stats.sessions_open--;
  kiln_exchange_accept(x);
}

/* ---- Statements, metadata, GetInfo -------------------------------------------------------- */

static bool asks_direct_results(const struct kiln_exchange *x)
{
  const struct mtr_struct_head *head = x->request;
  const struct mtr_struct_info *info = x->call->request;
  uint16_t i;

  for (i = 0; i < info->field_count; i++)
    if (info->fields[i].sub == &mtr_TSparkGetDirectResults_info && head->has & info->fields[i].bit)
      return true;
  return false;
}

static enum mortar_status add_operation(struct kiln_replay *replay, struct kiln_exchange *x,
                                        struct session *session, const struct kiln_taped *taped,
                                        struct operation **out, struct mortar_error *err)
{
  struct operation *op = mtr_calloc(NULL, 1, sizeof *op);
  enum mortar_status st;

  *out = op;
  if (!op) return mtr_fail_nomem(err, "operation");
  st = kiln_table_add(&replay->operations, &x->core->ids, "operation", &op->entry, err);
  if (st != MORTAR_OK) {
    mtr_free(NULL, op, sizeof *op);
    return st;
  }
  kiln_list_append(&session->operations, &op->in_session);
  op->origin = taped;
  op->direct = !asks_direct_results(x);
  op->more = taped->more;
  x->core->stats.operations_open++;
  return MORTAR_OK;
}

/* An operation that its own reply closes is not kept: clients that ask for direct results say no
 * more of it. The others fetch its rows, though they came with it when it was recorded. */
static void make_operation(struct kiln_replay *replay, struct kiln_exchange *x,
                           struct session *session, const struct kiln_taped *taped)
{
  struct kiln_core *core = x->core;
  struct mortar_error err = {0};
  struct kiln_entry passing;
  struct operation *op;

  core->stats.operations_total++;
  if (taped->closed && asks_direct_results(x)) {
    if (kiln_ids_uuid(&core->ids, passing.id) && kiln_ids_secret(&core->ids, passing.secret))
      send_taped(x, taped, &passing);
    else
      refuse_nomem(x);
  } else if (add_operation(replay, x, session, taped, &op, &err) == MORTAR_OK) {
    send_taped(x, taped, &op->entry);
  } else {
    kiln_exchange_refuse_with(x, &err);
  }
}

static void count_statement(const struct kiln_exchange *x)
{
  const struct mtr_TExecuteStatementReq *req = x->request;
  struct kiln_core *core = x->core;

  kiln_stats_executed(&core->stats, req->statement);
  if (core->faults) kiln_attempts_executed(&core->faults->attempts, req->statement, 1);
}

static void on_question(struct kiln_replay *replay, struct kiln_exchange *x)
{
  struct session *session = session_of(replay, x);
  const struct kiln_taped *taped;
  struct kiln_error why;

  if (!session) return;
  if (x->call->kind == KILN_CALL_EXECUTE) count_statement(x);
  taped = kiln_tape_answer(&replay->tape, x->call, x->request, &why);
  if (taped && taped->guid_at)
    make_operation(replay, x, session, taped);
  else if (taped)
    send_taped(x, taped, NULL);
  else if (x->call->request == &mtr_TGetInfoReq_info)
    kiln_info_answer(x);
  else
    kiln_exchange_refuse(x, &why);
}

/* ---- Calls about operations --------------------------------------------------------------- */

/* The next reply to this kind of call. NULL: there is no further one. */
static const struct kiln_taped *next_reply(struct operation *op, const struct kiln_call *call)
{
  const struct kiln_taped *last = op->given[call->kind];
  const struct kiln_taped *taped = last ? last->next : op->origin->calls;

  while (taped && taped->call != call)
    taped = taped->next;
  if (taped) op->given[call->kind] = taped;
  return taped;
}

static void send_empty_page(struct kiln_exchange *x)
{
  struct mtr_TFetchResultsResp resp = {0};
  struct mtr_TRowSet rows = {0};

  MTR_SET(&rows, TRowSet, start_row_offset, 0);
  MTR_SET_LIST(&rows, TRowSet, rows, NULL, 0);
  MTR_SET(&resp, TFetchResultsResp, status, &kiln_status_success);
  MTR_SET(&resp, TFetchResultsResp, has_more_rows, false);
  MTR_SET(&resp, TFetchResultsResp, results, &rows);
  kiln_exchange_reply(x, &resp);
}

/* Puts the shape of the rows into a page that was recorded without it, if the client asks for it.
 * False: the page is as it was. */
static bool add_metadata(struct kiln_exchange *x, const struct operation *op,
                         struct mtr_TFetchResultsResp *page)
{
  const struct mtr_TFetchResultsReq *req = x->request;
  struct mtr_TGetResultSetMetadataResp *metadata = NULL;

  if (page && req->include_result_set_metadata && !page->result_set_metadata)
    metadata = result_metadata(x, op);
  if (metadata) MTR_SET(page, TFetchResultsResp, result_set_metadata, metadata);
  return metadata != NULL;
}

static void send_page(struct kiln_exchange *x, struct operation *op, const struct kiln_taped *taped)
{
  struct mtr_TFetchResultsResp *page = decode_taped(x, taped);

  op->more = taped->more;
  if (add_metadata(x, op, page))
    kiln_exchange_reply(x, page);
  else
    send_taped(x, taped, NULL);
}

static void send_no_page(struct kiln_exchange *x, const struct operation *op)
{
  struct kiln_error why;

  if (!op->more) {
    send_empty_page(x);
    return;
  }
  kiln_fail(&why, "HY000", "the recordings have no further rows of this operation");
  kiln_exchange_refuse(x, &why);
}

/* Pages come once each. */
static void on_fetch(struct kiln_exchange *x, struct operation *op)
{
  const struct mtr_TSparkDirectResults *direct = op->direct ? direct_results(x, op) : NULL;
  const struct kiln_taped *taped;

  op->direct = false;
  if (direct && direct->result_set) {
    (void)add_metadata(x, op, direct->result_set);
    kiln_exchange_reply(x, direct->result_set);
    return;
  }
  taped = next_reply(op, x->call);
  if (taped)
    send_page(x, op, taped);
  else
    send_no_page(x, op);
}

static void on_status(struct kiln_exchange *x, const struct mtr_TSparkDirectResults *direct)
{
  struct mtr_TGetOperationStatusResp resp = {0};

  MTR_SET(&resp, TGetOperationStatusResp, status, &kiln_status_success);
  MTR_SET(&resp, TGetOperationStatusResp, operation_state, MTR_OPERATION_FINISHED);
  kiln_exchange_reply(x, direct && direct->operation_status ? direct->operation_status : &resp);
}

static void on_metadata(struct kiln_exchange *x, const struct operation *op)
{
  const struct mtr_TGetResultSetMetadataResp *metadata = result_metadata(x, op);
  struct kiln_error why;

  if (metadata) {
    kiln_exchange_reply(x, metadata);
    return;
  }
  kiln_fail(&why, "HY000", "the recordings have no result set metadata of this operation");
  kiln_exchange_refuse(x, &why);
}

/* As recorded, the last reply again and again; else what is known from the statement's reply. */
static void on_other(struct kiln_exchange *x, struct operation *op)
{
  const struct kiln_taped *taped = next_reply(op, x->call);

  if (!taped) taped = op->given[x->call->kind];
  if (taped)
    send_taped(x, taped, NULL);
  else if (x->call->kind == KILN_CALL_STATUS)
    on_status(x, direct_results(x, op));
  else if (x->call->kind == KILN_CALL_METADATA)
    on_metadata(x, op);
  else
    kiln_exchange_accept(x);
}

static void on_operation(struct kiln_replay *replay, struct kiln_exchange *x)
{
  const struct mtr_TOperationHandle *handle = handle_of(x);
  struct kiln_entry *entry = find_entry(&replay->operations, handle ? handle->operation_id : NULL);
  struct operation *op = entry ? KILN_OWNER(entry, struct operation, entry) : NULL;
  struct kiln_core *core = x->core;
  bool closes = x->call->kind == KILN_CALL_CLOSE;

  if (!op)
    kiln_operation_refuse(x, handle);
  else if (x->call->kind == KILN_CALL_FETCH)
    on_fetch(x, op);
  else
    on_other(x, op);
  if (!op || !closes) return;
  free_operation(replay, op);
  core->stats.operations_open--;
}

static void answer(void *engine, struct kiln_exchange *x)
{
  switch (x->call->kind) {
    case KILN_CALL_OPEN_SESSION:
      on_open(engine, x);
      break;
    case KILN_CALL_CLOSE_SESSION:
      on_close_session(engine, x);
      break;
    case KILN_CALL_STATUS:
    case KILN_CALL_METADATA:
    case KILN_CALL_FETCH:
    case KILN_CALL_CLOSE:
    case KILN_CALL_CANCEL:
      on_operation(engine, x);
      break;
    default:
      on_question(engine, x);
  }
}

const struct kiln_engine kiln_replay_engine = {.name = "replay", .answer = answer};
