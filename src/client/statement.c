/* mortar_statement: a text or a metadata call, and the run of it. One thread executes; cancel may
 * come from any. */
#include "client/statement.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "client/metadata.h"
#include "client/orphans.h"
#include "client/pause.h"
#include "client/result.h"
#include "client/sql_kind.h"
#include "client/volume.h"

enum {
  SQL_MAX = 64 << 20,     /* servers refuse longer requests (100 MiB with its overhead) */
  KEEP_SQL = 4096,        /* what a spare statement may hold */
  FILTERS_MAX = 16 << 20, /* names are short; a list of table types is not long either */
  POLL_FIRST_MS = 10,     /* after the first poll, which is sent at once */
  POLL_LAST_MS = 500,
  LIMIT_GRACE_MS = 100,   /* for the server's own word on a statement that reached its limit */
  DROP_GRACE_MS = 150,    /* for cancelling what failed; see mtr_session_drop_operation */
  CANCEL_GRACE_MS = 10000 /* for mortar_statement_cancel itself */
};

static struct mortar_statement *statement_alloc(const struct mortar_alloc *alloc)
{
  struct mortar_statement *stmt = mtr_calloc(alloc, 1, sizeof *stmt);

  if (!stmt) return NULL;
  stmt->alloc = *alloc;
  (void)pthread_mutex_init(&stmt->lock, NULL);
  mtr_buf_init(&stmt->sql, &stmt->alloc, "SQL text", SQL_MAX);
  mtr_parameters_init(&stmt->parameters, &stmt->alloc);
  mtr_arena_init(&stmt->filters, &stmt->alloc, FILTERS_MAX);
  return stmt;
}

enum mortar_status mortar_statement_new(struct mortar_session *session,
                                        struct mortar_statement **out, struct mortar_error *err)
{
  struct mortar_statement *stmt;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  if (!session) return mtr_fail(err, MORTAR_INVALID, "session must not be NULL");
  stmt = atomic_exchange(&session->spare_statement, NULL);
  if (!stmt) stmt = statement_alloc(&session->alloc);
  if (!stmt) return mtr_fail_nomem(err, "statement");
  stmt->session = mtr_session_ref(session);
  stmt->run.metadata = NULL;
  stmt->run.timeout_seconds = 0;
  stmt->run.row_limit = -1;
  stmt->run.idempotent = false;
  atomic_store(&stmt->armed, false);
  *out = stmt;
  return MORTAR_OK;
}

void mtr_statement_destroy(struct mortar_statement *spare)
{
  struct mortar_alloc alloc;

  if (!spare) return;
  mtr_buf_fini(&spare->sql);
  mtr_parameters_fini(&spare->parameters);
  mtr_volume_free(spare->volume);
  mtr_arena_fini(&spare->filters);
  (void)pthread_mutex_destroy(&spare->lock);
  alloc = spare->alloc;
  mtr_free(&alloc, spare, sizeof *spare);
}

/* What goes with one text only. */
static void drop_bound(struct mortar_statement *stmt)
{
  if (stmt->run.settings.count) mtr_settings_fini(&stmt->run.settings, &stmt->alloc);
  if (!stmt->run.parameter_count) return;
  mtr_parameters_fini(&stmt->parameters);
  stmt->run.parameters = NULL;
  stmt->run.parameter_count = 0;
}

static void drop_volume(struct mortar_statement *stmt)
{
  mtr_volume_free(stmt->volume);
  stmt->volume = NULL;
}

/* What was said for the text before. */
static void drop_additions(struct mortar_statement *stmt)
{
  drop_bound(stmt);
  if (stmt->volume) drop_volume(stmt);
}

void mortar_statement_free(struct mortar_statement *stmt)
{
  struct mortar_session *session;

  if (!stmt) return;
  mtr_statement_forget(stmt);
  mtr_buf_reset(&stmt->sql);
  mtr_buf_trim(&stmt->sql, KEEP_SQL);
  drop_additions(stmt);
  mtr_arena_fini(&stmt->filters);
  session = stmt->session;
  mtr_statement_destroy(atomic_exchange(&session->spare_statement, stmt));
  mtr_session_unref(session);
}

void mtr_statement_arm(struct mortar_statement *stmt)
{
  if (atomic_load(&stmt->armed)) return;
  atomic_store(&stmt->cancel_asked, false);
  atomic_store(&stmt->armed, true);
}

/* armed: a cancel counts; operation: what it stops on the server, NULL: nothing there. */
static void expect_cancel(struct mortar_statement *stmt, bool armed,
                          const struct mtr_handle *operation)
{
  (void)pthread_mutex_lock(&stmt->lock);
  atomic_store(&stmt->armed, armed);
  stmt->operation.guid_size = 0;
  if (operation) stmt->operation = *operation;
  (void)pthread_mutex_unlock(&stmt->lock);
}

void mtr_statement_disarm(struct mortar_statement *stmt, const struct mtr_handle *operation)
{
  expect_cancel(stmt, false, operation);
}

enum mortar_status mortar_statement_set_sql(struct mortar_statement *stmt, const char *sql,
                                            size_t size, struct mortar_error *err)
{
  if (!stmt || (!sql && size))
    return mtr_fail(err, MORTAR_INVALID, "stmt and sql must not be NULL");
  mtr_statement_forget(stmt);
  drop_additions(stmt);
  mtr_buf_reset(&stmt->sql);
  stmt->run.metadata = NULL;
  MTR_TRY(mtr_buf_append(&stmt->sql, sql, size, err));
  stmt->is_volume = mtr_sql_is_volume(mtr_buf_span(&stmt->sql));
  mtr_statement_arm(stmt);
  return MORTAR_OK;
}

enum mortar_status mortar_statement_bind(struct mortar_statement *stmt,
                                         const struct mortar_parameter *list, size_t count,
                                         struct mortar_error *err)
{
  enum mortar_status st;

  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  st = mtr_parameters_set(&stmt->parameters, list, count, err);
  stmt->run.parameters = stmt->parameters.items;
  stmt->run.parameter_count = stmt->parameters.count;
  return st;
}

enum mortar_status mortar_statement_set_metadata(struct mortar_statement *stmt,
                                                 const struct mortar_metadata *metadata,
                                                 struct mortar_error *err)
{
  if (!stmt || !metadata)
    return mtr_fail(err, MORTAR_INVALID, "stmt and metadata must not be NULL");
  mtr_statement_forget(stmt);
  drop_additions(stmt);
  stmt->is_volume = false;
  mtr_buf_reset(&stmt->sql);
  mtr_arena_reset(&stmt->filters);
  stmt->run.metadata = NULL;
  MTR_TRY(mtr_metadata_copy(metadata, &stmt->filters, &stmt->metadata, err));
  MTR_TRY(mtr_metadata_show(&stmt->metadata, &stmt->sql, err));
  stmt->run.metadata = &stmt->metadata;
  mtr_statement_arm(stmt);
  return MORTAR_OK;
}

enum mortar_status mortar_statement_set_timeout(struct mortar_statement *stmt, int64_t seconds,
                                                struct mortar_error *err)
{
  if (!stmt || seconds < 0)
    return mtr_fail(err, MORTAR_INVALID, "the timeout is a number of seconds, or 0");
  stmt->run.timeout_seconds = seconds;
  return MORTAR_OK;
}

enum mortar_status mortar_statement_set_row_limit(struct mortar_statement *stmt, int64_t rows,
                                                  struct mortar_error *err)
{
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  stmt->run.row_limit = rows;
  return MORTAR_OK;
}

enum mortar_status mortar_statement_set_setting(struct mortar_statement *stmt, const char *name,
                                                const char *value, struct mortar_error *err)
{
  if (!stmt || !name || !value)
    return mtr_fail(err, MORTAR_INVALID, "stmt, name and value must not be NULL");
  return mtr_settings_add(&stmt->run.settings, &stmt->alloc, name, value, err);
}

enum mortar_status mortar_statement_set_idempotent(struct mortar_statement *stmt, bool idempotent,
                                                   struct mortar_error *err)
{
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  stmt->run.idempotent = idempotent;
  return MORTAR_OK;
}

enum mortar_status mortar_statement_set_volume(struct mortar_statement *stmt,
                                               const struct mortar_volume *volume,
                                               struct mortar_error *err)
{
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  drop_volume(stmt);
  return volume ? mtr_volume_new(volume, &stmt->alloc, &stmt->volume, err) : MORTAR_OK;
}

bool mortar_statement_is_volume(const struct mortar_statement *stmt)
{
  return stmt && stmt->is_volume;
}

/* Makes the operation known to cancel; true when cancel was asked for before it was. */
static bool name_operation(struct mortar_statement *stmt, const struct mtr_handle *op)
{
  (void)pthread_mutex_lock(&stmt->lock);
  stmt->operation = *op;
  (void)pthread_mutex_unlock(&stmt->lock);
  return atomic_load(&stmt->cancel_asked);
}

static enum mortar_status cancel_operation(struct mortar_session *session,
                                           const struct mtr_handle *op, int64_t grace_ms,
                                           struct mortar_error *err)
{
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), grace_ms)};
  struct mtr_channel *channel = NULL;
  enum mortar_status st;

  MTR_GOTO(mtr_session_take(session, &channel, err));
  MTR_GOTO(session->backend->cancel(session->bs, channel, op, &wait, err));
done:
  mtr_session_give(session, channel);
  return mtr_session_failed(session, op, st, err);
}

enum mortar_status mtr_statement_wait_for_end(struct mortar_session *session,
                                              struct mtr_channel *channel,
                                              const struct mtr_wait *wait,
                                              struct mtr_answer *answer, struct mortar_error *err)
{
  int64_t pause = 0;

  while (answer->live) {
    if (pause) MTR_TRY(mtr_pause(wait, pause, "waiting for the statement", err));
    pause = pause ? pause * 2 : POLL_FIRST_MS;
    if (pause > POLL_LAST_MS) pause = POLL_LAST_MS;
    MTR_TRY(session->backend->poll(session->bs, channel, &answer->operation, wait, answer, err));
  }
  return MORTAR_OK;
}

void mtr_statement_asking_failed(struct mortar_error *err)
{
  if (err) err->outcome = MORTAR_OUTCOME_UNKNOWN;
}

static enum mortar_status not_sent(struct mortar_error *err)
{
  const enum mortar_status st =
      mtr_fail(err, MORTAR_CANCELED, "the statement was cancelled before it was sent");

  mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
  return st;
}

static enum mortar_status run_statement(struct mortar_statement *stmt, struct mtr_channel *channel,
                                        const struct mtr_wait *wait, struct mtr_answer *answer,
                                        struct mortar_error *err)
{
  struct mortar_session *session = stmt->session;
  const struct mtr_run *run = &stmt->run;
  enum mortar_status st = MORTAR_OK;
  struct mtr_wait named = *wait;

  stmt->run.sql = mtr_buf_span(&stmt->sql);
  if (mtr_log_wants(&session->watch.log, MORTAR_LOG_SQL))
    mtr_log(&session->watch.log, MORTAR_LOG_SQL, "execute: %.*s", MTR_LOG_SQL_ARG(run->sql));
  if (atomic_load(&stmt->cancel_asked)) return not_sent(err);
  MTR_TRY(session->backend->execute(session->bs, channel, run, wait, answer, err));
  named.canceled = NULL; /* from here on the server is told */
  if (name_operation(stmt, &answer->operation) && answer->live)
    st = cancel_operation(session, &answer->operation, CANCEL_GRACE_MS, err);
  if (st == MORTAR_OK && !run->submit)
    st = mtr_statement_wait_for_end(session, channel, &named, answer, err);
  if (st != MORTAR_OK && answer->live) mtr_statement_asking_failed(err);
  return st;
}

/* Puts words behind an error's text. */
static void add_words(struct mortar_error *err, const char *words)
{
  const size_t have = err ? strlen(err->message) : 0;

  if (err) (void)snprintf(err->message + have, sizeof err->message - have, "; %s", words);
}

/* Cleans up behind a run that failed with st. What takes time is left to the background thread, but
 * not where memory ran out: the thread would compete for it. Takes the channel. */
static void clean_up(struct mortar_session *session, struct mtr_channel *channel,
                     const struct mtr_answer *answer, enum mortar_status st,
                     struct mortar_error *err)
{
  const bool named = answer->operation.guid_size && !answer->closed;

  if (mtr_lease_pending(channel->lease)) {
    if (mtr_orphan_add(session, channel, MTR_ORPHAN_STARTING, NULL))
      add_words(err, "the statement may be running; it is cancelled once the server names it");
    else
      add_words(err, "the statement may be running");
  } else if (named && (mtr_session_gave_up(st) || (answer->live && st != MORTAR_NOMEM))) {
    if (mtr_orphan_add(session, channel, MTR_ORPHAN_OPERATION, &answer->operation))
      add_words(err, "the statement is being cancelled");
    else
      add_words(err, "the statement may be running");
  } else {
    mtr_session_give(session, channel);
    if (named)
      mtr_session_drop_operation(session, &answer->operation, answer->live, DROP_GRACE_MS, NULL);
    else if (err && err->outcome == MORTAR_OUTCOME_UNKNOWN)
      add_words(err, "the statement may have run, or be running");
  }
}

/* The server ends the statement at its limit and says so. One that doesn't is not waited for. */
static void keep_limit(struct mtr_wait *wait, int64_t seconds)
{
  if (seconds == 0 || seconds > MTR_NEVER / MTR_SECOND) return;
  wait->deadline = mtr_deadline_min(
      wait->deadline, mtr_deadline_after(mtr_clock_now(), seconds * 1000 + LIMIT_GRACE_MS));
}

enum mortar_status mtr_statement_begin(struct mortar_statement *stmt,
                                       const struct mortar_call *call,
                                       struct mtr_session_wait *wait, struct mtr_channel **channel,
                                       struct mtr_answer *answer, struct mortar_error *err)
{
  struct mortar_session *session = stmt->session;
  enum mortar_status st;

  *channel = NULL;
  MTR_TRY(mtr_session_usable(session, err));
  if (stmt->is_volume) MTR_TRY(mtr_volume_check(stmt->volume, mtr_buf_span(&stmt->sql), err));
  atomic_fetch_add_explicit(&session->statements, 1, memory_order_relaxed);
  memset(answer, 0, sizeof *answer);
  mtr_session_wait_init(wait, session, call);
  keep_limit(&wait->wait, stmt->run.timeout_seconds);
  wait->wait.canceled = &stmt->cancel_asked;
  MTR_TRY(mtr_session_take(session, channel, err));
  st = run_statement(stmt, *channel, &wait->wait, answer, err);
  if (st == MORTAR_OK) return MORTAR_OK;
  st = mtr_session_failed(session, &answer->operation, st, err);
  clean_up(session, *channel, answer, st, err);
  *channel = NULL;
  return st;
}

/* The server has answered with a link and leaves the transfer to us. */
static enum mortar_status move_file(struct mortar_statement *stmt, const struct mtr_wait *wait,
                                    struct mortar_result **out, struct mortar_error *err)
{
  struct mortar_result *result = *out;
  enum mortar_status st;

  expect_cancel(stmt, true, NULL);
  st = mtr_volume_perform(result, stmt->volume, wait, err);
  if (st == MORTAR_OK) return st;
  st = mtr_session_failed(stmt->session, &result->operation, st, err);
  mortar_result_free(result);
  *out = NULL;
  return st;
}

enum mortar_status mtr_statement_take(struct mortar_statement *stmt, struct mtr_channel *channel,
                                      const struct mtr_wait *wait, struct mtr_answer *answer,
                                      struct mortar_result **out, struct mortar_error *err)
{
  const enum mortar_status st = mtr_result_new(stmt->session, channel, wait, answer, out, err);

  return st == MORTAR_OK && answer->volume ? move_file(stmt, wait, out, err) : st;
}

static enum mortar_status execute(struct mortar_statement *stmt, const struct mortar_call *call,
                                  struct mortar_result **out, struct mortar_error *err)
{
  struct mtr_channel *channel;
  struct mtr_answer answer;
  struct mtr_session_wait wait;

  MTR_TRY(mtr_statement_begin(stmt, call, &wait, &channel, &answer, err));
  return mtr_statement_take(stmt, channel, &wait.wait, &answer, out, err);
}

enum mortar_status mortar_statement_execute(struct mortar_statement *stmt,
                                            const struct mortar_call *call,
                                            struct mortar_result **out, struct mortar_error *err)
{
  enum mortar_status st;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  mtr_statement_forget(stmt);
  mtr_statement_arm(stmt);
  st = execute(stmt, call, out, err);
  mtr_statement_disarm(stmt, NULL);
  return st;
}

enum mortar_status mortar_statement_cancel(struct mortar_statement *stmt, struct mortar_error *err)
{
  struct mtr_handle op;

  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  (void)pthread_mutex_lock(&stmt->lock);
  if (atomic_load(&stmt->armed)) atomic_store(&stmt->cancel_asked, true);
  op = stmt->operation;
  (void)pthread_mutex_unlock(&stmt->lock);
  return op.guid_size ? cancel_operation(stmt->session, &op, CANCEL_GRACE_MS, err) : MORTAR_OK;
}

enum mortar_status mortar_query(struct mortar_session *session, const char *sql,
                                const struct mortar_call *call, struct mortar_result **out,
                                struct mortar_error *err)
{
  struct mortar_statement *stmt = NULL;
  enum mortar_status st;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  if (!sql) return mtr_fail(err, MORTAR_INVALID, "sql must not be NULL");
  MTR_TRY(mortar_statement_new(session, &stmt, err));
  MTR_GOTO(mortar_statement_set_sql(stmt, sql, strlen(sql), err));
  MTR_GOTO(mortar_statement_execute(stmt, call, out, err));
done:
  mortar_statement_free(stmt);
  return st;
}
