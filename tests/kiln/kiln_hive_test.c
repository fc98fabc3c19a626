/* Clients of Hive's family and those that do not read Arrow: what they get over the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/kiln/kiln_fixture.h"

enum { HIVE_V5 = 4, HIVE_V6 = 5, HIVE_V10 = 9 };

/* The numbers of an i32Val column, which must be first, first + 1, ... without nulls. */
static int64_t check_column(const struct mtr_TRowSet *page, int64_t first)
{
  const struct mtr_TI32Column *column;
  uint32_t i;

  assert_int_equal(page->start_row_offset, first);
  assert_true(MTR_HAS(page, TRowSet, rows));
  assert_int_equal(page->rows.count, 0);
  assert_false(MTR_HAS(page, TRowSet, arrow_batches));
  assert_int_equal(page->columns.count, 1);
  assert_true(MTR_HAS(&page->columns.items[0], TColumn, i32_val));
  column = page->columns.items[0].i32_val;
  assert_int_equal(column->values.bytes.size, 4 * (size_t)column->values.count);
  for (i = 0; i < column->values.count; i++)
    assert_int_equal(mtr_be32(column->values.bytes.data + (size_t)i * 4), first + i);
  assert_int_equal(column->nulls.size, 1);
  assert_int_equal(column->nulls.data[0], 0);
  return column->values.count;
}

static int64_t check_rows(const struct mtr_TRowSet *page, int64_t first)
{
  size_t i;

  assert_int_equal(page->start_row_offset, first);
  assert_false(MTR_HAS(page, TRowSet, columns));
  assert_false(MTR_HAS(page, TRowSet, arrow_batches));
  for (i = 0; i < page->rows.count; i++) {
    const struct mtr_TRow *row = &page->rows.items[i];
    assert_int_equal(row->col_vals.count, 1);
    assert_int_equal(row->col_vals.items[0].i32_val->value, first + (int64_t)i);
  }
  return (int64_t)page->rows.count;
}

/* format -1: it is not told. */
static void check_metadata(const struct mtr_TGetResultSetMetadataResp *metadata, int32_t format)
{
  assert_int_equal(MTR_HAS(metadata, TGetResultSetMetadataResp, result_format), format >= 0);
  if (format >= 0) assert_int_equal(metadata->result_format, format);
  assert_false(MTR_HAS(metadata, TGetResultSetMetadataResp, arrow_schema));
  assert_false(metadata->lz4_compressed);
  assert_int_equal(metadata->schema->columns.count, 1);
}

/* A statement as PyHive sends it, read page by page to the end and once beyond. Hive's protocols
 * know no format, no metadata of a page, and no true hasMoreRows. */
static void check_pages(struct fixture *fx, const struct wire_ask *ask, int32_t format, bool hive)
{
  static const int64_t sizes[] = {1, 8, 1000, 2991, 5000, 10};
  struct mtr_TGetResultSetMetadataReq req = {0};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  int64_t got = 0, count;
  size_t i;

  resp = wire_execute(&fx->wire, &fx->session, "rows 5000", ask);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  assert_null(resp->direct_results);
  assert_true(resp->operation_handle->has_result_set);
  wire_keep(&op, resp->operation_handle->operation_id);
  MTR_SET(&req, TGetResultSetMetadataReq, operation_handle, &op.operation);
  check_metadata(WIRE_CALL(&fx->wire, GetResultSetMetadata, &req), hive ? -1 : format);
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    page = fixture_fetch(fx, &op, sizes[i], 0);
    assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
    assert_int_equal(page->result_set_metadata == NULL, hive);
    if (!hive) check_metadata(page->result_set_metadata, format);
    count = format == MTR_ROWSET_COLUMNS ? check_column(page->results, got)
                                         : check_rows(page->results, got);
    assert_int_equal(count, got + sizes[i] > 5000 ? 5000 - got : sizes[i]);
    got += count;
    assert_int_equal(page->has_more_rows, got < 5000 && !hive);
  }
  assert_int_equal(got, 5000);
  assert_int_equal(fixture_close(fx, &op), MTR_STATUS_SUCCESS);
}

static void check_session(int32_t hive, int64_t spark, bool no_arrow, int32_t format)
{
  static const struct kiln_engine *const engines[] = {&tiny_engine, &tiny_engine_inline};
  /* Direct results are asked for of those that have none. */
  struct wire_ask ask = {.lz4 = true, .no_arrow = no_arrow, .direct = spark == WIRE_ABSENT};
  struct fixture fx;
  size_t i;

  for (i = 0; i < 2; i++) {
    fixture_start(&fx, engines[i], NULL);
    (void)wire_open_session_as(&fx.wire, hive, spark, &fx.session);
    check_pages(&fx, &ask, format, spark < MTR_PROTOCOL_SPARK_V1);
    fixture_stop(&fx);
  }
}

static void old_protocols_get_columns_or_rows(void **state)
{
  (void)state;
  check_session(HIVE_V10, WIRE_ABSENT, true, MTR_ROWSET_COLUMNS);
  check_session(HIVE_V6, WIRE_ABSENT, true, MTR_ROWSET_COLUMNS);
  check_session(HIVE_V6, WIRE_ABSENT, false, MTR_ROWSET_COLUMNS);
  check_session(WIRE_ABSENT, 0xA500, false, MTR_ROWSET_COLUMNS);
  check_session(HIVE_V5, WIRE_ABSENT, true, MTR_ROWSET_ROWS);
  check_session(0, WIRE_ABSENT, false, MTR_ROWSET_ROWS);
}

static void a_new_protocol_without_arrow_gets_columns(void **state)
{
  (void)state;
  check_session(WIRE_ABSENT, 0xA508, true, MTR_ROWSET_COLUMNS);
}

static void direct_results_are_columns_too(void **state)
{
  struct wire_ask ask = {.direct = true, .max_rows = 3, .no_arrow = true};
  struct mtr_TSparkDirectResults *direct;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  direct = wire_execute(&fx.wire, &fx.session, "rows 3", &ask)->direct_results;
  check_metadata(direct->result_set_metadata, MTR_ROWSET_COLUMNS);
  assert_int_equal(check_column(direct->result_set->results, 0), 3);
  assert_false(direct->result_set->has_more_rows);
  assert_non_null(direct->close_operation);
  direct = wire_execute(&fx.wire, &fx.session, "rows 4", &ask)->direct_results;
  assert_int_equal(check_column(direct->result_set->results, 0), 3);
  assert_true(direct->result_set->has_more_rows);
  assert_null(direct->close_operation);
  fixture_stop(&fx);
}

static void a_statement_without_rows_has_an_empty_column(void **state)
{
  struct wire_ask ask = {.no_arrow = true};
  struct mtr_TFetchResultsResp *page;
  const struct mtr_TStringColumn *column;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(&op, wire_execute(&fx.wire, &fx.session, "ddl", &ask)->operation_handle->operation_id);
  page = fixture_fetch(&fx, &op, 10, 0);
  check_metadata(page->result_set_metadata, MTR_ROWSET_COLUMNS);
  wire_assert_text(page->result_set_metadata->schema->columns.items[0].column_name, "Result");
  assert_int_equal(page->results->columns.count, 1);
  column = page->results->columns.items[0].string_val;
  assert_int_equal(column->values.count, 0);
  assert_false(page->has_more_rows);
  fixture_stop(&fx);
}

static void a_failed_synchronous_statement_is_a_failed_call(void **state)
{
  struct wire_ask ask = {.no_arrow = true};
  struct mtr_TExecuteStatementResp *resp;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  resp = wire_execute(&fx.wire, &fx.session, "fail", &ask);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(resp->status->sql_state, "42P01");
  wire_assert_text(resp->status->error_message, "[TABLE_OR_VIEW_NOT_FOUND] fail");
  assert_null(resp->operation_handle);
  fixture_await(&fx.engine.contexts, 0);
  wire_http(&fx.wire, "GET", "/kiln/stats", NULL, 0);
  assert_true(wire_contains(fx.wire.body, "\"operations_open\": 0"));
  fixture_stop(&fx);
}

static void a_failed_asynchronous_statement_is_polled_for(void **state)
{
  struct wire_ask ask = {.async = true, .no_arrow = true};
  struct mtr_TGetOperationStatusResp *status;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(&op, wire_execute(&fx.wire, &fx.session, "fail", &ask)->operation_handle->operation_id);
  status = fixture_poll(&fx, &op);
  assert_int_equal(status->operation_state, MTR_OPERATION_ERROR);
  wire_assert_text(status->sql_state, "42P01");
  wire_assert_text(status->error_message, "[TABLE_OR_VIEW_NOT_FOUND] fail");
  wire_assert_text(fixture_fetch(&fx, &op, 1, 0)->status->sql_state, "42P01");
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

static void prepared_replies_are_not_for_everybody(void **state)
{
  static const struct kiln_engine *const engines[] = {&tiny_engine, &tiny_engine_inline};
  struct mtr_TExecuteStatementResp *resp;
  struct fixture fx;
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    fixture_start(&fx, engines[i], NULL);
    resp = wire_execute(&fx.wire, &fx.session, "prepared", &ask_sync);
    assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
    wire_assert_text(resp->status->sql_state, "0A000");
    fixture_stop(&fx);
  }
}

static void the_operation_log_is_empty(void **state)
{
  struct mtr_TFetchResultsReq req = {0};
  struct mtr_TFetchResultsResp *resp;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_keep(
      &op,
      wire_execute(&fx.wire, &fx.session, "rows 5", &ask_async)->operation_handle->operation_id);
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, 10);
  MTR_SET(&req, TFetchResultsReq, fetch_type, 1);
  resp = WIRE_CALL(&fx.wire, FetchResults, &req);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  assert_false(resp->has_more_rows);
  assert_int_equal(resp->results->rows.count, 0);
  assert_int_equal(resp->results->columns.items[0].string_val->values.count, 0);
  fixture_stop(&fx);
}

static void hive_clients_name_their_database(void **state)
{
  static const uint8_t settings[] = "\0\0\0\001x\0\0\0\001y\0\0\0\014use:database\0\0\0\005sales";
  struct mtr_thrift_values map = {2, MTR_T_STRING, MTR_T_STRING,
                                  mtr_span_of(settings, sizeof settings - 1)};
  struct mtr_TOpenSessionReq req = {0};
  struct mtr_TOpenSessionResp *resp;
  struct wire_handle session;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  MTR_SET(&req, TOpenSessionReq, client_protocol, HIVE_V10);
  MTR_SET(&req, TOpenSessionReq, configuration, map);
  resp = WIRE_CALL(&fx.wire, OpenSession, &req);
  assert_null(resp->initial_namespace);
  wire_keep(&session, resp->session_handle->session_id);
  wire_assert_text(wire_execute(&fx.wire, &session, "echo", &ask_sync)->status->error_message,
                   "main.sales 0");
  fixture_stop(&fx);
}

static struct mtr_TGetInfoResp *get_info(struct fixture *fx, int32_t type)
{
  struct mtr_TGetInfoReq req = {0};

  MTR_SET(&req, TGetInfoReq, session_handle, &fx->session.session);
  MTR_SET(&req, TGetInfoReq, info_type, type);
  return WIRE_CALL(&fx->wire, GetInfo, &req);
}

static void information_about_the_server(void **state)
{
  struct mtr_TGetInfoResp *resp;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  wire_assert_text(get_info(&fx, 13)->info_value->string_value, "Spark SQL");
  wire_assert_text(get_info(&fx, 17)->info_value->string_value, "Spark SQL");
  wire_assert_text(get_info(&fx, 18)->info_value->string_value, "4.0.0");
  assert_int_equal(get_info(&fx, 30)->info_value->len_value, 255);
  wire_assert_text(get_info(&fx, 10006)->info_value->string_value, "ANTI,MINUS,SEMI");
  resp = get_info(&fx, 115);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(resp->status->sql_state, "HY096");
  assert_non_null(resp->info_value);
  fx.session.bytes[0][0] ^= 1;
  assert_int_equal(get_info(&fx, 13)->status->status_code, MTR_STATUS_ERROR);
  fixture_stop(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(old_protocols_get_columns_or_rows),
      cmocka_unit_test(a_new_protocol_without_arrow_gets_columns),
      cmocka_unit_test(direct_results_are_columns_too),
      cmocka_unit_test(a_statement_without_rows_has_an_empty_column),
      cmocka_unit_test(a_failed_synchronous_statement_is_a_failed_call),
      cmocka_unit_test(a_failed_asynchronous_statement_is_polled_for),
      cmocka_unit_test(prepared_replies_are_not_for_everybody),
      cmocka_unit_test(the_operation_log_is_empty),
      cmocka_unit_test(hive_clients_name_their_database),
      cmocka_unit_test(information_about_the_server),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
