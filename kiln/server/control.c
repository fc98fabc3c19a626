/* What people and tests ask Kiln itself. Refuses pages of other origins: these paths need no token,
 * and a browser on this machine must not be a way to them. */
#include "kiln/server/control.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <jansson.h>

#include "base/error.h"
#include "base/text.h"
#include "kiln/server/fault_apply.h"
#include "kiln/server/http.h"
#include "kiln/server/json.h"
#include "kiln/server/tls.h"

/* 1,024 rules of a few hundred bytes, and bodies of replies that stay legible. */
enum { SCRIPT_LIMIT = 4 * 1024 * 1024 };

/* The statistics hold 256 texts twice, of 200 bytes that are six each in JSON at most, with gaps
 * and headers of 64 KiB at most; the rules are shown with their counters. */
enum { ANSWER_LIMIT = 32 * 1024 * 1024 };

/* A step of the clock, and its sum: ten years, so that nanoseconds fit. */
#define MAX_ADVANCE_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

static const char content_type[] = "application/json";

/* ---- Who asks ---------------------------------------------------------------------------------
 */

/* The host without its port and without brackets; false when it is too long for a host. */
static bool bare_host(const char *host, char out[256])
{
  const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
  size_t n;

  if (host[0] == '[') host++;
  n = end ? (size_t)(end - host) : strlen(host);
  if (n == 0 || n > 255) return false;
  memcpy(out, host, n);
  out[n] = '\0';
  return true;
}

static bool is_numeric(const char *host)
{
  unsigned char address[16];

  return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

bool kiln_control_is_ours(const char *listening, const char *host)
{
  unsigned char v4[4];
  char bare[256];

  if (!bare_host(host, bare)) return false;
  if (mtr_text_same(mtr_span_text(bare), mtr_span_text("localhost"))) return true;
  if (inet_pton(AF_INET, bare, v4) == 1 && v4[0] == 127) return true;
  if (strcmp(bare, "::1") == 0 || strcmp(bare, listening) == 0) return true;
  return (strcmp(listening, "0.0.0.0") == 0 || strcmp(listening, "::") == 0) && is_numeric(bare);
}

/* A browser always says the host; it says an origin with everything but plain reading of its own.
 */
static bool may_ask(const struct kiln_core *core, struct evhttp_request *http)
{
  const struct evkeyvalq *headers = evhttp_request_get_input_headers(http);
  const char *host = evhttp_find_header(headers, "Host");
  const char *origin = evhttp_find_header(headers, "Origin");
  const char *address = core->options.address;

  if (host && !kiln_control_is_ours(address, host)) return false;
  if (!origin) return true;
  origin = strstr(origin, "://");
  return origin && kiln_control_is_ours(address, origin + 3);
}

/* ---- Answers ----------------------------------------------------------------------------------
 */

static void send_buffer(struct evhttp_request *http, int status, const struct mtr_buf *json)
{
  (void)evbuffer_add(evhttp_request_get_output_buffer(http), json->data, json->size);
  kiln_http_send(http, status, content_type);
}

static void send_json(struct kiln_core *core, struct evhttp_request *http, int status, json_t *json)
{
  struct mtr_buf text;

  mtr_buf_init(&text, NULL, "answer", ANSWER_LIMIT);
  if (kiln_json_append(json, &text))
    send_buffer(http, status, &text);
  else
    kiln_http_error(core, http, 500, "out of memory");
  mtr_buf_fini(&text);
  json_decref(json);
}

static void refuse(struct kiln_core *core, struct evhttp_request *http,
                   const struct mortar_error *err)
{
  send_json(core, http, 400, json_pack("{s:i,s:s}", "error_code", 400, "message", err->message));
}

static void answer_stats(struct kiln_core *core, struct evhttp_request *http)
{
  const struct kiln_attempts *attempts = core->faults ? &core->faults->attempts : NULL;
  struct mtr_buf json;

  if (core->tls) kiln_tls_counts(core->tls, &core->stats.tls_handshakes, &core->stats.tls_resumed);
  mtr_buf_init(&json, NULL, "statistics", ANSWER_LIMIT);
  if (kiln_stats_json(&core->stats, attempts, &json, NULL) == MORTAR_OK)
    send_buffer(http, 200, &json);
  else
    kiln_http_error(core, http, 500, "out of memory");
  mtr_buf_fini(&json);
}

/* ---- Faults -----------------------------------------------------------------------------------
 */

static struct mtr_span body_of(struct evhttp_request *http)
{
  struct evbuffer *body = evhttp_request_get_input_buffer(http);
  size_t size = evbuffer_get_length(body);
  const uint8_t *data = size ? evbuffer_pullup(body, -1) : NULL;

  return data ? mtr_span_of(data, size) : mtr_span_text("");
}

static void show_faults(struct kiln_core *core, struct evhttp_request *http)
{
  struct mtr_buf json;

  mtr_buf_init(&json, NULL, "fault rules", ANSWER_LIMIT);
  if (kiln_faults_json(core->faults, &json, NULL) == MORTAR_OK)
    send_buffer(http, 200, &json);
  else
    kiln_http_error(core, http, 500, "out of memory");
  mtr_buf_fini(&json);
}

static void add_faults(struct kiln_core *core, struct evhttp_request *http)
{
  struct mtr_span script = body_of(http);
  struct mortar_error err = {0};

  if (script.size > SCRIPT_LIMIT)
    kiln_http_error(core, http, 413, "a fault script has 4 MiB at most");
  else if (kiln_faults_load(core->faults, script, &err) != MORTAR_OK)
    refuse(core, http, &err);
  else
    show_faults(core, http);
}

static void not_allowed(struct kiln_core *core, struct evhttp_request *http, const char *methods)
{
  (void)evhttp_add_header(evhttp_request_get_output_headers(http), "Allow", methods);
  kiln_http_error(core, http, 405, "no such method here");
}

static void answer_faults(struct kiln_core *core, struct evhttp_request *http)
{
  switch (evhttp_request_get_command(http)) {
    case EVHTTP_REQ_POST:
      add_faults(core, http);
      break;
    case EVHTTP_REQ_DELETE:
      kiln_faults_clear(core->faults);
      show_faults(core, http);
      break;
    case EVHTTP_REQ_GET:
      show_faults(core, http);
      break;
    default:
      not_allowed(core, http, "GET, POST, DELETE");
  }
}

/* ---- Clock ------------------------------------------------------------------------------------
 */

static void show_clock(struct kiln_core *core, struct evhttp_request *http)
{
  const struct kiln_clock *clock = &core->clock;

  send_json(core, http, 200,
            json_pack("{s:I,s:I,s:I}", "ahead_ms", (json_int_t)(clock->ahead_ns / 1000000),
                      "session_idle_ms", (json_int_t)clock->session_idle_ms, "operation_idle_ms",
                      (json_int_t)clock->operation_idle_ms));
}

/* An absent member leaves *out as it is. */
static enum mortar_status read_ms(const json_t *object, const char *key, int64_t *out,
                                  size_t *known, struct mortar_error *err)
{
  const json_t *value = json_object_get(object, key);

  if (!value) return MORTAR_OK;
  ++*known;
  *out = json_integer_value(value);
  if (!json_is_integer(value) || *out < 0 || *out > MAX_ADVANCE_MS)
    return mtr_fail(err, MORTAR_INVALID, "\"%s\": milliseconds up to ten years are wanted", key);
  return MORTAR_OK;
}

static enum mortar_status move_clock(struct kiln_core *core, const json_t *json,
                                     struct mortar_error *err)
{
  int64_t session = core->clock.session_idle_ms, operation = core->clock.operation_idle_ms;
  int64_t advance = 0;
  size_t known = 0;

  MTR_TRY(read_ms(json, "advance_ms", &advance, &known, err));
  MTR_TRY(read_ms(json, "session_idle_ms", &session, &known, err));
  MTR_TRY(read_ms(json, "operation_idle_ms", &operation, &known, err));
  if (!json_is_object(json) || known != json_object_size(json))
    return mtr_fail(err, MORTAR_INVALID,
                    "an object of \"advance_ms\", \"session_idle_ms\" and \"operation_idle_ms\" "
                    "is wanted");
  if (core->clock.ahead_ns / 1000000 + advance > MAX_ADVANCE_MS)
    return mtr_fail(err, MORTAR_INVALID, "\"advance_ms\": the clock goes ten years ahead at most");
  kiln_clock_limit(core, session, operation);
  kiln_clock_advance(core, advance);
  return MORTAR_OK;
}

static void set_clock(struct kiln_core *core, struct evhttp_request *http)
{
  struct mtr_span body = body_of(http);
  struct mortar_error err = {0};
  json_error_t where = {0};
  json_t *json = json_loadb((const char *)body.data, body.size, JSON_REJECT_DUPLICATES, &where);
  enum mortar_status st;

  if (json)
    st = move_clock(core, json, &err);
  else
    st = mtr_fail(&err, MORTAR_INVALID, "line %d, column %d: %s", where.line, where.column,
                  where.text);
  json_decref(json);
  if (st == MORTAR_OK)
    show_clock(core, http);
  else
    refuse(core, http, &err);
}

static void answer_clock(struct kiln_core *core, struct evhttp_request *http)
{
  if (evhttp_request_get_command(http) == EVHTTP_REQ_POST)
    set_clock(core, http);
  else if (evhttp_request_get_command(http) == EVHTTP_REQ_GET)
    show_clock(core, http);
  else
    not_allowed(core, http, "GET, POST");
}

/* ---- Paths ------------------------------------------------------------------------------------
 */

bool kiln_control_is_path(const char *path) { return strncmp(path, "/kiln/", 6) == 0; }

void kiln_control_answer(struct kiln_core *core, const char *path, struct evhttp_request *http)
{
  if (!may_ask(core, http))
    kiln_http_error(core, http, 403, "Host and Origin must name this machine");
  else if (strcmp(path, "/kiln/stats") == 0)
    answer_stats(core, http);
  else if (core->faults && strcmp(path, "/kiln/faults") == 0)
    answer_faults(core, http);
  else if (core->faults && strcmp(path, "/kiln/clock") == 0)
    answer_clock(core, http);
  else
    kiln_http_error(core, http, 404, "no such path");
}
