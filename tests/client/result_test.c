/* Results: all rows in order or an error, never a short list. */
#include <stdio.h>

#include "tests/client/client_fixture.h"

static void all_batches_of_a_reply_come_in_order(void **state)
{
  static const int counts[] = {1, 2, 10, 72};
  struct client c;
  int64_t rows;
  size_t i;
  int lz4;

  (void)state;
  client_start(&c);
  for (lz4 = 0; lz4 < 3; lz4++) {
    c.fs.lz4 = lz4 > 0;
    c.fs.checksum = lz4 == 2;
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
      fake_server_batches(&c.fs, counts[i], 14);
      assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
      assert_int_equal(rows, counts[i] * 14);
    }
  }
  assert_int_equal(c.fs.operations_closed, 0); /* the server had closed them */
  assert_int_equal(c.fs.fetched, 0);
  client_stop(&c);
  assert_int_equal(c.fs.closed, 1);
}

static void empty_results_and_empty_batches(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.batch_count = 0;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 0);
  fake_server_batches(&c.fs, 3, 0);
  c.fs.batches[1].rows = c.fs.batches[1].declared = 5;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 5);
  client_stop(&c);
}

static void pages_follow_each_other(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 23, 7);
  c.fs.pages = 5;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 23 * 7);
  assert_int_equal(c.fs.fetched, 4);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void pages_of_columns_follow_each_other(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.table = FAKE_TABLE_COLUMNS;
  fake_server_batches(&c.fs, 5, 1001);
  c.fs.batches[4].rows = 1;
  c.fs.pages = 5;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 4 * 1001 + 1);
  assert_int_equal(c.fs.fetched, 4);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void check_failed_page(enum fake_table layout)
{
  struct client c;
  struct mortar_result *res = NULL;
  struct mortar_error again;
  struct ArrowArray batch;
  int64_t rows;

  client_start(&c);
  c.fs.table = layout;
  fake_server_batches(&c.fs, 5, 7);
  c.fs.pages = 5;
  c.fs.fail_page = 3;
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(client_drain(res, &rows, &c.err), MORTAR_SERVER);
  assert_int_equal(rows, 14);
  assert_non_null(strstr(c.err.message, "the page is lost"));
  assert_string_equal(c.err.query_id, "4f504552-4154-494f-4e2d-303030312121");
  assert_int_equal(mortar_result_next(res, NULL, &batch, &again), MORTAR_SERVER);
  assert_null(batch.release);
  assert_string_equal(again.message, c.err.message);
  mortar_result_free(res);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

static void a_failed_page_is_an_error_every_time(void **state)
{
  (void)state;
  check_failed_page(FAKE_TABLE_NONE);
  check_failed_page(FAKE_TABLE_COLUMNS);
}

/* So many batches when small ones are joined up to `rows`; every row in order. */
static int64_t count_joined(struct client *c, int64_t rows, int64_t *sum)
{
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  int64_t n = 0;

  *sum = 0;
  assert_int_equal(mortar_query(c->session, "SELECT n, s", NULL, &res, &c->err), MORTAR_OK);
  for (;; n++) {
    assert_int_equal(mortar_result_next_joined(res, NULL, rows, &batch, &c->err), MORTAR_OK);
    if (!batch.release) break;
    client_check_batch(&batch, *sum);
    *sum += batch.length;
    batch.release(&batch);
  }
  mortar_result_free(res);
  return n;
}

static void small_batches_are_joined(void **state)
{
  struct client c;
  int64_t sum;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 72, 14);
  assert_int_equal(count_joined(&c, 0, &sum), 72);
  assert_int_equal(count_joined(&c, 100, &sum), 9); /* 8 batches have 112 rows */
  assert_int_equal(count_joined(&c, 65536, &sum), 1);
  assert_int_equal(sum, 72 * 14);
  c.fs.pages = 3; /* only what is here already */
  assert_int_equal(count_joined(&c, 65536, &sum), 3);
  assert_int_equal(sum, 72 * 14);
  c.fs.pages = 1;
  fake_server_batches(&c.fs, 4, 1000); /* large enough as they are */
  assert_int_equal(count_joined(&c, 65536, &sum), 4);
  assert_int_equal(sum, 4000);
  client_stop(&c);
}

static void a_corrupt_batch_among_joined_ones_is_an_error(void **state)
{
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 20, 10);
  c.fs.batches[13].declared++; /* it lacks a row */
  assert_int_equal(mortar_query(c.session, "SELECT n, s", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_next_joined(res, NULL, 65536, &batch, &c.err), MORTAR_CORRUPT);
  assert_null(batch.release);
  assert_int_equal(mortar_result_next_joined(res, NULL, 65536, &batch, &c.err), MORTAR_CORRUPT);
  mortar_result_free(res);
  client_stop(&c);
}

static void declared_row_counts_rule(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 10);
  c.fs.batches[2].declared = 4; /* the batch holds more: cut */
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 24);
  c.fs.batches[2].declared = 11; /* it holds fewer: an error */
  assert_int_equal(client_rows(&c, &rows), MORTAR_CORRUPT);
  assert_non_null(strstr(c.err.message, "batch 2"));
  client_stop(&c);
}

static void an_end_marker_inside_a_batch_hides_no_rows(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 10);
  c.fs.batches[1].end_marker = true;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 30);
  client_stop(&c);
}

static void a_corrupt_frame_anywhere_is_an_error(void **state)
{
  struct client c;
  struct mortar_result *res;
  int64_t rows;
  int checksum, where, at;

  (void)state;
  client_start(&c);
  for (checksum = 0; checksum < 2; checksum++)
    for (where = 0; where < 9; where += 4)
      for (at = 0; at < 8; at++) {
        enum mortar_status st;
        fake_server_batches(&c.fs, 9, 50);
        c.fs.checksum = checksum == 1;
        c.fs.batches[where].corrupt_at = at; /* checksum or end mark: 8 bytes or 4 */
        res = NULL;
        st = mortar_query(c.session, "SELECT", NULL, &res, &c.err);
        if (at < 4 || checksum) {
          assert_int_equal(st, MORTAR_CORRUPT);
          assert_null(res);
          assert_non_null(strstr(c.err.message, "batch"));
          assert_non_null(strstr(c.err.message, "127.0.0.1:"));
          assert_true(c.err.query_id[0] != '\0');
        } else if (st == MORTAR_OK) {
          /* Without a checksum a changed value may go unseen: but rows never get lost. */
          struct ArrowArray batch = {0};
          rows = 0;
          while ((st = mortar_result_next(res, NULL, &batch, &c.err)) == MORTAR_OK &&
                 batch.release) {
            rows += batch.length;
            batch.release(&batch);
          }
          if (st == MORTAR_OK) assert_int_equal(rows, 9 * 50);
        }
        mortar_result_free(res);
      }
  client_stop(&c);
}

/* Every byte of a message that is not compressed: an error, or all rows with another value. */
static void a_corrupt_message_never_loses_rows(void **state)
{
  struct client c;
  int at, failures = 0;

  (void)state;
  client_start(&c);
  c.fs.lz4 = false;
  for (at = 0; at < 600; at++) {
    struct mortar_result *res = NULL;
    struct ArrowArray batch = {0};
    enum mortar_status st;
    int64_t rows = 0;
    fake_server_batches(&c.fs, 3, 10);
    c.fs.batches[1].corrupt_at = at;
    st = mortar_query(c.session, "SELECT", NULL, &res, &c.err);
    while (st == MORTAR_OK && (st = mortar_result_next(res, NULL, &batch, &c.err)) == MORTAR_OK &&
           batch.release) {
      rows += batch.length;
      batch.release(&batch);
    }
    if (st == MORTAR_OK) assert_int_equal(rows, 30);
    if (st != MORTAR_OK) assert_true(c.err.message[0] && c.err.query_id[0]);
    failures += st != MORTAR_OK;
    mortar_result_free(res);
  }
  assert_true(failures > 50); /* most of the head of a message means something */
  client_stop(&c);
}

static void a_large_page_is_decoded_in_windows(void **state)
{
  struct client c = {.session = NULL};
  int64_t rows;

  (void)state;
  fake_server_start(&c.fs);
  fake_server_batches(&c.fs, 40, 100);
  assert_int_equal(client_open(&c, NULL, "window_bytes", "4096"), MORTAR_OK);
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 4000);
  c.fs.pages = 4;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 4000);
  client_stop(&c);
}

static void a_schema_given_only_by_metadata_is_asked_for(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.no_schema = true;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  assert_int_equal(c.fs.schemas, 1);
  client_stop(&c);
}

/* DDL: columns by the Thrift schema, no rows. */
static void a_thrift_schema_stands_in_for_a_missing_one(void **state)
{
  static const char *const types[] = {"BOOLEAN",
                                      "TINYINT",
                                      "SMALLINT",
                                      "INT",
                                      "BIGINT",
                                      "FLOAT",
                                      "DOUBLE",
                                      "STRING",
                                      "TIMESTAMP",
                                      "BINARY",
                                      "ARRAY",
                                      "MAP",
                                      "STRUCT",
                                      "UNION",
                                      "USER_DEFINED",
                                      "DECIMAL(38,18)",
                                      "VOID",
                                      "DATE",
                                      "VARCHAR",
                                      "CHAR",
                                      "INTERVAL YEAR TO MONTH",
                                      "INTERVAL DAY TO SECOND"};
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  struct client c;
  int64_t i;

  (void)state;
  client_start(&c);
  c.fs.batch_count = 0;
  c.fs.table = FAKE_TABLE_DDL;
  assert_int_equal(mortar_query(c.session, "CREATE", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_column_count(res), 1);
  assert_string_equal(mortar_result_column_name(res, 0), "Result");
  assert_string_equal(mortar_result_column_type(res, 0), "STRING");
  assert_int_equal(mortar_result_next(res, NULL, &batch, &c.err), MORTAR_OK);
  assert_null(batch.release);
  mortar_result_free(res);
  c.fs.table = FAKE_TABLE_ONLY;
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_column_count(res), sizeof types / sizeof *types);
  for (i = 0; i < mortar_result_column_count(res); i++)
    assert_string_equal(mortar_result_column_type(res, i), types[i]);
  mortar_result_free(res);
  client_stop(&c);
}

static void equal_schemas_share_a_shape(void **state)
{
  struct client c;
  struct mortar_result *a = NULL, *b = NULL, *d = NULL;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_query(c.session, "SELECT 1", NULL, &a, &c.err), MORTAR_OK);
  assert_int_equal(mortar_query(c.session, "SELECT 2", NULL, &b, &c.err), MORTAR_OK);
  c.fs.other_schema = true;
  assert_int_equal(mortar_query(c.session, "SELECT 3", NULL, &d, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_shape(a), mortar_result_shape(b));
  assert_int_not_equal(mortar_result_shape(a), mortar_result_shape(d));
  assert_string_equal(mortar_result_column_name(a, 0), "n");
  assert_string_equal(mortar_result_column_name(d, 0), "m");
  assert_string_equal(mortar_result_column_type(a, 0), "BIGINT");
  assert_string_equal(mortar_result_column_type(a, 1), "STRING");
  assert_null(mortar_result_column_name(a, 2));
  assert_null(mortar_result_column_type(a, -1));
  mortar_result_free(a);
  mortar_result_free(b);
  mortar_result_free(d);
  client_stop(&c);
}

static void rows_outlive_result_and_session(void **state)
{
  struct client c;
  struct mortar_result *res = NULL;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray first, second, child;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 2, 5);
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_next(res, NULL, &first, &c.err), MORTAR_OK);
  client_stop(&c);
  assert_int_equal(mortar_result_to_stream(&res, &stream, &c.err), MORTAR_OK);
  assert_null(res);
  assert_int_equal(stream.get_schema(&stream, &schema), 0);
  assert_int_equal(stream.get_next(&stream, &second), 0);
  stream.release(&stream);
  child = *second.children[0]; /* moved out, as the interface allows */
  second.children[0]->release = NULL;
  second.release(&second);
  assert_int_equal(((const int64_t *)child.buffers[1])[4], 9);
  child.release(&child);
  assert_int_equal(((const int64_t *)first.children[0]->buffers[1])[4], 4);
  first.release(&first);
  assert_string_equal(schema.children[1]->format, "u");
  schema.release(&schema);
}

static void a_stream_reports_a_failed_page(void **state)
{
  struct client c;
  struct mortar_result *res = NULL;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 2, 5);
  c.fs.pages = 2;
  c.fs.fail_page = 2;
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_to_stream(&res, &stream, &c.err), MORTAR_OK);
  assert_int_equal(stream.get_next(&stream, &batch), 0);
  assert_null(stream.get_last_error(&stream));
  batch.release(&batch);
  assert_int_not_equal(stream.get_next(&stream, &batch), 0);
  assert_non_null(strstr(stream.get_last_error(&stream), "the page is lost"));
  stream.release(&stream);
  client_stop(&c);
}

static void a_closed_session_ends_an_open_result_with_an_error(void **state)
{
  struct client c;
  struct mortar_result *res = NULL;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 2, 5);
  c.fs.pages = 2;
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_OK);
  assert_int_equal(mortar_session_close(c.session, NULL, &c.err), MORTAR_OK);
  assert_int_equal(client_drain(res, &rows, &c.err), MORTAR_STATE);
  assert_int_equal(rows, 5);
  mortar_result_free(res);
  res = NULL;
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_STATE);
  client_stop(&c);
  assert_int_equal(c.fs.closed, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_batches_of_a_reply_come_in_order),
      cmocka_unit_test(empty_results_and_empty_batches),
      cmocka_unit_test(pages_follow_each_other),
      cmocka_unit_test(pages_of_columns_follow_each_other),
      cmocka_unit_test(a_failed_page_is_an_error_every_time),
      cmocka_unit_test(small_batches_are_joined),
      cmocka_unit_test(a_corrupt_batch_among_joined_ones_is_an_error),
      cmocka_unit_test(declared_row_counts_rule),
      cmocka_unit_test(an_end_marker_inside_a_batch_hides_no_rows),
      cmocka_unit_test(a_corrupt_frame_anywhere_is_an_error),
      cmocka_unit_test(a_corrupt_message_never_loses_rows),
      cmocka_unit_test(a_large_page_is_decoded_in_windows),
      cmocka_unit_test(a_schema_given_only_by_metadata_is_asked_for),
      cmocka_unit_test(a_thrift_schema_stands_in_for_a_missing_one),
      cmocka_unit_test(equal_schemas_share_a_shape),
      cmocka_unit_test(rows_outlive_result_and_session),
      cmocka_unit_test(a_stream_reports_a_failed_page),
      cmocka_unit_test(a_closed_session_ends_an_open_result_with_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
