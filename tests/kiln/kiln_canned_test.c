/* The prepared replies over the wire: what the load tests rest on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kiln/canned/canned.h"
#include "tests/kiln/kiln_fixture.h"

struct canned_fixture {
  struct kiln_canned *canned;
  struct kiln_server *server;
  struct wire wire;
  struct wire_handle session;
};

static void start(struct canned_fixture *fx, const struct kiln_canned_options *options)
{
  struct kiln_options server = {.workers = 1};
  struct mortar_error err = {0};

  memset(fx, 0, sizeof *fx);
  if (kiln_canned_new(options, &fx->canned, &err) != MORTAR_OK) fail_msg("%s", err.message);
  if (kiln_server_start(&server, &kiln_canned_engine, fx->canned, &fx->server, &err) != MORTAR_OK)
    fail_msg("%s", err.message);
  wire_open(&fx->wire, kiln_server_port(fx->server));
  wire_open_session(&fx->wire, &fx->session);
}

static void stop(struct canned_fixture *fx)
{
  kiln_server_stop(fx->server);
  kiln_canned_free(fx->canned);
  wire_close(&fx->wire);
}

static int64_t row_sum(const struct mtr_TRowSet *rows)
{
  int64_t sum = 0;
  size_t i;

  for (i = 0; i < rows->arrow_batches.count; i++)
    sum += rows->arrow_batches.items[i].row_count;
  return sum;
}

static void check(struct canned_fixture *fx, const char *sql, bool lz4, size_t batches,
                  int64_t rows, size_t columns)
{
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = lz4, .max_rows = 100000};
  struct mtr_TExecuteStatementResp *resp = wire_execute(&fx->wire, &fx->session, sql, &ask);
  struct mtr_TSparkDirectResults *direct = resp->direct_results;
  struct wire_handle op;

  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  wire_keep(&op, resp->operation_handle->operation_id);
  assert_int_equal(direct->operation_status->operation_state, MTR_OPERATION_FINISHED);
  assert_non_null(direct->close_operation);
  assert_int_equal(direct->result_set_metadata->lz4_compressed, lz4);
  assert_int_equal(direct->result_set_metadata->schema->columns.count, columns);
  assert_int_equal(direct->result_set->results->arrow_batches.count, batches);
  assert_int_equal(row_sum(direct->result_set->results), rows);
}

static void texts_choose_the_reply(void **state)
{
  struct kiln_canned_options options = {1000, 72, false, 0};
  struct canned_fixture fx;

  (void)state;
  start(&fx, &options);
  check(&fx, "SELECT 1", true, 1, 1, 1);
  check(&fx, "select * from ROWS_1000", true, 72, 1000, 3);
  check(&fx, "SELECT * FROM rows_1000", false, 72, 1000, 3);
  check(&fx, "SELECT * FROM mixed", true, 1, 1000, 12);
  check(&fx, "anything else", true, 1, 1, 1);
  check(&fx, "", true, 1, 1, 1);
  stop(&fx);
}

static void rows_and_batches_are_options(void **state)
{
  struct kiln_canned_options options = {5003, 11, true, 0};
  struct canned_fixture fx;

  (void)state;
  start(&fx, &options);
  check(&fx, "SELECT * FROM rows_5003", true, 11, 5003, 3);
  stop(&fx);
}

/* The same tables for those who want no direct results, or no Arrow. */
static void other_clients_fetch(void **state)
{
  struct kiln_canned_options options = {1000, 72, false, 20000};
  struct wire_ask arrow = {.async = true, .lz4 = true};
  struct wire_ask columns = {.direct = true, .max_rows = 600, .no_arrow = true};
  struct mtr_TFetchResultsReq req = {0};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct canned_fixture fx;
  struct wire_handle op;
  int64_t before = mtr_clock_now();

  (void)state;
  start(&fx, &options);
  resp = wire_execute(&fx.wire, &fx.session, "SELECT * FROM rows_1000", &arrow);
  assert_true(mtr_clock_now() - before >= 20 * MTR_MS);
  assert_null(resp->direct_results);
  wire_keep(&op, resp->operation_handle->operation_id);
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, 10000);
  page = WIRE_CALL(&fx.wire, FetchResults, &req);
  assert_int_equal(page->results->arrow_batches.count, 72);
  assert_int_equal(row_sum(page->results), 1000);
  resp = wire_execute(&fx.wire, &fx.session, "SELECT * FROM mixed", &columns);
  assert_int_equal(resp->direct_results->result_set->results->columns.count, 12);
  assert_true(resp->direct_results->result_set->has_more_rows);
  wire_keep(&op, resp->operation_handle->operation_id);
  page = WIRE_CALL(&fx.wire, FetchResults, &req);
  assert_int_equal(page->results->columns.items[0].bool_val->values.count, 400);
  assert_false(page->has_more_rows);
  stop(&fx);
}

static void one_row_holds_one(void **state)
{
  struct kiln_canned_options options = {1, 1, false, 0};
  struct mtr_TSparkDirectResults *direct;
  struct canned_fixture fx;
  struct mtr_TRowSet *rows;

  (void)state;
  start(&fx, &options);
  direct = wire_execute(&fx.wire, &fx.session, "SELECT 1", &ask_direct)->direct_results;
  rows = direct->result_set->results;
  rows->start_row_offset = 1; /* the check counts from here, and the value is 1 */
  assert_int_equal(wire_check_rows(direct->result_set_metadata, rows, 1), 1);
  stop(&fx);
}

static void every_reply_has_its_own_operation(void **state)
{
  struct kiln_canned_options options = {10, 2, false, 0};
  struct mtr_TCloseOperationReq req = {0};
  struct wire_handle first, second;
  struct canned_fixture fx;

  (void)state;
  start(&fx, &options);
  wire_keep(
      &first,
      wire_execute(&fx.wire, &fx.session, "SELECT 1", &ask_direct)->operation_handle->operation_id);
  wire_keep(
      &second,
      wire_execute(&fx.wire, &fx.session, "SELECT 1", &ask_direct)->operation_handle->operation_id);
  assert_memory_not_equal(first.bytes[0], second.bytes[0], 16);
  MTR_SET(&req, TCloseOperationReq, operation_handle, &first.operation);
  assert_int_equal(WIRE_CALL(&fx.wire, CloseOperation, &req)->status->status_code,
                   MTR_STATUS_ERROR);
  wire_keep(&first, &fx.session.id);
  first.bytes[0][0] ^= 1;
  assert_int_equal(wire_execute(&fx.wire, &first, "SELECT 1", &ask_direct)->status->status_code,
                   MTR_STATUS_ERROR);
  stop(&fx);
}

static void the_server_time_is_kept(void **state)
{
  struct kiln_canned_options options = {10, 2, false, 30000};
  struct canned_fixture fx;
  int64_t before, took;

  (void)state;
  start(&fx, &options);
  before = mtr_clock_now();
  check(&fx, "SELECT 1", true, 1, 1, 1);
  took = mtr_clock_now() - before;
  assert_true(took >= 30 * MTR_MS);
  stop(&fx);
}

static void stopping_answers_held_replies(void **state)
{
  struct kiln_canned_options options = {10, 2, false, 60000000};
  struct mtr_TSparkGetDirectResults direct = {0};
  struct mtr_TExecuteStatementReq req = {0};
  struct canned_fixture fx;

  (void)state;
  start(&fx, &options);
  MTR_SET(&direct, TSparkGetDirectResults, max_rows, 1);
  MTR_SET(&req, TExecuteStatementReq, session_handle, &fx.session.session);
  MTR_SET(&req, TExecuteStatementReq, statement, mtr_span_text("SELECT 1"));
  MTR_SET(&req, TExecuteStatementReq, can_read_arrow_result, true);
  MTR_SET(&req, TExecuteStatementReq, get_direct_results, &direct);
  wire_send_call(&fx.wire, "ExecuteStatement", &mtr_TExecuteStatementReq_info, &req);
  stop(&fx); /* within the test's time, not after a minute */
}

static void impossible_options_are_refused(void **state)
{
  struct kiln_canned_options none = {0, 1, false, 0}, many = {10, 11, false, 0};
  struct kiln_canned *canned;

  (void)state;
  assert_int_equal(kiln_canned_new(&none, &canned, NULL), MORTAR_INVALID);
  assert_null(canned);
  assert_int_equal(kiln_canned_new(&many, &canned, NULL), MORTAR_INVALID);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_choose_the_reply),
      cmocka_unit_test(rows_and_batches_are_options),
      cmocka_unit_test(other_clients_fetch),
      cmocka_unit_test(one_row_holds_one),
      cmocka_unit_test(every_reply_has_its_own_operation),
      cmocka_unit_test(the_server_time_is_kept),
      cmocka_unit_test(stopping_answers_held_replies),
      cmocka_unit_test(impossible_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
