/* Results: all rows in order or an error, never a short list. */
#include <stdio.h>

#include "codec/thrift/tcli.h"
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

/* ---- Old servers ---- */

static void check_asked(const char *json, const char *name, bool wanted)
{
  if ((strstr(json, name) != NULL) != wanted)
    fail_msg("%s is %s in %s", name, wanted ? "not" : "there", json);
}

static void start_as(struct client *c, int version)
{
  memset(c, 0, sizeof *c);
  fake_server_start(&c->fs);
  c->fs.version = version;
  assert_int_equal(client_open(c, NULL, NULL, NULL), MORTAR_OK);
}

/* Nothing is asked of a server that its answered version does not know. */
static void features_wait_for_their_version(void **state)
{
  static const struct {
    int since;
    const char *name;
  } execute[] = {{0xA501, "get_direct_results"},        {0xA501, "can_read_arrow_result"},
                 {0xA501, "timestamp_as_arrow"},        {0xA503, "can_download_result"},
                 {0xA505, "decimal_as_arrow"},          {0xA505, "complex_types_as_arrow"},
                 {0xA505, "interval_types_as_arrow"},   {0xA505, "null_type_as_arrow"},
                 {0xA506, "can_decompress_lz4_result"}, {0, "run_async"}},
    fetch[] = {{0xA501, "max_bytes"}, {0xA505, "include_result_set_metadata"}, {0, "max_rows"}};
  int step, version;
  int64_t rows;
  size_t i;

  (void)state;
  for (step = 0; step < 19; step++) {
    struct client c;
    version = step < 10 ? step : 0xA501 + step - 10; /* HIVE_V1 to V10, SPARK_V1 to V9 */
    start_as(&c, version);
    fake_server_batches(&c.fs, 2, 7);
    c.fs.pages = 2;
    c.fs.table = version < 5 ? FAKE_TABLE_ROWS : FAKE_TABLE_COLUMNS;
    c.fs.more = version < 10 ? FAKE_MORE_ALWAYS_FALSE : FAKE_MORE_TRUTH;
    assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
    assert_int_equal(rows, 14);
    for (i = 0; i < sizeof execute / sizeof *execute; i++)
      check_asked(c.fs.execute_asked, execute[i].name, version >= execute[i].since);
    for (i = 0; i < sizeof fetch / sizeof *fetch; i++)
      check_asked(c.fs.fetch_asked, fetch[i].name, version >= fetch[i].since);
    check_asked(c.fs.fetch_asked, "\"max_rows\":1000}", version < 5);
    assert_int_equal(c.fs.schemas, version < 10 ? 1 : 0);
    assert_int_equal(c.fs.fetched, version < 10 ? 3 : 1); /* the last one has no rows */
    client_stop(&c);
  }
}

static void a_catalog_or_schema_waits_for_its_version(void **state)
{
  static const char *const options[] = {"catalog", "schema"};
  static const int versions[] = {0, 9, 0xA501, 0xA503};
  size_t i, k;

  (void)state;
  for (i = 0; i < 2; i++)
    for (k = 0; k < 4; k++) {
      struct client c = {.session = NULL};
      if (i == 1 && versions[k] <= 9) continue; /* Hive's: see hive_test.c */
      fake_server_start(&c.fs);
      c.fs.version = versions[k];
      assert_int_equal(client_open(&c, NULL, options[i], "main"), MORTAR_UNSUPPORTED);
      assert_non_null(strstr(c.err.message, options[i]));
      client_stop(&c);
    }
}

/* A server of Hive's says false always; of another one that leaves it out the same holds. */
static void rows_end_with_a_page_without_rows(void **state)
{
  static const int versions[] = {0, 4, 5, 9, 0xA501, 0xA508};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof versions / sizeof *versions; i++) {
    struct client c;
    int64_t rows;
    start_as(&c, versions[i]);
    c.fs.table = versions[i] < 5 ? FAKE_TABLE_ROWS : FAKE_TABLE_COLUMNS;
    c.fs.more = versions[i] < 10 ? FAKE_MORE_ALWAYS_FALSE : FAKE_MORE_ABSENT;
    fake_server_batches(&c.fs, 3, 65);
    c.fs.batches[2].rows = c.fs.batches[2].declared = 1;
    c.fs.pages = 3;
    assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
    assert_int_equal(rows, 131);
    assert_int_equal(c.fs.fetched, versions[i] < 10 ? 4 : 3);
    assert_int_equal(c.fs.operations_closed, 1);
    client_stop(&c);
  }
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

/* ---- Ends ---- */

/* Every member that a reply without rows can lack, alone and in all combinations. */
static void empty_results_of_every_shape(void **state)
{
  struct client c;
  unsigned lacks;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 1, 0);
  c.fs.pages = 1;
  for (lacks = 0; lacks <= FAKE_LACKS_ALL; lacks++)
    for (c.fs.batch_count = 0; c.fs.batch_count < 2; c.fs.batch_count++) {
      struct mortar_result *res = NULL;
      struct ArrowArray batch;
      c.fs.lacks = lacks;
      if (mortar_query(c.session, "SELECT", NULL, &res, &c.err) != MORTAR_OK ||
          mortar_result_next(res, NULL, &batch, &c.err) != MORTAR_OK)
        fail_msg("without 0x%x: %s", lacks, c.err.message);
      assert_null(batch.release);
      mortar_result_free(res);
    }
  c.fs.lacks = FAKE_NO_STATE | FAKE_NO_OFFSET | FAKE_NO_CLOSE | FAKE_NO_METADATA;
  fake_server_batches(&c.fs, 9, 11); /* with rows these may be lacking, too */
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 99);
  client_stop(&c);
}

/* Its bytes are gone once the statement was polled for. */
static void a_schema_before_the_end_is_asked_for_again(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.early_metadata = true;
  c.fs.live_polls = 3;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  assert_int_equal(c.fs.schemas, 1);
  client_stop(&c);
}

/* True with a page without rows means: ask again. */
static void pages_without_rows_are_no_end(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 7);
  c.fs.batches[1].rows = c.fs.batches[1].declared = 0;
  c.fs.batches[2].first = 7;
  c.fs.pages = 3;
  c.fs.empty_pages = 2;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 14);
  assert_int_equal(c.fs.fetched, 4);
  client_stop(&c);
}

/* closeOperation beside a hasMoreRows of true: the rows are asked for. */
static void a_close_that_comes_too_soon_loses_no_rows(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 4, 7);
  c.fs.pages = 4;
  c.fs.closes_too_soon = true;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 28);
  c.fs.more = FAKE_MORE_ABSENT; /* then the close is the end */
  c.fs.pages = 1;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 28);
  client_stop(&c);
}

static void a_page_that_repeats_rows_is_an_error(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 7);
  c.fs.pages = 3;
  c.fs.repeats = true;
  assert_int_equal(client_rows(&c, &rows), MORTAR_PROTOCOL);
  assert_int_equal(rows, 7);
  assert_non_null(strstr(c.err.message, "begins at row 6, expected was row 7"));
  client_stop(&c);
}

/* Who knows whether a statement has rows: the handle, or the state after the end. */
static void the_state_says_whether_there_are_rows(void **state)
{
  struct mortar_result *res = NULL;
  struct client c;
  int64_t rows;

  (void)state;
  start_as(&c, MTR_PROTOCOL_HIVE_V10);
  c.fs.table = FAKE_TABLE_COLUMNS;
  c.fs.result_set = FAKE_RESULT_LATE;
  c.fs.live_polls = 2;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  c.fs.result_set = FAKE_RESULT_NONE;
  c.fs.fetched = c.fs.schemas = 0;
  assert_int_equal(mortar_query(c.session, "CREATE", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_column_count(res), 0);
  mortar_result_free(res);
  assert_int_equal(c.fs.fetched + c.fs.schemas, 0); /* to ask is an error on HiveServer2 */
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
  c.fs.batches[1].end_markers = 1;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 30);
  client_stop(&c);
}

/* Zeros are end markers of four bytes: a frame of a few MB can hold a billion of them. */
static void a_run_of_end_markers_is_not_walked(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 10);
  c.fs.batches[1].end_markers = 2;
  assert_int_equal(client_rows(&c, &rows), MORTAR_CORRUPT);
  assert_non_null(strstr(c.err.message, "batch 1"));
  client_stop(&c);
}

/* Wherever the batch stands, and whatever the batch itself looks like. */
static void a_schema_before_a_batch_must_be_the_results(void **state)
{
  static const int counts[] = {1, 2, 72};
  struct client c;
  int64_t rows;
  size_t k, where;
  int how;

  (void)state;
  client_start(&c);
  for (k = 0; k < sizeof counts / sizeof *counts; k++)
    for (where = 0; where < 3; where++)
      for (how = FAKE_SCHEMA_SAME; how <= FAKE_SCHEMA_CUT; how++) {
        const int at = (int)where * (counts[k] - 1) / 2;
        const bool good = how == FAKE_SCHEMA_SAME || how == FAKE_SCHEMA_RENAMED;
        char words[20];
        fake_server_batches(&c.fs, counts[k], 5);
        c.fs.batches[at].schema = how;
        assert_int_equal(client_rows(&c, &rows), good ? MORTAR_OK : MORTAR_CORRUPT);
        assert_int_equal(rows, good ? counts[k] * 5 : at * 5);
        if (good) continue;
        (void)snprintf(words, sizeof words, "batch %d: ", at);
        assert_non_null(strstr(c.err.message, words));
        assert_true(c.err.query_id[0] != '\0');
      }
  client_stop(&c);
}

/* ---- Damage ---- */

enum packing { PLAIN, LZ4, LZ4_CHECKED };

/* One batch of a reply is damaged, at one byte. */
struct damage {
  enum packing packing;
  int batches, where, at;
  bool cut; /* the batch ends there; else the byte has changed */
};

static enum mortar_status read_damaged(struct client *c, const struct damage *d, int64_t *rows)
{
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  enum mortar_status st;

  c->fs.lz4 = d->packing != PLAIN;
  c->fs.checksum = d->packing == LZ4_CHECKED;
  fake_server_batches(&c->fs, d->batches, 5);
  if (d->cut)
    c->fs.batches[d->where].cut = d->at + 1;
  else
    c->fs.batches[d->where].corrupt_at = d->at;
  *rows = 0;
  st = mortar_query(c->session, "SELECT", NULL, &res, &c->err);
  while (st == MORTAR_OK) {
    st = mortar_result_next(res, NULL, &batch, &c->err);
    if (st != MORTAR_OK || !batch.release) break;
    *rows += batch.length;
    batch.release(&batch);
  }
  mortar_result_free(res);
  return st;
}

/* No checksum covers the values and heads that are in the messages. */
static bool may_go_unseen(const struct client *c, const struct damage *d)
{
  enum { FRAME_HEAD = 7, END_MARK = 4 };

  if (d->cut || d->packing == LZ4_CHECKED) return false;
  return d->packing == PLAIN || (d->at >= END_MARK && d->at < c->fs.packed_size - FRAME_HEAD);
}

static bool names_batch(const char *message, int number)
{
  char words[20];
  const int n = snprintf(words, sizeof words, "batch %d", number);
  const char *at = strstr(message, words);

  return at && (at[n] < '0' || at[n] > '9');
}

/* CORRUPT, and the error names batch, server and statement. What no checksum covers may give all
 * rows with another value, and a message of another version of Arrow: but rows never get lost. */
static void check_damage(struct client *c, const struct damage *d)
{
  int64_t rows;
  const enum mortar_status st = read_damaged(c, d, &rows);
  const bool unseen = may_go_unseen(c, d);

  if (unseen && st == MORTAR_OK && rows == d->batches * 5) return;
  if (unseen && st == MORTAR_UNSUPPORTED && strstr(c->err.message, "version")) return;
  if (st == MORTAR_CORRUPT && names_batch(c->err.message, d->where) &&
      strstr(c->err.message, "127.0.0.1:") && c->err.query_id[0])
    return;
  fail_msg("packing %d, batch %d of %d, byte %d from the end, cut %d: %s, %d rows, %s", d->packing,
           d->where, d->batches, d->at, d->cut, mortar_status_name(st), (int)rows,
           st == MORTAR_OK ? "" : c->err.message);
}

/* Every byte, but of one batch among 72 every byte near the end and some of the others. */
static void check_batch(struct client *c, struct damage d)
{
  c->fs.packed_size = 1;
  for (d.at = 0; d.at < c->fs.packed_size; d.at += d.batches < 3 || d.at < 16 ? 1 : 13)
    check_damage(c, &d);
}

static void damage_of_any_batch_is_an_error(void **state)
{
  static const int counts[] = {1, 2, 72};
  struct client c;
  struct damage d;
  size_t k;
  int third, cut;

  (void)state;
  client_start(&c);
  for (d.packing = PLAIN; d.packing <= LZ4_CHECKED; d.packing++)
    for (k = 0; k < sizeof counts / sizeof *counts; k++)
      for (third = 0; third < 3; third++)
        for (cut = 0; cut < 2; cut++) {
          d.batches = counts[k];
          d.where = third * (d.batches - 1) / 2;
          d.cut = cut;
          check_batch(&c, d);
        }
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

/* Neither the metadata nor anybody else tells an Arrow schema: the Thrift schema does, or one that
 * stands in the first batch, which has names of its own. */
static void arrow_without_an_arrow_schema(void **state)
{
  struct mortar_result *res = NULL;
  struct client c;
  int64_t rows;
  int lz4, direct;

  (void)state;
  client_start(&c);
  c.fs.table = FAKE_TABLE_ARROW;
  for (lz4 = 0; lz4 < 2; lz4++)
    for (direct = 0; direct < 2; direct++) {
      c.fs.lz4 = lz4;
      c.fs.no_schema = !direct; /* then GetResultSetMetadata tells it */
      fake_server_batches(&c.fs, 9, 11);
      c.fs.pages = 3;
      assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
      assert_int_equal(rows, 99);
      c.fs.batches[0].schema = FAKE_SCHEMA_SAME;
      assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
      assert_int_equal(rows, 99);
      c.fs.other_schema = true;
      assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
      assert_string_equal(mortar_result_column_name(res, 0), "m");
      assert_int_equal(client_drain(res, &rows, &c.err), MORTAR_OK);
      assert_int_equal(rows, 99);
      mortar_result_free(res);
      c.fs.other_schema = false;
    }
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
      cmocka_unit_test(features_wait_for_their_version),
      cmocka_unit_test(a_catalog_or_schema_waits_for_its_version),
      cmocka_unit_test(rows_end_with_a_page_without_rows),
      cmocka_unit_test(a_failed_page_is_an_error_every_time),
      cmocka_unit_test(small_batches_are_joined),
      cmocka_unit_test(a_corrupt_batch_among_joined_ones_is_an_error),
      cmocka_unit_test(empty_results_of_every_shape),
      cmocka_unit_test(a_schema_before_the_end_is_asked_for_again),
      cmocka_unit_test(pages_without_rows_are_no_end),
      cmocka_unit_test(a_close_that_comes_too_soon_loses_no_rows),
      cmocka_unit_test(a_page_that_repeats_rows_is_an_error),
      cmocka_unit_test(the_state_says_whether_there_are_rows),
      cmocka_unit_test(declared_row_counts_rule),
      cmocka_unit_test(an_end_marker_inside_a_batch_hides_no_rows),
      cmocka_unit_test(a_run_of_end_markers_is_not_walked),
      cmocka_unit_test(a_schema_before_a_batch_must_be_the_results),
      cmocka_unit_test(damage_of_any_batch_is_an_error),
      cmocka_unit_test(a_large_page_is_decoded_in_windows),
      cmocka_unit_test(a_schema_given_only_by_metadata_is_asked_for),
      cmocka_unit_test(arrow_without_an_arrow_schema),
      cmocka_unit_test(a_thrift_schema_stands_in_for_a_missing_one),
      cmocka_unit_test(equal_schemas_share_a_shape),
      cmocka_unit_test(rows_outlive_result_and_session),
      cmocka_unit_test(a_stream_reports_a_failed_page),
      cmocka_unit_test(a_closed_session_ends_an_open_result_with_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
