/* What a server says of a failure, as a mortar_error. */
#include "base/error.h"
#include "base/text.h"
#include "client/thrift/call.h"

/* The server's text up to its stack trace: Spark and Hive append one, a line each, that no user
 * wants to read. */
static struct mtr_span without_stack(struct mtr_span text)
{
  size_t i;

  for (i = 0; i + 4 < text.size; i++)
    if (text.data[i] == '\n' && (memcmp(text.data + i, "\n\tat ", 5) == 0 ||
                                 (i + 8 < text.size && memcmp(text.data + i, "\n    at ", 8) == 0)))
      return mtr_span_of(text.data, i);
  return text;
}

struct words {
  struct mtr_span text, sqlstate;
  int32_t code;
};

static bool is_letter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/* True when the text begins with the class, in brackets or not: "[CLASS] words", "CLASS: words".
 * One that stands further behind may be a value of the statement's. */
static bool is_of_class(struct mtr_span text, const char *class)
{
  const size_t n = strlen(class), start = text.size && text.data[0] == '[' ? 1 : 0, end = start + n;

  if (text.size < end || memcmp(text.data + start, class, n) != 0) return false;
  return text.size == end || !(is_letter(text.data[end]) || text.data[end] == '_');
}

/* True when the letters of word, in small ones, stand in text one behind the other, whatever their
 * case and whatever stands between them: servers write "Invalid SessionHandle", "Invalid session
 * handle" and INVALID_SESSION_HANDLE. */
static bool spells(struct mtr_span text, const char *word)
{
  size_t start, i, k;

  for (start = 0; start < text.size; start++) {
    for (i = start, k = 0; i < text.size && word[k]; i++) {
      if ((text.data[i] | 0x20) == (uint8_t)word[k] && is_letter(text.data[i]))
        k++;
      else if (k == 0 || (text.data[i] != ' ' && text.data[i] != '_'))
        break;
    }
    if (!word[k]) return true;
  }
  return false;
}

bool mtr_thrift_names_lost_session(struct mtr_span text)
{
  return spells(text, "invalidsessionhandle");
}

static struct mtr_span text_of(const struct mtr_TStatus *status)
{
  return status->display_message.size ? status->display_message : status->error_message;
}

enum mtr_retry_event mtr_thrift_event(const struct mtr_TStatus *status)
{
  struct mtr_span text;

  if (!status || !MTR_HAS(status, TStatus, status_code)) return MTR_EVENT_MALFORMED;
  text = text_of(status);
  if (status->status_code == MTR_STATUS_INVALID_HANDLE || mtr_thrift_names_lost_session(text) ||
      spells(text, "invalidoperationhandle"))
    return MTR_EVENT_GONE;
  return is_of_class(text, "TEMPORARILY_UNAVAILABLE") ? MTR_EVENT_NOT_STARTED : MTR_EVENT_ERROR;
}

static enum mortar_status fail_with(enum mortar_status st, const struct words *w,
                                    struct mortar_error *err)
{
  struct mtr_span text = without_stack(w->text);

  if (text.size == 0) text = mtr_span_text("the server gave no reason");
  /* The message has room for about a thousand bytes; mtr_fail cuts at a character. */
  (void)mtr_fail(err, st, "%.*s", (int)(text.size > 4096 ? 4096 : text.size),
                 (const char *)text.data);
  if (!err) return st;
  mtr_error_sqlstate(err, (const char *)w->sqlstate.data, w->sqlstate.size);
  err->server_code = w->code;
  err->outcome = MORTAR_OUTCOME_DONE;
  err->session_lost = mtr_thrift_names_lost_session(text);
  return st;
}

enum mortar_status mtr_thrift_check(const struct mtr_TStatus *status, struct mortar_error *err)
{
  struct words w = {{NULL, 0}, {NULL, 0}, 0};

  if (!status || !MTR_HAS(status, TStatus, status_code))
    return mtr_fail(err, MORTAR_PROTOCOL, "the reply has no status");
  if (status->status_code >= MTR_STATUS_SUCCESS &&
      status->status_code <= MTR_STATUS_STILL_EXECUTING)
    return MORTAR_OK;
  w.text = text_of(status);
  w.sqlstate = status->sql_state;
  w.code = status->error_code;
  if (status->status_code == MTR_STATUS_INVALID_HANDLE && !w.text.size)
    w.text = mtr_span_text("the server no longer knows this handle");
  return fail_with(MORTAR_SERVER, &w, err);
}

enum mortar_status mtr_thrift_operation_failed(const struct mtr_TGetOperationStatusResp *state,
                                               struct mortar_error *err)
{
  struct words w = {{NULL, 0}, {NULL, 0}, 0};
  enum mortar_status st = MORTAR_SERVER;
  const char *usual = "the statement failed";

  w.text = state->display_message.size ? state->display_message : state->error_message;
  w.sqlstate = state->sql_state;
  w.code = state->error_code;
  if (state->operation_state == MTR_OPERATION_CANCELED) {
    st = MORTAR_CANCELED;
    usual = "the statement was canceled";
  } else if (state->operation_state == MTR_OPERATION_CLOSED) {
    usual = "the server closed the statement (idle for too long, or by an administrator)";
  } else if (state->operation_state == MTR_OPERATION_TIMEDOUT) {
    st = MORTAR_TIMEOUT;
    usual = "the server ended the statement at its time limit";
  }
  if (!w.text.size) w.text = mtr_span_text(usual);
  return fail_with(st, &w, err);
}
