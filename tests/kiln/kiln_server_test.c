/* The server from outside: raw HTTP, our codec, a tiny engine. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/kiln/kiln_fixture.h"

static const char endpoint[] = "/sql/1.0/warehouses/test";

/* ---- Sessions ----------------------------------------------------------------------------- */

static int32_t negotiated(struct fixture *fx, int32_t hive, int64_t spark)
{
  struct wire_handle session;

  return wire_open_session_as(&fx->wire, hive, spark, &session);
}

static void open_session_agrees_on_the_lower_protocol(void **state)
{
  struct fixture fx;
  int32_t hive;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA50A), 0xA509);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, INT64_MAX), 0xA509);
  assert_int_equal(negotiated(&fx, -7, 0xA507), 0xA507);
  assert_int_equal(negotiated(&fx, 0xA505, WIRE_ABSENT), 0xA505);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, WIRE_ABSENT), MTR_PROTOCOL_HIVE_V10);
  /* Hive's family gets a number of its own, also from beyond what this server knows. */
  for (hive = 0; hive <= MTR_PROTOCOL_HIVE_V10; hive++)
    assert_int_equal(negotiated(&fx, hive, WIRE_ABSENT), hive);
  assert_int_equal(negotiated(&fx, 12, WIRE_ABSENT), MTR_PROTOCOL_HIVE_V10);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA500), MTR_PROTOCOL_HIVE_V10);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, -3), 0);
  fixture_stop(&fx);
}

static void check_newest(const char *name, int32_t version)
{
  const struct kiln_options options = {.protocol = name};
  struct fixture fx;

  fixture_start(&fx, &tiny_engine_inline, &options);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA509), version);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA503), version < 0xA503 ? version : 0xA503);
  assert_int_equal(negotiated(&fx, 4, WIRE_ABSENT), version < 4 ? version : 4);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, WIRE_ABSENT), version < 9 ? version : 9);
  fixture_stop(&fx);
}

/* Every version by name and by number; clients that know more, and less. */
static void the_newest_protocol_is_an_option(void **state)
{
  char name[40];
  int i;

  (void)state;
  for (i = 0; i < 19; i++) {
    const int n = i < 10 ? i + 1 : i - 9, version = i < 10 ? i : 0xA501 + i - 10;
    snprintf(name, sizeof name, "%s_V%d", i < 10 ? "HIVE" : "spark", n);
    check_newest(name, version);
    snprintf(name, sizeof name, "%s_CLI_SERVICE_PROTOCOL_V%d", i < 10 ? "hive" : "SPARK", n);
    check_newest(name, version);
    snprintf(name, sizeof name, i % 2 ? "%d" : "0x%x", version);
    check_newest(name, version);
  }
}

static void no_protocol_is_refused(void **state)
{
  static const char *const texts[] = {
      "",          "10", "HIVE_V0",  "HIVE_V11", "SPARK_V10",
      "HIVE",      "-1", "HIVE_V1x", "0xA500",   "42250",
      "SPARK_V 1", "V8", " 0",       "HIVE_V-1", "99999999999999999999"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct kiln_options options = {.protocol = texts[i]};
    struct kiln_server *server;
    struct mortar_error err;
    assert_int_equal(kiln_server_start(&options, &tiny_engine, NULL, &server, &err),
                     MORTAR_INVALID);
    assert_null(server);
    assert_non_null(strstr(err.message, "HIVE_V1 to HIVE_V10 (0 to 9) and SPARK_V1 to SPARK_V9"));
  }
}

static void a_session_has_its_namespace(void **state)
{
  struct mtr_TOpenSessionReq req = {0};
  struct mtr_TNamespace space = {0};
  struct mtr_TOpenSessionResp *resp;
  struct mtr_TExecuteStatementResp *ran;
  struct wire_handle session;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  MTR_SET(&space, TNamespace, catalog_name, mtr_span_text("sales"));
  MTR_SET(&req, TOpenSessionReq, client_protocol_i64, MTR_PROTOCOL_SPARK_V4);
  MTR_SET(&req, TOpenSessionReq, initial_namespace, &space);
  resp = WIRE_CALL(&fx.wire, OpenSession, &req);
  wire_assert_text(resp->initial_namespace->catalog_name, "sales");
  wire_assert_text(resp->initial_namespace->schema_name, "default");
  wire_keep(&session, resp->session_handle->session_id);
  ran = wire_execute(&fx.wire, &session, "echo", &ask_direct);
  wire_assert_text(ran->direct_results->operation_status->display_message, "sales.default 0");
  req.client_protocol_i64 = MTR_PROTOCOL_SPARK_V3; /* which has none */
  resp = WIRE_CALL(&fx.wire, OpenSession, &req);
  assert_null(resp->initial_namespace);
  assert_false(resp->can_use_multiple_catalogs);
  wire_keep(&session, resp->session_handle->session_id);
  ran = wire_execute(&fx.wire, &session, "echo", &ask_direct);
  wire_assert_text(ran->direct_results->operation_status->display_message, "main.default 0");
  fixture_stop(&fx);
}

static void an_engine_may_refuse_a_session(void **state)
{
  struct mtr_TOpenSessionReq req = {0};
  struct mtr_TNamespace space = {0};
  struct mtr_TOpenSessionResp *resp;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  MTR_SET(&space, TNamespace, catalog_name, mtr_span_text("nowhere"));
  MTR_SET(&req, TOpenSessionReq, client_protocol_i64, MTR_PROTOCOL_SPARK_V4);
  MTR_SET(&req, TOpenSessionReq, initial_namespace, &space);
  resp = WIRE_CALL(&fx.wire, OpenSession, &req);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(resp->status->sql_state, "42704");
  assert_null(resp->session_handle);
  fixture_stop(&fx);
}

static void a_closed_session_is_gone(void **state)
{
  struct mtr_TCloseSessionReq req = {0};
  struct mtr_TCloseSessionResp *resp;
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  MTR_SET(&req, TCloseSessionReq, session_handle, &fx.session.session);
  resp = WIRE_CALL(&fx.wire, CloseSession, &req);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  resp = WIRE_CALL(&fx.wire, CloseSession, &req);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(resp->status->sql_state, "08000");
  assert_true(wire_contains(resp->status->error_message, "Invalid SessionHandle"));
  ran = wire_execute(&fx.wire, &fx.session, "rows 1", &ask_direct);
  assert_int_equal(ran->status->status_code, MTR_STATUS_ERROR);
  assert_true(wire_contains(ran->status->display_message, "Invalid SessionHandle"));
  fixture_await(&fx.engine.sessions, 0);
  fixture_stop(&fx);
}

static void a_wrong_secret_opens_nothing(void **state)
{
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  fx.session.bytes[1][3] ^= 1;
  ran = wire_execute(&fx.wire, &fx.session, "rows 1", &ask_direct);
  assert_int_equal(ran->status->status_code, MTR_STATUS_ERROR);
  fixture_stop(&fx);
}

/* ---- Statements --------------------------------------------------------------------------- */

static void check_small(const struct kiln_engine *engine, bool lz4, bool checksum)
{
  struct kiln_options options = {.checksum = checksum, .batch_rows = 400};
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = lz4, .max_rows = 100000};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TSparkDirectResults *direct;
  struct fixture fx;

  fixture_start(&fx, engine, &options);
  resp = wire_execute(&fx.wire, &fx.session, "rows 2500", &ask);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  direct = resp->direct_results;
  assert_int_equal(direct->operation_status->operation_state, MTR_OPERATION_FINISHED);
  assert_false(MTR_HAS(direct->operation_status, TGetOperationStatusResp, num_modified_rows));
  assert_int_equal(direct->result_set_metadata->lz4_compressed, lz4);
  assert_int_equal(direct->result_set_metadata->result_format, MTR_ROWSET_ARROW);
  assert_true(wire_contains(direct->result_set_metadata->arrow_schema, "Spark:DataType:SqlName"));
  assert_false(direct->result_set->has_more_rows);
  assert_int_equal(direct->result_set->results->arrow_batches.count, 8); /* 3 + 3 + 2 */
  assert_int_equal(wire_check_rows(direct->result_set_metadata, direct->result_set->results, 0),
                   2500);
  assert_non_null(direct->close_operation);
  fixture_await(&fx.engine.contexts, 0);
  fixture_stop(&fx);
}

static void a_small_result_comes_with_the_statement(void **state)
{
  (void)state;
  check_small(&tiny_engine, true, false);
  check_small(&tiny_engine, true, true);
  check_small(&tiny_engine, false, false);
  check_small(&tiny_engine_inline, true, false);
}

static void a_page_has_as_many_batches_as_asked_for(void **state)
{
  struct kiln_options options = {.batch_rows = 14, .page_batches = 72};
  struct mtr_TFetchResultsResp *first, *second;
  struct wire_handle op;
  struct fixture fx;
  int64_t got;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  {
    struct mtr_TExecuteStatementResp *resp =
        wire_execute(&fx.wire, &fx.session, "rows 1200", &ask_direct);
    first = resp->direct_results->result_set;
    assert_int_equal(first->results->arrow_batches.count, 72);
    assert_true(first->has_more_rows);
    got = wire_check_rows(resp->direct_results->result_set_metadata, first->results, 0);
    assert_true(got > 0 && got <= 72 * 14);
    wire_keep(&op, resp->operation_handle->operation_id);
  }
  second = fixture_fetch(&fx, &op, 100000, 0);
  got += wire_check_rows(second->result_set_metadata, second->results, got);
  assert_int_equal(got, 1200);
  assert_false(second->has_more_rows);
  fixture_stop(&fx);
}

static void the_schema_is_there_twice(void **state)
{
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TColumnDesc *column;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  resp = wire_execute(&fx.wire, &fx.session, "rows 0", &ask_direct);
  assert_int_equal(resp->direct_results->result_set_metadata->schema->columns.count, 1);
  column = resp->direct_results->result_set_metadata->schema->columns.items;
  wire_assert_text(column->column_name, "n");
  assert_int_equal(column->position, 1);
  assert_int_equal(column->type_desc->types.items[0].primitive_entry->type, MTR_TYPE_INT);
  assert_int_equal(resp->direct_results->result_set->results->arrow_batches.count, 0);
  assert_true(MTR_HAS(resp->direct_results->result_set->results, TRowSet, arrow_batches));
  fixture_stop(&fx);
}

static void check_paged(const struct kiln_engine *engine)
{
  static const int64_t pages[] = {1, 2999, 4000, 100000};
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = true, .max_rows = 2500};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;
  int64_t got;
  size_t i;

  fixture_start(&fx, engine, NULL);
  resp = wire_execute(&fx.wire, &fx.session, "rows 12345", &ask);
  assert_true(resp->direct_results->result_set->has_more_rows);
  assert_null(resp->direct_results->close_operation);
  got = wire_check_rows(resp->direct_results->result_set_metadata,
                        resp->direct_results->result_set->results, 0);
  assert_int_equal(got, 2500);
  wire_keep(&op, resp->operation_handle->operation_id);
  for (i = 0; i < 4; i++) {
    page = fixture_fetch(&fx, &op, pages[i], 0);
    assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
    got += wire_check_rows(page->result_set_metadata, page->results, got);
    assert_int_equal(page->has_more_rows, i < 3);
  }
  assert_int_equal(got, 12345);
  page = fixture_fetch(&fx, &op, 10, 0);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, got), 0);
  assert_false(page->has_more_rows);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_ERROR);
  fixture_stop(&fx);
}

static void a_large_result_is_paged(void **state)
{
  (void)state;
  check_paged(&tiny_engine);
  check_paged(&tiny_engine_inline);
}

static void pages_are_bounded_by_bytes_and_options(void **state)
{
  struct kiln_options options = {.max_inline_rows = 1500};
  struct wire_ask ask = {
      .direct = true, .async = true, .lz4 = true, .max_rows = 100000, .max_bytes = 5000};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  /* Arrays of 1,000 rows are a little more than 4,000 bytes: two of them cross 5,000. */
  resp = wire_execute(&fx.wire, &fx.session, "rows 9000", &ask);
  assert_int_equal(wire_check_rows(resp->direct_results->result_set_metadata,
                                   resp->direct_results->result_set->results, 0),
                   1500);
  wire_keep(&op, resp->operation_handle->operation_id);
  page = fixture_fetch(&fx, &op, 0, 1);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 1500), 500);
  page = fixture_fetch(&fx, &op, 0, 0);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 2000), 1500);
  fixture_stop(&fx); /* the operation is left open: stopping must clean it up */
}

static void rows_are_not_sent_twice(void **state)
{
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = true, .max_rows = 10};
  struct mtr_TFetchResultsReq req = {0};
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(&op,
            wire_execute(&fx.wire, &fx.session, "rows 30", &ask)->operation_handle->operation_id);
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, max_rows, 10);
  MTR_SET(&req, TFetchResultsReq, start_row_offset, 0);
  assert_int_equal(WIRE_CALL(&fx.wire, FetchResults, &req)->status->status_code, MTR_STATUS_ERROR);
  MTR_SET(&req, TFetchResultsReq, start_row_offset, 10);
  MTR_SET(&req, TFetchResultsReq, orientation, 4);
  assert_int_equal(WIRE_CALL(&fx.wire, FetchResults, &req)->status->status_code, MTR_STATUS_ERROR);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  assert_int_equal(WIRE_CALL(&fx.wire, FetchResults, &req)->status->status_code,
                   MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

/* Before the first page, to fetch from the beginning is to fetch what comes next. */
static void the_first_page_may_be_asked_for_as_first(void **state)
{
  struct mtr_TFetchResultsReq req = {0};
  const struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(
      &op,
      wire_execute(&fx.wire, &fx.session, "rows 30", &ask_sync)->operation_handle->operation_id);
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, max_rows, 10);
  MTR_SET(&req, TFetchResultsReq, orientation, 4);
  page = WIRE_CALL(&fx.wire, FetchResults, &req);
  assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 0), 10);
  assert_int_equal(WIRE_CALL(&fx.wire, FetchResults, &req)->status->status_code, MTR_STATUS_ERROR);
  fixture_stop(&fx);
}

static void a_row_limit_of_the_statement_holds(void **state)
{
  struct mtr_TExecuteStatementReq req = {0};
  struct mtr_TSparkGetDirectResults direct = {0};
  struct mtr_TSparkDirectResults *got;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  MTR_SET(&direct, TSparkGetDirectResults, max_rows, 100000);
  MTR_SET(&req, TExecuteStatementReq, session_handle, &fx.session.session);
  MTR_SET(&req, TExecuteStatementReq, statement, mtr_span_text("rows 5000"));
  MTR_SET(&req, TExecuteStatementReq, can_read_arrow_result, true);
  MTR_SET(&req, TExecuteStatementReq, get_direct_results, &direct);
  MTR_SET(&req, TExecuteStatementReq, result_row_limit, 1234);
  got = WIRE_CALL(&fx.wire, ExecuteStatement, &req)->direct_results;
  assert_int_equal(wire_check_rows(got->result_set_metadata, got->result_set->results, 0), 1234);
  assert_false(got->result_set->has_more_rows);
  fixture_stop(&fx);
}

static void statements_without_rows(void **state)
{
  struct mtr_TSparkDirectResults *direct;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  direct = wire_execute(&fx.wire, &fx.session, "ddl", &ask_direct)->direct_results;
  assert_int_equal(direct->operation_status->operation_state, MTR_OPERATION_FINISHED);
  wire_assert_text(direct->result_set_metadata->schema->columns.items[0].column_name, "Result");
  assert_false(wire_contains(direct->result_set_metadata->arrow_schema, "Result"));
  assert_int_equal(direct->result_set->results->arrow_batches.count, 0);
  assert_non_null(direct->close_operation);
  direct = wire_execute(&fx.wire, &fx.session, "dml", &ask_direct)->direct_results;
  assert_int_equal(direct->operation_status->num_modified_rows, 3);
  fixture_stop(&fx);
}

/* ---- Failures ----------------------------------------------------------------------------- */

static void check_failed(struct fixture *fx, const char *sql, const char *sqlstate,
                         const char *text)
{
  struct mtr_TExecuteStatementResp *resp = wire_execute(&fx->wire, &fx->session, sql, &ask_direct);
  struct mtr_TGetOperationStatusResp *status = resp->direct_results->operation_status;

  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  assert_non_null(resp->operation_handle);
  assert_int_equal(status->operation_state, MTR_OPERATION_ERROR);
  wire_assert_text(status->sql_state, sqlstate);
  assert_true(wire_contains(status->display_message, text));
  assert_true(wire_contains(status->error_message, text));
  assert_null(resp->direct_results->result_set);
  fixture_await(&fx->engine.contexts, 0);
}

static void a_failed_statement_says_why(void **state)
{
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  check_failed(&fx, "fail", "42P01", "[TABLE_OR_VIEW_NOT_FOUND] fail");
  check_failed(&fx, "unsigned", "0A000", "column \"n\": the Arrow format \"I\" has no SQL type");
  check_failed(&fx, "half 700", "HY000", "the stream broke");
  fixture_stop(&fx);
  fixture_start(&fx, &tiny_engine_inline, NULL);
  check_failed(&fx, "fail", "42P01", "[TABLE_OR_VIEW_NOT_FOUND] fail");
  check_failed(&fx, "half 700", "HY000", "the stream broke");
  fixture_stop(&fx);
}

static void a_broken_stream_is_never_the_end_of_data(void **state)
{
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = true, .max_rows = 1000};
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(&op,
            wire_execute(&fx.wire, &fx.session, "half 2500", &ask)->operation_handle->operation_id);
  page = fixture_fetch(&fx, &op, 1000, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
  page = fixture_fetch(&fx, &op, 1000, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(page->status->display_message, "the stream broke");
  page = fixture_fetch(&fx, &op, 1000, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_ERROR);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_ERROR);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

static void unknown_handles_are_refused_everywhere(void **state)
{
  struct mtr_TGetResultSetMetadataReq req = {0};
  struct mtr_TFetchResultsResp *page;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  page = fixture_fetch(&fx, &fx.session, 1, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(page->status->sql_state, "08000");
  assert_true(wire_contains(page->status->error_message, "Invalid OperationHandle"));
  assert_int_equal(fixture_poll(&fx, &fx.session)->status->status_code, MTR_STATUS_ERROR);
  assert_int_equal(fixture_cancel(&fx, &fx.session), MTR_STATUS_ERROR);
  assert_int_equal(fixture_close(&fx, &fx.session), MTR_STATUS_ERROR);
  assert_int_equal(WIRE_CALL(&fx.wire, GetResultSetMetadata, &req)->status->status_code,
                   MTR_STATUS_ERROR);
  fixture_stop(&fx);
}

/* ---- Running statements ------------------------------------------------------------------- */

static void a_statement_can_be_polled_for(void **state)
{
  struct mtr_TGetResultSetMetadataReq req = {0};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TGetResultSetMetadataResp *metadata;
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  resp = wire_execute(&fx.wire, &fx.session, "rows 5", &ask_async);
  assert_null(resp->direct_results);
  wire_keep(&op, resp->operation_handle->operation_id);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_FINISHED);
  MTR_SET(&req, TGetResultSetMetadataReq, operation_handle, &op.operation);
  metadata = WIRE_CALL(&fx.wire, GetResultSetMetadata, &req);
  wire_assert_text(metadata->schema->columns.items[0].column_name, "n");
  page = fixture_fetch(&fx, &op, 100, 0);
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 0), 5);
  resp = wire_execute(&fx.wire, &fx.session, "rows 5", &ask_sync);
  assert_null(resp->direct_results);
  wire_keep(&op, resp->operation_handle->operation_id);
  page =
      fixture_fetch(&fx, &op, 100, 0); /* a synchronous statement has ended when the handle comes */
  assert_int_equal(wire_check_rows(page->result_set_metadata, page->results, 0), 5);
  fixture_stop(&fx);
}

static void a_running_statement_can_be_canceled(void **state)
{
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(
      &op, wire_execute(&fx.wire, &fx.session, "slow", &ask_async)->operation_handle->operation_id);
  fixture_await(&fx.engine.executed, 1);
  assert_int_equal(fixture_fetch(&fx, &op, 1, 0)->status->status_code, MTR_STATUS_ERROR);
  assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_CANCELED);
  fixture_await(&fx.engine.contexts, 0);
  assert_true(fx.engine.interrupts > 0);
  assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(fixture_fetch(&fx, &op, 1, 0)->status->status_code, MTR_STATUS_ERROR);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

static void direct_results_wait_only_so_long(void **state)
{
  struct kiln_options options = {.direct_wait_ms = 30};
  struct mtr_TExecuteStatementResp *resp;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  resp = wire_execute(&fx.wire, &fx.session, "slow", &ask_direct);
  assert_int_equal(resp->direct_results->operation_status->operation_state, MTR_OPERATION_RUNNING);
  assert_null(resp->direct_results->result_set);
  assert_null(resp->direct_results->close_operation);
  wire_keep(&op, resp->operation_handle->operation_id);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_await(&fx.engine.contexts, 0); /* closing cancels */
  fixture_stop(&fx);
}

static void closing_the_session_ends_its_statements(void **state)
{
  struct mtr_TCloseSessionReq req = {0};
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  (void)wire_execute(&fx.wire, &fx.session, "slow", &ask_async);
  (void)wire_execute(&fx.wire, &fx.session, "rows 9", &ask_async);
  fixture_await(&fx.engine.executed, 2);
  MTR_SET(&req, TCloseSessionReq, session_handle, &fx.session.session);
  assert_int_equal(WIRE_CALL(&fx.wire, CloseSession, &req)->status->status_code,
                   MTR_STATUS_SUCCESS);
  fixture_await(&fx.engine.sessions, 0);
  assert_int_equal(fx.engine.contexts, 0);
  fixture_stop(&fx);
}

/* Sends a statement that runs until it is interrupted; the caller may wait for the reply. */
static void send_slow(struct wire *wire, struct fixture *fx)
{
  struct mtr_TExecuteStatementReq req = {0};
  struct mtr_TSparkGetDirectResults direct = {0};

  MTR_SET(&direct, TSparkGetDirectResults, max_rows, 1);
  MTR_SET(&req, TExecuteStatementReq, session_handle, &fx->session.session);
  MTR_SET(&req, TExecuteStatementReq, statement, mtr_span_text("slow"));
  MTR_SET(&req, TExecuteStatementReq, can_read_arrow_result, true);
  MTR_SET(&req, TExecuteStatementReq, get_direct_results, &direct);
  wire_send_call(wire, "ExecuteStatement", &mtr_TExecuteStatementReq_info, &req);
}

/* The replies to connections that are gone must harm nobody: no signal, no leak. */
static void clients_may_leave_at_any_time(void **state)
{
  struct kiln_options options = {.direct_wait_ms = 20};
  struct wire gone[4];
  struct fixture fx;
  int i;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  for (i = 0; i < 4; i++) {
    wire_open(&gone[i], fx.wire.port);
    send_slow(&gone[i], &fx);
  }
  fixture_await(&fx.engine.executed, 4);
  for (i = 0; i < 4; i++)
    wire_close(&gone[i]);
  for (i = 0; i < 3; i++)
    (void)wire_execute(&fx.wire, &fx.session, "slow", &ask_direct);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA508), 0xA508);
  fixture_stop(&fx);
}

static void stopping_ends_what_runs(void **state)
{
  struct fixture fx;
  struct wire waiting;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  (void)wire_execute(&fx.wire, &fx.session, "rows 100000", &ask_async);
  wire_open(&waiting, fx.wire.port);
  send_slow(&waiting, &fx);
  fixture_await(&fx.engine.executed, 2);
  fixture_stop(&fx); /* must come back at once, and long before the engine's ten seconds */
  assert_true(wire_receive(&waiting));
  wire_close(&waiting);
}

/* ---- Bad input ---------------------------------------------------------------------------- */

static void post(struct fixture *fx, const void *bytes, size_t size)
{
  wire_http(&fx->wire, "POST", endpoint, bytes, size);
}

static void garbage_is_refused(void **state)
{
  static const char text[] = "GET me something";
  static const uint8_t reply[] = {0x80, 1, 0, 2, 0, 0, 0, 1, 'x', 0, 0, 0, 1, 0};
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  post(&fx, text, sizeof text);
  assert_int_equal(fx.wire.status, 400);
  post(&fx, NULL, 0);
  assert_int_equal(fx.wire.status, 400);
  post(&fx, reply, sizeof reply);
  assert_int_equal(fx.wire.status, 400);
  assert_int_equal(negotiated(&fx, WIRE_ABSENT, 0xA508), 0xA508); /* the connection is still good */
  fixture_stop(&fx);
}

/* The exception's type, or -1 when the body is none. */
static int exception_type(struct wire *wire)
{
  struct mtr_TCloseSessionResp none;
  struct mortar_error err = {0};

  if (wire->status != 200) return -1;
  assert_int_equal(mtr_message_read(wire->body, &mtr_TCloseSessionResp_info, &none, &wire->arena,
                                    &wire->head, &err),
                   MORTAR_OK);
  return wire->head.type == MTR_MESSAGE_EXCEPTION ? wire->head.exception_type : -1;
}

static void broken_calls_get_an_exception(void **state)
{
  struct mtr_TCloseSessionReq req = {0};
  struct fixture fx;
  struct mtr_buf call;
  size_t cut;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  mtr_buf_init(&call, NULL, "call", 4096);
  MTR_SET(&req, TCloseSessionReq, session_handle, &fx.session.session);
  assert_int_equal(mtr_message_write(&call, MTR_MESSAGE_CALL, "CloseSession", 9,
                                     &mtr_TCloseSessionReq_info, &req, NULL),
                   MORTAR_OK);
  for (cut = 25; cut < call.size; cut += 7) {
    post(&fx, call.data, cut);
    assert_int_equal(exception_type(&fx.wire), 7);
    assert_int_equal(fx.wire.head.seqid, 9);
  }
  mtr_buf_reset(&call);
  assert_int_equal(mtr_message_write(&call, MTR_MESSAGE_CALL, "GetDelegationToken", 4,
                                     &mtr_TCloseSessionReq_info, &req, NULL),
                   MORTAR_OK);
  post(&fx, call.data, call.size);
  assert_int_equal(exception_type(&fx.wire), 1);
  wire_assert_text(fx.wire.head.name, "GetDelegationToken");
  mtr_buf_fini(&call);
  fixture_stop(&fx);
}

static void a_huge_request_is_refused_by_its_length(void **state)
{
  char head[256];
  struct fixture fx;
  int n;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  n = snprintf(head, sizeof head,
               "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", endpoint);
  wire_send(&fx.wire, head, (size_t)n);
  assert_true(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.status, 413);
  fixture_stop(&fx);
}

static void a_long_statement_is_taken(void **state)
{
  enum { SIZE = 3 << 20 };
  struct mtr_TSparkDirectResults *direct;
  struct fixture fx;
  char *sql = malloc(SIZE + 1);
  int i;

  (void)state;
  assert_non_null(sql);
  memset(sql, ' ', SIZE);
  memcpy(sql, "rows 3 ", 7);
  sql[SIZE] = '\0';
  fixture_start(&fx, &tiny_engine, NULL);
  for (i = 0; i < 3; i++) {
    direct = wire_execute(&fx.wire, &fx.session, sql, &ask_direct)->direct_results;
    assert_int_equal(wire_check_rows(direct->result_set_metadata, direct->result_set->results, 0),
                     3);
  }
  fixture_stop(&fx);
  free(sql);
}

/* ---- HTTP --------------------------------------------------------------------------------- */

static int status_of(struct fixture *fx, const char *method, const char *path, const char *headers)
{
  fx->wire.headers = headers;
  wire_http(&fx->wire, method, path, NULL, 0);
  fx->wire.headers = "";
  return fx->wire.status;
}

static void paths_and_methods(void **state)
{
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  /* An empty body on a Thrift path is a 400; the path itself was right. */
  assert_int_equal(status_of(&fx, "POST", "/sql/1.0/warehouses/a?o=1", ""), 400);
  assert_int_equal(status_of(&fx, "POST", "/sql/1.0/endpoints/a", ""), 400);
  assert_int_equal(status_of(&fx, "POST", "/prefix/sql/protocolv1/o/1/2", ""), 400);
  assert_int_equal(status_of(&fx, "POST", "/cliservice", ""), 400);
  assert_int_equal(status_of(&fx, "POST", "/cliservice/", ""), 400);
  assert_int_equal(status_of(&fx, "GET", "/cliservice", ""), 405);
  assert_int_equal(status_of(&fx, "POST", "/sql/1.0/warehouses/", ""), 404);
  assert_int_equal(status_of(&fx, "POST", "/cliservices", ""), 404);
  assert_int_equal(status_of(&fx, "GET", "/api/2.0/connector-service/feature-flags/x", ""), 404);
  fixture_stop(&fx);
}

static void a_token_keeps_others_out(void **state)
{
  struct kiln_options options = {.token = "secret"};
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  assert_int_equal(status_of(&fx, "POST", endpoint, ""), 401);
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Negotiate x\r\n"), 401);
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Bearer other\r\n"), 403);
  assert_true(wire_contains(mtr_buf_span(&fx.wire.in),
                            "x-databricks-reason-phrase: Invalid access token."));
  wire_assert_text(fx.wire.body, "{\"error_code\":403,\"message\":\"Invalid access token.\"}");
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Bearer secret\r\n"), 400);
  /* user:secret, user:other, and what is no base64 */
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"),
                   400);
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Basic dXNlcjpvdGhlcg==\r\n"),
                   403);
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Basic ####\r\n"), 403);
  assert_int_equal(status_of(&fx, "POST", endpoint, "Authorization: Basic ====\r\n"), 403);
  fixture_stop(&fx);
}

static void routes_answer_anything(void **state)
{
  static const char body[] = "hello";
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  assert_int_equal(kiln_server_route(fx.server, "/x/y", 201, "text/plain", body, 5, 0, NULL),
                   MORTAR_OK);
  assert_int_equal(status_of(&fx, "GET", "/x/y?z=1", ""), 201);
  wire_assert_text(fx.wire.body, "hello");
  assert_int_equal(status_of(&fx, "POST", "/x/y", ""), 201);
  assert_int_equal(kiln_server_route(fx.server, "/x/y", 503, "text/plain", "", 0, 20000, NULL),
                   MORTAR_OK);
  assert_int_equal(status_of(&fx, "GET", "/x/y", ""), 503);
  assert_int_equal(kiln_server_route(fx.server, endpoint, 429, "text/plain", "", 0, 0, NULL),
                   MORTAR_OK);
  assert_int_equal(status_of(&fx, "POST", endpoint, ""), 429);
  assert_int_equal(kiln_server_route(fx.server, "/z", 7, "text/plain", "", 0, 0, NULL),
                   MORTAR_INVALID);
  fixture_stop(&fx);
}

static void stopping_answers_held_routes(void **state)
{
  static const char request[] = "GET /held HTTP/1.1\r\nHost: x\r\n\r\n";
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  assert_int_equal(kiln_server_route(fx.server, "/held", 200, "text/plain", "", 0, 60000000, NULL),
                   MORTAR_OK);
  wire_send(&fx.wire, request, sizeof request - 1);
  fixture_stop(&fx);
}

static void statistics_are_json(void **state)
{
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  (void)wire_execute(&fx.wire, &fx.session, "rows 5", &ask_direct);
  (void)wire_execute(&fx.wire, &fx.session, "rows 5", &ask_direct);
  (void)wire_execute(&fx.wire, &fx.session, "rows 5000", &ask_async);
  (void)wire_execute(&fx.wire, &fx.session, "fail", &ask_direct);
  assert_int_equal(status_of(&fx, "GET", "/kiln/stats", ""), 200);
  assert_true(wire_contains(fx.wire.body, "\"engine\": \"tiny\""));
  assert_true(wire_contains(fx.wire.body, "\"ExecuteStatement\": 4"));
  assert_true(wire_contains(fx.wire.body, "\"rows 5\": 2"));
  assert_true(wire_contains(fx.wire.body, "\"sessions_open\": 1"));
  assert_true(wire_contains(fx.wire.body, "\"operations_open\": 1"));
  assert_true(wire_contains(fx.wire.body, "\"operations_total\": 4"));
  assert_true(wire_contains(fx.wire.body, "\"errors\": 1"));
  fixture_stop(&fx);
}

/* ---- Many at once ------------------------------------------------------------------------- */

static void *run_many(void *arg)
{
  const int *port = arg;
  struct wire_ask ask = {.direct = true, .async = true, .lz4 = true, .max_rows = 1000};
  struct mtr_TSparkDirectResults *direct;
  struct wire_handle session;
  struct wire wire;
  char sql[32];
  int i;

  wire_open(&wire, *port);
  wire_open_session(&wire, &session);
  for (i = 1; i <= 25; i++) {
    (void)snprintf(sql, sizeof sql, "rows %d", i * 31);
    direct = wire_execute(&wire, &session, sql, &ask)->direct_results;
    assert_int_equal(wire_check_rows(direct->result_set_metadata, direct->result_set->results, 0),
                     i * 31);
  }
  wire_close(&wire);
  return NULL;
}

static void sessions_run_side_by_side(void **state)
{
  enum { THREADS = 6 };
  pthread_t threads[THREADS];
  struct fixture fx;
  int i;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_many, &fx.wire.port), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(fx.engine.executed, THREADS * 25);
  fixture_stop(&fx);
}

static void starting_fails_with_reasons(void **state)
{
  struct kiln_options options = {.address = "no.such.name"};
  struct tiny_engine engine = {0};
  struct kiln_server *server = NULL, *second = NULL;
  struct mortar_error err = {0};

  (void)state;
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &engine, &server, &err),
                   MORTAR_INVALID);
  assert_null(server);
  options.address = NULL;
  options.workers = -1;
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &engine, &server, &err),
                   MORTAR_INVALID);
  options.workers = 1;
  options.tls = true;
  options.cert_file = "missing.pem";
  options.key_file = "missing.pem";
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &engine, &server, &err), MORTAR_TLS);
  options.tls = false;
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &engine, &server, &err), MORTAR_OK);
  options.port = kiln_server_port(server);
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &engine, &second, &err),
                   MORTAR_CONNECT);
  kiln_server_stop(server);
  kiln_server_stop(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_session_agrees_on_the_lower_protocol),
      cmocka_unit_test(the_newest_protocol_is_an_option),
      cmocka_unit_test(no_protocol_is_refused),
      cmocka_unit_test(a_session_has_its_namespace),
      cmocka_unit_test(an_engine_may_refuse_a_session),
      cmocka_unit_test(a_closed_session_is_gone),
      cmocka_unit_test(a_wrong_secret_opens_nothing),
      cmocka_unit_test(a_small_result_comes_with_the_statement),
      cmocka_unit_test(a_page_has_as_many_batches_as_asked_for),
      cmocka_unit_test(the_schema_is_there_twice),
      cmocka_unit_test(a_large_result_is_paged),
      cmocka_unit_test(pages_are_bounded_by_bytes_and_options),
      cmocka_unit_test(rows_are_not_sent_twice),
      cmocka_unit_test(the_first_page_may_be_asked_for_as_first),
      cmocka_unit_test(a_row_limit_of_the_statement_holds),
      cmocka_unit_test(statements_without_rows),
      cmocka_unit_test(a_failed_statement_says_why),
      cmocka_unit_test(a_broken_stream_is_never_the_end_of_data),
      cmocka_unit_test(unknown_handles_are_refused_everywhere),
      cmocka_unit_test(a_statement_can_be_polled_for),
      cmocka_unit_test(a_running_statement_can_be_canceled),
      cmocka_unit_test(direct_results_wait_only_so_long),
      cmocka_unit_test(closing_the_session_ends_its_statements),
      cmocka_unit_test(clients_may_leave_at_any_time),
      cmocka_unit_test(stopping_ends_what_runs),
      cmocka_unit_test(garbage_is_refused),
      cmocka_unit_test(broken_calls_get_an_exception),
      cmocka_unit_test(a_huge_request_is_refused_by_its_length),
      cmocka_unit_test(a_long_statement_is_taken),
      cmocka_unit_test(paths_and_methods),
      cmocka_unit_test(a_token_keeps_others_out),
      cmocka_unit_test(routes_answer_anything),
      cmocka_unit_test(stopping_answers_held_routes),
      cmocka_unit_test(statistics_are_json),
      cmocka_unit_test(sessions_run_side_by_side),
      cmocka_unit_test(starting_fails_with_reasons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
