/* Limits: a call ends within its own and 0.2 s, whatever the server does; what it left behind is
 * cancelled and closed in the background; a session that is closed takes its running calls along.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "client/result.h"
#include "tests/client/client_fixture.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { LIMIT_MS = 250, LATE_MS = 600 }; /* instrumented code on a busy machine */
#else
enum { LIMIT_MS = 250, LATE_MS = 200 };
#endif

static void sleep_ms(int ms)
{
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

  nanosleep(&pause, NULL);
}

static const enum fake_event every_event[] = {
    FAKE_RESET, FAKE_CUT,  FAKE_HALF_HEAD,   FAKE_EMPTY, FAKE_WEB_PAGE, FAKE_GARBAGE,  FAKE_STATUS,
    FAKE_HANG,  FAKE_LATE, FAKE_NOT_STARTED, FAKE_GONE,  FAKE_ERROR,    FAKE_EXCEPTION};
enum { EVENTS = sizeof every_event / sizeof *every_event };

static struct fake_fault fault_of(const char *call, size_t i)
{
  struct fake_fault fault = {.call = call, .event = every_event[i], .status = 503, .runs = true};

  fault.delay_ms = 2 * LIMIT_MS; /* of FAKE_LATE */
  return fault;
}

/* Runs a statement to its last row within LIMIT_MS. */
static enum mortar_status run_limited(struct client *c, int64_t *rows)
{
  const struct mortar_call call = {.timeout_ms = LIMIT_MS};
  struct mortar_result *res = NULL;
  struct ArrowArray batch = {.release = NULL};
  enum mortar_status st = mortar_query(c->session, "SELECT 1", &call, &res, &c->err);

  *rows = 0;
  while (st == MORTAR_OK) {
    st = mortar_result_next(res, &call, &batch, &c->err);
    if (!batch.release) break;
    *rows += batch.length;
    batch.release(&batch);
    batch.release = NULL;
  }
  mortar_result_free(res);
  return st;
}

/* How long a run under the fault takes, in ms. */
static int64_t time_of(struct client *c, const struct fake_fault *fault)
{
  int64_t started, rows;

  fake_server_fault(&c->fs, fault);
  started = mtr_clock_now();
  assert_int_not_equal(run_limited(c, &rows), MORTAR_OK);
  return (mtr_clock_now() - started) / MTR_MS;
}

/* A machine that is busy may hold one run up, but hardly three. */
static void check_limit(struct client *c, const char *call, size_t i)
{
  const struct fake_fault fault = fault_of(call, i);
  int64_t took = LIMIT_MS + LATE_MS + 1;
  int tries;

  for (tries = 0; tries < 3 && took > LIMIT_MS + LATE_MS; tries++)
    took = time_of(c, &fault);
  if (took > LIMIT_MS + LATE_MS)
    fail_msg("%s, event %d: %lld ms, %s", call, (int)fault.event, (long long)took, c->err.message);
  fake_server_fault(&c->fs, &(struct fake_fault){.event = FAKE_NONE});
}

static void every_fault_ends_within_the_limit(void **state)
{
  static const char *const wire[] = {"ExecuteStatement", "GetOperationStatus", "FetchResults",
                                     "GetResultSetMetadata"};
  struct client c = {.option = "retry_delay_max_ms", .value = "60000"};
  size_t k, i;

  (void)state;
  client_start_with(&c);
  for (k = 0; k < sizeof wire / sizeof *wire; k++)
    for (i = 0; i < EVENTS; i++) {
      c.fs.pages = k == 2 ? 2 : 1;
      c.fs.no_schema = k == 3;
      c.fs.live_polls = k == 1 ? 1000000 : 0;
      check_limit(&c, wire[k], i);
    }
  c.fs.let_go = true;
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

/* Page 3 of 5 fails in every way: an error each time, and never a short list. */
static void a_failed_page_is_never_an_early_end(void **state)
{
  struct client c;
  int64_t rows;
  size_t i;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 5, 10);
  c.fs.pages = 5;
  for (i = 0; i < EVENTS; i++) {
    struct fake_fault fault = fault_of("FetchResults", i);
    fault.skip = 1; /* page 1 came with the statement, page 2 is the first fetch */
    fake_server_fault(&c.fs, &fault);
    assert_int_not_equal(run_limited(&c, &rows), MORTAR_OK);
    assert_int_equal(rows, 20);
    /* A page is not asked for twice, unless the server says that it has not begun to send it. */
    if (every_event[i] != FAKE_NOT_STARTED) assert_int_equal(c.fs.fault_requests, 2);
  }
  fake_server_fault(&c.fs, &(struct fake_fault){.event = FAKE_NONE});
  assert_int_equal(run_limited(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 50);
  c.fs.let_go = true;
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

/* ---- Orphans --------------------------------------------------------------------------------- */

static void a_late_statement_is_cancelled_and_closed(void **state)
{
  const struct mortar_call call = {.timeout_ms = 100};
  struct mortar_result *res = NULL;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000; /* it is still running when the reply comes */
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_LATE, .runs = true, .delay_ms = 1500});
  assert_int_equal(mortar_query(c.session, "INSERT", &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_non_null(strstr(c.err.message, "cancelled once the server names it"));
  assert_int_equal(c.fs.canceled, 0);
  assert_false(mortar_background_wait(0));
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  assert_int_equal(c.fs.ran, 1);
  client_stop(&c);
}

static void the_session_may_be_freed_meanwhile(void **state)
{
  const struct mortar_call call = {.timeout_ms = 50};
  struct mortar_result *res = NULL;
  struct client c;
  int64_t started;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_LATE, .runs = true, .delay_ms = 1500});
  assert_int_equal(mortar_query(c.session, "INSERT", &call, &res, &c.err), MORTAR_TIMEOUT);
  started = mtr_clock_now();
  mortar_session_free(c.session);
  c.session = NULL;
  assert_true(mtr_clock_now() - started < MTR_SECOND); /* it waits for no orphan */
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void a_late_session_is_closed(void **state)
{
  const struct mortar_call call = {.timeout_ms = 100};
  struct mortar_session *session = NULL;
  struct mortar_config *config = NULL;
  struct client c;
  char uri[60];

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs,
                    &(struct fake_fault){
                        .call = "OpenSession", .event = FAKE_LATE, .runs = true, .delay_ms = 1000});
  (void)snprintf(uri, sizeof uri, "http://127.0.0.1:%d/", c.fs.port);
  assert_int_equal(mortar_config_new(NULL, &config, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_uri(config, uri, NULL), MORTAR_OK);
  assert_int_equal(mortar_session_open(config, &call, &session, &c.err), MORTAR_TIMEOUT);
  assert_null(session);
  mortar_config_free(config);
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.opened, 2);
  assert_int_equal(c.fs.closed, 1);
  client_stop(&c);
}

/* More of them than there is room for, on a server that answers none: each call still ends in time,
 * and says what it knows. */
static void a_full_table_is_no_obstacle(void **state)
{
  const struct mortar_call call = {.timeout_ms = 3};
  struct mortar_result *res = NULL;
  struct client c;
  int i, kept = 0, lost = 0;

  (void)state;
  client_start(&c);
  c.fs.hang = true;
  for (i = 0; i < 2000 && !lost; i++) { /* a busy machine does not send each of them in time */
    assert_int_not_equal(mortar_query(c.session, "INSERT", &call, &res, &c.err), MORTAR_OK);
    kept += strstr(c.err.message, "once the server names it") != NULL;
    lost += strstr(c.err.message, "may be running") != NULL &&
            strstr(c.err.message, "names it") == NULL;
  }
  assert_true(kept > 64);
  assert_true(lost > 0);
  c.fs.let_go = true;
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

/* The thread ends by itself and starts again. */
static void the_thread_comes_and_goes(void **state)
{
  int round;

  (void)state;
  for (round = 0; round < 2; round++) {
    a_late_statement_is_cancelled_and_closed(state);
    sleep_ms(1300);
  }
}

/* ---- Closing --------------------------------------------------------------------------------- */

struct runner {
  struct client *c;
  pthread_t thread;
  struct mortar_error err;
  enum mortar_status st;
  int64_t ended;
};

static void *run_statement(void *arg)
{
  struct runner *r = arg;
  struct mortar_result *res = NULL;

  r->st = mortar_query(r->c->session, "INSERT", NULL, &res, &r->err);
  r->ended = mtr_clock_now();
  mortar_result_free(res);
  return NULL;
}

static void check_close_ends(struct client *c)
{
  struct mortar_session_stats stats;
  struct runner runners[4];
  int64_t closed;
  size_t i;

  for (i = 0; i < 4; i++) {
    runners[i].c = c;
    assert_int_equal(pthread_create(&runners[i].thread, NULL, run_statement, &runners[i]), 0);
  }
  do {
    sleep_ms(100); /* until they wait */
    mortar_session_get_stats(c->session, &stats);
  } while (stats.statements < 4);
  closed = mtr_clock_now();
  assert_int_equal(mortar_session_close(c->session, NULL, &c->err), MORTAR_OK);
  for (i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
    assert_int_equal(runners[i].st, MORTAR_INTERRUPTED);
    assert_non_null(strstr(runners[i].err.message, "session was closed"));
    assert_int_not_equal(runners[i].err.outcome, MORTAR_OUTCOME_DONE);
    assert_true(runners[i].ended - closed < (100 + LATE_MS) * MTR_MS);
  }
  assert_int_equal(c->fs.closed, 1);
}

static void closing_ends_what_other_threads_wait_for(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000000; /* between polls */
  check_close_ends(&c);
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 4);
  assert_int_equal(c.fs.operations_closed, 4);
  client_stop(&c);

  client_start(&c);
  c.fs.hang = true; /* while the reply is awaited */
  check_close_ends(&c);
  c.fs.let_go = true;
  assert_true(mortar_background_wait(5000));
  client_stop(&c);

  client_start(&c);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                .event = FAKE_STATUS,
                                                .status = 429,
                                                .headers = "Retry-After: 60\r\n"});
  check_close_ends(&c); /* between two attempts */
  client_stop(&c);
}

static void a_close_that_fails_is_told_and_done(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "CloseSession", .event = FAKE_RESET});
  assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_IO);
  assert_int_equal(c.fs.fault_requests, 4);
  assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_OK); /* twice is fine */
  assert_int_equal(c.fs.fault_requests, 4);
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_fault_ends_within_the_limit),
      cmocka_unit_test(a_failed_page_is_never_an_early_end),
      cmocka_unit_test(a_late_statement_is_cancelled_and_closed),
      cmocka_unit_test(the_session_may_be_freed_meanwhile),
      cmocka_unit_test(a_late_session_is_closed),
      cmocka_unit_test(a_full_table_is_no_obstacle),
      cmocka_unit_test(the_thread_comes_and_goes),
      cmocka_unit_test(closing_ends_what_other_threads_wait_for),
      cmocka_unit_test(a_close_that_fails_is_told_and_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
