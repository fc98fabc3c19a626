/* One call over one channel: writes, exchanges, judges the reply. */
#include "client/thrift/call.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "client/pause.h"

enum { CLASS_MAX = 80 }; /* of an error class; the longest known has about 60 letters */

/* The server's words for an HTTP error: its headers first, else a short body that is no page. */
static struct mtr_span http_words(const struct mtr_reply *reply)
{
  struct mtr_span body = reply->body;
  size_t i;

  if (reply->server_message.size) return reply->server_message;
  if (body.size == 0 || body.size > 400 || body.data[0] == '<') return mtr_span_of(NULL, 0);
  for (i = 0; i < body.size; i++)
    if (body.data[i] < 0x20 && body.data[i] != '\n' && body.data[i] != '\r' && body.data[i] != '\t')
      return mtr_span_of(NULL, 0);
  return body;
}

/* What one attempt came to; event and retry_after_ms matter when it failed. */
struct attempt {
  const struct mtr_thrift_peer *peer;
  struct mtr_channel *ch;
  const struct mtr_thrift_method *method;
  void *reply;
  const struct mtr_wait *wait;
  struct mortar_error *err; /* not NULL */
  enum mtr_retry_event event;
  bool answered; /* the error may hold words of the server */
  int64_t retry_after_ms;
  int64_t started; /* the first one; 0: none yet */
};

/* Names the event; the outcome follows from it. */
static enum mortar_status failed(struct attempt *a, enum mortar_status st,
                                 enum mtr_retry_event event)
{
  a->event = event;
  mtr_error_outcome(a->err, mtr_retry_outcome(event));
  return st;
}

/* The path was right when the session opened, so a server that knows nothing below it has lost what
 * the request names. */
static bool is_gone(const struct mtr_thrift_method *method, int status)
{
  return status == 404 && method->kind != MTR_CALL_OPEN;
}

static const char *http_advice(const struct mtr_thrift_method *method, int status)
{
  if (status == 401) return "; is access_token, or username and password, set and valid?";
  if (status == 403) return "; may this access_token use this http_path?";
  if (is_gone(method, status))
    return method->names_session ? "; the session, or the warehouse, is gone"
                                 : "; the server no longer knows the statement";
  if (status == 404) return "; is http_path right?";
  if (status >= 300 && status < 400) return "; redirects are not followed: use the final address";
  return "";
}

static enum mortar_status check_http(struct attempt *a, const struct mtr_reply *reply)
{
  const struct mtr_thrift_method *method = a->method;
  enum mortar_status st = MORTAR_HTTP;
  struct mtr_span words;

  if (reply->status == 200 || !reply->status) return MORTAR_OK;
  if (reply->status == 401 || reply->status == 403) st = MORTAR_AUTH;
  words = http_words(reply);
  (void)mtr_fail(a->err, st, "%s: %s answered with HTTP status %d%s%.*s%s", method->name,
                 a->peer->endpoint, reply->status, words.size ? ": " : "", MTR_SPAN_ARG(words),
                 http_advice(method, reply->status));
  a->err->http_status = reply->status;
  a->err->session_lost = (method->names_session && is_gone(method, reply->status)) ||
                         mtr_thrift_names_lost_session(words);
  return failed(a, st, mtr_retry_event_of_http(reply->status, reply->retry_after_ms >= 0));
}

static bool looks_like_html(const struct mtr_reply *reply)
{
  struct mtr_span b = reply->body;
  size_t i = 0;

  while (i < b.size && (b.data[i] == ' ' || b.data[i] == '\n' || b.data[i] == '\r'))
    i++;
  return i < b.size && b.data[i] == '<';
}

/* A 200 whose body is no reply: say what came instead. The statement may have run. */
static enum mortar_status not_thrift(struct attempt *a, const struct mtr_reply *reply)
{
  const char *method = a->method->name, *endpoint = a->peer->endpoint;
  const struct mortar_error why = *a->err;
  enum mtr_retry_event event = MTR_EVENT_MALFORMED;

  if (reply->body.size == 0) {
    event = MTR_EVENT_EMPTY;
    (void)mtr_fail(a->err, MORTAR_PROTOCOL, "%s: %s sent an empty reply", method, endpoint);
  } else if (looks_like_html(reply)) {
    event = MTR_EVENT_WEB_PAGE;
    (void)mtr_fail(a->err, MORTAR_PROTOCOL,
                   "%s: %s sent a web page instead of a Thrift reply; is http_path right?", method,
                   endpoint);
  } else {
    (void)mtr_fail(a->err, MORTAR_PROTOCOL, "%s: the reply of %s (%.*s) is malformed: %s", method,
                   endpoint, MTR_SPAN_ARG(reply->content_type), why.message);
  }
  a->err->http_status = reply->status;
  return failed(a, MORTAR_PROTOCOL, event);
}

static enum mortar_status check_envelope(struct attempt *a, const struct mtr_message *head)
{
  const char *method = a->method->name;
  const int32_t seqid = a->ch->seqid;

  if (head->type == MTR_MESSAGE_EXCEPTION) {
    (void)mtr_fail(a->err, MORTAR_SERVER, "%s: %s refused the call: %.*s (exception %d)", method,
                   a->peer->endpoint, MTR_SPAN_ARG(head->exception_text),
                   (int)head->exception_type);
    a->err->session_lost = mtr_thrift_names_lost_session(head->exception_text);
    return failed(a, MORTAR_SERVER, MTR_EVENT_EXCEPTION);
  }
  if (head->type == MTR_MESSAGE_REPLY && head->seqid == seqid &&
      mtr_span_equal(head->name, mtr_span_text(method)))
    return MORTAR_OK;
  (void)mtr_fail(a->err, MORTAR_PROTOCOL, "%s: %s answered another call (%.*s, number %d for %d)",
                 method, a->peer->endpoint, MTR_SPAN_ARG(head->name), (int)head->seqid, (int)seqid);
  return failed(a, MORTAR_PROTOCOL, MTR_EVENT_MALFORMED);
}

static enum mortar_status decode_reply(struct attempt *a, const struct mtr_reply *reply)
{
  struct mtr_message head;
  /* The schema hardly ever changes and is hardly ever looked at: it stays on the wire. */
  enum mortar_status st =
      mtr_message_read_leaving(reply->body, a->method->reply, &mtr_TTableSchema_info, a->reply,
                               &a->ch->arena, &head, a->err);

  if (st == MORTAR_NOMEM) return failed(a, st, MTR_EVENT_OTHER);
  if (st != MORTAR_OK) return not_thrift(a, reply);
  return check_envelope(a, &head);
}

/* Every reply struct of TCLIService has its TStatus as field 1. */
static const struct mtr_TStatus *status_of(const struct mtr_thrift_method *method,
                                           const void *reply)
{
  const struct mtr_TStatus *status;

  memcpy(&status, (const char *)reply + method->reply->fields[0].offset, sizeof status);
  return status;
}

static enum mortar_status check_status(struct attempt *a)
{
  const struct mtr_TStatus *status = status_of(a->method, a->reply);
  const enum mortar_status st = mtr_thrift_check(status, a->err);

  if (st == MORTAR_OK) return st;
  if (mtr_thrift_event(status) == MTR_EVENT_GONE && a->method->names_session)
    a->err->session_lost = true;
  return failed(a, st, mtr_thrift_event(status));
}

/* What the exchange that ended with st brought. */
static enum mortar_status judge(struct attempt *a, enum mortar_status st,
                                const struct mtr_reply *reply)
{
  a->answered = st == MORTAR_OK;
  if (st != MORTAR_OK) {
    a->event = mtr_retry_event_of_failure(st, a->err->outcome, reply->begun);
    a->retry_after_ms = -1;
    mtr_error_prefix(a->err, "%s", a->method->name);
    return st;
  }
  a->retry_after_ms = reply->retry_after_ms;
  MTR_TRY(check_http(a, reply));
  MTR_TRY(decode_reply(a, reply));
  return check_status(a);
}

/* Sends what is in the lease's body. */
static enum mortar_status attempt_once(struct attempt *a)
{
  const struct mtr_request http = {a->peer->path, a->peer->headers, a->method->keep};
  const int64_t now = mtr_clock_now();
  struct mtr_wait limited = *a->wait;
  struct mtr_reply reply;
  enum mortar_status st;

  if (!a->started) a->started = now;
  limited.deadline =
      mtr_deadline_min(a->wait->deadline, mtr_deadline_after(now, a->peer->read_timeout_ms));
  mtr_arena_reset(&a->ch->arena);
  st = mtr_lease_exchange(a->ch->lease, &http, &limited, &reply, a->err);
  return judge(a, st, &reply);
}

/* ---- Sending again ---- */

static int64_t next_delay_ms(const struct attempt *a, enum mtr_retry_action action, int64_t retries)
{
  const int64_t now = mtr_clock_now();
  const struct mtr_retry_state state = {
      .retries = retries,
      .elapsed_ms = (now - a->started) / MTR_MS,
      .left_ms = a->wait->deadline == MTR_NEVER ? INT64_MAX : (a->wait->deadline - now) / MTR_MS,
      .retry_after_ms = a->retry_after_ms,
      .random = mtr_retry_scramble(now),
  };

  return mtr_retry_delay_ms(&a->peer->retry, action, &state);
}

/* The class in the server's words, such as [TEMPORARILY_UNAVAILABLE]; empty without one. It holds
 * capital letters and marks only, so it can be no address, no token and no text of a statement. */
static struct mtr_span error_class(const char *text)
{
  const char *p = strchr(text, '[');
  size_t n;

  if (!p) return mtr_span_text("");
  n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.");
  return p[n + 1] == ']' && n <= CLASS_MAX ? mtr_span_of(p, n + 2) : mtr_span_text("");
}

/* Why the attempt failed. Of a reply its kind and never its words, which may hold all that was
 * sent: the log is no place for them. */
static void reason(const struct attempt *a, char *out, size_t size)
{
  const struct mortar_error *err = a->err;
  const struct mtr_span class = error_class(err->message);
  const char *words = mtr_retry_words(a->event);
  char status[32];

  (void)snprintf(status, sizeof status, "HTTP status %d", (int)err->http_status);
  if (err->http_status && err->http_status != 200) words = status;
  if (a->answered)
    (void)snprintf(out, size, "%s: %s answered: %s%s%.*s", a->method->name, a->peer->endpoint,
                   words, class.size ? " " : "", MTR_SPAN_ARG(class));
  else
    (void)snprintf(out, size, "%s", err->message);
}

/* Waits, and says so first. */
static enum mortar_status wait_to_send_again(struct attempt *a, int64_t delay_ms, int64_t retries)
{
  struct mtr_watch *watch = a->ch->watch;
  const enum mortar_outcome outcome = a->err->outcome;
  char why[sizeof a->err->message];
  enum mortar_status st;

  atomic_fetch_add(&watch->counters.retries, 1);
  atomic_fetch_add(&watch->counters.wait_ms, (uint64_t)delay_ms);
  reason(a, why, sizeof why);
  mtr_log(&watch->log, MORTAR_LOG_INFO, "attempt %lld follows in %lld ms: %s",
          (long long)retries + 2, (long long)delay_ms, why);
  st = mtr_pause(a->wait, delay_ms, "waiting to send the request again", a->err);
  if (st == MORTAR_OK) return st;
  mtr_error_prefix(a->err, "%s", a->method->name);
  mtr_error_outcome(a->err, outcome);
  a->event = MTR_EVENT_OTHER;
  return st;
}

/* One attempt that may have run makes it unknown what the call as a whole did. */
static void settle_outcome(struct attempt *a, bool unknown)
{
  if (unknown && a->err->outcome != MORTAR_OUTCOME_DONE)
    mtr_error_outcome(a->err, MORTAR_OUTCOME_UNKNOWN);
}

/* After an attempt that failed with st: the others, as the table and the options say. */
static enum mortar_status send_again(struct attempt *a, const void *request, enum mortar_status st)
{
  const enum mtr_call_kind kind =
      a->method->kind_of ? a->method->kind_of(request) : a->method->kind;
  bool unknown = false;
  int64_t retries = 0;

  while (st != MORTAR_OK) {
    const enum mtr_retry_action action = mtr_retry_action(kind, a->event);
    const int64_t delay_ms = next_delay_ms(a, action, retries);
    if (action == MTR_RETRY_SWALLOW) return MORTAR_OK;
    if (delay_ms < 0) break;
    unknown |= a->err->outcome == MORTAR_OUTCOME_UNKNOWN;
    st = wait_to_send_again(a, delay_ms, retries);
    if (st != MORTAR_OK) break;
    retries++;
    st = attempt_once(a);
  }
  if (st == MORTAR_OK) return st;
  settle_outcome(a, unknown);
  if (retries) mtr_error_prefix(a->err, "after %lld attempts", (long long)retries + 1);
  return st;
}

/* Woken up before anything was sent: the one moment at which giving up is free. */
static enum mortar_status check_wake(const struct attempt *a)
{
  if (!mtr_wake_signalled(a->wait->wake)) return MORTAR_OK;
  (void)mtr_fail(a->err, MORTAR_INTERRUPTED, "%s: woken up before it was sent", a->method->name);
  mtr_error_outcome(a->err, MORTAR_OUTCOME_NOT_SENT);
  return MORTAR_INTERRUPTED;
}

/* Before the request is written. */
static enum mortar_status begin(const struct attempt *a)
{
  struct mtr_channel *ch = a->ch;

  MTR_TRY(check_wake(a));
  if (mtr_log_wants(&ch->watch->log, MORTAR_LOG_DEBUG))
    mtr_log(&ch->watch->log, MORTAR_LOG_DEBUG, "%s", a->method->name);
  ch->seqid = ch->seqid == INT32_MAX ? 1 : ch->seqid + 1;
  ch->call = a->method;
  return MORTAR_OK;
}

/* After it. */
static enum mortar_status finish(struct attempt *a, const void *request)
{
  const enum mortar_status st = attempt_once(a);

  return st == MORTAR_OK ? st : send_again(a, request, st);
}

enum mortar_status mtr_thrift_call(const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
                                   const struct mtr_thrift_method *method, const void *request,
                                   void *reply, const struct mtr_wait *wait,
                                   struct mortar_error *err)
{
  struct mortar_error own;
  struct attempt a = {peer,  ch, method, reply, wait, err ? err : &own, MTR_EVENT_OTHER,
                      false, -1, 0};

  MTR_TRY(begin(&a));
  MTR_TRY(mtr_message_write(mtr_lease_body(ch->lease), MTR_MESSAGE_CALL, method->name, ch->seqid,
                            method->request, request, a.err));
  return finish(&a, request);
}

enum mortar_status mtr_thrift_call_template(const struct mtr_thrift_peer *peer,
                                            struct mtr_channel *ch,
                                            const struct mtr_thrift_method *method,
                                            const struct mtr_message_template *t,
                                            struct mtr_span text, const void *request, void *reply,
                                            const struct mtr_wait *wait, struct mortar_error *err)
{
  struct mortar_error own;
  struct attempt a = {peer,  ch, method, reply, wait, err ? err : &own, MTR_EVENT_OTHER,
                      false, -1, 0};

  MTR_TRY(begin(&a));
  MTR_TRY(mtr_message_template_write(t, ch->seqid, text, mtr_lease_body(ch->lease), a.err));
  return finish(&a, request);
}

enum mortar_status mtr_thrift_resume(const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
                                     void *reply, const struct mtr_wait *wait,
                                     struct mortar_error *err)
{
  struct mortar_error own;
  struct attempt a = {peer,  ch, ch->call, reply, wait, err ? err : &own, MTR_EVENT_OTHER,
                      false, -1, 0};
  struct mtr_reply http_reply;
  enum mortar_status st;

  mtr_arena_reset(&ch->arena);
  st = mtr_lease_resume(ch->lease, wait, &http_reply, a.err);
  return judge(&a, st, &http_reply);
}
