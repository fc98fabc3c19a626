/* Whole sessions over HiveServer2's binary wires: what is sent, what is sent again, and what keeps
 * a session alive, which ends with the connection that it was opened on. */
#include "codec/thrift/tcli.h"
#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

static const enum mtr_wire wires[] = {MTR_WIRE_NOSASL, MTR_WIRE_SASL};
enum { WIRES = sizeof wires / sizeof *wires };

static void start(struct client *c, enum mtr_wire wire)
{
  memset(c, 0, sizeof *c);
  fake_server_start(&c->fs);
  c->fs.wire = wire;
  c->fs.version = MTR_PROTOCOL_HIVE_V10;
  c->fs.table = FAKE_TABLE_COLUMNS;
  c->fs.live_polls = 1; /* without direct results, as these servers are */
}

static void open_session(struct client *c)
{
  if (client_open(c, NULL, NULL, NULL)) print_error("%s\n", c->err.message);
  assert_non_null(c->session);
}

static enum mortar_status execute(struct client *c, const char *sql, int64_t timeout_ms)
{
  const struct mortar_call call = {.timeout_ms = timeout_ms};
  struct mortar_statement *stmt;
  struct mortar_result *res = NULL;
  enum mortar_status st;

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, sql, strlen(sql), &c->err), MORTAR_OK);
  st = mortar_statement_execute(stmt, &call, &res, &c->err);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  return st;
}

static void a_session_lives_and_ends_over_each_wire(void **state)
{
  struct client c;
  int64_t rows;
  int i;

  (void)state;
  for (i = 0; i < WIRES; i++) {
    start(&c, wires[i]);
    open_session(&c);
    assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
    assert_int_equal(rows, 3);
    /* One for each connection; that of the session carries nothing else. */
    assert_true(wires[i] == MTR_WIRE_SASL ? c.fs.logins >= 2 : c.fs.logins == 0);
    client_stop(&c);
    assert_int_equal(c.fs.opened, 1);
    assert_int_equal(c.fs.closed, 1);
  }
}

/* Hive's words from the start: nothing else speaks these wires. Without SASL the user is told in
 * the call. */
static void the_open_says_who_and_what(void **state)
{
  struct client c;
  int i;

  (void)state;
  for (i = 0; i < WIRES; i++) {
    start(&c, wires[i]);
    c.option = "username";
    c.value = "somebody";
    open_session(&c);
    assert_non_null(strstr(c.fs.asked, "\"set:hiveconf:ansi_mode\":\"true\""));
    assert_int_equal(strstr(c.fs.asked, "\"username\":\"somebody\"") != NULL,
                     wires[i] == MTR_WIRE_NOSASL);
    assert_null(strstr(c.fs.asked, "secret-token"));
    client_stop(&c);
    assert_int_equal(c.fs.opened, 1);
  }
}

/* The connection of the call is closed with it; the session's is another one. */
static void a_call_given_up_does_not_end_the_session(void **state)
{
  const struct fake_fault silent = {.call = "GetOperationStatus", .event = FAKE_HANG, .last = 1};
  struct client c;
  int64_t rows;
  int i;

  (void)state;
  for (i = 0; i < WIRES; i++) {
    start(&c, wires[i]);
    open_session(&c);
    fake_server_fault(&c.fs, &silent);
    assert_int_equal(execute(&c, "SELECT 1", 300), MORTAR_TIMEOUT);
    assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
    assert_int_equal(rows, 3);
    assert_false(c.fs.session_ended);
    client_stop(&c);
  }
}

static void a_session_whose_connection_broke_is_lost(void **state)
{
  struct client c;

  (void)state;
  start(&c, MTR_WIRE_NOSASL);
  c.fs.close_after_reply = true;
  open_session(&c);
  fake_server_wait_closed(&c.fs);
  c.fs.close_after_reply = false;
  assert_int_equal(execute(&c, "SELECT 1", -1), MORTAR_SERVER);
  assert_true(c.err.session_lost);
  client_stop(&c);
}

static void a_write_is_sent_once(void **state)
{
  static const enum fake_event events[] = {FAKE_RESET, FAKE_CUT};
  int i;

  (void)state;
  for (i = 0; i < 2 * WIRES; i++) {
    const struct fake_fault broken = {
        .call = "ExecuteStatement", .event = events[i % 2], .last = 1, .runs = true};
    struct client c;
    start(&c, wires[i / 2]);
    open_session(&c);
    fake_server_fault(&c.fs, &broken);
    assert_int_equal(execute(&c, "INSERT INTO t VALUES (1)", -1), MORTAR_IO);
    assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    assert_int_equal(c.fs.fault_requests, 1);
    fake_server_fault(&c.fs, &broken);
    assert_int_equal(execute(&c, "SELECT 1", -1), MORTAR_OK);
    assert_int_equal(c.fs.fault_requests, 2);
    client_stop(&c);
  }
}

static void a_reply_that_is_too_long_is_refused(void **state)
{
  struct client c;
  int64_t rows;
  int i;

  (void)state;
  for (i = 0; i < WIRES; i++) {
    start(&c, wires[i]);
    c.option = "max_reply_bytes";
    c.value = "1024";
    fake_server_batches(&c.fs, 1, 1000);
    open_session(&c);
    assert_int_equal(client_rows(&c, &rows), MORTAR_LIMIT);
    assert_non_null(strstr(c.err.message, "crosses the limit of 1024"));
    client_stop(&c);
  }
}

static void a_login_is_refused_once_and_in_the_server_s_words(void **state)
{
  struct client c;

  (void)state;
  start(&c, MTR_WIRE_SASL);
  c.fs.login_refusal = "Error validating the login of secret-token";
  assert_int_equal(client_open(&c, NULL, "password", "secret-token"), MORTAR_AUTH);
  assert_non_null(strstr(c.err.message, "Error validating the login of ***; check 'username'"));
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(c.fs.logins, 1);
  assert_int_equal(c.fs.opened, 0);
  client_stop(&c);
}

static void memory_may_run_out(void **state)
{
  struct failing_alloc fa;
  struct client c;

  (void)state;
  start(&c, MTR_WIRE_SASL);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st = client_open(&c, &fa.alloc, NULL, NULL);
    if (st == MORTAR_OK) {
      struct mortar_statement *stmt = NULL;
      struct mortar_result *res = NULL;
      c.fs.live_polls = 1;
      st = mortar_statement_new(c.session, &stmt, &c.err);
      if (st == MORTAR_OK) st = mortar_statement_set_sql(stmt, "SELECT 1", 8, &c.err);
      if (st == MORTAR_OK) st = mortar_statement_execute(stmt, NULL, &res, &c.err);
      mortar_result_free(res);
      mortar_statement_free(stmt);
    }
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mortar_session_free(c.session);
    c.session = NULL;
    assert_true(mortar_background_wait(5000));
  }
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_session_lives_and_ends_over_each_wire),
      cmocka_unit_test(the_open_says_who_and_what),
      cmocka_unit_test(a_call_given_up_does_not_end_the_session),
      cmocka_unit_test(a_session_whose_connection_broke_is_lost),
      cmocka_unit_test(a_write_is_sent_once),
      cmocka_unit_test(a_reply_that_is_too_long_is_refused),
      cmocka_unit_test(a_login_is_refused_once_and_in_the_server_s_words),
      cmocka_unit_test(memory_may_run_out),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
