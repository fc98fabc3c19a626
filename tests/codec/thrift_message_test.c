/* Whole messages: the known examples byte by byte, the envelope's two forms, and every way in which
 * one can be short, spoiled or not a message at all. */
#include "codec/thrift/message.h"
#include "tests/codec/thrift_vectors.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { ARENA_MAX = 1 << 20 };

struct fixture {
  struct mtr_arena arena;
  struct mtr_buf buf;
  struct mtr_message head;
  struct mortar_error err;
  uint8_t bytes[VECTOR_MAX];
};

static int set_up(void **state)
{
  struct fixture *f = calloc(1, sizeof *f);

  if (!f) return -1;
  mtr_arena_init(&f->arena, NULL, ARENA_MAX);
  mtr_buf_init(&f->buf, NULL, "message", ARENA_MAX);
  *state = f;
  return 0;
}

static int tear_down(void **state)
{
  struct fixture *f = *state;

  mtr_arena_fini(&f->arena);
  mtr_buf_fini(&f->buf);
  free(f);
  return 0;
}

static enum mortar_status read(struct fixture *f, const char *hex,
                               const struct mtr_struct_info *info, void *body)
{
  return mtr_message_read(vector_bytes(hex, f->bytes), info, body, &f->arena, &f->head, &f->err);
}

static struct mtr_span text(const char *s) { return mtr_span_text(s); }

static void assert_written(struct fixture *f, const char *hex)
{
  assert_true(mtr_span_equal(mtr_buf_span(&f->buf), vector_bytes(hex, f->bytes)));
}

static void open_session_call_is_written_and_read(void **state)
{
  static const char setting[] =
      "\0\0\0\x35spark.thriftserver.arrowBasedRowSet.timestampAsString\0\0\0\5"
      "false";
  struct mtr_thrift_values conf = {1, MTR_T_STRING, MTR_T_STRING, {0}};
  struct mtr_TNamespace ns = {0};
  struct mtr_TOpenSessionReq req = {0};
  struct fixture *f = *state;

  conf.bytes = mtr_span_of(setting, sizeof setting - 1);
  MTR_SET(&ns, TNamespace, catalog_name, text("main"));
  MTR_SET(&ns, TNamespace, schema_name, text("default"));
  MTR_SET(&req, TOpenSessionReq, configuration, conf);
  MTR_SET(&req, TOpenSessionReq, client_protocol_i64, 0xA507);
  MTR_SET(&req, TOpenSessionReq, initial_namespace, &ns);
  MTR_SET(&req, TOpenSessionReq, can_use_multiple_catalogs, true);
  assert_int_equal(mtr_message_write(&f->buf, MTR_MESSAGE_CALL, "OpenSession", 1,
                                     &mtr_TOpenSessionReq_info, &req, &f->err),
                   MORTAR_OK);
  assert_written(f, open_session_call);
  memset(&req, 0xEE, sizeof req);
  assert_int_equal(read(f, open_session_call, &mtr_TOpenSessionReq_info, &req), MORTAR_OK);
  assert_int_equal(f->head.type, MTR_MESSAGE_CALL);
  assert_int_equal(f->head.seqid, 1);
  assert_true(mtr_span_equal(f->head.name, text("OpenSession")));
  assert_false(MTR_HAS(&req, TOpenSessionReq, client_protocol));
  assert_int_equal(req.client_protocol_i64, 0xA507);
  assert_true(mtr_span_equal(req.configuration.bytes, conf.bytes));
  assert_true(mtr_span_equal(req.initial_namespace->schema_name, text("default")));
}

static void open_session_reply_is_read(void **state)
{
  struct mtr_TOpenSessionResp resp;
  struct fixture *f = *state;

  assert_int_equal(read(f, open_session_reply, &mtr_TOpenSessionResp_info, &resp), MORTAR_OK);
  assert_int_equal(f->head.type, MTR_MESSAGE_REPLY);
  assert_int_equal(resp.status->status_code, MTR_STATUS_SUCCESS);
  assert_int_equal(resp.server_protocol_version, 0xA507);
  assert_memory_equal(resp.session_handle->session_id->guid.data,
                      "\x01\xf0\xaa\x00\x11\x22\x33\x44", 8);
  assert_int_equal(resp.session_handle->session_id->secret.size, 16);
  assert_true(MTR_HAS(&resp, TOpenSessionResp, configuration));
  assert_int_equal(resp.configuration.count, 0);
  assert_false(MTR_HAS(&resp, TOpenSessionResp, get_infos));
}

static void check_columns(const struct mtr_TRowSet *rows)
{
  const struct mtr_TColumn *id = &rows->columns.items[0], *s = &rows->columns.items[1];

  assert_int_equal(rows->columns.count, 2);
  assert_int_equal(id->has, UINT64_C(1) << MTR_BIT_TColumn_i32_val);
  assert_int_equal(id->i32_val->values.count, 3);
  assert_memory_equal(id->i32_val->values.bytes.data, "\0\0\0\1\0\0\0\2\0\0\0\0", 12);
  assert_memory_equal(id->i32_val->nulls.data, "\x04", 1);
  assert_int_equal(s->string_val->values.count, 3);
  assert_int_equal(s->string_val->values.bytes.size, 5 + 4 + 7);
  assert_memory_equal(s->string_val->values.bytes.data + 9, "\0\0\0\3ccc", 7);
}

static void execute_reply_with_columns_is_read(void **state)
{
  struct mtr_TExecuteStatementResp resp;
  const struct mtr_TSparkDirectResults *direct;
  struct fixture *f = *state;

  assert_int_equal(read(f, execute_reply_columns, &mtr_TExecuteStatementResp_info, &resp),
                   MORTAR_OK);
  direct = resp.direct_results;
  assert_true(resp.operation_handle->has_result_set);
  assert_int_equal(direct->operation_status->operation_state, MTR_OPERATION_FINISHED);
  assert_true(direct->operation_status->operation_completed == INT64_C(1700000000250));
  assert_false(MTR_HAS(direct->operation_status, TGetOperationStatusResp, has_result_set));
  assert_int_equal(direct->result_set_metadata->schema->columns.count, 2);
  assert_int_equal(direct->result_set_metadata->result_format, MTR_ROWSET_COLUMNS);
  assert_false(direct->result_set->has_more_rows);
  assert_true(MTR_HAS(direct, TSparkDirectResults, close_operation));
  check_columns(direct->result_set->results);
}

static void execute_reply_with_arrow_is_read(void **state)
{
  struct mtr_TExecuteStatementResp resp;
  const struct mtr_TSparkArrowBatch *batch;
  struct fixture *f = *state;

  assert_int_equal(read(f, execute_reply_arrow, &mtr_TExecuteStatementResp_info, &resp), MORTAR_OK);
  assert_true(resp.direct_results->result_set_metadata->lz4_compressed);
  assert_int_equal(resp.direct_results->result_set_metadata->arrow_schema.size, 440);
  assert_int_equal(resp.direct_results->result_set->results->arrow_batches.count, 1);
  batch = &resp.direct_results->result_set->results->arrow_batches.items[0];
  assert_int_equal(batch->row_count, 3);
  assert_int_equal(batch->batch.size, 188);
  assert_memory_equal(batch->batch.data, "\x04\x22\x4d\x18", 4);
  assert_ptr_equal(batch->batch.data, f->bytes + 0x328);
}

static void a_schema_can_be_left_on_the_wire(void **state)
{
  struct mtr_TExecuteStatementResp resp;
  struct mtr_TGetResultSetMetadataResp *meta;
  struct mtr_TTableSchema schema;
  struct fixture *f = *state;

  assert_int_equal(mtr_message_read_leaving(vector_bytes(execute_reply_columns, f->bytes),
                                            &mtr_TExecuteStatementResp_info, &mtr_TTableSchema_info,
                                            &resp, &f->arena, &f->head, &f->err),
                   MORTAR_OK);
  meta = resp.direct_results->result_set_metadata;
  assert_true(MTR_HAS(meta, TGetResultSetMetadataResp, schema));
  assert_int_equal(meta->schema->has, 0);
  assert_int_equal(meta->schema->columns.count, 0);
  assert_int_equal(meta->result_format, MTR_ROWSET_COLUMNS);
  check_columns(resp.direct_results->result_set->results);
  assert_int_equal(
      mtr_thrift_decode(meta->schema->wire, &mtr_TTableSchema_info, &schema, &f->arena, &f->err),
      MORTAR_OK);
  assert_int_equal(schema.columns.count, 2);
  assert_true(mtr_span_equal(schema.columns.items[1].column_name, text("s")));
  assert_true(mtr_span_equal(schema.wire, meta->schema->wire));
}

static void exception_is_read_and_written(void **state)
{
  struct mtr_TFetchResultsResp resp;
  struct fixture *f = *state;

  memset(&resp, 0xEE, sizeof resp);
  assert_int_equal(read(f, exception_reply, &mtr_TFetchResultsResp_info, &resp), MORTAR_OK);
  assert_int_equal(f->head.type, MTR_MESSAGE_EXCEPTION);
  assert_int_equal(f->head.exception_type, 6);
  assert_true(mtr_span_equal(f->head.exception_text, text("boom")));
  assert_int_equal(resp.has, 0);
  assert_null(resp.results);
  assert_int_equal(mtr_message_write_exception(&f->buf, "FetchResults", 3, 6, "boom", &f->err),
                   MORTAR_OK);
  assert_written(f, exception_reply);
}

/* The struct that a vector's body is. */
static const struct mtr_struct_info *body_of(const char *vector)
{
  if (vector == open_session_call) return &mtr_TOpenSessionReq_info;
  if (vector == open_session_reply) return &mtr_TOpenSessionResp_info;
  if (vector == execute_call) return &mtr_TExecuteStatementReq_info;
  if (vector == exception_reply) return &mtr_TFetchResultsResp_info;
  return &mtr_TExecuteStatementResp_info;
}

static void vectors_come_back_byte_for_byte(void **state)
{
  struct fixture *f = *state;
  _Alignas(16) uint8_t body[512];
  char name[64];
  size_t i;

  for (i = 0; i < VECTOR_COUNT; i++) {
    if (all_vectors[i] == exception_reply) continue;
    assert_int_equal(read(f, all_vectors[i], body_of(all_vectors[i]), body), MORTAR_OK);
    snprintf(name, sizeof name, "%.*s", MTR_SPAN_ARG(f->head.name));
    mtr_buf_reset(&f->buf);
    assert_int_equal(mtr_message_write(&f->buf, f->head.type, name, f->head.seqid,
                                       body_of(all_vectors[i]), body, &f->err),
                     MORTAR_OK);
    assert_written(f, all_vectors[i]);
  }
}

static void every_cut_is_more(void **state)
{
  struct fixture *f = *state;
  _Alignas(16) uint8_t body[512];
  size_t i, n;

  for (i = 0; i < VECTOR_COUNT; i++) {
    struct mtr_span whole = vector_bytes(all_vectors[i], f->bytes);
    for (n = 0; n < whole.size; n++) {
      uint8_t *cut = malloc(n ? n : 1); /* of exact size, for the sanitizers */
      assert_non_null(cut);
      memcpy(cut, whole.data, n);
      assert_int_equal(mtr_message_read(mtr_span_of(cut, n), body_of(all_vectors[i]), body,
                                        &f->arena, &f->head, &f->err),
                       MORTAR_MORE);
      free(cut);
      mtr_arena_reset(&f->arena);
    }
  }
}

static void every_spoiled_byte_is_survived(void **state)
{
  struct fixture *f = *state;
  enum mortar_status st;
  _Alignas(16) uint8_t body[512];
  size_t i, n;
  unsigned v;

  for (i = 0; i < VECTOR_COUNT; i++) {
    struct mtr_span whole = vector_bytes(all_vectors[i], f->bytes);
    for (n = 0; n < whole.size; n++) {
      uint8_t good = f->bytes[n];
      for (v = 0; v < 256; v += 5) {
        f->bytes[n] = (uint8_t)v;
        st = mtr_message_read(whole, body_of(all_vectors[i]), body, &f->arena, &f->head, &f->err);
        assert_true(st == MORTAR_OK || st == MORTAR_MORE || st == MORTAR_PROTOCOL);
        mtr_buf_reset(&f->buf);
        if (st == MORTAR_OK)
          assert_int_equal(mtr_thrift_dump(body_of(all_vectors[i]), body, &f->buf, &f->err),
                           MORTAR_OK);
        mtr_arena_reset(&f->arena);
      }
      f->bytes[n] = good;
    }
  }
}

static void bytes_behind_are_refused(void **state)
{
  struct fixture *f = *state;
  _Alignas(16) uint8_t body[512];
  size_t i;

  for (i = 0; i < VECTOR_COUNT; i++) {
    struct mtr_span whole = vector_bytes(all_vectors[i], f->bytes);
    f->bytes[whole.size] = 0;
    whole.size++;
    assert_int_equal(
        mtr_message_read(whole, body_of(all_vectors[i]), body, &f->arena, &f->head, &f->err),
        MORTAR_PROTOCOL);
    assert_non_null(strstr(f->err.message, "bytes behind the message"));
  }
}

static enum mortar_status read_status(struct fixture *f, const char *bytes, size_t size)
{
  struct mtr_TCloseSessionResp resp;

  return mtr_message_read(mtr_span_of(bytes, size), &mtr_TCloseSessionResp_info, &resp, &f->arena,
                          &f->head, &f->err);
}

#define READ_STATUS(f, text) read_status(f, text, sizeof(text) - 1)

static void old_form_is_read(void **state)
{
  static const char old[] =
      "\0\0\0\x0c"
      "CloseSession\2\0\0\0\x09\x0c\0\0\x0c\0\1\x08\0\1\0\0\0\0\0\0\0";
  struct fixture *f = *state;
  size_t n;

  assert_int_equal(READ_STATUS(f, old), MORTAR_OK);
  assert_int_equal(f->head.type, MTR_MESSAGE_REPLY);
  assert_int_equal(f->head.seqid, 9);
  assert_true(mtr_span_equal(f->head.name, text("CloseSession")));
  for (n = 0; n < sizeof old - 1; n++)
    assert_int_equal(read_status(f, old, n), MORTAR_MORE);
}

static void what_is_no_message_is_refused(void **state)
{
  struct fixture *f = *state;

  assert_int_equal(READ_STATUS(f, "<html><body>not here</body></html>"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "{\"error_code\":403}"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "\x82\x21\x01\x00"), MORTAR_PROTOCOL); /* compact */
  assert_int_equal(READ_STATUS(f, "\x80\x02\x00\x02\0\0\0\0\0\0\0\0\0"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "\x80\x01\x00\x04\0\0\0\0\0\0\0\0\0"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "\x80\x01\x00\x00\0\0\0\0\0\0\0\0\0"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "\x80\x01\x00\x02\xff\xff\xff\xff"), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, "\x80\x01\x00\x02\0\0\1\1"), MORTAR_PROTOCOL); /* 257 letters */
  assert_int_equal(READ_STATUS(f, "\0\0\0\1x\5\0\0\0\0\0"), MORTAR_PROTOCOL);
}

static void a_body_without_its_field_is_refused(void **state)
{
  static const char none[] = "\x80\x01\0\2\0\0\0\1x\0\0\0\1\0";
  static const char other_id[] = "\x80\x01\0\2\0\0\0\1x\0\0\0\1\x0c\0\1\0\0";
  static const char other_type[] = "\x80\x01\0\2\0\0\0\1x\0\0\0\1\x08\0\0\0\0\0\0\0";
  static const char call[] = "\x80\x01\0\1\0\0\0\1x\0\0\0\1\x0c\0\0\0\0";
  struct fixture *f = *state;

  assert_int_equal(READ_STATUS(f, none), MORTAR_PROTOCOL);
  assert_non_null(strstr(f->err.message, "a reply without its result"));
  assert_int_equal(READ_STATUS(f, other_id), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, other_type), MORTAR_PROTOCOL);
  assert_int_equal(READ_STATUS(f, call), MORTAR_PROTOCOL);
  assert_non_null(strstr(f->err.message, "a call without its request"));
}

static void unknown_fields_beside_the_body_are_skipped(void **state)
{
  static const char reply[] =
      "\x80\x01\0\2\0\0\0\1x\0\0\0\1"
      "\x0b\0\7\0\0\0\1a"
      "\x0c\0\0\x0c\0\1\x08\0\1\0\0\0\3\0\0"
      "\x02\0\x08\1\0";
  static const char exception[] =
      "\x80\x01\0\3\0\0\0\1x\0\0\0\1"
      "\x08\0\1\0\0\0\1\x0b\0\1\0\0\0\1a\x0f\0\3\x02\0\0\0\1\1\x08\0\2\0\0\0\7\0";
  struct fixture *f = *state;

  assert_int_equal(READ_STATUS(f, reply), MORTAR_OK);
  assert_int_equal(READ_STATUS(f, exception), MORTAR_OK);
  assert_int_equal(f->head.exception_type, 7);
  assert_true(mtr_span_equal(f->head.exception_text, text("a")));
}

static void memory_may_run_out_anywhere(void **state)
{
  struct mtr_TExecuteStatementResp resp;
  struct fixture *f = *state;
  struct failing_alloc fa;
  enum mortar_status st;
  struct mtr_buf out;

  MTR_EVERY_ALLOC_FAILS(fa)
  {
    mtr_arena_init(&f->arena, &fa.alloc, ARENA_MAX);
    mtr_buf_init(&out, &fa.alloc, "message", ARENA_MAX);
    st = read(f, execute_reply_arrow, &mtr_TExecuteStatementResp_info, &resp);
    if (st == MORTAR_OK)
      st = mtr_message_write(&out, MTR_MESSAGE_REPLY, "ExecuteStatement", 2,
                             &mtr_TExecuteStatementResp_info, &resp, &f->err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_int_equal(out.size, fa.failed ? 0 : 1028);
    mtr_arena_fini(&f->arena);
    mtr_buf_fini(&out);
  }
  assert_true(fa.rounds > 3);
}

static void a_message_that_does_not_fit_leaves_nothing(void **state)
{
  struct mtr_TStatus status = {0};
  struct mtr_TCloseSessionResp resp = {0};
  struct fixture *f = *state;
  struct mtr_buf out;

  MTR_SET(&status, TStatus, error_message, text("a text that does not fit"));
  MTR_SET(&resp, TCloseSessionResp, status, &status);
  mtr_buf_init(&out, NULL, "request", 40);
  assert_int_equal(mtr_buf_append(&out, "ab", 2, NULL), MORTAR_OK);
  assert_int_equal(mtr_message_write(&out, MTR_MESSAGE_REPLY, "CloseSession", 2,
                                     &mtr_TCloseSessionResp_info, &resp, &f->err),
                   MORTAR_LIMIT);
  assert_int_equal(out.size, 2);
  mtr_buf_fini(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(open_session_call_is_written_and_read),
      TEST(open_session_reply_is_read),
      TEST(execute_reply_with_columns_is_read),
      TEST(execute_reply_with_arrow_is_read),
      TEST(a_schema_can_be_left_on_the_wire),
      TEST(exception_is_read_and_written),
      TEST(vectors_come_back_byte_for_byte),
      TEST(every_cut_is_more),
      TEST(every_spoiled_byte_is_survived),
      TEST(bytes_behind_are_refused),
      TEST(old_form_is_read),
      TEST(what_is_no_message_is_refused),
      TEST(a_body_without_its_field_is_refused),
      TEST(unknown_fields_beside_the_body_are_skipped),
      TEST(memory_may_run_out_anywhere),
      TEST(a_message_that_does_not_fit_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
