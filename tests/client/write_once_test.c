/* An INSERT runs once, whatever breaks: the server counts. Each fault is met with a session that
 * has just been used, so that the statement goes over a connection that was idle. */
#include <stdio.h>

#include "base/clock.h"
#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

#define INSERT "INSERT INTO t VALUES (1)"

struct fault_case {
  const char *name;
  struct fake_fault fault;
  enum mortar_status st; /* OK: it succeeds, once */
};

static const struct fault_case cases[] = {
    {"a bare 503 after it ran", {.event = FAKE_STATUS, .status = 503, .runs = true}, MORTAR_HTTP},
    {"503 with Retry-After before it ran",
     {.event = FAKE_STATUS, .status = 503, .headers = "Retry-After: 1\r\n", .last = 1},
     MORTAR_OK},
    {"429 before it ran", {.event = FAKE_STATUS, .status = 429, .last = 3}, MORTAR_OK},
    {"a Thrift error that says it did not start",
     {.event = FAKE_NOT_STARTED, .last = 3},
     MORTAR_OK},
    {"reset after the request was read", {.event = FAKE_RESET, .runs = true}, MORTAR_IO},
    {"time-out while the server commits", {.event = FAKE_HANG, .runs = true}, MORTAR_TIMEOUT},
    {"a reply cut in its head", {.event = FAKE_HALF_HEAD, .runs = true}, MORTAR_IO},
    {"a reply cut in its body", {.event = FAKE_CUT, .runs = true}, MORTAR_IO},
    {"an empty 200", {.event = FAKE_EMPTY, .runs = true}, MORTAR_PROTOCOL},
    {"a web page with 200", {.event = FAKE_WEB_PAGE, .runs = true}, MORTAR_PROTOCOL},
    {"a 502 after it ran", {.event = FAKE_STATUS, .status = 502, .runs = true}, MORTAR_HTTP},
    {"a 504 after it ran", {.event = FAKE_STATUS, .status = 504, .runs = true}, MORTAR_HTTP},
    {"a 408 after it ran", {.event = FAKE_STATUS, .status = 408, .runs = true}, MORTAR_HTTP},
    {"a 500 after it ran", {.event = FAKE_STATUS, .status = 500, .runs = true}, MORTAR_HTTP},
};

static enum mortar_status insert(struct client *c)
{
  struct mortar_result *res = NULL;
  const enum mortar_status st = mortar_query(c->session, INSERT, NULL, &res, &c->err);

  mortar_result_free(res);
  return st;
}

static void check_case(struct client *c, const struct fault_case *k)
{
  struct fake_fault fault = k->fault;
  enum mortar_status st;
  int64_t rows;

  assert_int_equal(client_rows(c, &rows), MORTAR_OK);
  fault.call = "ExecuteStatement";
  fake_server_fault(&c->fs, &fault);
  c->fs.ran = 0;
  st = insert(c);
  if (st != k->st || c->fs.ran != 1) print_error("%s: %s\n", k->name, c->err.message);
  assert_int_equal(st, k->st);
  assert_int_equal(c->fs.ran, 1);
  if (st != MORTAR_OK) {
    assert_int_equal(c->err.outcome, MORTAR_OUTCOME_UNKNOWN);
    assert_non_null(strstr(c->err.message, "may"));
  }
  fake_server_fault(&c->fs, &(struct fake_fault){.event = FAKE_NONE});
}

/* The cases with a time-out, or all others: these have time, however busy the machine is. */
static void check_cases(enum fake_table layout, bool time_out)
{
  struct client c = {.option = "read_timeout_ms", .value = time_out ? "500" : "60000"};
  size_t i;

  client_start_with(&c);
  c.fs.table = layout;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    if ((cases[i].st == MORTAR_TIMEOUT) == time_out) check_case(&c, &cases[i]);
  c.fs.let_go = true;
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

static void an_insert_runs_once(void **state)
{
  (void)state;
  check_cases(FAKE_TABLE_NONE, false);
  check_cases(FAKE_TABLE_NONE, true);
}

static void an_insert_answered_in_columns_runs_once(void **state)
{
  (void)state;
  check_cases(FAKE_TABLE_COLUMNS, false);
  check_cases(FAKE_TABLE_COLUMNS, true);
}

/* The server closes idle connections; the probe finds it and the statement goes over a new one. */
static void a_closed_idle_connection_is_replaced(void **state)
{
  struct mortar_session_stats stats;
  struct client c = {.session = NULL};
  int i;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.close_after_reply = true;
  assert_int_equal(client_open(&c, NULL, NULL, NULL), MORTAR_OK);
  for (i = 1; i <= 5; i++) {
    fake_server_wait_closed(&c.fs); /* the end has come when the next one begins */
    assert_int_equal(insert(&c), MORTAR_OK);
    assert_int_equal(c.fs.ran, i);
  }
  mortar_session_get_stats(c.session, &stats);
  assert_int_equal(stats.retries, 0);
  assert_int_equal(stats.stale_connections, 5);
  client_stop(&c);
}

/* The n-th allocation fails, also while a statement is sent again: nothing runs twice, nothing
 * leaks and nothing but the lack of memory is reported. */
static enum mortar_status life(struct client *c, const struct mortar_alloc *alloc)
{
  enum mortar_status st = client_open(c, alloc, NULL, NULL);

  if (st == MORTAR_OK) st = insert(c);
  mortar_session_free(c->session);
  c->session = NULL;
  return st;
}

static void memory_that_runs_out_between_attempts(void **state)
{
  struct client c = {.session = NULL};
  struct failing_alloc fa;

  (void)state;
  fake_server_start(&c.fs);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st;
    fake_server_fault(
        &c.fs, &(struct fake_fault){
                   .call = "ExecuteStatement", .event = FAKE_STATUS, .status = 429, .last = 2});
    c.fs.ran = 0;
    st = life(&c, &fa.alloc);
    assert_true(mortar_background_wait(5000)); /* it uses the allocator, too */
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_true(c.fs.ran <= 1);
  }
  assert_true(fa.rounds > 20);
  /* What fails later than that is closed; the two rounds in which the reply to OpenSession found no
   * memory cannot know what to close. */
  assert_in_range(c.fs.opened - c.fs.closed, 0, 2);
  fake_server_stop(&c.fs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_insert_runs_once),
      cmocka_unit_test(an_insert_answered_in_columns_runs_once),
      cmocka_unit_test(a_closed_idle_connection_is_replaced),
      cmocka_unit_test(memory_that_runs_out_between_attempts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
