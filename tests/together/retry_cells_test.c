/* Every cell of the retry table against Kiln: for each call kind and each event exactly that fault,
 * then how often Kiln saw the call, how far apart, and what the caller was told. What is expected
 * comes from the table in net/retry, which docs/retries.md prints. */
#include <stdio.h>
#include <unistd.h>

#include "client/result.h"
#include "tests/client/told.h"
#include "tests/together/rig.h"

static const struct mtr_retry_policy policy = {
    .attempts = 4, .delay_min_ms = 4, .delay_max_ms = 16, .total_ms = 20000};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SHORT_MS "600" /* instrumented code */
#else
#define SHORT_MS "200"
#endif
#define OPTIONS                                                                                    \
  {"retry_attempts", "4"}, {"retry_delay_min_ms", "4"}, {"retry_delay_max_ms", "16"},              \
      {"retry_total_ms", "20000"},                                                                 \
  {                                                                                                \
    "page_rows", "1000"                                                                            \
  }
static const struct rig_option usual[] = {OPTIONS, {NULL, NULL}};
static const struct rig_option hasty[] = {OPTIONS, {"read_timeout_ms", SHORT_MS}, {NULL, NULL}};

/* ---- The calls ------------------------------------------------------------------------------- */

static enum mortar_status call_open(struct rig *rig) { return rig_open(rig, NULL); }

static enum mortar_status call_read(struct rig *rig) { return rig_run(rig, "SELECT rows 1", NULL); }
static enum mortar_status call_write(struct rig *rig) { return rig_run(rig, "dml", NULL); }
static enum mortar_status call_poll(struct rig *rig) { return rig_run(rig, "slow", NULL); }
static enum mortar_status call_fetch(struct rig *rig) { return rig_run(rig, "rows 3000", NULL); }

/* A busy machine may have the rows before Kiln says that the statement runs: then nobody asks for
 * the schema. */
static enum mortar_status call_metadata(struct rig *rig)
{
  enum mortar_status st = MORTAR_OK;
  int i;

  for (i = 0; i < 100 && st == MORTAR_OK; i++)
    st = rig_run(rig, "lazy 1", NULL);
  return st;
}

/* Behind the front door, on an operation: cancel and close report to nobody there. */
static enum mortar_status direct(struct rig *rig, enum mtr_call_kind kind,
                                 const struct mtr_handle *op)
{
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  const struct mtr_run text = {.sql = mtr_span_text(kind == MTR_CALL_READ ? "SELECT 1" : "dml")};
  struct mortar_session *session = rig->session;
  const struct mtr_backend *backend = session->backend;
  struct mtr_answer answer = {.live = false};
  struct mtr_channel *ch;
  enum mortar_status st = mtr_session_take(session, &ch, &rig->err);

  assert_int_equal(st, MORTAR_OK);
  if (kind == MTR_CALL_READ || kind == MTR_CALL_WRITE)
    st = backend->execute(session->bs, ch, &text, &wait, &answer, &rig->err);
  else if (kind == MTR_CALL_POLL)
    st = backend->poll(session->bs, ch, op, &wait, &answer, &rig->err);
  else if (kind == MTR_CALL_FETCH)
    st = backend->fetch(session->bs, ch, op, &wait, &answer, &rig->err);
  else if (kind == MTR_CALL_METADATA)
    st = backend->schema(session->bs, ch, op, &wait, &answer, &rig->err);
  else if (kind == MTR_CALL_CANCEL)
    st = backend->cancel(session->bs, ch, op, &wait, &rig->err);
  else
    st = backend->close_operation(session->bs, ch, op, &wait, &rig->err);
  mtr_session_give(session, ch);
  return st;
}

/* On an operation that is there. */
static enum mortar_status on_operation(struct rig *rig, enum mtr_call_kind kind)
{
  struct mortar_result *res = NULL;
  enum mortar_status st;

  assert_int_equal(mortar_query(rig->session, "rows 3000", NULL, &res, &rig->err), MORTAR_OK);
  st = direct(rig, kind, &res->operation);
  res->closed = true; /* freeing it shall not be counted: the session's end closes the operation */
  mortar_result_free(res);
  return st;
}

static enum mortar_status call_cancel(struct rig *rig)
{
  return on_operation(rig, MTR_CALL_CANCEL);
}

static enum mortar_status call_close(struct rig *rig) { return on_operation(rig, MTR_CALL_CLOSE); }

static const struct {
  const char *wire, *gone; /* what Kiln loses, so that the handle of the call is not known */
  enum mortar_status (*call)(struct rig *rig);
} calls[MTR_CALL_KINDS] = {
    [MTR_CALL_OPEN] = {"OpenSession", NULL, call_open}, /* names no handle */
    [MTR_CALL_READ] = {"ExecuteStatement", "session", call_read},
    [MTR_CALL_WRITE] = {"ExecuteStatement", "session", call_write},
    [MTR_CALL_POLL] = {"GetOperationStatus", "operation", call_poll},
    [MTR_CALL_FETCH] = {"FetchResults", "operation", call_fetch},
    [MTR_CALL_METADATA] = {"GetResultSetMetadata", "operation", call_metadata},
    [MTR_CALL_CANCEL] = {"CancelOperation", "operation", call_cancel},
    [MTR_CALL_CLOSE] = {"CloseOperation", "operation", call_close},
};

/* ---- The events ------------------------------------------------------------------------------ */

#define STATUS(number) "\"status\": " #number, MORTAR_HTTP, number, "HTTP status " #number
#define ERROR(state, words)                                                                        \
  "\"error\": {\"sqlstate\": \"" state "\", \"message\": \"" words "\"}", MORTAR_SERVER, 0, words

struct event {
  enum mtr_retry_event event;
  const char *rule; /* NULL: nothing that Kiln does to a call */
  enum mortar_status st;
  int http_status;
  const char *words; /* of the error; of an event without a rule: where it is tested */
};

static const struct event events[] = {
    {MTR_EVENT_NOT_CONNECTED, NULL, MORTAR_OK, 0, "a_kiln_that_has_ended"},
    {MTR_EVENT_TLS_FAILED, NULL, MORTAR_OK, 0, "a_kiln_with_another_certificate"},
    {MTR_EVENT_NOT_SENT, NULL, MORTAR_OK, 0,
     "a send that fails on a connection that was alive: exchange_test, retry_table_test"},
    {MTR_EVENT_RESET, "\"reset\": true", MORTAR_IO, 0, ""},
    {MTR_EVENT_CUT, "\"status\": 200, \"body\": \"0123456789\", \"cut\": 4", MORTAR_IO, 0, ""},
    {MTR_EVENT_TIMED_OUT, "\"when\": \"before\", \"hang\": true", MORTAR_TIMEOUT, 0, ""},
    {MTR_EVENT_EMPTY, "\"status\": 200", MORTAR_PROTOCOL, 200, "empty reply"},
    {MTR_EVENT_WEB_PAGE, "\"status\": 200, \"body\": \"<html>\"", MORTAR_PROTOCOL, 200, "web page"},
    {MTR_EVENT_MALFORMED, "\"status\": 200, \"body\": \"nonsense\"", MORTAR_PROTOCOL, 200,
     "malformed"},
    {MTR_EVENT_HTTP_3XX, STATUS(302)},
    {MTR_EVENT_HTTP_400, STATUS(400)},
    {MTR_EVENT_HTTP_401, "\"status\": 401", MORTAR_AUTH, 401, "HTTP status 401"},
    {MTR_EVENT_HTTP_403, "\"status\": 403", MORTAR_AUTH, 403, "HTTP status 403"},
    {MTR_EVENT_HTTP_404, STATUS(404)},
    {MTR_EVENT_HTTP_408, STATUS(408)},
    {MTR_EVENT_HTTP_429, STATUS(429)},
    {MTR_EVENT_HTTP_4XX, STATUS(418)},
    {MTR_EVENT_HTTP_500, STATUS(500)},
    {MTR_EVENT_HTTP_502, STATUS(502)},
    {MTR_EVENT_HTTP_503, STATUS(503)},
    {MTR_EVENT_HTTP_503_LATER, "\"status\": 503, \"headers\": {\"Retry-After\": 0}", MORTAR_HTTP,
     503, "HTTP status 503"},
    {MTR_EVENT_HTTP_504, STATUS(504)},
    {MTR_EVENT_HTTP_OTHER, STATUS(501)},
    {MTR_EVENT_NOT_STARTED, ERROR("08S01", "TEMPORARILY_UNAVAILABLE")},
    {MTR_EVENT_GONE, ERROR("08000", "Invalid SessionHandle")},
    {MTR_EVENT_ERROR, ERROR("22012", "[DIVIDE_BY_ZERO]")},
    {MTR_EVENT_EXCEPTION, "\"exception\": {\"message\": \"not I\"}", MORTAR_SERVER, 0, "not I"},
    {MTR_EVENT_OTHER, NULL, MORTAR_OK, 0, "limit_sweep_test, limits_test: nothing is sent again"},
};
enum { EVENTS = sizeof events / sizeof *events };

static void no_event_is_missing(void **state)
{
  int i;

  (void)state;
  assert_int_equal(EVENTS, MTR_EVENTS);
  for (i = 0; i < EVENTS; i++) {
    assert_int_equal(events[i].event, i);
    if (!events[i].rule)
      print_message("not by Kiln's script: %s: %s\n", mtr_retry_words(events[i].event),
                    events[i].words);
  }
}

/* ---- One cell -------------------------------------------------------------------------------- */

static int expected_attempts(enum mtr_retry_action action)
{
  if (action == MTR_RETRY_AGAIN) return 1 + (int)policy.attempts;
  return action == MTR_RETRY_BRIEFLY ? 1 + MTR_RETRY_BRIEF : 1;
}

static void check_error(const struct mortar_error *err, enum mtr_call_kind kind,
                        const struct event *e, int attempts)
{
  char words[40];

  (void)snprintf(words, sizeof words, "after %d attempts", attempts);
  assert_int_equal(err->status, e->st);
  assert_int_equal(err->http_status, e->http_status);
  assert_int_equal(err->outcome, told(kind, mtr_retry_outcome(e->event)));
  assert_int_equal(strstr(err->message, "after ") && strstr(err->message, words), attempts > 1);
  if (e->event != MTR_EVENT_GONE) assert_non_null(strstr(err->message, e->words));
  assert_int_equal(err->session_lost,
                   (e->event == MTR_EVENT_GONE || e->event == MTR_EVENT_HTTP_404) &&
                       (kind == MTR_CALL_READ || kind == MTR_CALL_WRITE ||
                        (kind == MTR_CALL_OPEN && e->event == MTR_EVENT_GONE)));
}

/* Not before the wait that the table and the options ask for, and all within the budget. */
static void check_gaps(struct rig *rig, enum mtr_call_kind kind, enum mtr_retry_action action,
                       int attempts)
{
  struct mtr_retry_state s = {.left_ms = INT64_MAX, .retry_after_ms = -1};
  double sum = 0;

  for (s.retries = 0; s.retries < attempts - 1; s.retries++) {
    const double gap = rig_gap(rig, calls[kind].wire, attempts - 2 - (int)s.retries);
    assert_true(gap >= (double)mtr_retry_delay_ms(&policy, action, &s));
    sum += gap;
  }
  assert_true(sum <= (double)policy.total_ms);
}

static void set_rule(struct rig *rig, enum mtr_call_kind kind, const struct event *e)
{
  const char *wire = calls[kind].wire, *gone = calls[kind].gone;

  if (e->event == MTR_EVENT_GONE && gone)
    rig_fault(rig, "{\"call\": \"%s\", \"nth\": \"every\", \"lose\": \"%s\"}", wire, gone);
  else
    rig_fault(rig, "{\"call\": \"%s\", \"nth\": \"every\", %s}", wire, e->rule);
}

static void check_cell(struct rig *rig, enum mtr_call_kind kind, const struct event *e)
{
  const enum mtr_retry_action action = mtr_retry_action(kind, e->event);
  const int attempts = expected_attempts(action);
  const char *wire = calls[kind].wire;
  enum mortar_status st;
  int64_t before, seen;

  rig->options = e->event == MTR_EVENT_TIMED_OUT ? hasty : usual;
  if (kind != MTR_CALL_OPEN) assert_int_equal(rig_open(rig, NULL), MORTAR_OK);
  before = fault_call(&rig->kiln, wire, "faults");
  set_rule(rig, kind, e);
  st = calls[kind].call(rig);
  seen = fault_call(&rig->kiln, wire, "faults") - before;
  if (seen != attempts || st != (action == MTR_RETRY_SWALLOW ? MORTAR_OK : e->st))
    print_error("%s, %s: %s\n", mtr_call_kind_name(kind), mtr_retry_words(e->event),
                rig->err.message);
  assert_int_equal(seen, attempts);
  assert_int_equal(st == MORTAR_OK, action == MTR_RETRY_SWALLOW);
  if (st != MORTAR_OK) check_error(&rig->err, kind, e, attempts);
  check_gaps(rig, kind, action, attempts);
  rig_fault(rig, "%s", "");
  rig_close(rig);
}

static void every_cell_is_as_published(void **state)
{
  enum mtr_call_kind kind;
  struct rig rig;
  int i;

  (void)state;
  rig_start(&rig, usual);
  for (kind = 0; kind < MTR_CALL_KINDS; kind++)
    for (i = 0; i < EVENTS; i++)
      if (events[i].rule) check_cell(&rig, kind, &events[i]);
  rig_stop(&rig);
}

/* ---- Events of connections ------------------------------------------------------------------- */

/* With no Kiln to count: the client's counter and the error's text. */
static void check_unconnected(struct rig *rig, enum mtr_retry_event event, enum mortar_status st)
{
  static const struct mtr_handle op = {.guid = "0123456789abcdef", .guid_size = 16};
  struct mortar_session_stats before, after;
  enum mtr_call_kind kind;

  for (kind = MTR_CALL_READ; kind < MTR_CALL_KINDS; kind++) {
    const int attempts = expected_attempts(mtr_retry_action(kind, event));
    mortar_session_get_stats(rig->session, &before);
    assert_int_equal(direct(rig, kind, &op), st);
    mortar_session_get_stats(rig->session, &after);
    assert_int_equal(1 + after.retries - before.retries, attempts);
    assert_int_equal(rig->err.outcome, mtr_retry_outcome(event));
    assert_int_equal(strstr(rig->err.message, "attempts") != NULL, attempts > 1);
  }
}

static void a_kiln_that_has_ended(void **state)
{
  struct mortar_session *session;
  struct rig rig;

  (void)state;
  rig_start(&rig, usual);
  assert_int_equal(rig_open(&rig, NULL), MORTAR_OK);
  fixture_stop(&rig.kiln);
  check_unconnected(&rig, MTR_EVENT_NOT_CONNECTED, MORTAR_CONNECT);
  session = rig.session;
  assert_int_equal(expected_attempts(mtr_retry_action(MTR_CALL_OPEN, MTR_EVENT_NOT_CONNECTED)), 1);
  assert_int_equal(rig_open(&rig, NULL), MORTAR_CONNECT);
  assert_null(strstr(rig.err.message, "attempts"));
  mortar_session_free(session);
}

static struct kiln_server *start_tls(int port, const char *cert, struct tiny_engine *engine)
{
  const struct kiln_options o = {.port = port, .tls = true, .cert_out = cert};
  struct kiln_server *server = NULL;
  struct mortar_error err;

  if (kiln_server_start(&o, &tiny_engine, engine, &server, &err) != MORTAR_OK)
    fail_msg("%s", err.message);
  return server;
}

/* The one that was trusted has gone, and another one has its port. */
static void a_kiln_with_another_certificate(void **state)
{
  char cert[] = "/tmp/mortar-cert-XXXXXX";
  const struct rig_option trusting[] = {{"tls", "true"}, {"tls_ca_file", cert}, {NULL, NULL}};
  struct tiny_engine engine = {.sessions = 0};
  struct kiln_server *server;
  struct rig rig = {.options = trusting};
  int fd = mkstemp(cert);

  (void)state;
  assert_true(fd >= 0);
  (void)close(fd);
  server = start_tls(0, cert, &engine);
  rig.kiln.wire.port = kiln_server_port(server);
  assert_int_equal(rig_open(&rig, NULL), MORTAR_OK);
  kiln_server_stop(server);
  server = start_tls(rig.kiln.wire.port, NULL, &engine);
  check_unconnected(&rig, MTR_EVENT_TLS_FAILED, MORTAR_TLS);
  rig_close(&rig);
  assert_int_equal(rig_open(&rig, NULL), MORTAR_TLS);
  assert_null(strstr(rig.err.message, "attempts"));
  kiln_server_stop(server);
  (void)unlink(cert);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_event_is_missing),
      cmocka_unit_test(every_cell_is_as_published),
      cmocka_unit_test(a_kiln_that_has_ended),
      cmocka_unit_test(a_kiln_with_another_certificate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
