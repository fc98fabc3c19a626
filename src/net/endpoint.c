/* Endpoints: counted, with a small stack of idle connections, the youngest on top. After a fork the
 * child may only drop its references: the lock, libcurl and OpenSSL belong to the parent. */
#include "net/endpoint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/curl_target.h"
#include "net/endpoint_internal.h"
#include "net/process.h"
#include "net/sasl.h"
#include "net/transport_curl.h"

enum {
  MAX_IDLE = 32,  /* connections without a lease; each holds about 100 KB when it is TLS */
  MAX_NAME = 300, /* a host of 255 bytes, brackets, a port */
  MAX_LOGIN = 2 * MTR_SASL_MAX_TEXT + 100
};

struct idle {
  struct mtr_transport *transport;
  int64_t since;
};

struct mtr_endpoint {
  struct mortar_alloc alloc;
  struct mtr_curl_target *target;
  int64_t connect_timeout_ms, idle_ms;
  size_t max_reply;
  enum mtr_wire wire;
  struct mtr_buf login;
  uint64_t generation; /* of the process that made it */
  atomic_int refs;
  struct mtr_registered registered;
  pthread_mutex_t lock; /* of the idle stack */
  struct idle idle[MAX_IDLE];
  size_t idle_count;
  char name[MAX_NAME], host_header[MAX_NAME];
};

static void set_names(struct mtr_endpoint *endpoint, const struct mtr_endpoint_options *o)
{
  const bool v6 = strchr(o->host, ':') != NULL;
  const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";

  (void)snprintf(endpoint->name, MAX_NAME, "%s%s%s:%d", open, o->host, close, o->port);
  if (o->port == (o->tls ? 443 : 80))
    (void)snprintf(endpoint->host_header, MAX_NAME, "%s%s%s", open, o->host, close);
  else
    memcpy(endpoint->host_header, endpoint->name, MAX_NAME);
}

static void forget_login(struct mtr_endpoint *endpoint)
{
  if (endpoint->login.data) memset(endpoint->login.data, 0, endpoint->login.size);
  mtr_buf_fini(&endpoint->login);
}

static enum mortar_status write_login(struct mtr_endpoint *endpoint,
                                      const struct mtr_endpoint_options *o,
                                      struct mortar_error *err)
{
  if (o->wire != MTR_WIRE_SASL) return MORTAR_OK;
  return mtr_sasl_write_plain(&endpoint->login, o->user ? o->user : "anonymous",
                              o->password ? o->password : "anonymous", err);
}

enum mortar_status mtr_endpoint_new(const struct mtr_endpoint_options *options,
                                    const struct mortar_alloc *alloc, struct mtr_endpoint **out,
                                    struct mortar_error *err)
{
  struct mtr_endpoint *endpoint = mtr_calloc(alloc, 1, sizeof *endpoint);
  enum mortar_status st;

  *out = NULL;
  if (!endpoint) return mtr_fail_nomem(err, "endpoint");
  endpoint->alloc = alloc ? *alloc : *mtr_alloc_default();
  endpoint->connect_timeout_ms = options->connect_timeout_ms;
  endpoint->idle_ms = options->idle_ms;
  endpoint->max_reply = options->max_reply;
  endpoint->wire = options->wire;
  mtr_buf_init(&endpoint->login, &endpoint->alloc, "login", MAX_LOGIN);
  endpoint->generation = mtr_process_generation();
  atomic_init(&endpoint->refs, 1);
  mtr_registered_init(&endpoint->registered, endpoint, &endpoint->alloc);
  st = write_login(endpoint, options, err);
  if (st == MORTAR_OK) st = mtr_curl_target_new(options, &endpoint->alloc, &endpoint->target, err);
  if (st != MORTAR_OK) {
    forget_login(endpoint);
    mtr_free(alloc, endpoint, sizeof *endpoint);
    return st;
  }
  set_names(endpoint, options);
  (void)pthread_mutex_init(&endpoint->lock, NULL);
  *out = endpoint;
  return MORTAR_OK;
}

struct mtr_endpoint *mtr_endpoint_ref(struct mtr_endpoint *endpoint)
{
  atomic_fetch_add(&endpoint->refs, 1);
  return endpoint;
}

bool mtr_endpoint_ref_alive(struct mtr_endpoint *endpoint)
{
  int refs = atomic_load(&endpoint->refs);

  while (refs > 0)
    if (atomic_compare_exchange_weak(&endpoint->refs, &refs, refs + 1)) return true;
  return false;
}

struct mtr_registered *mtr_endpoint_registered(struct mtr_endpoint *endpoint)
{
  return &endpoint->registered;
}

void mtr_endpoint_unref(struct mtr_endpoint *endpoint)
{
  const bool inherited = endpoint && mtr_endpoint_inherited(endpoint);
  struct mortar_alloc alloc;
  size_t i;

  if (!endpoint || atomic_fetch_sub(&endpoint->refs, 1) != 1) return;
  mtr_registered_fini(&endpoint->registered, inherited);
  for (i = 0; i < endpoint->idle_count; i++)
    mtr_transport_free(endpoint->idle[i].transport, inherited);
  mtr_curl_target_free(endpoint->target, inherited);
  forget_login(endpoint);
  if (!inherited) (void)pthread_mutex_destroy(&endpoint->lock);
  alloc = endpoint->alloc;
  mtr_free(&alloc, endpoint, sizeof *endpoint);
}

const char *mtr_endpoint_name(const struct mtr_endpoint *endpoint) { return endpoint->name; }

const struct mortar_alloc *mtr_endpoint_alloc(const struct mtr_endpoint *endpoint)
{
  return &endpoint->alloc;
}

const char *mtr_endpoint_host_header(const struct mtr_endpoint *endpoint)
{
  return endpoint->host_header;
}

int64_t mtr_endpoint_connect_timeout_ms(const struct mtr_endpoint *endpoint)
{
  return endpoint->connect_timeout_ms;
}

size_t mtr_endpoint_max_reply(const struct mtr_endpoint *endpoint) { return endpoint->max_reply; }

enum mtr_wire mtr_endpoint_wire(const struct mtr_endpoint *endpoint) { return endpoint->wire; }

struct mtr_span mtr_endpoint_login(const struct mtr_endpoint *endpoint)
{
  return mtr_buf_span(&endpoint->login);
}

bool mtr_endpoint_inherited(const struct mtr_endpoint *endpoint)
{
  return endpoint->generation != mtr_process_generation();
}

enum mortar_status mtr_endpoint_check_process(const struct mtr_endpoint *endpoint,
                                              struct mortar_error *err)
{
  if (!mtr_endpoint_inherited(endpoint)) return MORTAR_OK;
  return mtr_fail(err, MORTAR_STATE,
                  "the connection belongs to the parent process; open a new one after a fork");
}

/* ---- Idle connections ---------------------------------------------------------------------- */

bool mtr_endpoint_too_old(const struct mtr_endpoint *endpoint, int64_t since, int64_t now)
{
  return now >= mtr_deadline_after(since, endpoint->idle_ms);
}

/* The youngest idle connection, or NULL. */
static struct idle pop_idle(struct mtr_endpoint *endpoint)
{
  struct idle idle = {NULL, 0};

  (void)pthread_mutex_lock(&endpoint->lock);
  if (endpoint->idle_count) idle = endpoint->idle[--endpoint->idle_count];
  (void)pthread_mutex_unlock(&endpoint->lock);
  return idle;
}

enum mortar_status mtr_endpoint_take(struct mtr_endpoint *endpoint, int64_t now,
                                     struct mtr_transport **out, struct mortar_error *err)
{
  struct idle idle = pop_idle(endpoint);

  /* Below one that is too old there are only older ones. */
  while (idle.transport && mtr_endpoint_too_old(endpoint, idle.since, now)) {
    mtr_transport_free(idle.transport, false);
    idle = pop_idle(endpoint);
  }
  *out = idle.transport;
  return *out ? MORTAR_OK : mtr_transport_curl_new(endpoint->target, out, err);
}

void mtr_endpoint_give(struct mtr_endpoint *endpoint, struct mtr_transport *transport,
                       int64_t since)
{
  const bool inherited = mtr_endpoint_inherited(endpoint);

  if (!transport) return;
  if (!inherited && transport->fd >= 0) {
    (void)pthread_mutex_lock(&endpoint->lock);
    if (endpoint->idle_count < MAX_IDLE) {
      endpoint->idle[endpoint->idle_count].transport = transport;
      endpoint->idle[endpoint->idle_count++].since = since;
      transport = NULL;
    }
    (void)pthread_mutex_unlock(&endpoint->lock);
  }
  mtr_transport_free(transport, inherited);
}
