#include "client/thrift/call.h"

#include "base/error.h"
#include "base/text.h"

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

static enum mortar_outcome http_outcome(const struct mtr_reply *reply)
{
  if (reply->status == 429 || (reply->status == 503 && reply->retry_after_ms >= 0))
    return MORTAR_OUTCOME_REJECTED;
  if (reply->status >= 400 && reply->status < 500 && reply->status != 408)
    return MORTAR_OUTCOME_REJECTED;
  return MORTAR_OUTCOME_UNKNOWN;
}

static const char *http_advice(int status)
{
  if (status == 401) return "; is access_token set, and valid?";
  if (status == 403) return "; may this access_token use this http_path?";
  if (status == 404) return "; is http_path right?";
  if (status >= 300 && status < 400) return "; redirects are not followed: use the final address";
  return "";
}

static enum mortar_status check_http(const struct mtr_thrift_peer *peer,
                                     const struct mtr_thrift_method *method,
                                     const struct mtr_reply *reply, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_HTTP;
  struct mtr_span words;

  if (reply->status == 200) return MORTAR_OK;
  if (reply->status == 401 || reply->status == 403) st = MORTAR_AUTH;
  words = http_words(reply);
  (void)mtr_fail(err, st, "%s: %s answered with HTTP status %d%s%.*s%s", method->name,
                 peer->endpoint, reply->status, words.size ? ": " : "", MTR_SPAN_ARG(words),
                 http_advice(reply->status));
  if (!err) return st;
  err->http_status = reply->status;
  err->outcome = http_outcome(reply);
  return st;
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
static enum mortar_status not_thrift(const struct mtr_thrift_peer *peer,
                                     const struct mtr_thrift_method *method,
                                     const struct mtr_reply *reply, struct mortar_error *err)
{
  struct mortar_error why = err ? *err : (struct mortar_error){0};

  if (reply->body.size == 0)
    (void)mtr_fail(err, MORTAR_PROTOCOL, "%s: %s sent an empty reply", method->name,
                   peer->endpoint);
  else if (looks_like_html(reply))
    (void)mtr_fail(err, MORTAR_PROTOCOL,
                   "%s: %s sent a web page instead of a Thrift reply; is http_path right?",
                   method->name, peer->endpoint);
  else
    (void)mtr_fail(err, MORTAR_PROTOCOL, "%s: the reply of %s (%.*s) is malformed: %s",
                   method->name, peer->endpoint, MTR_SPAN_ARG(reply->content_type), why.message);
  if (err) {
    err->http_status = 200;
    err->outcome = MORTAR_OUTCOME_UNKNOWN;
  }
  return MORTAR_PROTOCOL;
}

static enum mortar_status check_envelope(const struct mtr_thrift_peer *peer,
                                         const struct mtr_thrift_method *method, int32_t seqid,
                                         const struct mtr_message *head, struct mortar_error *err)
{
  if (head->type == MTR_MESSAGE_EXCEPTION) {
    (void)mtr_fail(err, MORTAR_SERVER, "%s: %s refused the call: %.*s (exception %d)", method->name,
                   peer->endpoint, MTR_SPAN_ARG(head->exception_text), (int)head->exception_type);
    mtr_error_outcome(err, MORTAR_OUTCOME_UNKNOWN);
    return MORTAR_SERVER;
  }
  if (head->type == MTR_MESSAGE_REPLY && head->seqid == seqid &&
      mtr_span_equal(head->name, mtr_span_text(method->name)))
    return MORTAR_OK;
  (void)mtr_fail(err, MORTAR_PROTOCOL, "%s: %s answered another call (%.*s, number %d for %d)",
                 method->name, peer->endpoint, MTR_SPAN_ARG(head->name), (int)head->seqid,
                 (int)seqid);
  mtr_error_outcome(err, MORTAR_OUTCOME_UNKNOWN);
  return MORTAR_PROTOCOL;
}

static enum mortar_status decode_reply(const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
                                       const struct mtr_thrift_method *method,
                                       const struct mtr_reply *reply, void *out,
                                       struct mortar_error *err)
{
  struct mtr_message head;
  /* The schema hardly ever changes and is hardly ever looked at: it stays on the wire. */
  enum mortar_status st = mtr_message_read_leaving(
      reply->body, method->reply, &mtr_TTableSchema_info, out, &ch->arena, &head, err);

  if (st == MORTAR_NOMEM) return st;
  if (st != MORTAR_OK) return not_thrift(peer, method, reply, err);
  return check_envelope(peer, method, ch->seqid, &head, err);
}

/* Every reply struct of TCLIService has its TStatus as field 1. */
static const struct mtr_TStatus *status_of(const struct mtr_thrift_method *method,
                                           const void *reply)
{
  const struct mtr_TStatus *status;

  memcpy(&status, (const char *)reply + method->reply->fields[0].offset, sizeof status);
  return status;
}

enum mortar_status mtr_thrift_call(const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
                                   const struct mtr_thrift_method *method, const void *request,
                                   void *reply, const struct mtr_wait *wait,
                                   struct mortar_error *err)
{
  const struct mtr_request http = {peer->path, peer->headers};
  struct mtr_buf *body = mtr_lease_body(ch->lease);
  struct mtr_wait limited = *wait;
  struct mtr_reply http_reply;
  enum mortar_status st;

  /* Woken up before anything was sent: the one moment at which giving up is free. */
  if (mtr_wake_signalled(wait->wake)) {
    (void)mtr_fail(err, MORTAR_INTERRUPTED, "%s: woken up before it was sent", method->name);
    mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
    return MORTAR_INTERRUPTED;
  }
  limited.deadline =
      mtr_deadline_min(wait->deadline, mtr_deadline_after(mtr_clock_now(), peer->read_timeout_ms));
  mtr_arena_reset(&ch->arena);
  ch->seqid = ch->seqid == INT32_MAX ? 1 : ch->seqid + 1;
  MTR_TRY(mtr_message_write(body, MTR_MESSAGE_CALL, method->name, ch->seqid, method->request,
                            request, err));
  st = mtr_lease_exchange(ch->lease, &http, &limited, &http_reply, err);
  if (st != MORTAR_OK) {
    mtr_error_prefix(err, "%s", method->name);
    return st;
  }
  MTR_TRY(check_http(peer, method, &http_reply, err));
  MTR_TRY(decode_reply(peer, ch, method, &http_reply, reply, err));
  return mtr_thrift_check(status_of(method, reply), err);
}
