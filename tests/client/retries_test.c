/* The retry table against a server, cell by cell: how often each call is sent under each event,
 * what becomes of it, how long the waits are. What is expected comes from the table itself, which
 * docs/retries.md prints; net's retry_table test holds the table to its promises. */
#include <stdio.h>

#include "base/clock.h"
#include "client/result.h"
#include "client/thrift/call.h"
#include "codec/thrift/tcli.h"
#include "tests/client/client_fixture.h"
#include "tests/client/told.h"

enum { ATTEMPTS = 5 }; /* times again */

/* ---- Each call kind through the front door, or as near to it as it has one ------------------- */

static enum mortar_status run(struct client *c, const char *sql)
{
  struct mortar_result *res = NULL;
  enum mortar_status st = mortar_query(c->session, sql, NULL, &res, &c->err);
  int64_t rows;

  if (st == MORTAR_OK) st = client_drain(res, &rows, &c->err);
  mortar_result_free(res);
  return st;
}

static enum mortar_status call_open(struct client *c)
{
  struct client other = {.fs = {.port = c->fs.port}, .option = c->option, .value = c->value};
  const enum mortar_status st = client_open(&other, NULL, "retry_attempts", "5");

  c->err = other.err;
  mortar_session_free(other.session);
  return st;
}

static enum mortar_status call_read(struct client *c) { return run(c, "SELECT 1"); }
static enum mortar_status call_write(struct client *c)
{
  return run(c, "INSERT INTO t VALUES (1)");
}

static enum mortar_status call_poll(struct client *c)
{
  c->fs.live_polls = 1;
  return run(c, "SELECT 1");
}

static enum mortar_status call_fetch(struct client *c)
{
  c->fs.pages = 2;
  return run(c, "SELECT 1");
}

static enum mortar_status call_metadata(struct client *c)
{
  c->fs.no_schema = true;
  return run(c, "SELECT 1");
}

/* Cancel and close report to nobody when they clean up, so they are called behind the door. */
static enum mortar_status direct(struct client *c, bool cancel)
{
  static const struct mtr_handle op = {.guid = "0123456789abcdef", .guid_size = 16};
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  const struct mtr_backend *backend = c->session->backend;
  struct mtr_channel *channel;
  enum mortar_status st = mtr_session_take(c->session, &channel, &c->err);

  if (st != MORTAR_OK) return st;
  st = cancel ? backend->cancel(c->session->bs, channel, &op, &wait, &c->err)
              : backend->close_operation(c->session->bs, channel, &op, &wait, &c->err);
  mtr_session_give(c->session, channel);
  return st;
}

static enum mortar_status call_cancel(struct client *c) { return direct(c, true); }
static enum mortar_status call_close(struct client *c) { return direct(c, false); }

static const struct {
  const char *wire;
  enum mortar_status (*call)(struct client *c);
} calls[MTR_CALL_KINDS] = {
    [MTR_CALL_OPEN] = {"OpenSession", call_open},
    [MTR_CALL_READ] = {"ExecuteStatement", call_read},
    [MTR_CALL_WRITE] = {"ExecuteStatement", call_write},
    [MTR_CALL_POLL] = {"GetOperationStatus", call_poll},
    [MTR_CALL_FETCH] = {"FetchResults", call_fetch},
    [MTR_CALL_METADATA] = {"GetResultSetMetadata", call_metadata},
    [MTR_CALL_CANCEL] = {"CancelOperation", call_cancel},
    [MTR_CALL_CLOSE] = {"CloseOperation", call_close},
};

/* ---- Each event as the server brings it about ------------------------------------------------ */

static const struct {
  enum mtr_retry_event event;
  struct fake_fault fault;
} events[] = {
    {MTR_EVENT_RESET, {.event = FAKE_RESET}},
    {MTR_EVENT_CUT, {.event = FAKE_HALF_HEAD}},
    {MTR_EVENT_CUT, {.event = FAKE_CUT, .runs = true}},
    {MTR_EVENT_TIMED_OUT, {.event = FAKE_HANG}},
    {MTR_EVENT_EMPTY, {.event = FAKE_EMPTY}},
    {MTR_EVENT_WEB_PAGE, {.event = FAKE_WEB_PAGE}},
    {MTR_EVENT_MALFORMED, {.event = FAKE_GARBAGE}},
    {MTR_EVENT_HTTP_3XX, {.event = FAKE_STATUS, .status = 302}},
    {MTR_EVENT_HTTP_400, {.event = FAKE_STATUS, .status = 400}},
    {MTR_EVENT_HTTP_401, {.event = FAKE_STATUS, .status = 401}},
    {MTR_EVENT_HTTP_403, {.event = FAKE_STATUS, .status = 403}},
    {MTR_EVENT_HTTP_404, {.event = FAKE_STATUS, .status = 404}},
    {MTR_EVENT_HTTP_408, {.event = FAKE_STATUS, .status = 408}},
    {MTR_EVENT_HTTP_429, {.event = FAKE_STATUS, .status = 429}},
    {MTR_EVENT_HTTP_4XX, {.event = FAKE_STATUS, .status = 418}},
    {MTR_EVENT_HTTP_500, {.event = FAKE_STATUS, .status = 500}},
    {MTR_EVENT_HTTP_502, {.event = FAKE_STATUS, .status = 502}},
    {MTR_EVENT_HTTP_503, {.event = FAKE_STATUS, .status = 503}},
    {MTR_EVENT_HTTP_503_LATER,
     {.event = FAKE_STATUS, .status = 503, .headers = "Retry-After: 0\r\n"}},
    {MTR_EVENT_HTTP_504, {.event = FAKE_STATUS, .status = 504}},
    {MTR_EVENT_HTTP_OTHER, {.event = FAKE_STATUS, .status = 501}},
    {MTR_EVENT_NOT_STARTED, {.event = FAKE_NOT_STARTED}},
    {MTR_EVENT_GONE, {.event = FAKE_GONE}},
    {MTR_EVENT_ERROR, {.event = FAKE_ERROR}},
    {MTR_EVENT_EXCEPTION, {.event = FAKE_EXCEPTION}},
};

static int expected_attempts(enum mtr_retry_action action)
{
  if (action == MTR_RETRY_AGAIN) return 1 + ATTEMPTS;
  return action == MTR_RETRY_BRIEFLY ? 1 + MTR_RETRY_BRIEF : 1;
}

static void check_cell(struct client *c, enum mtr_call_kind kind, size_t i)
{
  const enum mtr_retry_action action = mtr_retry_action(kind, events[i].event);
  const int attempts = expected_attempts(action);
  struct fake_fault fault = events[i].fault;
  char words[40];

  fault.call = calls[kind].wire;
  fake_server_fault(&c->fs, &fault);
  (void)snprintf(words, sizeof words, "after %d attempts", attempts);
  if (calls[kind].call(c) == MORTAR_OK) {
    assert_int_equal(action, MTR_RETRY_SWALLOW);
  } else {
    if (c->fs.fault_requests != attempts)
      print_error("%s, %s: %s\n", mtr_call_kind_name(kind), mtr_retry_words(events[i].event),
                  c->err.message);
    assert_int_not_equal(action, MTR_RETRY_SWALLOW);
    assert_int_equal(c->err.outcome, told(kind, mtr_retry_outcome(events[i].event)));
    assert_int_equal(strstr(c->err.message, "after") != NULL && strstr(c->err.message, words),
                     attempts > 1);
    assert_null(strstr(c->err.message, "secret-token"));
  }
  assert_int_equal(c->fs.fault_requests, attempts);
  fake_server_fault(&c->fs, &(struct fake_fault){.event = FAKE_NONE});
  c->fs.live_polls = 0;
  c->fs.pages = 1;
  c->fs.no_schema = false;
}

static void start(struct client *c, const char *read_timeout_ms)
{
  memset(c, 0, sizeof *c);
  c->option = "read_timeout_ms";
  c->value = read_timeout_ms;
  fake_server_start(&c->fs);
  assert_int_equal(client_open(c, NULL, "retry_attempts", "5"), MORTAR_OK);
}

/* Until what a cell left to the background is done: its cancels are not the next one's attempts. */
static void settle(struct client *c)
{
  c->fs.let_go = true; /* of what was never answered */
  assert_true(mortar_background_wait(10000));
  c->fs.let_go = false;
}

/* The cells of the time-out, or all others: these have time, so that no busy machine makes one of
 * the former of them. */
static void check_cells(bool time_out)
{
  struct client c;
  size_t i;
  enum mtr_call_kind kind;

  start(&c, time_out ? "400" : "60000");
  for (kind = 0; kind < MTR_CALL_KINDS; kind++)
    for (i = 0; i < sizeof events / sizeof *events; i++)
      if ((events[i].event == MTR_EVENT_TIMED_OUT) == time_out) {
        check_cell(&c, kind, i);
        settle(&c);
      }
  client_stop(&c);
}

static void every_cell_is_as_published(void **state)
{
  (void)state;
  check_cells(false);
  check_cells(true);
}

static void a_server_that_is_down_is_asked_four_times(void **state)
{
  struct mortar_session_stats before, after;
  struct client c;
  enum mtr_call_kind kind;

  (void)state;
  start(&c, "60000");
  fake_server_stop(&c.fs);
  for (kind = MTR_CALL_READ; kind <= MTR_CALL_WRITE; kind++) {
    mortar_session_get_stats(c.session, &before);
    assert_int_equal(calls[kind].call(&c), MORTAR_CONNECT);
    mortar_session_get_stats(c.session, &after);
    assert_int_equal(after.retries - before.retries, MTR_RETRY_BRIEF);
    assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
    assert_non_null(strstr(c.err.message, "after 4 attempts"));
  }
  assert_int_equal(call_open(&c), MORTAR_CONNECT); /* the address may be wrong: at once */
  assert_null(strstr(c.err.message, "attempts"));
  assert_int_equal(call_close(&c), MORTAR_CONNECT);
  assert_null(strstr(c.err.message, "attempts"));
  mortar_session_free(c.session);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static int64_t gap_ms(const struct fake_server *fs, int n)
{
  return (fs->fault_times[n] - fs->fault_times[n - 1]) / MTR_MS;
}

static void gaps_grow_as_the_options_say(void **state)
{
  static const int64_t low[] = {20, 40, 50, 50};
  struct client c = {.option = "retry_delay_max_ms", .value = "50"};
  int n;

  (void)state;
  fake_server_start(&c.fs);
  assert_int_equal(client_open(&c, NULL, "retry_delay_min_ms", "20"), MORTAR_OK);
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_STATUS, .status = 429, .last = 4});
  assert_int_equal(call_write(&c), MORTAR_OK);
  assert_int_equal(c.fs.fault_requests, 5);
  assert_int_equal(c.fs.ran, 1);
  for (n = 1; n <= 4; n++)
    assert_in_range(gap_ms(&c.fs, n), low[n - 1] - 1, 50 + 200);
  client_stop(&c);
}

static void the_server_s_wish_is_kept_and_seen(void **state)
{
  static const char *const headers[] = {
      "Retry-After: 1\r\n",
      "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n"};
  struct mortar_session_stats stats;
  struct client c;
  size_t i;

  (void)state;
  client_start(&c);
  for (i = 0; i < 2; i++) {
    fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                  .event = FAKE_STATUS,
                                                  .status = 503,
                                                  .headers = headers[i],
                                                  .last = 1});
    assert_int_equal(call_write(&c), MORTAR_OK);
    assert_in_range(gap_ms(&c.fs, 1), 999, 1400);
  }
  mortar_session_get_stats(c.session, &stats);
  assert_int_equal(stats.retries, 2);
  assert_int_equal(stats.retry_wait_ms, 2000);
  client_stop(&c);
}

static void budgets_end_the_attempts(void **state)
{
  struct client c = {.option = "retry_total_ms", .value = "150"};
  int64_t started;

  (void)state;
  fake_server_start(&c.fs);
  assert_int_equal(client_open(&c, NULL, "retry_delay_max_ms", "40"), MORTAR_OK);
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "ExecuteStatement", .event = FAKE_STATUS, .status = 503});
  started = mtr_clock_now();
  assert_int_equal(call_read(&c), MORTAR_HTTP);
  assert_in_range((mtr_clock_now() - started) / MTR_MS, 60, 150 + 200);
  assert_true(c.fs.fault_requests > 3);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                .event = FAKE_STATUS,
                                                .status = 503,
                                                .headers = "Retry-After: 1\r\n"});
  assert_int_equal(call_read(&c), MORTAR_HTTP); /* the wish would break the budget */
  assert_int_equal(c.fs.fault_requests, 1);
  client_stop(&c);
}

static int second_tick_ends(void *ctx)
{
  int *count = ctx;

  return ++*count == 2;
}

static void a_wait_ends_with_the_caller_s_patience(void **state)
{
  int ticks = 0;
  struct mortar_call call = {.timeout_ms = 200, .tick = second_tick_ends, .tick_ctx = &ticks};
  struct mortar_result *res;
  struct client c;
  int64_t started = mtr_clock_now();

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                .event = FAKE_STATUS,
                                                .status = 503,
                                                .headers = "Retry-After: 1\r\n"});
  assert_int_equal(mortar_query(c.session, "SELECT 1", &call, &res, &c.err), MORTAR_HTTP);
  assert_true(mtr_clock_now() - started < 400 * MTR_MS); /* waiting would be no use */
  call.timeout_ms = -1;
  started = mtr_clock_now();
  assert_int_equal(mortar_query(c.session, "SELECT 1", &call, &res, &c.err), MORTAR_INTERRUPTED);
  assert_in_range((mtr_clock_now() - started) / MTR_MS, 199, 400);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_REJECTED); /* nothing ran */
  assert_int_equal(c.fs.ran, 0);
  client_stop(&c);
}

/* ---- What is sent again on whose word -------------------------------------------------------- */

static void an_idempotent_write_is_sent_again(void **state)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs,
                    &(struct fake_fault){
                        .call = "ExecuteStatement", .event = FAKE_RESET, .last = 2, .runs = true});
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "MERGE", 5, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_IO);
  assert_int_equal(c.fs.ran, 1);
  assert_int_equal(mortar_statement_set_idempotent(stmt, true, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(c.fs.ran, 3);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* One attempt that may have run decides, whatever the last one says. */
static void the_worst_outcome_of_all_attempts_counts(void **state)
{
  struct client c;

  (void)state;
  start(&c, "60000");
  c.fs.http_status = 401; /* behind the fault */
  c.fs.http_body = "";
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "ExecuteStatement", .event = FAKE_RESET, .last = 1});
  assert_int_equal(call_read(&c), MORTAR_AUTH);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_int_equal(call_read(&c), MORTAR_AUTH);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_REJECTED);
  client_stop(&c);
}

/* ---- A lost session is not a lost statement -------------------------------------------------- */

/* A value that looks like the class of an error is no promise that nothing ran. */
static void only_the_class_says_that_it_did_not_start(void **state)
{
  static const struct {
    const char *text;
    enum mtr_retry_event event;
  } cases[] = {
      {"TEMPORARILY_UNAVAILABLE", MTR_EVENT_NOT_STARTED},
      {"TEMPORARILY_UNAVAILABLE: starting", MTR_EVENT_NOT_STARTED},
      {"[TEMPORARILY_UNAVAILABLE] starting", MTR_EVENT_NOT_STARTED},
      {"[CAST_INVALID_INPUT] The value 'TEMPORARILY_UNAVAILABLE' cannot be cast", MTR_EVENT_ERROR},
      {"TEMPORARILY_UNAVAILABLE_TABLE not found", MTR_EVENT_ERROR},
      {"TEMPORARILY", MTR_EVENT_ERROR},
      {"", MTR_EVENT_ERROR},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_TStatus status = {0};
    MTR_SET(&status, TStatus, status_code, MTR_STATUS_ERROR);
    MTR_SET(&status, TStatus, error_message, mtr_span_text(cases[i].text));
    assert_int_equal(mtr_thrift_event(&status), cases[i].event);
  }
}

static void a_lost_session_is_told(void **state)
{
  static const struct {
    const char *call;
    struct fake_fault fault;
    bool lost;
  } cases[] = {
      {"ExecuteStatement", {.event = FAKE_GONE}, true},
      {"ExecuteStatement", {.event = FAKE_STATUS, .status = 404}, true},
      {"ExecuteStatement",
       {.event = FAKE_STATUS,
        .status = 500,
        .headers = "x-thriftserver-error-message: Invalid SessionHandle: [1]\r\n"},
       true},
      {"ExecuteStatement",
       {.event = FAKE_STATUS,
        .status = 400,
        .headers = "x-thriftserver-error-message: INVALID_SESSION_HANDLE\r\n"},
       true},
      {"ExecuteStatement",
       {.event = FAKE_STATUS,
        .status = 400,
        .headers = "x-thriftserver-error-message: invalid  session handle\r\n"},
       true},
      {"ExecuteStatement",
       {.event = FAKE_STATUS,
        .status = 400,
        .headers = "x-thriftserver-error-message: Invalid OperationHandle\r\n"},
       false},
      {"ExecuteStatement", {.event = FAKE_ERROR}, false},
      {"ExecuteStatement", {.event = FAKE_STATUS, .status = 403}, false},
      {"GetOperationStatus", {.event = FAKE_GONE}, false},
      {"GetOperationStatus", {.event = FAKE_STATUS, .status = 404}, false},
      {"FetchResults", {.event = FAKE_GONE}, false},
  };
  struct client c;
  size_t i;

  (void)state;
  start(&c, "60000");
  c.fs.pages = 2;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fake_fault fault = cases[i].fault;
    fault.call = cases[i].call;
    c.fs.live_polls = 1;
    fake_server_fault(&c.fs, &fault);
    assert_int_not_equal(call_write(&c), MORTAR_OK);
    if (c.err.session_lost != cases[i].lost) print_error("%zu: %s\n", i, c.err.message);
    assert_int_equal(c.err.session_lost, cases[i].lost);
    assert_string_equal(c.err.session_id, mortar_session_id(c.session));
  }
  assert_non_null(strstr(c.err.message, "who is that?"));
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

static void closing_what_is_gone_is_a_success(void **state)
{
  static const struct fake_fault faults[] = {
      {.call = "CloseSession", .event = FAKE_GONE},
      {.call = "CloseSession", .event = FAKE_STATUS, .status = 404},
  };
  struct client c;
  size_t i;

  (void)state;
  client_start(&c);
  for (i = 0; i < 2; i++) {
    fake_server_fault(&c.fs, &faults[i]);
    assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_OK);
    mortar_session_free(c.session);
    assert_int_equal(client_open(&c, NULL, NULL, NULL), MORTAR_OK);
  }
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_cell_is_as_published),
      cmocka_unit_test(a_server_that_is_down_is_asked_four_times),
      cmocka_unit_test(gaps_grow_as_the_options_say),
      cmocka_unit_test(the_server_s_wish_is_kept_and_seen),
      cmocka_unit_test(budgets_end_the_attempts),
      cmocka_unit_test(a_wait_ends_with_the_caller_s_patience),
      cmocka_unit_test(an_idempotent_write_is_sent_again),
      cmocka_unit_test(the_worst_outcome_of_all_attempts_counts),
      cmocka_unit_test(only_the_class_says_that_it_did_not_start),
      cmocka_unit_test(a_lost_session_is_told),
      cmocka_unit_test(closing_what_is_gone_is_a_success),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
