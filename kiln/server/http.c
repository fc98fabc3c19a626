/* Paths, methods, authorisation. Refuses what is no path of a warehouse with a quick 404, which is
 * also what the connector's question for feature flags gets. */
#include "kiln/server/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <string.h>

#include "kiln/server/auth.h"
#include "kiln/server/control.h"
#include "kiln/server/exchange.h"
#include "kiln/server/fault_apply.h"
#include "kiln/server/volume_http.h"

enum { TLS_RECORD = 16 * 1024 }; /* the most that one carries */

static const char *reason_of(int status)
{
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Answer";
  }
}

void kiln_http_send(struct evhttp_request *http, int status, const char *content_type)
{
  struct evkeyvalq *headers = evhttp_request_get_output_headers(http);

  if (content_type) (void)evhttp_add_header(headers, "Content-Type", content_type);
  evhttp_send_reply(http, status, reason_of(status), NULL);
}

/* The socket takes nearly every reply at once. Libevent would wait until it is told so, in a second
 * turn of the loop, and then write 16 KiB in each turn (one row: 16 to 14 us of CPU for an
 * exchange; 30 KB: 25 to 16). What does not fit, or fails, is left to it. Libevent keeps a hold on
 * the front of the buffer, which is lifted for the write. evhttp learns later in this turn, as its
 * callback frees the request; so the loop must have another turn. */
static void write_now(struct bufferevent *bev)
{
  struct evbuffer *out = bufferevent_get_output(bev);

  (void)evbuffer_unfreeze(out, 1);
  (void)evbuffer_write(out, bufferevent_getfd(bev));
  (void)evbuffer_freeze(out, 1);
  if (evbuffer_get_length(out) > 0) return;
  (void)bufferevent_disable(bev, EV_WRITE);
  bufferevent_trigger(bev, EV_WRITE, BEV_OPT_DEFER_CALLBACKS);
}

/* Libevent writes each piece of a buffer as a record of its own. In one record the head and what
 * fits of the body behind it come in one packet, and the client wakes up once (its CPU for one row:
 * 40 to 21 us). */
static void join_first_record(struct bufferevent *bev)
{
  struct evbuffer *out = bufferevent_get_output(bev);
  const size_t size = evbuffer_get_length(out);

  (void)evbuffer_pullup(out, (ev_ssize_t)(size < TLS_RECORD ? size : TLS_RECORD));
}

void kiln_http_reply(struct kiln_core *core, struct evhttp_request *http, int status,
                     const char *content_type)
{
  struct evhttp_connection *connection = evhttp_request_get_connection(http);

  if (core->faults && kiln_fault_on_reply(core, http, status, content_type)) return;
  kiln_http_send(http, status, content_type);
  if (core->faults || core->stopping || !connection) return;
  if (core->tls)
    join_first_record(evhttp_connection_get_bufferevent(connection));
  else
    write_now(evhttp_connection_get_bufferevent(connection));
}

void kiln_http_error(struct kiln_core *core, struct evhttp_request *http, int status,
                     const char *text)
{
  struct evbuffer *out = evhttp_request_get_output_buffer(http);

  (void)evbuffer_drain(out, evbuffer_get_length(out));
  (void)evbuffer_add_printf(out, "{\"error_code\":%d,\"message\":\"%s\"}", status, text);
  kiln_http_reply(core, http, status, "application/json; charset=utf-8");
}

static bool is_rest(const char *path, const char *name)
{
  size_t n = strlen(name);

  return strncmp(path, name, n) == 0 && path[n] != '\0';
}

/* "/cliservice" and "/cliservice/" at the end, the others anywhere before an id. */
static bool is_thrift_path(const char *path)
{
  static const char hive[] = "/cliservice";
  const char *sql = strstr(path, "/sql/");
  size_t size = strlen(path), n = sizeof hive - 1;

  if (sql && (is_rest(sql, "/sql/1.0/warehouses/") || is_rest(sql, "/sql/1.0/endpoints/") ||
              is_rest(sql, "/sql/protocolv1/")))
    return true;
  if (size > n && path[size - 1] == '/') size--;
  return size >= n && strncmp(path + size - n, hive, n) == 0;
}

static void refuse_credentials(struct kiln_core *core, struct evhttp_request *http, int status)
{
  const char *text = status == 401 ? "Credential was not sent." : "Invalid access token.";

  (void)evhttp_add_header(evhttp_request_get_output_headers(http), "x-databricks-reason-phrase",
                          text);
  if (status == 401)
    (void)evhttp_add_header(evhttp_request_get_output_headers(http), "WWW-Authenticate", "Bearer");
  kiln_http_error(core, http, status, text);
}

static bool may_speak(struct kiln_core *core, struct evhttp_request *http)
{
  const char *header = evhttp_find_header(evhttp_request_get_input_headers(http), "Authorization");
  int status = kiln_auth_check(core->options.token, header);

  if (status == 0) return true;
  core->stats.errors++;
  refuse_credentials(core, http, status);
  return false;
}

static void answer_call(struct kiln_core *core, struct evhttp_request *http)
{
  struct kiln_exchange *x;

  if (evhttp_request_get_command(http) != EVHTTP_REQ_POST) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(http), "Allow", "POST");
    kiln_http_error(core, http, 405, "a Thrift call is a POST");
    return;
  }
  if (evbuffer_get_length(evhttp_request_get_input_buffer(http)) > KILN_REQUEST_LIMIT) {
    kiln_http_error(core, http, 413, "a Thrift call is not longer than 64 MiB");
    return;
  }
  if (!may_speak(core, http)) return;
  x = kiln_exchange_new(core, http);
  if (!x)
    kiln_http_error(core, http, 500, "out of memory");
  else if (core->stopping)
    kiln_exchange_unavailable(x);
  else
    kiln_exchange_dispatch(x);
}

static const char *path_of(struct evhttp_request *http)
{
  const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(http);
  const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

  return path ? path : "";
}

/* What is neither a call nor Kiln's own. */
static void answer_path(void *arg, struct evhttp_request *http)
{
  struct kiln_front *front = arg;

  if (kiln_volume_request(front->core, path_of(http), http)) return;
  if (!kiln_routes_answer(front->routes, path_of(http), http))
    kiln_http_error(front->core, http, 404, "no such path");
}

/* A route may stand in the place of a warehouse's path, but not in that of Kiln's own. */
void kiln_http_on_request(struct evhttp_request *http, void *arg)
{
  struct kiln_front *front = arg;
  struct kiln_core *core = front->core;
  const char *path = path_of(http);

  core->stats.requests++;
  if (core->faults && kiln_fault_on_request(core, http)) return;
  if (kiln_control_is_path(path))
    kiln_control_answer(core, path, http);
  else if (!kiln_volume_is_path(core, path) && is_thrift_path(path) &&
           !kiln_routes_have(front->routes, path))
    answer_call(core, http);
  else if (!core->faults || !kiln_fault_on_path(core, http, path, answer_path, front))
    answer_path(front, http);
}
