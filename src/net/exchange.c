/* The step machine. Outcomes: NOT_SENT until the transport took the first byte, UNKNOWN from then
 * on; whoever reads the complete reply knows better. */
#include "net/exchange.h"

#include <stdio.h>

#include "base/error.h"
#include "net/sasl.h"

enum phase { PROBE, CONNECT, LOGIN, SEND, RECEIVE, DONE };

/* Receives and bytes of one step, so that the driver sees the clock and the wake-up now and then.
 */
enum { RECEIVES_PER_STEP = 16, BYTES_PER_STEP = 4 << 20 };

void mtr_exchange_start(struct mtr_exchange *ex, int64_t now)
{
  mtr_buf_reset(ex->reply);
  mtr_http1_init(&ex->http, ex->max_body);
  ex->transport->patient = false;
  ex->phase = ex->transport->fd >= 0 ? PROBE : CONNECT;
  ex->started = now;
  ex->connect_limit = MTR_NEVER;
}

int64_t mtr_exchange_limit(const struct mtr_exchange *ex)
{
  return mtr_deadline_min(ex->deadline, ex->connect_limit);
}

/* ---- Framing: HTTP's or binary ------------------------------------------------------------- */

static enum mortar_status feed(struct mtr_exchange *ex, size_t fresh)
{
  if (ex->binary) return mtr_binary_feed(ex->binary, ex->reply, fresh, ex->err);
  return mtr_http1_feed(&ex->http, ex->reply, fresh, ex->err);
}

static enum mortar_status feed_end(struct mtr_exchange *ex)
{
  if (ex->binary) return mtr_binary_eof(ex->binary, ex->err);
  return mtr_http1_eof(&ex->http, ex->reply, ex->err);
}

static size_t room(const struct mtr_exchange *ex)
{
  return ex->binary ? mtr_binary_room(ex->binary) : mtr_http1_room(&ex->http, ex->reply);
}

/* Some of the reply is there. */
static bool begun(const struct mtr_exchange *ex)
{
  return ex->reply->size || ex->http.interim || (ex->binary && mtr_binary_begun(ex->binary));
}

/* ---- The end ------------------------------------------------------------------------------- */

static size_t unsent(const struct mtr_exchange *ex)
{
  return ex->out[0].size + ex->out[1].size - ex->sent;
}

/* The peer has the whole request and nothing is wrong with the connection. */
static bool may_go_on(const struct mtr_exchange *ex, enum mortar_status st)
{
  return ex->phase == RECEIVE && (st == MORTAR_TIMEOUT || st == MORTAR_INTERRUPTED);
}

/* A server of TLS hangs up on a plain request; one that has replied before, or has taken a login,
 * is not of that kind. */
static bool may_want_tls(const struct mtr_exchange *ex, enum mortar_status st)
{
  return st == MORTAR_IO && ex->fresh && ex->transport->bare && ex->stats->exchanges == 0 &&
         ex->login.size == 0 && !begun(ex);
}

static enum mtr_want fail(struct mtr_exchange *ex, enum mortar_status st)
{
  if (ex->phase == CONNECT && ex->transport->way)
    mtr_error_prefix(ex->err, "%s", ex->transport->way);
  if (may_want_tls(ex, st))
    mtr_error_prefix(ex->err, ex->binary
                                  ? "perhaps the port wants a login ('transport' sasl) or TLS"
                                  : "perhaps the port wants TLS (https)");
  mtr_error_outcome(ex->err, ex->sent ? MORTAR_OUTCOME_UNKNOWN : MORTAR_OUTCOME_NOT_SENT);
  ex->pending = ex->keep && may_go_on(ex, st);
  if (!ex->pending) ex->transport->ops->close(ex->transport);
  ex->status = st;
  ex->phase = DONE;
  return MTR_WANT_NOTHING;
}

/* A failure that the transport has described. */
static enum mtr_want fail_io(struct mtr_exchange *ex) { return fail(ex, ex->err->status); }

static enum mtr_want complete(struct mtr_exchange *ex)
{
  ex->reusable = (ex->binary || mtr_http1_reusable(&ex->http)) && unsent(ex) == 0;
  if (!ex->reusable) ex->transport->ops->close(ex->transport);
  ex->stats->exchanges++;
  ex->status = MORTAR_OK;
  ex->phase = DONE;
  return MTR_WANT_NOTHING;
}

/* What the exchange was waiting for, in words. */
static const char *doing(const struct mtr_exchange *ex, char *text, size_t size)
{
  switch (ex->phase) {
    case CONNECT:
      return ex->fresh ? ex->transport->ops->stage(ex->transport) : "connecting";
    case LOGIN: /* who knows no SASL takes it for the beginning of something longer, and waits */
      (void)snprintf(text, size,
                     "logging in (SASL): perhaps the server wants none ('transport' nosasl or "
                     "http)%s",
                     ex->transport->bare ? ", or TLS" : "");
      return text;
    case SEND:
      (void)snprintf(text, size, "sending the request (%zu bytes left)", unsent(ex));
      return text;
    case RECEIVE:
      if (!ex->reply->size) return "waiting for the reply";
      (void)snprintf(text, size, "receiving the reply (%zu bytes so far)", ex->reply->size);
      return text;
    default:
      return "starting";
  }
}

static enum mtr_want time_out(struct mtr_exchange *ex, int64_t now)
{
  char text[128];
  const bool connect = ex->connect_limit < ex->deadline;

  return fail(ex,
              mtr_fail(ex->err, MORTAR_TIMEOUT, "%s passed after %lld ms while %s",
                       connect ? "the connect timeout" : "the deadline",
                       (long long)((now - ex->started) / MTR_MS), doing(ex, text, sizeof text)));
}

void mtr_exchange_interrupt(struct mtr_exchange *ex, int64_t now)
{
  char text[128];

  ex->finished = now;
  (void)fail(ex, mtr_fail(ex->err, MORTAR_INTERRUPTED, "woken up after %lld ms while %s",
                          (long long)((now - ex->started) / MTR_MS), doing(ex, text, sizeof text)));
}

void mtr_exchange_resume(struct mtr_exchange *ex, int64_t deadline, int64_t now)
{
  ex->pending = false;
  ex->phase = RECEIVE;
  ex->deadline = deadline;
  ex->started = now;
}

/* ---- Phases -------------------------------------------------------------------------------- */
/* Each goes as far as it can. TIMER with a new phase means that this one goes on at once. */

static enum mtr_want probe(struct mtr_exchange *ex)
{
  ex->phase = SEND;
  ex->stats->probes++;
  if (ex->transport->ops->quiet(ex->transport)) return MTR_WANT_TIMER;
  ex->transport->ops->close(ex->transport);
  ex->stats->stale++;
  ex->phase = CONNECT;
  return MTR_WANT_TIMER;
}

static enum mtr_want connect_step(struct mtr_exchange *ex, int64_t now)
{
  if (!ex->fresh) ex->connect_limit = mtr_deadline_after(now, ex->connect_timeout_ms);
  ex->fresh = true;
  switch (ex->transport->ops->connect(ex->transport, ex->err)) {
    case MTR_IO_DONE:
      break;
    case MTR_IO_AGAIN:
      return MTR_WANT_CONNECT;
    default:
      return fail_io(ex);
  }
  ex->stats->connects++;
  ex->phase = ex->login.size ? LOGIN : SEND;
  if (ex->phase == SEND) ex->connect_limit = MTR_NEVER;
  return MTR_WANT_TIMER;
}

/* Who speaks no SASL hangs up: with an end or a reset, as it happens. No second attempt helps. */
static enum mtr_want fail_login(struct mtr_exchange *ex)
{
  return fail(ex, mtr_fail(ex->err, MORTAR_AUTH,
                           "the server closed the connection during the login (SASL): perhaps it "
                           "wants none ('transport' nosasl)%s",
                           ex->transport->bare ? ", or TLS" : ""));
}

/* One receive of the answer, which is short. READ: nothing there. */
static enum mtr_want receive_answer(struct mtr_exchange *ex)
{
  struct mtr_buf *answer = ex->reply;
  enum mortar_status st = mtr_buf_reserve(answer, MTR_SASL_ROOM, ex->err);
  size_t n = 0;

  if (st != MORTAR_OK) return fail(ex, st);
  switch (ex->transport->ops->recv(ex->transport, answer->data + answer->size, MTR_SASL_ROOM, &n,
                                   ex->err)) {
    case MTR_IO_DONE:
      answer->size += n;
      break;
    case MTR_IO_AGAIN:
      return MTR_WANT_READ;
    default:
      return fail_login(ex);
  }
  st = mtr_sasl_read_answer(mtr_buf_span(answer), ex->err);
  if (st == MORTAR_MORE) return MTR_WANT_TIMER;
  if (st != MORTAR_OK) return fail(ex, st);
  mtr_buf_reset(answer);
  ex->connect_limit = MTR_NEVER;
  ex->phase = SEND;
  return MTR_WANT_TIMER;
}

/* Belongs to connecting, so nothing of the request has left. */
static enum mtr_want login_step(struct mtr_exchange *ex)
{
  enum mtr_want want = MTR_WANT_TIMER;

  while (ex->login_sent < ex->login.size) {
    const struct mtr_span rest =
        mtr_span_of(ex->login.data + ex->login_sent, ex->login.size - ex->login_sent);
    size_t n = 0;
    switch (ex->transport->ops->send(ex->transport, rest, &n, ex->err)) {
      case MTR_IO_DONE:
        ex->login_sent += n;
        break;
      case MTR_IO_AGAIN:
        return MTR_WANT_WRITE;
      default:
        return fail_login(ex);
    }
  }
  while (want == MTR_WANT_TIMER && ex->phase == LOGIN)
    want = receive_answer(ex);
  return want;
}

/* One receive. READ: nothing there; TIMER: some bytes, not all. */
static enum mtr_want receive_once(struct mtr_exchange *ex)
{
  struct mtr_buf *reply = ex->reply;
  enum mortar_status st = mtr_buf_reserve(reply, room(ex), ex->err);
  size_t n = 0;

  if (st != MORTAR_OK) return fail(ex, st);
  ex->stats->reads++;
  switch (ex->transport->ops->recv(ex->transport, reply->data + reply->size,
                                   reply->capacity - reply->size, &n, ex->err)) {
    case MTR_IO_DONE:
      reply->size += n;
      st = feed(ex, n);
      break;
    case MTR_IO_CLOSED:
      st = feed_end(ex);
      break;
    case MTR_IO_AGAIN:
      return MTR_WANT_READ;
    default:
      return fail_io(ex);
  }
  if (st == MORTAR_OK) return complete(ex);
  return st == MORTAR_MORE ? MTR_WANT_TIMER : fail(ex, st);
}

static struct mtr_span next_piece(const struct mtr_exchange *ex)
{
  const struct mtr_span *out = ex->out;

  if (ex->sent < out[0].size) return mtr_span_of(out[0].data + ex->sent, out[0].size - ex->sent);
  return mtr_span_of(out[1].data + (ex->sent - out[0].size), unsent(ex));
}

/* A peer may answer before it has read everything, and may stop reading then; so a full socket is
 * also looked at from the other side. */
static enum mtr_want send_blocked(struct mtr_exchange *ex)
{
  enum mtr_want want = receive_once(ex);
  return want == MTR_WANT_READ ? MTR_WANT_WRITE : want;
}

static enum mtr_want send_step(struct mtr_exchange *ex)
{
  while (unsent(ex)) {
    size_t n = 0;
    ex->stats->writes++;
    switch (ex->transport->ops->send(ex->transport, next_piece(ex), &n, ex->err)) {
      case MTR_IO_DONE:
        ex->sent += n;
        break;
      case MTR_IO_AGAIN:
        return send_blocked(ex);
      default:
        return fail_io(ex);
    }
  }
  ex->phase = RECEIVE;
  /* The server needs its time, so wait at once, except where TLS may hold bytes that the
   * descriptor does not show: after a handshake, or when some were received already. */
  return ex->fresh || begun(ex) ? MTR_WANT_TIMER : MTR_WANT_READ;
}

static enum mtr_want receive_step(struct mtr_exchange *ex)
{
  const size_t before = ex->reply->size;
  int i;

  for (i = 0; i < RECEIVES_PER_STEP && ex->reply->size - before < BYTES_PER_STEP; i++) {
    enum mtr_want want = receive_once(ex);
    if (want != MTR_WANT_TIMER) return want;
  }
  return MTR_WANT_TIMER;
}

static enum mtr_want run_phase(struct mtr_exchange *ex, int64_t now)
{
  switch (ex->phase) {
    case PROBE:
      return probe(ex);
    case CONNECT:
      return connect_step(ex, now);
    case LOGIN:
      return login_step(ex);
    case SEND:
      return send_step(ex);
    default:
      return receive_step(ex);
  }
}

enum mtr_want mtr_exchange_step(struct mtr_exchange *ex, int64_t now)
{
  enum mtr_want want;
  int phase;

  ex->finished = now;
  if (ex->phase == DONE) return MTR_WANT_NOTHING;
  if (!ex->sent && now >= mtr_exchange_limit(ex)) return time_out(ex, now);
  do {
    phase = ex->phase;
    want = run_phase(ex, now);
  } while (want == MTR_WANT_TIMER && ex->phase != phase);
  /* What has arrived counts, even when it came late. */
  if (want != MTR_WANT_NOTHING && now >= mtr_exchange_limit(ex)) return time_out(ex, now);
  return want;
}
