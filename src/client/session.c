/* Opens, counts, lends channels, closes. Knows no wire: that is the backend's. */
#include "client/session.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "client/orphans.h"
#include "client/proxy.h"
#include "net/process.h"

enum {
  IDLE_CHANNELS_MAX = 64, /* more than that at once is a burst; what comes back then is freed */
  FREE_GRACE_MS = 2000,   /* how long mortar_session_free may wait for CloseSession */
  SILENT_GRACE_MS = 100   /* the same, right after another farewell timed out: time to send it */
};

static struct mtr_wait wait_of(const struct mortar_call *call)
{
  struct mtr_wait wait = {.deadline = MTR_NEVER};

  if (!call) return wait;
  wait.wake = call->wake;
  wait.tick = call->tick;
  wait.tick_ctx = call->tick_ctx;
  if (call->timeout_ms >= 0) wait.deadline = mtr_deadline_after(mtr_clock_now(), call->timeout_ms);
  return wait;
}

static int tick(void *ctx)
{
  struct mtr_session_wait *w = ctx;

  if (!w->ended) w->ended = atomic_load(&w->session->closed) || (w->tick && w->tick(w->tick_ctx));
  return w->ended;
}

void mtr_session_wait_init(struct mtr_session_wait *w, const struct mortar_session *session,
                           const struct mortar_call *call)
{
  w->wait = wait_of(call);
  w->session = session;
  w->tick = w->wait.tick;
  w->tick_ctx = w->wait.tick_ctx;
  w->ended = false;
  w->wait.tick = tick;
  w->wait.tick_ctx = w;
}

bool mtr_session_gave_up(enum mortar_status st)
{
  return st == MORTAR_TIMEOUT || st == MORTAR_INTERRUPTED;
}

void mtr_session_endpoint_options(const struct mortar_session *session,
                                  struct mtr_endpoint_options *out)
{
  const struct mtr_options *options = &session->options;
  const struct mtr_proxy proxy = mtr_proxy_of(options);

  memset(out, 0, sizeof *out);
  out->host = options->host;
  out->port = mtr_options_port(options);
  out->tls = options->tls;
  out->verify_peer = options->tls_verify;
  out->verify_host = options->tls_verify && options->tls_verify_host;
  out->ca_file = options->tls_ca_file;
  out->client_cert_file = options->tls_client_cert_file;
  out->client_key_file = options->tls_client_key_file;
  out->client_key_password = options->tls_client_key_password;
  out->proxy = proxy.proxy;
  out->no_proxy = proxy.no_proxy;
  out->connect_timeout_ms = options->connect_timeout_ms;
  out->idle_ms = options->idle_ms;
  out->max_reply = (size_t)options->max_reply_bytes;
}

static enum mortar_status make_endpoint(struct mortar_session *session, struct mortar_error *err)
{
  struct mtr_endpoint_options options;

  if (!session->options.host || !*session->options.host)
    return mtr_fail(err, MORTAR_INVALID,
                    "no host is set: use mortar_config_set_uri, or set 'host'");
  mtr_session_endpoint_options(session, &options);
  options.wire = session->options.transport;
  options.user = session->options.username;
  options.password = session->options.password;
  return mtr_endpoint_get(&options, &session->alloc, &session->endpoint, err);
}

static enum mortar_status session_new(const struct mortar_config *config,
                                      struct mortar_session **out, struct mortar_error *err)
{
  struct mortar_session *session = mtr_calloc(&config->alloc, 1, sizeof *session);
  enum mortar_status st;

  *out = NULL;
  if (!session) return mtr_fail_nomem(err, "session");
  session->alloc = config->alloc;
  atomic_init(&session->count, 1);
  atomic_init(&session->closed, false);
  atomic_init(&session->silent_until, 0);
  atomic_init(&session->statements, 0);
  atomic_init(&session->spare_statement, NULL);
  atomic_init(&session->spare_result, NULL);
  atomic_init(&session->watch.counters.retries, 0);
  atomic_init(&session->watch.counters.wait_ms, 0);
  session->watch.log = config->log;
  if (session->watch.log.hold) session->watch.log.hold(session->watch.log.ctx);
  session->generation = mtr_process_generation();
  (void)pthread_mutex_init(&session->lock, NULL);
  mtr_shape_cache_init(&session->shapes);
  session->backend = &mtr_backend_thrift;
  mtr_options_init(&session->options, &session->alloc);
  st = mtr_options_copy(&session->options, &config->options, err);
  session->options.alloc = &session->alloc;
  if (st == MORTAR_OK) st = make_endpoint(session, err);
  if (st == MORTAR_OK)
    *out = session;
  else
    mtr_session_unref(session);
  return st;
}

struct mortar_session *mtr_session_ref(struct mortar_session *session)
{
  atomic_fetch_add_explicit(&session->count, 1, memory_order_relaxed);
  return session;
}

static void free_channels(struct mtr_channel *channel)
{
  while (channel) {
    struct mtr_channel *next = channel->next;
    mtr_channel_free(channel);
    channel = next;
  }
}

/* Lets the idle connections go. */
static void free_idle(struct mortar_session *session)
{
  struct mtr_channel *idle;

  (void)pthread_mutex_lock(&session->lock);
  idle = session->idle;
  session->idle = NULL;
  session->idle_count = 0;
  (void)pthread_mutex_unlock(&session->lock);
  free_channels(idle);
}

void mtr_session_unref(struct mortar_session *session)
{
  struct mortar_alloc alloc;
  struct mtr_log log;

  if (!session || atomic_fetch_sub_explicit(&session->count, 1, memory_order_acq_rel) != 1) return;
  mtr_channel_free(session->anchor);
  free_channels(session->idle); /* nobody else is left: no lock, which a fork may have left held */
  mtr_statement_destroy(atomic_load(&session->spare_statement));
  mtr_result_destroy(atomic_load(&session->spare_result));
  if (session->bs) session->backend->free(session->bs);
  mtr_endpoint_unref(session->endpoint);
  mtr_shape_cache_fini(&session->shapes);
  (void)pthread_mutex_destroy(&session->lock);
  alloc = session->alloc;
  log = session->watch.log;
  mtr_options_fini(&session->options);
  mtr_free(&alloc, session, sizeof *session);
  if (log.release) log.release(log.ctx);
}

enum mortar_status mtr_session_take(struct mortar_session *session, struct mtr_channel **out,
                                    struct mortar_error *err)
{
  (void)pthread_mutex_lock(&session->lock);
  *out = session->idle;
  if (*out) {
    session->idle = (*out)->next;
    session->idle_count--;
  }
  (void)pthread_mutex_unlock(&session->lock);
  if (*out) return MORTAR_OK;
  return mtr_channel_new(session->endpoint, &session->alloc, &session->watch, out, err);
}

static bool other_process(const struct mortar_session *session)
{
  return session->generation != mtr_process_generation();
}

/* Adds what the channel did since it was last here. Under the lock. */
static void count_up(struct mortar_session *session, struct mtr_channel *channel)
{
  struct mtr_lease_stats *sum = &session->exchanges, *had = &channel->counted, now;

  mtr_lease_stats(channel->lease, &now);
  sum->connects += now.connects - had->connects;
  sum->exchanges += now.exchanges - had->exchanges;
  sum->writes += now.writes - had->writes;
  sum->waits += now.waits - had->waits;
  sum->reads += now.reads - had->reads;
  sum->stale += now.stale - had->stale;
  sum->probes += now.probes - had->probes;
  *had = now;
  session->batches_decoded += channel->batches_decoded;
  channel->batches_decoded = 0;
}

void mtr_session_give(struct mortar_session *session, struct mtr_channel *channel)
{
  bool keep;

  if (!channel) return;
  if (other_process(session)) { /* the fork may have left the lock held */
    mtr_channel_free(channel);
    return;
  }
  mtr_lease_trim(channel->lease);
  (void)pthread_mutex_lock(&session->lock);
  count_up(session, channel);
  keep = session->idle_count < IDLE_CHANNELS_MAX && !atomic_load(&session->closed);
  if (keep) {
    channel->next = session->idle;
    session->idle = channel;
    session->idle_count++;
  }
  (void)pthread_mutex_unlock(&session->lock);
  if (!keep) mtr_channel_free(channel);
}

/* A server of the binary wires ends a session with the connection on which it was opened. That one
 * is kept apart: whatever else is given up and closed, it is not. Any other may carry calls. */
static void anchor(struct mortar_session *session, struct mtr_channel *channel)
{
  (void)pthread_mutex_lock(&session->lock);
  count_up(session, channel);
  session->anchor = channel;
  (void)pthread_mutex_unlock(&session->lock);
}

/* The channel for the last call, once the session is closed. */
static enum mortar_status take_last(struct mortar_session *session, struct mtr_channel **out,
                                    struct mortar_error *err)
{
  *out = session->anchor;
  session->anchor = NULL;
  return *out ? MORTAR_OK : mtr_session_take(session, out, err);
}

/* Failures that our own reading of a reply found: their texts do not name the server. */
static bool is_about_reply(enum mortar_status st)
{
  return st == MORTAR_PROTOCOL || st == MORTAR_CORRUPT || st == MORTAR_LIMIT ||
         st == MORTAR_UNSUPPORTED;
}

/* Whatever the server said of the statement then, it was our own doing, and no word on what it did.
 */
static enum mortar_status closed_meanwhile(struct mortar_error *err)
{
  const struct mortar_error was = *err;

  (void)mtr_fail(err, MORTAR_INTERRUPTED, "the session was closed by another thread: %s",
                 was.message);
  err->outcome = was.outcome == MORTAR_OUTCOME_DONE ? MORTAR_OUTCOME_UNKNOWN : was.outcome;
  return MORTAR_INTERRUPTED;
}

/* A server may send back what it was sent. */
static void hide_secrets(const struct mortar_session *session, struct mortar_error *err)
{
  mtr_error_mask(err, session->options.access_token);
  mtr_error_mask(err, session->options.password);
}

enum mortar_status mtr_session_failed(const struct mortar_session *session,
                                      const struct mtr_handle *op, enum mortar_status st,
                                      struct mortar_error *err)
{
  if (!err || st == MORTAR_OK) return st;
  hide_secrets(session, err);
  if (op && st != MORTAR_STATE && atomic_load(&session->closed)) st = closed_meanwhile(err);
  if (is_about_reply(st) && !strstr(err->message, mtr_endpoint_name(session->endpoint)))
    mtr_error_prefix(err, "%s", mtr_endpoint_name(session->endpoint));
  /* What has a name, or a reply, was answered. */
  if (err->outcome == MORTAR_OUTCOME_NONE && (is_about_reply(st) || (op && op->guid_size)))
    err->outcome = MORTAR_OUTCOME_DONE;
  memcpy(err->session_id, session->id, sizeof err->session_id);
  if (op && op->guid_size) mtr_uuid_text(mtr_span_of(op->guid, op->guid_size), err->query_id);
  return st;
}

enum mortar_status mtr_session_usable(const struct mortar_session *session,
                                      struct mortar_error *err)
{
  if (other_process(session))
    return mtr_fail(err, MORTAR_STATE,
                    "the session belongs to the parent process: open one in this process");
  if (atomic_load(&session->closed)) return mtr_fail(err, MORTAR_STATE, "the session is closed");
  return MORTAR_OK;
}

enum mortar_status mortar_session_usable(const struct mortar_session *session,
                                         struct mortar_error *err)
{
  if (!session) return mtr_fail(err, MORTAR_INVALID, "session must not be NULL");
  return mtr_session_usable(session, err);
}

void mortar_session_get_stats(const struct mortar_session *session,
                              struct mortar_session_stats *out)
{
  struct mortar_session *s = (struct mortar_session *)(uintptr_t)session; /* for its locks */

  memset(out, 0, sizeof *out);
  if (!s) return;
  out->statements = atomic_load(&s->statements);
  out->retries = atomic_load(&s->watch.counters.retries);
  out->batches_joined = atomic_load(&s->batches_joined);
  out->retry_wait_ms = atomic_load(&s->watch.counters.wait_ms);
  (void)pthread_mutex_lock(&s->lock);
  out->exchanges = s->exchanges.exchanges;
  out->connects = s->exchanges.connects;
  out->stale_connections = s->exchanges.stale;
  out->writes = s->exchanges.writes;
  out->waits = s->exchanges.waits;
  out->reads = s->exchanges.reads;
  out->probes = s->exchanges.probes;
  out->batches_decoded = s->batches_decoded;
  (void)pthread_mutex_unlock(&s->lock);
  (void)pthread_mutex_lock(&s->shapes.lock);
  out->schemas_derived = s->shapes.misses;
  (void)pthread_mutex_unlock(&s->shapes.lock);
}

/* An open that failed may have made a session all the same. Takes the channel. */
static void abandon_open(struct mortar_session *session, struct mtr_channel *channel)
{
  const bool named = session->bs && session->backend->handle(session->bs)->guid_size;

  atomic_store(&session->closed, true);
  if (mtr_lease_pending(channel->lease))
    (void)mtr_orphan_add(session, channel, MTR_ORPHAN_OPENING, NULL);
  else if (named)
    (void)mtr_orphan_add(session, channel, MTR_ORPHAN_SESSION, NULL);
  else
    mtr_channel_free(channel);
}

enum mortar_status mortar_session_open(const struct mortar_config *config,
                                       const struct mortar_call *call, struct mortar_session **out,
                                       struct mortar_error *err)
{
  const struct mtr_wait wait = wait_of(call);
  struct mortar_session *session = NULL;
  struct mtr_channel *channel = NULL;
  const struct mtr_handle *handle;
  enum mortar_status st;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  if (!config) return mtr_fail(err, MORTAR_INVALID, "config must not be NULL");
  MTR_GOTO(session_new(config, &session, err));
  MTR_GOTO(mtr_session_take(session, &channel, err));
  st = session->backend->open(config, &session->alloc, channel, &wait, &session->bs, err);
  if (st != MORTAR_OK) {
    hide_secrets(session, err);
    abandon_open(session, channel);
    channel = NULL;
    goto done;
  }
  handle = session->backend->handle(session->bs);
  mtr_uuid_text(mtr_span_of(handle->guid, handle->guid_size), session->id);
  mtr_log(&session->watch.log, MORTAR_LOG_INFO, "session %s opened on %s", session->id,
          mtr_endpoint_name(session->endpoint));
  if (session->options.transport != MTR_WIRE_HTTP)
    anchor(session, channel);
  else
    mtr_session_give(session, channel);
  channel = NULL;
  *out = session;
  session = NULL;
done:
  mtr_channel_free(channel);
  mtr_session_unref(session);
  return st;
}

const char *mortar_session_id(const struct mortar_session *session)
{
  return session ? session->id : "";
}

enum mortar_status mortar_session_close(struct mortar_session *session,
                                        const struct mortar_call *call, struct mortar_error *err)
{
  const struct mtr_wait wait = wait_of(call);
  struct mtr_channel *channel = NULL;
  enum mortar_status st;

  if (!session) return mtr_fail(err, MORTAR_INVALID, "session must not be NULL");
  if (atomic_exchange(&session->closed, true) || other_process(session)) return MORTAR_OK;
  MTR_GOTO(take_last(session, &channel, err));
  MTR_GOTO(session->backend->close(session->bs, channel, &wait, err));
  mtr_log(&session->watch.log, MORTAR_LOG_INFO, "session %s closed", session->id);
done:
  mtr_session_give(session, channel);
  free_idle(session);
  return mtr_session_failed(session, NULL, st, err);
}

/* Results and their session often go together. A server that is silent is waited for once and not
 * at each of them: those that follow at once are sent, and hardly waited for. */
static int64_t farewell_ms(const struct mortar_session *session, int64_t grace_ms)
{
  const bool silent = mtr_clock_now() < atomic_load(&session->silent_until);

  return silent && grace_ms > SILENT_GRACE_MS ? SILENT_GRACE_MS : grace_ms;
}

static void farewell_timed_out(struct mortar_session *session)
{
  atomic_store(&session->silent_until, mtr_deadline_after(mtr_clock_now(), FREE_GRACE_MS));
}

void mortar_session_free(struct mortar_session *session)
{
  struct mortar_call grace = {.timeout_ms = FREE_GRACE_MS};

  if (!session) return;
  grace.timeout_ms = farewell_ms(session, FREE_GRACE_MS);
  (void)mortar_session_close(session, &grace, NULL);
  mtr_session_unref(session);
}

void mtr_session_drop_operation(struct mortar_session *session, const struct mtr_handle *op,
                                bool cancel, int64_t grace_ms, const struct mtr_wait *within)
{
  struct mtr_wait wait = within ? *within : (struct mtr_wait){.deadline = MTR_NEVER};
  struct mtr_channel *channel = NULL;
  enum mortar_status st;

  grace_ms = farewell_ms(session, grace_ms);
  wait.deadline = mtr_deadline_min(wait.deadline, mtr_deadline_after(mtr_clock_now(), grace_ms));
  if (!op->guid_size || mtr_session_usable(session, NULL) != MORTAR_OK) return;
  if (mtr_session_take(session, &channel, NULL) != MORTAR_OK) return;
  if (cancel) (void)!session->backend->cancel(session->bs, channel, op, &wait, NULL);
  st = session->backend->close_operation(session->bs, channel, op, &wait, NULL);
  mtr_session_give(session, channel);
  if (st == MORTAR_TIMEOUT) farewell_timed_out(session);
  if (mtr_session_gave_up(st)) (void)mtr_orphan_add(session, NULL, MTR_ORPHAN_OPERATION, op);
}
