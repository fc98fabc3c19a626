/* Starts and stops the server: listener, loop thread, workers. Everything else is in the parts that
 * it joins. Refuses to start when the address can't be bound. */
#include "kiln/server/server.h"

#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/wake.h"
#include "kiln/server/exchange.h"
#include "kiln/server/fault_apply.h"
#include "kiln/server/http.h"
#include "kiln/server/operation.h"
#include "kiln/server/protocol.h"
#include "kiln/server/session.h"
#include "kiln/server/tls.h"
#include "kiln/server/volume.h"
#include "kiln/server/volume_http.h"

enum { DEFAULT_WORKERS = 8, DEFAULT_BATCH_ROWS = 4096, DEFAULT_WAIT_MS = 5000 };

/* An idle connection is kept as long as drivers keep theirs (15 minutes). */
enum { IDLE_SECONDS = 900, BACKLOG = 1024 };

/* How long no connection is taken after one could not be: when descriptors run out the listener
 * stays readable, and trying again at once would take a whole core. */
enum { ACCEPT_PAUSE_US = 50 * 1000 };

/* Long enough to hand last replies to the kernel; whoever does not read them loses them. */
enum { FLUSH_US = 20 * 1000 };

enum {
  METHODS = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
            EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH
};

struct kiln_server {
  struct kiln_core core;
  struct kiln_front front;
  char *token, *address;
  struct evhttp *http;
  struct evhttp_bound_socket *bound; /* owned by http, gone once the server stops listening */
  struct event *accept_again;
  SSL_CTX *tls;
  struct mortar_wake *stop;
  struct event *on_stop, *on_jobs;
  bool draining;
  int port;
  pthread_t thread;
  bool running;
};

void kiln_core_submit(struct kiln_core *core, struct kiln_job *job)
{
  if (!core->engine->inline_ok) {
    kiln_pool_submit(core->pool, job);
    return;
  }
  job->run(job);
  job->done(job);
}

/* ---- Stopping, on the loop ---------------------------------------------------------------- */

/* Once no session and no job is left there is nothing more to wait for. */
static void leave_if_idle(struct kiln_server *server)
{
  struct kiln_core *core = &server->core;
  struct timeval tv = {0, FLUSH_US};

  if (!core->stopping || server->draining) return;
  if (core->session_objects > 0 || kiln_pool_busy(core->pool) > 0) return;
  server->draining = true;
  (void)event_base_loopexit(core->base, &tv);
}

static void end_timers(struct kiln_core *core)
{
  struct kiln_link *link = core->exchanges.next, *next;

  for (; link != &core->exchanges; link = next) {
    struct kiln_exchange *x = KILN_OWNER(link, struct kiln_exchange, link);
    next = link->next;
    if (!evtimer_pending(&x->timer, NULL)) continue;
    kiln_exchange_disarm(x);
    x->on_timer(x);
  }
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
  struct kiln_server *server = arg;
  struct kiln_core *core = &server->core;
  struct kiln_entry *entry;

  (void)fd;
  (void)what;
  mortar_wake_clear(server->stop);
  core->stopping = true;
  if (server->bound) evhttp_del_accept_socket(server->http, server->bound);
  server->bound = NULL;
  end_timers(core);
  if (core->faults) kiln_fault_end(core);
  while ((entry = kiln_table_any(&core->sessions)))
    kiln_session_close(KILN_OWNER(entry, struct kiln_session, entry));
  leave_if_idle(server);
}

static void on_jobs(evutil_socket_t fd, short what, void *arg)
{
  struct kiln_server *server = arg;

  (void)fd;
  (void)what;
  kiln_pool_collect(server->core.pool);
  leave_if_idle(server);
}

static void on_nudge(evutil_socket_t fd, short what, void *arg)
{
  (void)fd;
  (void)what;
  kiln_operation_nudge(arg);
}

/* ---- Taking connections ------------------------------------------------------------------- */

/* evhttp has taken the listener's callback argument, so the loop's thread remembers whose it is. */
static _Thread_local struct kiln_server *server_of_loop;

static void on_accept_error(struct evconnlistener *listener, void *http)
{
  struct timeval tv = {0, ACCEPT_PAUSE_US};

  (void)http;
  if (evtimer_add(server_of_loop->accept_again, &tv) == 0) (void)evconnlistener_disable(listener);
}

static void on_accept_again(evutil_socket_t fd, short what, void *arg)
{
  struct kiln_server *server = arg;

  (void)fd;
  (void)what;
  if (server->bound) (void)evconnlistener_enable(evhttp_bound_socket_get_listener(server->bound));
}

static void *run_loop(void *arg)
{
  struct kiln_server *server = arg;

  server_of_loop = server;
  (void)event_base_loop(server->core.base, EVLOOP_NO_EXIT_ON_EMPTY);
  return NULL;
}

/* ---- Starting ----------------------------------------------------------------------------- */

static char *copy_text(const char *text) { return mtr_strndup(NULL, text, strlen(text)); }

static enum mortar_status copy_options(struct kiln_server *server,
                                       const struct kiln_options *options, struct mortar_error *err)
{
  struct kiln_options *own = &server->core.options;

  *own = *options;
  own->address = own->cert_file = own->key_file = own->cert_out = own->token = NULL;
  own->faults_file = own->protocol = own->volumes = NULL;
  own->faults = options->faults || options->faults_file;
  if (own->workers == 0) own->workers = DEFAULT_WORKERS;
  if (own->batch_rows <= 0) own->batch_rows = DEFAULT_BATCH_ROWS;
  if (own->direct_wait_ms <= 0) own->direct_wait_ms = DEFAULT_WAIT_MS;
  server->core.protocol = KILN_PROTOCOL_NEWEST;
  if (options->protocol)
    MTR_TRY(kiln_protocol_read(options->protocol, &server->core.protocol, err));
  server->address = copy_text(options->address ? options->address : "127.0.0.1");
  own->address = server->address;
  if (!server->address) return mtr_fail_nomem(err, "address");
  if (!options->token) return MORTAR_OK;
  server->token = copy_text(options->token);
  own->token = server->token;
  return server->token ? MORTAR_OK : mtr_fail_nomem(err, "token");
}

static enum mortar_status allow_faults(struct kiln_core *core, const struct kiln_options *options,
                                       struct mortar_error *err)
{
  if (!core->options.faults) return MORTAR_OK;
  MTR_TRY(kiln_faults_new(&core->faults, err));
  if (!options->faults_file) return MORTAR_OK;
  return kiln_faults_load_file(core->faults, options->faults_file, err);
}

/* A load test with a server time of 10 ms must not get 12, and a fault's delay is no shorter than
 * it says, which libevent's coarse clock would make it by up to 4 ms: a precise timer is a
 * descriptor, and the idle limits of the connections set it anew for each exchange. The change list
 * saves two epoll_ctl calls for each exchange (20 to 17 us of its CPU); it forbids duplicated
 * descriptors, and there are none. */
static struct event_base *new_base(bool precise)
{
  struct event_config *config = event_config_new();
  struct event_base *base = NULL;

  if (!config) return NULL;
  if ((!precise || event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0) &&
      event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) == 0 &&
      event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0)
    base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

static struct event *watch(struct kiln_server *server, int fd, event_callback_fn fn)
{
  struct event *event = event_new(server->core.base, fd, EV_READ | EV_PERSIST, fn, server);

  if (event && event_add(event, NULL) == 0) return event;
  if (event) event_free(event);
  return NULL;
}

static enum mortar_status make_loop(struct kiln_server *server, struct mortar_error *err)
{
  struct kiln_core *core = &server->core;

  core->base = new_base(core->options.precise || core->options.faults);
  if (!core->base) return mtr_fail(err, MORTAR_NOMEM, "no event loop");
  MTR_TRY(kiln_pool_new(core->options.workers, &core->pool, err));
  MTR_TRY(mortar_wake_new(&server->stop, err));
  server->on_stop = watch(server, mtr_wake_fd(server->stop), on_stop);
  server->on_jobs = watch(server, kiln_pool_fd(core->pool), on_jobs);
  core->nudge = evtimer_new(core->base, on_nudge, core);
  server->accept_again = evtimer_new(core->base, on_accept_again, server);
  if (!server->on_stop || !server->on_jobs || !core->nudge || !server->accept_again)
    return mtr_fail_nomem(err, "events of the loop");
  return kiln_clock_start(core, err);
}

static struct bufferevent *secure_connection(struct event_base *base, void *arg)
{
  SSL *ssl = SSL_new(arg);
  struct bufferevent *bev;

  if (!ssl) return NULL;
  bev = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                       BEV_OPT_CLOSE_ON_FREE);
  if (!bev) SSL_free(ssl);
  /* Many clients end a connection without a TLS goodbye; that is no error here. */
  else
    bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
  return bev;
}

/* Called for every connection where faults are allowed. NULL, without TLS and faults: evhttp makes
 * its own. */
static struct bufferevent *faulty_connection(struct event_base *base, void *arg)
{
  struct kiln_server *server = arg;
  struct kiln_fault_rule *rule = kiln_fault_meet_connection(&server->core);
  struct bufferevent *bev = NULL;

  if (server->tls)
    bev = secure_connection(base, server->tls);
  else if (rule)
    bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
  if (rule && bev) kiln_fault_on_connection(&server->core, rule, bev);
  if (rule && !bev) kiln_fault_rule_unref(rule);
  return bev;
}

static enum mortar_status make_http(struct kiln_server *server, const struct kiln_options *options,
                                    struct mortar_error *err)
{
  server->http = evhttp_new(server->core.base);
  if (!server->http) return mtr_fail_nomem(err, "HTTP server");
  evhttp_set_max_body_size(server->http,
                           server->core.volumes ? KILN_VOLUME_LIMIT : KILN_REQUEST_LIMIT);
  evhttp_set_max_headers_size(server->http, 64 * 1024);
  evhttp_set_allowed_methods(server->http, METHODS);
  evhttp_set_timeout(server->http, IDLE_SECONDS);
  evhttp_set_default_content_type(server->http, NULL);
  evhttp_set_gencb(server->http, kiln_http_on_request, &server->front);
  if (server->core.faults) evhttp_set_bevcb(server->http, faulty_connection, server);
  if (!options->tls) return MORTAR_OK;
  MTR_TRY(kiln_tls_context(options->cert_file, options->key_file, options->cert_out, &server->tls,
                           err));
  server->core.tls = server->tls;
  if (!server->core.faults) evhttp_set_bevcb(server->http, secure_connection, server->tls);
  return MORTAR_OK;
}

static int bound_port(int fd)
{
  struct sockaddr_storage at;
  socklen_t size = sizeof at;

  memset(&at, 0, sizeof at);
  if (getsockname(fd, (struct sockaddr *)&at, &size) != 0) return 0;
  if (at.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)(void *)&at)->sin6_port);
  return ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
}

static struct evconnlistener *listen_at(struct event_base *base, const struct addrinfo *at)
{
  unsigned flags = LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE;

  return evconnlistener_new_bind(base, NULL, NULL, flags, BACKLOG, at->ai_addr,
                                 (int)at->ai_addrlen);
}

/* The option on the listener is inherited by its connections: a reply that takes several writes
 * must not wait for the acknowledgement of the first. */
static enum mortar_status listen_on(struct kiln_server *server, const char *address, int port,
                                    struct mortar_error *err)
{
  struct addrinfo hints = {0}, *found = NULL;
  struct evconnlistener *listener = NULL;
  char service[16];
  int on = 1, error;

  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  (void)snprintf(service, sizeof service, "%d", port);
  if (port < 0 || port > 65535)
    return mtr_fail(err, MORTAR_INVALID, "port %d is none: 0 to 65535 is wanted", port);
  if (getaddrinfo(address, service, &hints, &found) != 0)
    return mtr_fail(err, MORTAR_INVALID, "%s is no numeric address", address);
  listener = listen_at(server->core.base, found);
  error = errno; /* freeaddrinfo may change it */
  freeaddrinfo(found);
  if (listener) server->bound = evhttp_bind_listener(server->http, listener);
  if (!server->bound) {
    if (listener) evconnlistener_free(listener);
    return mtr_fail(err, MORTAR_CONNECT, "can't listen on %s port %d: %s", address, port,
                    strerror(error));
  }
  evconnlistener_set_error_cb(listener, on_accept_error);
  (void)setsockopt(evconnlistener_get_fd(listener), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  server->port = bound_port(evconnlistener_get_fd(listener));
  return MORTAR_OK;
}

/* All signals are blocked in the loop thread: the program's handlers run on the program's threads,
 * and a write to a closed connection is an error and not the end of the process. */
static enum mortar_status start_thread(struct kiln_server *server, struct mortar_error *err)
{
  sigset_t all, before;
  int failed;

  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  failed = pthread_create(&server->thread, NULL, run_loop, server);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) return mtr_fail(err, MORTAR_LIMIT, "loop thread: %s", strerror(failed));
  server->running = true;
  return MORTAR_OK;
}

static struct kiln_server *make(const struct kiln_engine *engine, void *engine_ctx)
{
  struct kiln_server *server = mtr_calloc(NULL, 1, sizeof *server);

  if (!server) return NULL;
  server->core.engine = engine;
  server->core.engine_ctx = engine_ctx;
  kiln_list_init(&server->core.exchanges);
  kiln_list_init(&server->core.idle_exchanges);
  kiln_list_init(&server->core.canceling);
  kiln_stats_init(&server->core.stats, engine->name);
  server->front.core = &server->core;
  return server;
}

enum mortar_status kiln_server_start(const struct kiln_options *options,
                                     const struct kiln_engine *engine, void *engine_ctx,
                                     struct kiln_server **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_server *server = make(engine, engine_ctx);

  *out = NULL;
  if (!server) return mtr_fail_nomem(err, "server");
  MTR_GOTO(copy_options(server, options, err));
  MTR_GOTO(kiln_routes_new(&server->core, &server->front.routes, err));
  MTR_GOTO(allow_faults(&server->core, options, err));
  if (options->volumes) MTR_GOTO(kiln_volumes_new(options->volumes, &server->core.volumes, err));
  MTR_GOTO(make_loop(server, err));
  MTR_GOTO(make_http(server, options, err));
  MTR_GOTO(listen_on(server, server->address, options->port, err));
  MTR_GOTO(start_thread(server, err));
  *out = server;
  server = NULL;
done:
  kiln_server_stop(server);
  return st;
}

int kiln_server_port(const struct kiln_server *server) { return server->port; }

enum mortar_status kiln_server_route(struct kiln_server *server, const char *path, int status,
                                     const char *content_type, const void *body, size_t size,
                                     int64_t delay_us, struct mortar_error *err)
{
  if (status < 100 || status > 999)
    return mtr_fail(err, MORTAR_INVALID, "%d is no HTTP status", status);
  return kiln_routes_add(server->front.routes, path, status, content_type, body, size, delay_us,
                         err);
}

/* Before the last replies and the connections go, which no fault is to touch any more. */
static void free_faults(struct kiln_core *core)
{
  if (core->faults) kiln_fault_forget(core);
  kiln_faults_free(core->faults);
  core->faults = NULL;
}

static void free_loop(struct kiln_core *core)
{
  kiln_exchange_drain(core);
  kiln_clock_stop(core);
  if (core->nudge) event_free(core->nudge);
  if (core->base) event_base_free(core->base);
}

void kiln_server_stop(struct kiln_server *server)
{
  if (!server) return;
  if (server->running) {
    mortar_wake_signal(server->stop);
    (void)pthread_join(server->thread, NULL);
  }
  kiln_pool_free(server->core.pool);
  free_faults(&server->core);
  kiln_routes_free(server->front.routes);
  if (server->http) evhttp_free(server->http);
  if (server->on_stop) event_free(server->on_stop);
  if (server->on_jobs) event_free(server->on_jobs);
  if (server->accept_again) event_free(server->accept_again);
  mortar_wake_free(server->stop);
  free_loop(&server->core);
  kiln_volumes_free(server->core.volumes);
  SSL_CTX_free(server->tls);
  mtr_free_text(NULL, server->token);
  mtr_free_text(NULL, server->address);
  mtr_free(NULL, server, sizeof *server);
}
