/* Statements that are submitted: asked after, fetched, cancelled, let go, gone on with elsewhere.
 */
#include <stdio.h>

#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

static struct mortar_statement *submitted(struct client *c, const char *sql)
{
  struct mortar_statement *stmt;

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, sql, strlen(sql), &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c->err), MORTAR_OK);
  return stmt;
}

static enum mortar_statement_state state_of(struct client *c, struct mortar_statement *stmt)
{
  enum mortar_statement_state state;

  assert_int_equal(mortar_statement_poll(stmt, NULL, &state, &c->err), MORTAR_OK);
  return state;
}

static enum mortar_status poll_fails(struct client *c, struct mortar_statement *stmt)
{
  enum mortar_statement_state state = MORTAR_STATEMENT_RUNNING;
  const enum mortar_status st = mortar_statement_poll(stmt, NULL, &state, &c->err);

  assert_int_equal(state, MORTAR_STATEMENT_NONE);
  return st;
}

/* Takes the result and reads it; the rows are counted. */
static enum mortar_status take(struct client *c, struct mortar_statement *stmt, int64_t *rows)
{
  struct mortar_result *res = NULL;
  enum mortar_status st = mortar_statement_result(stmt, NULL, &res, &c->err);

  *rows = 0;
  if (st == MORTAR_OK) st = client_drain(res, rows, &c->err);
  mortar_result_free(res);
  return st;
}

static void from_submit_to_the_last_row(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 4, 5);
  c.fs.pages = 2;
  c.fs.live_polls = 3;
  c.fs.pending = true;
  stmt = submitted(&c, "SELECT n, s");
  assert_null(strstr(c.fs.execute_asked, "get_direct_results"));
  assert_int_equal(c.fs.polled, 0); /* nobody waited */
  assert_string_equal(mortar_statement_query_id(stmt), "4f504552-4154-494f-4e2d-303030312121");
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_PENDING);
  c.fs.pending = false;
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_RUNNING);
  assert_int_equal(c.fs.polled, 2); /* once each */
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  assert_int_equal(rows, 20);
  assert_int_equal(c.fs.polled, 4);
  assert_int_equal(c.fs.schemas, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  assert_int_equal(c.fs.canceled, 0);
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_FINISHED); /* known, not asked */
  assert_int_equal(c.fs.polled, 4);
  assert_int_equal(take(&c, stmt, &rows), MORTAR_STATE);
  assert_non_null(strstr(c.err.message, "taken already"));
  mortar_statement_free(stmt);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void what_was_not_submitted(void **state)
{
  enum mortar_statement_state s;
  struct mortar_statement *stmt;
  struct mortar_result *res;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_NONE);
  assert_int_equal(take(&c, stmt, &rows), MORTAR_STATE);
  assert_string_equal(mortar_statement_query_id(stmt), "");
  assert_string_equal(mortar_statement_handle(stmt), "");
  mortar_statement_reset(stmt);
  mortar_statement_reset(NULL);
  assert_string_equal(mortar_statement_query_id(NULL), "");
  assert_string_equal(mortar_statement_handle(NULL), "");
  assert_int_equal(mortar_statement_submit(NULL, NULL, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_poll(NULL, NULL, &s, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_poll(stmt, NULL, NULL, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_result(NULL, NULL, &res, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_result(stmt, NULL, NULL, &c.err), MORTAR_INVALID);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* The error stays, without asking again; and the server has nothing of it. */
static void a_statement_that_fails_later(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;
  int i;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1;
  stmt = submitted(&c, "SELECT n, s");
  c.fs.failure = "[DIVIDE_BY_ZERO] by zero";
  c.fs.sqlstate = "22012";
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_RUNNING);
  for (i = 0; i < 2; i++) {
    assert_int_equal(poll_fails(&c, stmt), MORTAR_SERVER);
    assert_string_equal(c.err.sqlstate, "22012");
    assert_string_equal(c.err.query_id, "4f504552-4154-494f-4e2d-303030312121");
    assert_int_equal(c.err.outcome, MORTAR_OUTCOME_DONE);
    assert_int_equal(take(&c, stmt, &rows), MORTAR_SERVER);
    assert_non_null(strstr(c.err.message, "by zero"));
  }
  assert_int_equal(c.fs.polled, 2);
  assert_int_equal(c.fs.operations_closed, 1);
  assert_int_equal(c.fs.canceled, 0);
  c.fs.failure = NULL;
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_OK); /* it lives on */
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void a_submitted_statement_is_cancelled(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  c.fs.ends_canceled = true;
  stmt = submitted(&c, "SELECT n, s");
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK);
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(take(&c, stmt, &rows), MORTAR_CANCELED);
  assert_int_equal(poll_fails(&c, stmt), MORTAR_CANCELED);
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK); /* it is over: nothing */
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  c.fs.ends_canceled = false;
  c.fs.live_polls = 0;
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_OK); /* not that one */
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void let_go_by_text(struct client *c, struct mortar_statement *stmt)
{
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c->err), MORTAR_OK);
}

static void let_go_by_metadata(struct client *c, struct mortar_statement *stmt)
{
  const struct mortar_metadata all = {.kind = MORTAR_METADATA_CATALOGS};

  assert_int_equal(mortar_statement_set_metadata(stmt, &all, &c->err), MORTAR_OK);
}

static void let_go_by_reset(struct client *c, struct mortar_statement *stmt)
{
  (void)c;
  mortar_statement_reset(stmt);
}

static void let_go_by_execute(struct client *c, struct mortar_statement *stmt)
{
  struct mortar_result *res;

  c->fs.live_polls = 0;
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c->err), MORTAR_OK);
  mortar_result_free(res);
}

static void let_go_by_free(struct client *c, struct mortar_statement *stmt)
{
  (void)c;
  (void)stmt;
}

/* Cancelled and closed on the server, at once. */
static void what_is_let_go_is_ended(void **state)
{
  static void (*const ways[])(struct client *, struct mortar_statement *) = {
      let_go_by_text, let_go_by_metadata, let_go_by_reset, let_go_by_execute, let_go_by_free};
  struct mortar_statement *stmt;
  struct client c;
  int i;

  (void)state;
  client_start(&c);
  for (i = 0; i < (int)(sizeof ways / sizeof *ways); i++) {
    c.fs.live_polls = 1000;
    stmt = submitted(&c, "SELECT n, s");
    ways[i](&c, stmt);
    if (ways[i] != let_go_by_free) {
      assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_NONE);
      assert_int_equal(c.fs.operations_closed, i + 1);
    }
    mortar_statement_free(stmt);
    assert_int_equal(c.fs.canceled, i + 1);
    assert_int_equal(c.fs.operations_closed, i + 1);
  }
  client_stop(&c);
}

/* One that has finished is closed only; one of a closed session went with it. */
static void what_has_ended_is_not_cancelled(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  stmt = submitted(&c, "SELECT n, s");
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_FINISHED);
  mortar_statement_reset(stmt);
  assert_int_equal(c.fs.canceled, 0);
  assert_int_equal(c.fs.operations_closed, 1);
  c.fs.live_polls = 1000;
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_OK);
  assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_OK);
  assert_int_equal(poll_fails(&c, stmt), MORTAR_STATE);
  assert_int_equal(take(&c, stmt, &rows), MORTAR_STATE);
  mortar_statement_free(stmt);
  assert_int_equal(c.fs.canceled, 0);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void a_wait_that_ends_early_leaves_it_running(void **state)
{
  struct mortar_call call = {.timeout_ms = 50};
  struct mortar_result *res;
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  stmt = submitted(&c, "SELECT n, s");
  assert_int_equal(mortar_statement_result(stmt, &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  call.timeout_ms = -1;
  assert_int_equal(mortar_wake_new(&call.wake, NULL), MORTAR_OK);
  mortar_wake_signal(call.wake);
  assert_int_equal(mortar_statement_result(stmt, &call, &res, &c.err), MORTAR_INTERRUPTED);
  mortar_wake_free(call.wake);
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 0);
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_RUNNING);
  c.fs.live_polls = 0;
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void a_question_that_fails_changes_nothing(void **state)
{
  struct client c = {.option = "retry_attempts", .value = "0"};
  struct mortar_statement *stmt;
  int64_t rows;

  (void)state;
  client_start_with(&c);
  stmt = submitted(&c, "SELECT n, s");
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "GetOperationStatus", .event = FAKE_STATUS, .status = 500, .last = 1});
  assert_int_equal(poll_fails(&c, stmt), MORTAR_HTTP);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "GetOperationStatus", .event = FAKE_RESET, .last = 1});
  assert_int_equal(take(&c, stmt, &rows), MORTAR_IO);
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* Its schema can't be had: it has failed, and nothing of it stays. */
static void a_result_that_cannot_be_made(void **state)
{
  struct client c = {.option = "retry_attempts", .value = "0"};
  struct mortar_statement *stmt;
  int64_t rows;
  int i;

  (void)state;
  client_start_with(&c);
  stmt = submitted(&c, "SELECT n, s");
  fake_server_fault(&c.fs,
                    &(struct fake_fault){.call = "GetResultSetMetadata", .event = FAKE_ERROR});
  for (i = 0; i < 2; i++) {
    assert_int_equal(take(&c, stmt, &rows), MORTAR_SERVER);
    assert_non_null(strstr(c.err.message, "please me"));
    assert_int_equal(poll_fails(&c, stmt), MORTAR_SERVER);
  }
  mortar_statement_free(stmt);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

/* The caller gives up before the server has named it. */
static void a_submit_that_is_given_up(void **state)
{
  const struct mortar_call call = {.timeout_ms = 100};
  struct mortar_statement *stmt;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_LATE, .delay_ms = 1000, .runs = true});
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_submit(stmt, &call, &c.err), MORTAR_TIMEOUT);
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_NONE);
  assert_true(mortar_background_wait(10000));
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void a_server_that_sends_rows_unasked(void **state)
{
  struct mortar_statement *stmt;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.always_direct = true;
  c.fs.pages = 2;
  fake_server_batches(&c.fs, 2, 3);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_PROTOCOL);
  assert_int_equal(c.fs.operations_closed, 1);
  c.fs.live_polls = 1; /* a state alone does no harm */
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_OK);
  assert_int_equal(state_of(&c, stmt), MORTAR_STATEMENT_FINISHED);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* DDL: no rows, an Arrow schema without fields, and a column in the Thrift schema. */
static void a_statement_without_rows(void **state)
{
  struct mortar_statement *stmt;
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 0, 0);
  c.fs.table = FAKE_TABLE_DDL;
  stmt = submitted(&c, "CREATE TABLE t (n INT)");
  assert_int_equal(mortar_statement_result(stmt, NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_column_count(res), 1);
  assert_string_equal(mortar_result_column_name(res, 0), "Result");
  assert_int_equal(mortar_result_next(res, NULL, &batch, &c.err), MORTAR_OK);
  assert_null(batch.release);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void a_metadata_call_is_submitted(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  let_go_by_metadata(&c, stmt);
  assert_int_equal(mortar_statement_submit(stmt, NULL, &c.err), MORTAR_OK);
  assert_null(strstr(c.fs.asked, "get_direct_results"));
  assert_int_equal(take(&c, stmt, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  assert_int_equal(c.fs.misnamed, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* On another session, with the result outliving the statement that submitted it. */
static void another_statement_goes_on_with_it(void **state)
{
  struct client c, other = {.session = NULL};
  struct mortar_statement *stmt, *second;
  char handle[300];
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  stmt = submitted(&c, "SELECT n, s");
  snprintf(handle, sizeof handle, "%s", mortar_statement_handle(stmt));
  assert_string_equal(handle,
                      "4f5045524154494f4e2d303030312121.3030303030303030"
                      "3030303030303031.0");
  other.fs.port = c.fs.port;
  assert_int_equal(client_open(&other, NULL, NULL, NULL), MORTAR_OK);
  assert_int_equal(mortar_statement_new(other.session, &second, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_attach(second, handle, &c.err), MORTAR_OK);
  assert_string_equal(mortar_statement_handle(second), handle);
  assert_string_equal(mortar_statement_query_id(second), mortar_statement_query_id(stmt));
  assert_int_equal(state_of(&c, second), MORTAR_STATEMENT_RUNNING);
  mortar_statement_reset(second); /* it is not its own */
  assert_int_equal(c.fs.canceled, 0);
  assert_int_equal(mortar_statement_attach(second, handle, &c.err), MORTAR_OK);
  c.fs.live_polls = 0;
  assert_int_equal(take(&c, second, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  assert_int_equal(c.fs.operations_closed, 1);
  mortar_statement_free(second);
  mortar_session_free(other.session);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void what_is_no_handle(void **state)
{
  static const char *const bad[] = {"",
                                    ".",
                                    "..",
                                    "...",
                                    "4f504552-4154-494f-4e2d-303030312121",
                                    "4f5045524154494f4e2d303030312121",
                                    "4f50.3030",
                                    "4f50.3030.",
                                    "4f50.3030.-1",
                                    "4f50.3030.0x",
                                    "4f50.3030.99999999999",
                                    "4f5.3030.0",
                                    "4F50.3030.0",
                                    ".3030.0",
                                    "4f50.303.0"};
  char long_one[200];
  struct mortar_statement *stmt;
  struct client c;
  size_t i;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    if (mortar_statement_attach(stmt, bad[i], &c.err) != MORTAR_INVALID) fail_msg("%s", bad[i]);
  assert_non_null(strstr(c.err.message, "a query id alone is not enough"));
  snprintf(long_one, sizeof long_one, "%0130d.00.0", 0);
  assert_int_equal(mortar_statement_attach(stmt, long_one, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_attach(stmt, "4f50..7", &c.err), MORTAR_OK);
  assert_string_equal(mortar_statement_handle(stmt), "4f50..7");
  assert_int_equal(mortar_statement_attach(NULL, "4f50..7", &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_attach(stmt, NULL, &c.err), MORTAR_INVALID);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static enum mortar_status whole_life(struct client *c, const struct mortar_alloc *alloc)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  enum mortar_status st = client_open(c, alloc, NULL, NULL);
  int64_t rows;

  if (st == MORTAR_OK) st = mortar_statement_new(c->session, &stmt, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_set_sql(stmt, "SELECT", 6, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_set_setting(stmt, "a", "b", &c->err);
  if (st == MORTAR_OK) st = mortar_statement_submit(stmt, NULL, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_result(stmt, NULL, &res, &c->err);
  if (st == MORTAR_OK) st = client_drain(res, &rows, &c->err);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  mortar_session_free(c->session);
  c->session = NULL;
  return st;
}

static void memory_that_runs_out_anywhere_is_reported(void **state)
{
  struct failing_alloc fa;
  struct client c = {.session = NULL};

  (void)state;
  fake_server_start(&c.fs);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    const enum mortar_status st = whole_life(&c, &fa.alloc);
    assert_true(mortar_background_wait(5000)); /* it uses the allocator, too */
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  }
  assert_true(fa.rounds > 30);
  fake_server_stop(&c.fs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(from_submit_to_the_last_row),
      cmocka_unit_test(what_was_not_submitted),
      cmocka_unit_test(a_statement_that_fails_later),
      cmocka_unit_test(a_submitted_statement_is_cancelled),
      cmocka_unit_test(what_is_let_go_is_ended),
      cmocka_unit_test(what_has_ended_is_not_cancelled),
      cmocka_unit_test(a_wait_that_ends_early_leaves_it_running),
      cmocka_unit_test(a_question_that_fails_changes_nothing),
      cmocka_unit_test(a_result_that_cannot_be_made),
      cmocka_unit_test(a_submit_that_is_given_up),
      cmocka_unit_test(a_server_that_sends_rows_unasked),
      cmocka_unit_test(a_statement_without_rows),
      cmocka_unit_test(a_metadata_call_is_submitted),
      cmocka_unit_test(another_statement_goes_on_with_it),
      cmocka_unit_test(what_is_no_handle),
      cmocka_unit_test(memory_that_runs_out_anywhere_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
