/* A short list of paths and their answers, behind a lock, since paths may be added while the server
 * runs. Copies paths and types; bodies stay the caller's. */
#include "kiln/server/route.h"

#include <event2/buffer.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/http.h"
#include "kiln/server/list.h"

struct answer {
  int status;
  const char *content_type;
  const void *body;
  size_t size;
  int64_t delay_us;
};

struct route {
  struct route *next;
  char *path, *type;
  struct answer answer;
};

/* A reply that waits for its delay. */
struct held {
  struct kiln_link link;
  struct kiln_core *core;
  struct event *timer;
  struct evhttp_request *http;
  struct answer answer;
};

struct kiln_routes {
  struct kiln_core *core;
  pthread_mutex_t lock;
  struct route *first;
  struct kiln_link held; /* loop thread only */
};

enum mortar_status kiln_routes_new(struct kiln_core *core, struct kiln_routes **out,
                                   struct mortar_error *err)
{
  struct kiln_routes *routes = mtr_calloc(NULL, 1, sizeof *routes);

  *out = routes;
  if (!routes) return mtr_fail_nomem(err, "routes");
  routes->core = core;
  (void)pthread_mutex_init(&routes->lock, NULL);
  kiln_list_init(&routes->held);
  return MORTAR_OK;
}

static void free_route(struct route *route)
{
  if (!route) return;
  mtr_free_text(NULL, route->path);
  mtr_free_text(NULL, route->type);
  mtr_free(NULL, route, sizeof *route);
}

static struct route *find(const struct kiln_routes *routes, const char *path)
{
  struct route *route = routes->first;

  while (route && strcmp(route->path, path) != 0)
    route = route->next;
  return route;
}

/* A route that is replaced stays behind the new one until the end: a reply may wait with its
 * content type. */
enum mortar_status kiln_routes_add(struct kiln_routes *routes, const char *path, int status,
                                   const char *content_type, const void *body, size_t size,
                                   int64_t delay_us, struct mortar_error *err)
{
  struct route *route = mtr_calloc(NULL, 1, sizeof *route);

  if (route) {
    route->path = mtr_strndup(NULL, path, strlen(path));
    route->type = mtr_strndup(NULL, content_type, strlen(content_type));
  }
  if (!route || !route->path || !route->type) {
    free_route(route);
    return mtr_fail_nomem(err, "route");
  }
  route->answer.status = status;
  route->answer.content_type = route->type;
  route->answer.body = body;
  route->answer.size = size;
  route->answer.delay_us = delay_us;
  (void)pthread_mutex_lock(&routes->lock);
  route->next = routes->first;
  routes->first = route;
  (void)pthread_mutex_unlock(&routes->lock);
  return MORTAR_OK;
}

static void send_answer(struct kiln_core *core, struct evhttp_request *http,
                        const struct answer *answer)
{
  struct evbuffer *out = evhttp_request_get_output_buffer(http);

  if (answer->size && evbuffer_add_reference(out, answer->body, answer->size, NULL, NULL) != 0)
    kiln_http_error(core, http, 500, "out of memory");
  else
    kiln_http_reply(core, http, answer->status, answer->content_type);
}

static void drop_held(struct held *held)
{
  kiln_list_remove(&held->link);
  if (held->timer) event_free(held->timer);
  mtr_free(NULL, held, sizeof *held);
}

static void on_held(evutil_socket_t fd, short what, void *arg)
{
  struct held *held = arg;

  (void)fd;
  (void)what;
  send_answer(held->core, held->http, &held->answer);
  drop_held(held);
}

static void hold(struct kiln_routes *routes, struct evhttp_request *http,
                 const struct answer *answer)
{
  struct timeval tv = {(time_t)(answer->delay_us / 1000000),
                       (suseconds_t)(answer->delay_us % 1000000)};
  struct held *held = mtr_calloc(NULL, 1, sizeof *held);

  if (held) {
    kiln_list_append(&routes->held, &held->link);
    held->core = routes->core;
    held->http = http;
    held->answer = *answer;
    held->timer = evtimer_new(routes->core->base, on_held, held);
    if (held->timer && evtimer_add(held->timer, &tv) == 0) return;
    drop_held(held);
  }
  kiln_http_error(routes->core, http, 500, "out of memory");
}

bool kiln_routes_have(struct kiln_routes *routes, const char *path)
{
  bool have;

  (void)pthread_mutex_lock(&routes->lock);
  have = find(routes, path) != NULL;
  (void)pthread_mutex_unlock(&routes->lock);
  return have;
}

bool kiln_routes_answer(struct kiln_routes *routes, const char *path, struct evhttp_request *http)
{
  struct answer answer = {0};
  const struct route *route;

  (void)pthread_mutex_lock(&routes->lock);
  route = find(routes, path);
  if (route) answer = route->answer;
  (void)pthread_mutex_unlock(&routes->lock);
  if (!route) return false;
  if (answer.delay_us > 0)
    hold(routes, http, &answer);
  else
    send_answer(routes->core, http, &answer);
  return true;
}

void kiln_routes_free(struct kiln_routes *routes)
{
  struct route *route;

  if (!routes) return;
  while (!kiln_list_empty(&routes->held)) {
    struct held *held = KILN_OWNER(routes->held.next, struct held, link);
    kiln_http_error(held->core, held->http, 503, "the server is stopping");
    drop_held(held);
  }
  while ((route = routes->first)) {
    routes->first = route->next;
    free_route(route);
  }
  (void)pthread_mutex_destroy(&routes->lock);
  mtr_free(NULL, routes, sizeof *routes);
}
