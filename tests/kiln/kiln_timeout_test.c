/* Statements that take too long or are given up: polls, queryTimeout, cancelling, and that nothing
 * is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/kiln/kiln_fixture.h"

static int64_t open_operations(struct fixture *fx)
{
  wire_http(&fx->wire, "GET", "/kiln/stats", NULL, 0);
  if (wire_contains(fx->wire.body, "\"operations_open\": 0")) return 0;
  return wire_contains(fx->wire.body, "\"operations_open\": 1") ? 1 : 2;
}

static void await_nothing_running(struct fixture *fx)
{
  fixture_await(&fx->engine.contexts, 0);
  fixture_await(&fx->engine.streams, 0);
}

static void begin(struct fixture *fx, const char *sql, const struct wire_ask *ask,
                  struct wire_handle *op)
{
  struct mtr_TExecuteStatementResp *resp;

  fixture_start(fx, &tiny_engine, NULL);
  resp = wire_execute(&fx->wire, &fx->session, sql, ask);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  wire_keep(op, resp->operation_handle->operation_id);
}

static void a_poll_is_held_for_a_second(void **state)
{
  struct wire_handle op;
  struct fixture fx;
  int64_t before, took;

  (void)state;
  begin(&fx, "slow", &ask_async, &op);
  before = mtr_clock_now();
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_RUNNING);
  took = mtr_clock_now() - before;
  assert_true(took > 900 * MTR_MS);
  assert_true(took < 5 * MTR_SECOND);
  fixture_stop(&fx);
}

/* With one worker, which has something else to do: pending, then running or done. */
static void a_statement_that_waits_for_a_worker_is_pending(void **state)
{
  struct kiln_options options = {.workers = 1};
  struct mtr_TGetOperationStatusResp *status;
  struct wire_handle first, second;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  wire_keep(
      &first,
      wire_execute(&fx.wire, &fx.session, "slow", &ask_async)->operation_handle->operation_id);
  fixture_await(&fx.engine.contexts, 1);
  wire_keep(
      &second,
      wire_execute(&fx.wire, &fx.session, "rows 3", &ask_async)->operation_handle->operation_id);
  assert_int_equal(fixture_poll(&fx, &second)->operation_state, MTR_OPERATION_PENDING);
  assert_int_equal(fixture_poll(&fx, &first)->operation_state, MTR_OPERATION_RUNNING);
  assert_int_equal(fixture_cancel(&fx, &first), MTR_STATUS_SUCCESS);
  do {
    status = fixture_poll(&fx, &second);
  } while (status->operation_state == MTR_OPERATION_PENDING ||
           status->operation_state == MTR_OPERATION_RUNNING);
  assert_int_equal(status->operation_state, MTR_OPERATION_FINISHED);
  fixture_stop(&fx);
}

static void an_asynchronous_statement_times_out(void **state)
{
  struct wire_ask ask = {.async = true, .timeout = 1};
  struct mtr_TGetOperationStatusResp *status;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  begin(&fx, "slow", &ask, &op);
  do {
    status = fixture_poll(&fx, &op);
  } while (status->operation_state == MTR_OPERATION_RUNNING);
  assert_int_equal(status->operation_state, MTR_OPERATION_TIMEDOUT);
  wire_assert_text(status->sql_state, "HYT00");
  assert_true(wire_contains(status->display_message, "queryTimeout of 1 seconds"));
  await_nothing_running(&fx);
  assert_true(fx.engine.interrupts > 0);
  wire_assert_text(fixture_fetch(&fx, &op, 1, 0)->status->sql_state, "HYT00");
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(open_operations(&fx), 0);
  fixture_stop(&fx);
}

/* As Spark and Hive do it: the call itself succeeds. */
static void a_synchronous_statement_times_out(void **state)
{
  struct wire_ask ask = {.timeout = 1};
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  begin(&fx, "slow", &ask, &op);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_TIMEDOUT);
  await_nothing_running(&fx);
  fixture_stop(&fx);
}

/* It is not closed with the reply: databricks-sql-connector asks for its schema, and shows why it
 * gets none. */
static void execute_timed_out(struct fixture *fx, const char *sql, struct wire_handle *op)
{
  struct wire_ask ask = {.direct = true, .max_rows = 100, .timeout = 1};
  struct mtr_TExecuteStatementResp *resp;

  fixture_start(fx, &tiny_engine, NULL);
  resp = wire_execute(&fx->wire, &fx->session, sql, &ask);
  assert_int_equal(resp->direct_results->operation_status->operation_state, MTR_OPERATION_TIMEDOUT);
  wire_assert_text(resp->direct_results->operation_status->sql_state, "HYT00");
  assert_null(resp->direct_results->result_set);
  assert_null(resp->direct_results->close_operation);
  wire_keep(op, resp->operation_handle->operation_id);
  await_nothing_running(fx);
  assert_int_equal(open_operations(fx), 1);
}

static void direct_results_time_out(void **state)
{
  struct mtr_TGetResultSetMetadataReq req = {0};
  const struct mtr_TStatus *status;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  execute_timed_out(&fx, "slow", &op);
  MTR_SET(&req, TGetResultSetMetadataReq, operation_handle, &op.operation);
  status = WIRE_CALL(&fx.wire, GetResultSetMetadata, &req)->status;
  assert_int_equal(status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(status->sql_state, "HYT00");
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(open_operations(&fx), 0);
  fixture_stop(&fx);
}

/* The statement has ended well, its rows take too long. */
static void a_page_times_out(void **state)
{
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  execute_timed_out(&fx, "drip 5", &op);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(open_operations(&fx), 0);
  fixture_stop(&fx);
}

static void who_is_in_time_does_not_notice(void **state)
{
  struct wire_ask ask = {.direct = true, .async = true, .max_rows = 2, .timeout = 1};
  struct mtr_TFetchResultsResp *page;
  struct timespec pause = {1, 200000000};
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  begin(&fx, "rows 5", &ask, &op);
  assert_int_equal(nanosleep(&pause, NULL), 0);
  page = fixture_fetch(&fx, &op, 10, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 2), 3);
  fixture_stop(&fx);
}

/* A client may fetch as slowly as it likes, and the engine make rows as slowly. */
static void fetched_pages_are_not_timed(void **state)
{
  struct wire_ask ask = {.async = true, .timeout = 1};
  struct timespec pause = {1, 200000000};
  struct mtr_TFetchResultsReq req = {0};
  struct wire_handle op;
  struct wire reader;
  struct fixture fx;

  (void)state;
  begin(&fx, "drip 5", &ask, &op);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_FINISHED);
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, 100);
  wire_open(&reader, fx.wire.port);
  wire_send_call(&reader, "FetchResults", &mtr_TFetchResultsReq_info, &req);
  assert_int_equal(nanosleep(&pause, NULL), 0);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_FINISHED);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  assert_true(wire_receive(&reader));
  await_nothing_running(&fx);
  wire_close(&reader);
  fixture_stop(&fx);
}

/* The operation is there until it is closed, but the engine has everything back before. */
static void cancelling_gives_the_engine_its_own_back(void **state)
{
  static const char *const texts[] = {"slow", "late 5"};
  struct wire_handle op;
  struct fixture fx;
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    begin(&fx, texts[i], &ask_async, &op);
    fixture_await(&fx.engine.executed, 1);
    assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
    await_nothing_running(&fx);
    assert_int_equal(open_operations(&fx), 1);
    assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_CANCELED);
    wire_assert_text(fixture_fetch(&fx, &op, 1, 0)->status->sql_state, "HY008");
    assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
    assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
    assert_int_equal(open_operations(&fx), 0);
    fixture_stop(&fx);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_poll_is_held_for_a_second),
      cmocka_unit_test(a_statement_that_waits_for_a_worker_is_pending),
      cmocka_unit_test(an_asynchronous_statement_times_out),
      cmocka_unit_test(a_synchronous_statement_times_out),
      cmocka_unit_test(direct_results_time_out),
      cmocka_unit_test(a_page_times_out),
      cmocka_unit_test(who_is_in_time_does_not_notice),
      cmocka_unit_test(fetched_pages_are_not_timed),
      cmocka_unit_test(cancelling_gives_the_engine_its_own_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
