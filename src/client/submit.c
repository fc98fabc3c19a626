/* Statements that run while nobody waits: submitted, asked after, their result fetched later, also
 * by another statement that was given the handle. Whoever submitted one ends it, unless a result
 * was made of it: then the result does. */
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "client/result.h"
#include "client/statement.h"

enum { DROP_GRACE_MS = 2000 }; /* for the server's word that it is ended */

/* ---- Letting go ---- */

void mtr_submitted_drop(struct mortar_statement *stmt)
{
  struct mtr_submitted *sub = &stmt->submitted;
  const bool open = sub->phase == MTR_SUBMITTED_LIVE || sub->phase == MTR_SUBMITTED_FINISHED;

  sub->phase = MTR_SUBMITTED_NOTHING;
  /* In the child of a fork the statement's lock may be held for ever. */
  if (mtr_session_usable(stmt->session, NULL) != MORTAR_OK) return;
  mtr_statement_disarm(stmt, NULL);
  if (open && !sub->borrowed)
    mtr_session_drop_operation(stmt->session, &sub->answer.operation, sub->answer.live,
                               DROP_GRACE_MS, NULL);
}

void mortar_statement_reset(struct mortar_statement *stmt)
{
  if (stmt) mtr_statement_forget(stmt);
}

/* The server has nothing of it any more, or is told so. */
static enum mortar_status fail_for_good(struct mortar_statement *stmt, enum mortar_status st,
                                        struct mortar_error *err)
{
  struct mtr_submitted *sub = &stmt->submitted;

  if (sub->phase != MTR_SUBMITTED_TAKEN) mtr_submitted_drop(stmt);
  sub->phase = MTR_SUBMITTED_FAILED;
  if (err) *err = sub->failure;
  return st;
}

/* ---- Submitting ---- */

/* Without direct results a server has nothing to say but the name. */
static enum mortar_status check_answer(const struct mtr_answer *answer, struct mortar_error *err)
{
  if (!answer->has_page && !answer->closed) return MORTAR_OK;
  return mtr_fail(err, MORTAR_PROTOCOL, "the server sends a result that was not asked for");
}

static void name_it(struct mtr_submitted *sub, const struct mtr_answer *answer, bool borrowed)
{
  const struct mtr_handle *op = &answer->operation;

  sub->phase = answer->live ? MTR_SUBMITTED_LIVE : MTR_SUBMITTED_FINISHED;
  sub->borrowed = borrowed;
  sub->answer = *answer;
  sub->handle[0] = '\0';
  mtr_uuid_text(mtr_span_of(op->guid, op->guid_size), sub->query_id);
}

static enum mortar_status submit(struct mortar_statement *stmt, const struct mortar_call *call,
                                 struct mortar_error *err)
{
  struct mortar_session *session = stmt->session;
  struct mtr_channel *channel;
  struct mtr_answer answer;
  struct mtr_session_wait wait;
  enum mortar_status st;

  MTR_TRY(mtr_statement_begin(stmt, call, &wait, &channel, &answer, err));
  st = check_answer(&answer, err);
  mtr_session_give(session, channel);
  if (st != MORTAR_OK) {
    if (!answer.closed)
      mtr_session_drop_operation(session, &answer.operation, answer.live, DROP_GRACE_MS, NULL);
    return mtr_session_failed(session, &answer.operation, st, err);
  }
  answer.has_schema = false; /* it was in the channel */
  name_it(&stmt->submitted, &answer, false);
  return MORTAR_OK;
}

enum mortar_status mortar_statement_submit(struct mortar_statement *stmt,
                                           const struct mortar_call *call, struct mortar_error *err)
{
  enum mortar_status st;

  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  mtr_statement_forget(stmt);
  mtr_statement_arm(stmt);
  stmt->run.submit = true;
  st = submit(stmt, call, err);
  stmt->run.submit = false;
  mtr_statement_disarm(stmt, st == MORTAR_OK ? &stmt->submitted.answer.operation : NULL);
  return st;
}

/* ---- Asking ---- */

/* What a failed question leaves: a statement that has ended badly, or one as live as before. */
static enum mortar_status asked(struct mortar_statement *stmt, enum mortar_status st,
                                struct mortar_error *err)
{
  struct mtr_submitted *sub = &stmt->submitted;

  if (st == MORTAR_OK) {
    if (!sub->answer.live) sub->phase = MTR_SUBMITTED_FINISHED;
    return MORTAR_OK;
  }
  if (sub->answer.live) mtr_statement_asking_failed(&sub->failure);
  st = mtr_session_failed(stmt->session, &sub->answer.operation, st, &sub->failure);
  if (!sub->answer.live) return fail_for_good(stmt, st, err);
  if (err) *err = sub->failure;
  return st;
}

/* What a question to the server begins with. */
static enum mortar_status begin(struct mortar_session *session, const struct mortar_call *call,
                                struct mtr_session_wait *wait, struct mtr_channel **channel,
                                struct mortar_error *err)
{
  MTR_TRY(mtr_session_usable(session, err));
  mtr_session_wait_init(wait, session, call);
  return mtr_session_take(session, channel, err);
}

static enum mortar_status ask_once(struct mortar_statement *stmt, const struct mortar_call *call,
                                   struct mortar_error *err)
{
  struct mortar_session *session = stmt->session;
  struct mtr_submitted *sub = &stmt->submitted;
  struct mtr_channel *channel = NULL;
  struct mtr_session_wait wait;
  enum mortar_status st;

  MTR_TRY(begin(session, call, &wait, &channel, err));
  st = session->backend->poll(session->bs, channel, &sub->answer.operation, &wait.wait,
                              &sub->answer, &sub->failure);
  mtr_session_give(session, channel);
  return asked(stmt, st, err);
}

static enum mortar_statement_state state_of(const struct mtr_submitted *sub)
{
  if (sub->phase == MTR_SUBMITTED_NOTHING) return MORTAR_STATEMENT_NONE;
  if (sub->phase != MTR_SUBMITTED_LIVE) return MORTAR_STATEMENT_FINISHED;
  return sub->answer.pending ? MORTAR_STATEMENT_PENDING : MORTAR_STATEMENT_RUNNING;
}

static enum mortar_status failed_before(const struct mtr_submitted *sub, struct mortar_error *err)
{
  if (err) *err = sub->failure;
  return sub->failure.status;
}

enum mortar_status mortar_statement_poll(struct mortar_statement *stmt,
                                         const struct mortar_call *call,
                                         enum mortar_statement_state *out, struct mortar_error *err)
{
  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = MORTAR_STATEMENT_NONE;
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  if (stmt->submitted.phase == MTR_SUBMITTED_FAILED) return failed_before(&stmt->submitted, err);
  if (stmt->submitted.phase == MTR_SUBMITTED_LIVE) MTR_TRY(ask_once(stmt, call, err));
  *out = state_of(&stmt->submitted);
  return MORTAR_OK;
}

/* ---- The result ---- */

/* The statement is on its way again: a cancel counts, and is for what is done here. */
static enum mortar_status make_result(struct mortar_statement *stmt, struct mtr_wait *wait,
                                      struct mtr_channel *channel, struct mortar_result **out,
                                      struct mortar_error *err)
{
  struct mtr_submitted *sub = &stmt->submitted;
  enum mortar_status st;

  sub->phase = MTR_SUBMITTED_TAKEN;
  mtr_statement_arm(stmt);
  wait->canceled = &stmt->cancel_asked;
  st = mtr_statement_take(stmt, channel, wait, &sub->answer, out, &sub->failure);
  mtr_statement_disarm(stmt, NULL);
  return st == MORTAR_OK ? st : fail_for_good(stmt, st, err);
}

static enum mortar_status wait_and_take(struct mortar_statement *stmt,
                                        const struct mortar_call *call, struct mortar_result **out,
                                        struct mortar_error *err)
{
  struct mortar_session *session = stmt->session;
  struct mtr_submitted *sub = &stmt->submitted;
  struct mtr_channel *channel = NULL;
  struct mtr_session_wait wait;
  enum mortar_status st;

  MTR_TRY(begin(session, call, &wait, &channel, err));
  st = mtr_statement_wait_for_end(session, channel, &wait.wait, &sub->answer, &sub->failure);
  if (st == MORTAR_OK) return make_result(stmt, &wait.wait, channel, out, err);
  mtr_session_give(session, channel);
  return asked(stmt, st, err);
}

enum mortar_status mortar_statement_result(struct mortar_statement *stmt,
                                           const struct mortar_call *call,
                                           struct mortar_result **out, struct mortar_error *err)
{
  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  if (!stmt) return mtr_fail(err, MORTAR_INVALID, "stmt must not be NULL");
  switch (stmt->submitted.phase) {
    case MTR_SUBMITTED_NOTHING:
      return mtr_fail(err, MORTAR_STATE, "nothing was submitted");
    case MTR_SUBMITTED_TAKEN:
      return mtr_fail(err, MORTAR_STATE, "the result of what was submitted was taken already");
    case MTR_SUBMITTED_FAILED:
      return failed_before(&stmt->submitted, err);
    case MTR_SUBMITTED_LIVE:
    case MTR_SUBMITTED_FINISHED:
      break;
  }
  return wait_and_take(stmt, call, out, err);
}

/* ---- Handles as text: hex digits of the id, of the secret, and the type, with dots between ----
 */

const char *mortar_statement_query_id(const struct mortar_statement *stmt)
{
  return stmt && stmt->submitted.phase ? stmt->submitted.query_id : "";
}

static char *put_hex(char *out, const uint8_t *bytes, size_t size)
{
  static const char digits[] = "0123456789abcdef";
  size_t i;

  for (i = 0; i < size; i++) {
    *out++ = digits[bytes[i] >> 4];
    *out++ = digits[bytes[i] & 15];
  }
  return out;
}

const char *mortar_statement_handle(const struct mortar_statement *stmt)
{
  /* Written when first asked for. The cast is to our own object. */
  struct mtr_submitted *sub = stmt ? (struct mtr_submitted *)(uintptr_t)&stmt->submitted : NULL;
  const struct mtr_handle *op = sub ? &sub->answer.operation : NULL;
  char *p;

  if (!sub || !sub->phase) return "";
  if (sub->handle[0]) return sub->handle;
  p = put_hex(sub->handle, op->guid, op->guid_size);
  *p++ = '.';
  p = put_hex(p, op->secret, op->secret_size);
  (void)snprintf(p, 16, ".%d", (int)op->type);
  return sub->handle;
}

static int digit_of(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False unless hex digits stand there, of one byte or more, and a dot behind them. */
static bool take_hex(const char **text, uint8_t *bytes, uint8_t *size)
{
  const char *p = *text;
  uint8_t n = 0;

  for (; digit_of(p[0]) >= 0 && digit_of(p[1]) >= 0 && n < MTR_HANDLE_PART_MAX; p += 2)
    bytes[n++] = (uint8_t)(digit_of(p[0]) << 4 | digit_of(p[1]));
  *size = n;
  *text = p + 1;
  return n > 0 && *p == '.';
}

static bool read_handle(const char *text, struct mtr_handle *out)
{
  uint64_t type;

  memset(out, 0, sizeof *out);
  if (!take_hex(&text, out->guid, &out->guid_size)) return false;
  if (*text == '.') /* a server may do without a secret */
    text++;
  else if (!take_hex(&text, out->secret, &out->secret_size))
    return false;
  if (!mtr_text_u64(mtr_span_text(text), INT32_MAX, &type)) return false;
  out->type = (int32_t)type;
  return true;
}

enum mortar_status mortar_statement_attach(struct mortar_statement *stmt, const char *handle,
                                           struct mortar_error *err)
{
  struct mtr_answer answer = {.live = true, .more = true, .rows_affected = -1};

  if (!stmt || !handle) return mtr_fail(err, MORTAR_INVALID, "stmt and handle must not be NULL");
  if (!read_handle(handle, &answer.operation))
    return mtr_fail(err, MORTAR_INVALID,
                    "that is no handle of a statement; a query id alone is not enough, since the "
                    "server wants the secret that it gave with it");
  mtr_statement_forget(stmt);
  name_it(&stmt->submitted, &answer, true);
  mtr_statement_disarm(stmt, &answer.operation);
  return MORTAR_OK;
}
