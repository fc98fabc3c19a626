/* Idle expiry on a clock that the test moves, and once on the real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/kiln/kiln_fault_fixture.h"

enum { MINUTE = 60 * 1000 };

static void begin(struct fixture *fx, const struct kiln_engine *engine, int64_t session_idle_ms,
                  int64_t operation_idle_ms)
{
  struct kiln_options options = {.faults = true};

  options.session_idle_ms = session_idle_ms;
  options.operation_idle_ms = operation_idle_ms;
  fixture_start(fx, engine, &options);
}

static void advance(struct fixture *fx, int64_t ms)
{
  char body[64];

  (void)snprintf(body, sizeof body, "{\"advance_ms\": %lld}", (long long)ms);
  assert_int_equal(fault_control(fx, "POST", "/kiln/clock", body, NULL), 200);
}

static void start_rows(struct fixture *fx, struct wire_handle *op)
{
  wire_keep(op, wire_execute(&fx->wire, &fx->session, "rows 5000", &ask_async)
                    ->operation_handle->operation_id);
  assert_int_equal(fixture_poll(fx, op)->operation_state, MTR_OPERATION_FINISHED);
}

static void assert_session_gone(struct fixture *fx)
{
  struct mtr_TExecuteStatementResp *ran =
      wire_execute(&fx->wire, &fx->session, "rows 1", &ask_direct);

  assert_int_equal(ran->status->status_code, MTR_STATUS_ERROR);
  assert_true(wire_contains(ran->status->error_message, "Invalid SessionHandle"));
}

static void check_idle_session(const struct kiln_engine *engine)
{
  struct fixture fx;
  int i;

  begin(&fx, engine, 15 * MINUTE, 0);
  advance(&fx, 14 * MINUTE);
  assert_true(fault_run(&fx, "rows 1")); /* it is used, so its time begins anew */
  advance(&fx, 14 * MINUTE);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  /* The worker of the statement may have left the session a moment after the reply, behind the
   * first move of the clock: then its time began there. Nobody has to ask for the session. */
  for (i = 0; i < 8 && fault_stat(&fx, "sessions_open"); i++)
    advance(&fx, 2 * MINUTE);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 0);
  fixture_await(&fx.engine.sessions, 0);
  assert_session_gone(&fx);
  fixture_stop(&fx);
}

static void an_idle_session_is_closed(void **state)
{
  (void)state;
  check_idle_session(&tiny_engine);
  check_idle_session(&tiny_engine_inline);
}

static void an_idle_session_takes_its_operations_along(void **state)
{
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  begin(&fx, &tiny_engine, MINUTE, 0);
  start_rows(&fx, &op);
  advance(&fx, 2 * MINUTE);
  assert_int_equal(fault_stat(&fx, "operations_open"), 0);
  assert_true(wire_contains(fixture_fetch(&fx, &op, 1, 0)->status->error_message,
                            "Invalid OperationHandle"));
  fixture_await(&fx.engine.streams, 0);
  fixture_stop(&fx);
}

static void calls_on_operations_keep_the_session(void **state)
{
  struct wire_handle op;
  struct fixture fx;
  int i;

  (void)state;
  begin(&fx, &tiny_engine, MINUTE, 0);
  start_rows(&fx, &op);
  for (i = 0; i < 3; i++) {
    advance(&fx, MINUTE - 1000);
    assert_int_equal(fixture_fetch(&fx, &op, 10, 0)->status->status_code, MTR_STATUS_SUCCESS);
  }
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  fixture_stop(&fx);
}

static void an_idle_operation_is_closed(void **state)
{
  struct wire_handle used, idle;
  struct fixture fx;

  (void)state;
  begin(&fx, &tiny_engine, 0, 5 * MINUTE);
  start_rows(&fx, &used);
  start_rows(&fx, &idle);
  advance(&fx, 4 * MINUTE);
  assert_int_equal(fixture_fetch(&fx, &used, 1, 0)->status->status_code, MTR_STATUS_SUCCESS);
  advance(&fx, 2 * MINUTE);
  assert_int_equal(fault_stat(&fx, "operations_open"), 1);
  assert_true(wire_contains(fixture_fetch(&fx, &idle, 1, 0)->status->error_message,
                            "Invalid OperationHandle"));
  assert_int_equal(fixture_fetch(&fx, &used, 1, 0)->status->status_code, MTR_STATUS_SUCCESS);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  fixture_stop(&fx);
}

static void what_runs_is_not_idle(void **state)
{
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  begin(&fx, &tiny_engine, MINUTE, MINUTE);
  wire_keep(
      &op, wire_execute(&fx.wire, &fx.session, "slow", &ask_async)->operation_handle->operation_id);
  advance(&fx, 60 * MINUTE);
  assert_int_equal(fault_stat(&fx, "operations_open"), 1);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_await(&fx.engine.contexts, 0);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

/* No call comes, and nobody moves the clock. */
static void real_time_closes_as_well(void **state)
{
  struct kiln_options options = {.session_idle_ms = 50};
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  assert_int_equal(fx.engine.sessions, 1);
  fixture_await(&fx.engine.sessions, 0);
  assert_session_gone(&fx);
  fixture_stop(&fx);
}

static void limits_can_be_set_later(void **state)
{
  struct fixture fx;
  json_t *clock;

  (void)state;
  begin(&fx, &tiny_engine, 0, 0);
  advance(&fx, 1000 * MINUTE);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  assert_true(fault_run(&fx, "rows 1"));
  assert_int_equal(
      fault_control(&fx, "POST", "/kiln/clock",
                    "{\"session_idle_ms\": 60000, \"operation_idle_ms\": 30000}", &clock),
      200);
  assert_int_equal(json_integer_value(json_object_get(clock, "ahead_ms")), 1000 * MINUTE);
  assert_int_equal(json_integer_value(json_object_get(clock, "session_idle_ms")), 60000);
  assert_int_equal(json_integer_value(json_object_get(clock, "operation_idle_ms")), 30000);
  json_decref(clock);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  advance(&fx, 2 * MINUTE);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 0);
  fixture_stop(&fx);
}

static void bad_times_are_refused(void **state)
{
  static const char *const bad[] = {"",
                                    "[]",
                                    "{\"advance_ms\": -1}",
                                    "{\"advance_ms\": 1.5}",
                                    "{\"advance\": 1}",
                                    "{\"advance_ms\": 1, \"session_idle_ms\": \"1\"}",
                                    "{\"advance_ms\": 1000000000000000000}"};
  struct kiln_options options = {.operation_idle_ms = -1};
  struct kiln_server *server;
  struct fixture fx;
  size_t i;

  (void)state;
  begin(&fx, &tiny_engine, MINUTE, 0);
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(fault_control(&fx, "POST", "/kiln/clock", bad[i], NULL), 400);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &fx.engine, &server, NULL),
                   MORTAR_INVALID);
  fixture_stop(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_idle_session_is_closed),
      cmocka_unit_test(an_idle_session_takes_its_operations_along),
      cmocka_unit_test(calls_on_operations_keep_the_session),
      cmocka_unit_test(an_idle_operation_is_closed),
      cmocka_unit_test(what_runs_is_not_idle),
      cmocka_unit_test(real_time_closes_as_well),
      cmocka_unit_test(limits_can_be_set_later),
      cmocka_unit_test(bad_times_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
