/* Metadata calls on the server: a statement without a text, answered in columns. What they tell is
 * the engine's business. */
#include "codec/thrift/metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/kiln/kiln_fixture.h"

static const struct mtr_struct_info *const requests[] = {
#define X(kind, call, type) &mtr_T##call##Req_info,
    MTR_METADATA_MAP(X)
#undef X
};

/* Sends the call, direct with so many rows; negative: not direct. Of the reply all calls have the
 * layout of a statement's. */
static struct mtr_TExecuteStatementResp *ask(struct fixture *fx, const struct mortar_metadata *what,
                                             int64_t direct_rows, bool run_async)
{
  struct mtr_TSparkGetDirectResults direct = {0};
  struct mtr_metadata_call call = {
      .what = *what, .session = &fx->session.session, .run_async = run_async};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_arena arena;
  void *request;

  MTR_SET(&direct, TSparkGetDirectResults, max_rows, direct_rows);
  MTR_SET(&direct, TSparkGetDirectResults, max_bytes, 1 << 20);
  if (direct_rows >= 0) call.direct = &direct;
  mtr_arena_init(&arena, NULL, 1 << 16);
  assert_int_equal(mtr_metadata_to_request(&call, &arena, &request, NULL), MORTAR_OK);
  resp = wire_call(&fx->wire, mtr_metadata_call_name(what->kind), requests[what->kind], request,
                   &mtr_TExecuteStatementResp_info);
  mtr_arena_fini(&arena);
  return resp;
}

static uint32_t count_of(const struct mtr_TRowSet *page)
{
  assert_false(MTR_HAS(page, TRowSet, arrow_batches));
  assert_int_equal(page->columns.count, 1);
  return page->columns.items[0].i32_val->values.count;
}

static void check_whole_answers(const struct kiln_engine *engine)
{
  struct wire_handle op;
  struct fixture fx;
  int i;

  fixture_start(&fx, engine, NULL);
  for (i = 0; i < (int)(sizeof requests / sizeof *requests); i++) {
    const struct mortar_metadata what = {.kind = (enum mortar_metadata_kind)i};
    struct mtr_TExecuteStatementResp *resp = ask(&fx, &what, 100, i % 2);
    assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
    assert_int_equal(resp->operation_handle->operation_type,
                     mtr_metadata_operation_type(what.kind));
    assert_int_equal(resp->direct_results->operation_status->operation_state,
                     MTR_OPERATION_FINISHED);
    assert_int_equal(resp->direct_results->result_set_metadata->result_format, MTR_ROWSET_COLUMNS);
    assert_false(MTR_HAS(resp->direct_results->result_set_metadata, TGetResultSetMetadataResp,
                         arrow_schema));
    assert_int_equal(count_of(resp->direct_results->result_set->results), 3);
    assert_false(resp->direct_results->result_set->has_more_rows);
    assert_non_null(resp->direct_results->close_operation);
    wire_keep(&op, resp->operation_handle->operation_id);
    assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_ERROR); /* it is closed, as was said */
  }
  fixture_stop(&fx);
}

static void all_nine_are_answered_at_once(void **state)
{
  (void)state;
  check_whole_answers(&tiny_engine);
  check_whole_answers(&tiny_engine_inline);
}

/* The first page comes with the reply or is fetched; then page by page, and closed. */
static void check_pages(const struct kiln_engine *engine, int64_t direct_rows, bool run_async)
{
  const struct mortar_metadata what = {.kind = MORTAR_METADATA_TABLES, .table = "rows 5000"};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;
  int64_t got = 0;

  fixture_start(&fx, engine, NULL);
  resp = ask(&fx, &what, direct_rows, run_async);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  assert_int_equal(resp->operation_handle->operation_type, 4);
  wire_keep(&op, resp->operation_handle->operation_id);
  if (direct_rows > 0) {
    got = count_of(resp->direct_results->result_set->results);
    assert_int_equal(got, direct_rows);
    assert_null(resp->direct_results->close_operation);
  }
  while (fixture_poll(&fx, &op)->operation_state == MTR_OPERATION_RUNNING)
    ;
  do {
    page = fixture_fetch(&fx, &op, 999, 0);
    assert_int_equal(page->status->status_code, MTR_STATUS_SUCCESS);
    assert_int_equal(page->results->start_row_offset, got);
    got += count_of(page->results);
  } while (page->has_more_rows);
  assert_int_equal(got, 5000);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

static void many_rows_come_in_pages(void **state)
{
  (void)state;
  check_pages(&tiny_engine, 10, false);
  check_pages(&tiny_engine_inline, 10, true);
  check_pages(&tiny_engine, 0, false);
  check_pages(&tiny_engine, -1, false);
}

static void filters_reach_the_engine(void **state)
{
  static const char *const types[] = {"VIEW", "TABLE"};
  static const struct {
    struct mortar_metadata what;
    const char *told;
  } cases[] = {
      {{.kind = MORTAR_METADATA_TABLES, .table = "echo"}, "2 -.-.echo - 0 -"},
      {{.kind = MORTAR_METADATA_TABLES,
        .catalog = "",
        .schema = "s\\_%",
        .table = "echo",
        .table_types = types,
        .table_type_count = 2},
       "2 .s\\_%.echo - 2 VIEW"},
      {{.kind = MORTAR_METADATA_COLUMNS, .catalog = "c", .table = "echo", .column = "\xc3\xbc"},
       "3 c.-.echo \xc3\xbc 0 -"},
      {{.kind = MORTAR_METADATA_PRIMARY_KEYS, .table = "echo"}, "7 -.-.echo - 0 -"},
  };
  struct mtr_TExecuteStatementResp *resp;
  struct fixture fx;
  size_t i;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    resp = ask(&fx, &cases[i].what, 100, false);
    assert_int_equal(resp->direct_results->operation_status->operation_state, MTR_OPERATION_ERROR);
    wire_assert_text(resp->direct_results->operation_status->display_message, cases[i].told);
    resp = ask(&fx, &cases[i].what, -1, false); /* as Hive's clients have it: a failed call */
    assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
    wire_assert_text(resp->status->error_message, cases[i].told);
  }
  fixture_stop(&fx);
}

static void it_can_be_cancelled(void **state)
{
  const struct mortar_metadata what = {.kind = MORTAR_METADATA_TABLES, .table = "slow"};
  const struct kiln_options options = {.direct_wait_ms = 1};
  struct mtr_TExecuteStatementResp *resp;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  resp = ask(&fx, &what, 100, true);
  assert_int_equal(resp->direct_results->operation_status->operation_state, MTR_OPERATION_RUNNING);
  wire_keep(&op, resp->operation_handle->operation_id);
  assert_int_equal(fixture_cancel(&fx, &op), MTR_STATUS_SUCCESS);
  assert_int_equal(fixture_poll(&fx, &op)->operation_state, MTR_OPERATION_CANCELED);
  assert_int_equal(fixture_close(&fx, &op), MTR_STATUS_SUCCESS);
  fixture_stop(&fx);
}

static void what_can_not_be_answered_is_refused(void **state)
{
  const struct mortar_metadata what = {.kind = MORTAR_METADATA_SCHEMAS};
  struct kiln_engine without = tiny_engine;
  struct mtr_TExecuteStatementResp *resp;
  struct fixture fx;

  (void)state;
  without.metadata_ok = false;
  fixture_start(&fx, &without, NULL);
  resp = ask(&fx, &what, 100, false);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  wire_assert_text(resp->status->sql_state, "0A000");
  fx.session.bytes[0][0] ^= 1;
  resp = ask(&fx, &what, 100, false);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  assert_true(wire_contains(resp->status->error_message, "Invalid SessionHandle"));
  fx.session.bytes[0][0] ^= 1;
  fixture_stop(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_nine_are_answered_at_once),
      cmocka_unit_test(many_rows_come_in_pages),
      cmocka_unit_test(filters_reach_the_engine),
      cmocka_unit_test(it_can_be_cancelled),
      cmocka_unit_test(what_can_not_be_answered_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
