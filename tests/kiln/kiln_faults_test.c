/* Every kind of fault, seen from a socket. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "kiln/server/fault_place.h"
#include "tests/kiln/kiln_fault_fixture.h"

static void pause_ms(long ms)
{
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

  assert_int_equal(nanosleep(&pause, NULL), 0);
}

/* The call behind a fault works and was the only one that ran, but for `before`. */
static void assert_well_again(struct fixture *fx, int before)
{
  assert_true(fault_run(fx, "rows 1"));
  assert_int_equal(fx->wire.status, 200);
  assert_int_equal(fx->engine.executed, before + 1);
}

/* ---- Replies ------------------------------------------------------------------------------ */

static void check_status(const struct kiln_engine *engine, const char *rules, int executed)
{
  struct fixture fx;

  fault_begin(&fx, engine, rules);
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.status, 503);
  assert_string_equal(wire_header(&fx.wire, "Retry-After"), "2");
  assert_null(wire_header(&fx.wire, "Content-Type"));
  wire_assert_text(fx.wire.body, "");
  assert_int_equal(fx.engine.executed, executed);
  assert_well_again(&fx, executed);
  fixture_stop(&fx);
}

static void a_status_before_or_after_executing(void **state)
{
  static const char before[] =
      "[{\"call\": \"ExecuteStatement\", \"status\": 503, "
      "\"headers\": {\"Retry-After\": 2}}]";
  static const char after[] =
      "[{\"call\": \"ExecuteStatement\", \"status\": 503, \"when\": "
      "\"after\", \"headers\": {\"Retry-After\": \"2\"}}]";

  (void)state;
  check_status(&tiny_engine, before, 0);
  check_status(&tiny_engine, after, 1);
  check_status(&tiny_engine_inline, before, 0);
  check_status(&tiny_engine_inline, after, 1);
}

static void bodies_that_are_no_thrift(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"status\": 200, \"body\": \"<html>\", \"headers\": "
              "{\"content-type\": \"text/html\"}}, {\"call\": \"*\", \"nth\": 2, \"status\": 200},"
              " {\"call\": \"*\", \"nth\": 3, \"status\": 401, \"headers\": "
              "{\"x-databricks-reason-phrase\": \"Token expired.\"}}]");
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.status, 200);
  wire_assert_text(fx.wire.body, "<html>");
  assert_string_equal(wire_header(&fx.wire, "Content-Type"), "text/html");
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.status, 200);
  wire_assert_text(fx.wire.body, "");
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.status, 401);
  assert_string_equal(wire_header(&fx.wire, "x-databricks-reason-phrase"), "Token expired.");
  assert_well_again(&fx, 0);
  fixture_stop(&fx);
}

static void headers_alone_keep_the_reply(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"headers\": {\"X-Extra\": \"1\"}}]");
  assert_true(fault_run(&fx, "rows 3"));
  assert_string_equal(wire_header(&fx.wire, "X-Extra"), "1");
  assert_string_equal(wire_header(&fx.wire, "Content-Type"), "application/x-thrift");
  assert_true(fx.wire.body.size > 100);
  fixture_stop(&fx);
}

static void a_thrift_error_in_a_200(void **state)
{
  struct mtr_TOpenSessionReq open = {0};
  struct mtr_TOpenSessionResp *opened;
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"nth\": \"every\", \"error\": {\"sqlstate\": \"08S01\", "
              "\"message\": \"The warehouse is \\\"starting\\\".\", \"code\": 4}}]");
  ran = wire_execute(&fx.wire, &fx.session, "ddl", &ask_direct);
  assert_int_equal(ran->status->status_code, 4);
  wire_assert_text(ran->status->sql_state, "08S01");
  wire_assert_text(ran->status->error_message, "The warehouse is \"starting\".");
  wire_assert_text(ran->status->display_message, "The warehouse is \"starting\".");
  opened = WIRE_CALL(&fx.wire, OpenSession, &open);
  assert_int_equal(opened->status->status_code, 4);
  assert_int_equal(opened->server_protocol_version, MTR_PROTOCOL_SPARK_V8);
  assert_int_equal(fx.engine.executed, 0);
  assert_int_equal(fx.engine.sessions, 1);
  fixture_stop(&fx);
}

static void a_thrift_error_after_the_statement_ran(void **state)
{
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"ExecuteStatement\", \"when\": \"after\", \"error\": {\"sqlstate\": "
              "\"HY000\", \"message\": \"no\"}}]");
  ran = wire_execute(&fx.wire, &fx.session, "ddl", &ask_direct);
  assert_int_equal(ran->status->status_code, MTR_STATUS_ERROR);
  assert_int_equal(fx.engine.executed, 1);
  fixture_stop(&fx);
}

static void an_exception(void **state)
{
  struct mtr_TExecuteStatementResp resp;
  struct mtr_message head;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"exception\": {\"type\": 5, \"message\": \"lost\"}}]");
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(mtr_message_read(fx.wire.body, &mtr_TExecuteStatementResp_info, &resp,
                                    &fx.wire.arena, &head, NULL),
                   MORTAR_OK);
  assert_int_equal(head.type, MTR_MESSAGE_EXCEPTION);
  assert_int_equal(head.exception_type, 5);
  assert_int_equal(head.seqid, 77);
  wire_assert_text(head.exception_text, "lost");
  assert_int_equal(fx.engine.executed, 0);
  fixture_stop(&fx);
}

/* ---- Connections -------------------------------------------------------------------------- */

static void check_cut(const char *rules, int error)
{
  static const char start[] = {(char)0x80, 0x01, 0x00, 0x02, 0, 0, 0, 16, 'E', 'x'};
  struct fixture fx;
  const char *body;

  fault_begin(&fx, &tiny_engine, rules);
  assert_false(fault_run(&fx, "rows 2000"));
  assert_int_equal(fx.wire.error, error);
  body = strstr((const char *)fx.wire.in.data, "\r\n\r\n");
  assert_non_null(body);
  assert_ptr_equal(fx.wire.in.data + fx.wire.in.size, (const uint8_t *)body + 4 + 10);
  assert_memory_equal(body + 4, start, 10);
  assert_true(atoi(wire_header(&fx.wire, "Content-Length")) > 1000);
  assert_int_equal(fx.engine.executed, 1);
  fault_reconnect(&fx);
  assert_well_again(&fx, 1);
  fixture_stop(&fx);
}

static void a_reply_is_cut(void **state)
{
  (void)state;
  check_cut("[{\"call\": \"*\", \"cut\": 10}]", 0);
  check_cut("[{\"call\": \"*\", \"cut\": 10, \"reset\": true}]", ECONNRESET);
}

static void a_cut_reply_may_hang_instead(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"cut\": 0, \"hang\": true}]");
  fault_patience(&fx.wire, 200);
  assert_false(fault_run(&fx, "rows 1"));
  assert_int_equal(fx.wire.error, EAGAIN);
  assert_memory_equal(fx.wire.in.data + fx.wire.in.size - 4, "\r\n\r\n", 4);
  fixture_stop(&fx);
}

static void check_reset(const struct kiln_engine *engine, const char *rules, int executed)
{
  struct fixture fx;

  fault_begin(&fx, engine, rules);
  assert_false(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.error, ECONNRESET);
  assert_int_equal(fx.wire.in.size, 0);
  assert_int_equal(fx.engine.executed, executed);
  fault_reconnect(&fx);
  assert_well_again(&fx, executed);
  fixture_stop(&fx);
}

static void a_connection_is_reset(void **state)
{
  static const char before[] = "[{\"call\": \"ExecuteStatement\", \"reset\": true}]";
  static const char after[] = "[{\"call\": \"*\", \"reset\": true, \"when\": \"after\"}]";

  (void)state;
  check_reset(&tiny_engine, before, 0);
  check_reset(&tiny_engine, after, 1);
  check_reset(&tiny_engine_inline, before, 0);
  check_reset(&tiny_engine_inline, after, 1);
}

static int open_descriptors(void)
{
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;

  assert_non_null(folder);
  while (readdir(folder))
    count++;
  assert_int_equal(closedir(folder), 0);
  return count;
}

static void await_descriptors(int count)
{
  int i;

  for (i = 0; i < 5000 && open_descriptors() != count; i++)
    pause_ms(1);
  assert_int_equal(open_descriptors(), count);
}

/* The server lets go of the connection once the client has. */
static void check_hang(const char *rules, int executed)
{
  struct kiln_options options = {.faults = true};
  struct fixture fx;
  struct wire other;
  int before;

  fixture_start(&fx, &tiny_engine, &options);
  before = open_descriptors();
  fault_set(&fx, rules);
  wire_open(&other, fx.wire.port);
  fault_patience(&other, 200);
  wire_send_execute(&other, &fx.session, "ddl", &ask_direct);
  assert_false(wire_receive(&other));
  assert_int_equal(other.error, EAGAIN);
  assert_int_equal(fx.engine.executed, executed);
  wire_close(&other);
  await_descriptors(before);
  assert_well_again(&fx, executed);
  fixture_stop(&fx);
}

static void a_call_hangs(void **state)
{
  (void)state;
  check_hang("[{\"call\": \"*\", \"hang\": true}]", 0);
  check_hang("[{\"call\": \"*\", \"hang\": true, \"when\": \"after\"}]", 1);
}

static void a_reply_trickles(void **state)
{
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;
  int64_t begun;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"nth\": [1, 2], \"trickle\": {\"bytes\": 300, \"every_ms\": "
              "30}}]");
  begun = mtr_clock_now();
  ran = wire_execute(&fx.wire, &fx.session, "rows 10", &ask_direct);
  assert_true(mtr_clock_now() - begun >= 90 * MTR_MS); /* more than 900 bytes */
  assert_int_equal(wire_check_rows(ran->direct_results->result_set_metadata,
                                   ran->direct_results->result_set->results, 0),
                   10);
  /* The same connection again, twice: once more a trickle, then as ever. */
  ran = wire_execute(&fx.wire, &fx.session, "rows 10", &ask_direct);
  assert_int_equal(ran->status->status_code, MTR_STATUS_SUCCESS);
  assert_well_again(&fx, 2);
  fixture_stop(&fx);
}

static void delays_before_and_after(void **state)
{
  struct fixture fx;
  int64_t begun;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"delay_before_ms\": 200}, {\"call\": \"*\", \"nth\": 2, "
              "\"delay_after_ms\": 200}]");
  begun = mtr_clock_now();
  wire_send_execute(&fx.wire, &fx.session, "ddl", &ask_direct);
  pause_ms(100);
  assert_int_equal(fx.engine.executed, 0);
  assert_true(wire_receive(&fx.wire));
  assert_true(mtr_clock_now() - begun >= 200 * MTR_MS);
  assert_int_equal(fx.engine.executed, 1);
  begun = mtr_clock_now();
  wire_send_execute(&fx.wire, &fx.session, "ddl", &ask_direct);
  pause_ms(100);
  assert_int_equal(fx.engine.executed, 2);
  assert_true(wire_receive(&fx.wire));
  assert_true(mtr_clock_now() - begun >= 200 * MTR_MS);
  fixture_stop(&fx);
}

static void keep_alive_ends_silently(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"close_after_ms\": 0}]");
  assert_true(fault_run(&fx, "rows 1"));
  assert_int_equal(fx.wire.status, 200);
  assert_null(wire_header(&fx.wire, "Connection"));
  assert_false(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.error, 0);
  fault_reconnect(&fx);
  assert_well_again(&fx, 1);
  fixture_stop(&fx);
}

static void an_idle_connection_ends_later(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"nth\": [1, 3], \"close_after_ms\": 150}]");
  assert_true(fault_run(&fx, "rows 1"));
  assert_true(fault_run(&fx, "rows 1")); /* in time: it is not idle any more */
  pause_ms(300);
  assert_true(fault_run(&fx, "rows 1"));
  fault_patience(&fx.wire, 50);
  assert_false(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.error, EAGAIN);
  fault_patience(&fx.wire, 5000);
  assert_false(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.error, 0);
  fixture_stop(&fx);
}

static void a_client_may_close_an_idle_connection_first(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"close_after_ms\": 100}]");
  assert_true(fault_run(&fx, "rows 1"));
  fault_reconnect(&fx);
  pause_ms(200);
  assert_well_again(&fx, 1);
  fixture_stop(&fx);
}

static void check_connect(const char *rules, int error, bool sends_first)
{
  static const char request[] = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
  struct fixture fx;
  struct wire wire;

  fault_begin(&fx, &tiny_engine, rules);
  wire_open(&wire, fx.wire.port);
  if (sends_first) wire_send(&wire, request, sizeof request - 1);
  assert_false(wire_receive(&wire));
  /* A send into the reset connection may have taken the error already. */
  assert_true(wire.error == error || (sends_first && wire.error == 0));
  assert_int_equal(wire.in.size, 0);
  wire_close(&wire);
  wire_open(&wire, fx.wire.port);
  wire_http(&wire, "GET", "/x", "", 0);
  assert_int_equal(wire.status, 404);
  wire_close(&wire);
  assert_int_equal(fault_stat(&fx, "other_faults"), 1);
  assert_well_again(&fx, 0);
  fixture_stop(&fx);
}

static void a_new_connection_is_ended(void **state)
{
  (void)state;
  check_connect("[{\"call\": \"connect\", \"reset\": true}]", ECONNRESET, false);
  check_connect("[{\"call\": \"connect\", \"reset\": true}]", ECONNRESET, true);
  check_connect("[{\"call\": \"connect\", \"close_after_ms\": 0}]", 0, false);
  check_connect("[{\"call\": \"connect\", \"close_after_ms\": 50}]", 0, false);
}

/* Often enough the statement is there before the server has got round to ending the connection. */
static void nothing_is_read_of_a_new_connection(void **state)
{
  enum { TIMES = 200 };
  struct fixture fx;
  struct wire wire;
  int i;

  (void)state;
  fault_begin(&fx, &tiny_engine_inline, "[]");
  fault_set(&fx, "[{\"call\": \"connect\", \"nth\": \"every\", \"reset\": true}]");
  for (i = 0; i < TIMES; i++) {
    wire_open(&wire, fx.wire.port);
    wire_send_execute(&wire, &fx.session, "ddl", &ask_direct);
    assert_false(wire_receive(&wire));
    wire_close(&wire);
  }
  assert_int_equal(fx.engine.executed, 0);
  assert_well_again(&fx, 0); /* on the connection that was there before */
  fixture_stop(&fx);
}

/* ---- Wrong lengths and corrupt bytes ------------------------------------------------------- */

static void content_length_is_off(void **state)
{
  struct fixture fx;
  int length;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"content_length_add\": -7}, {\"call\": \"*\", \"nth\": 2, "
              "\"content_length_add\": 9, \"close_after_ms\": 0}]");
  assert_true(fault_run(&fx, "ddl"));
  length = atoi(wire_header(&fx.wire, "Content-Length"));
  fault_reconnect(&fx);
  assert_false(fault_run(&fx, "ddl"));
  assert_int_equal(atoi(wire_header(&fx.wire, "Content-Length")), length + 7 + 9);
  fixture_stop(&fx);
}

/* A reply of FetchResults, raw: it names no handle, so the same rows give the same bytes. */
static void fetch_raw(struct fixture *fx, struct mtr_buf *out)
{
  struct wire_ask ask = {.async = true};
  struct mtr_TFetchResultsReq req = {0};
  struct wire_handle op;

  wire_keep(
      &op,
      wire_execute(&fx->wire, &fx->session, "rows 2500", &ask)->operation_handle->operation_id);
  while (fixture_poll(fx, &op)->operation_state != MTR_OPERATION_FINISHED)
    continue;
  MTR_SET(&req, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, 100000);
  wire_send_call(&fx->wire, "FetchResults", &mtr_TFetchResultsReq_info, &req);
  assert_true(wire_receive(&fx->wire));
  assert_int_equal(fx->wire.status, 200);
  mtr_buf_init(out, NULL, "raw reply", 16 << 20);
  assert_int_equal(mtr_buf_append(out, fx->wire.body.data, fx->wire.body.size, NULL), MORTAR_OK);
  assert_int_equal(fixture_close(fx, &op), MTR_STATUS_SUCCESS);
}

/* The rule changes the bytes from `at` on to want, and no others. */
static void check_change(const char *edits, const char *place, size_t at, bool in_bytes,
                         const uint8_t *add, size_t size)
{
  struct kiln_place found = {0, 0, 0};
  struct mtr_buf good, bad;
  struct fixture fx;
  char rules[512];
  size_t i, first;

  fault_begin(&fx, &tiny_engine, "[]");
  fetch_raw(&fx, &good);
  assert_in_range(snprintf(rules, sizeof rules, "[{\"call\": \"FetchResults\", %s}]", edits), 1,
                  511);
  fault_set(&fx, rules);
  fetch_raw(&fx, &bad);
  assert_int_equal(good.size, bad.size);
  if (place)
    assert_true(kiln_place_find(mtr_buf_span(&good), &mtr_TFetchResultsResp_info, place, &found));
  first = (place ? (in_bytes ? found.bytes : found.number) : 0) + at;
  for (i = 0; i < good.size; i++) {
    bool changed = i >= first && i < first + size;
    assert_int_equal(bad.data[i], (uint8_t)(good.data[i] ^ (changed ? add[i - first] : 0)));
  }
  assert_int_equal(fault_rule(&fx, 0, "missed"), 0);
  mtr_buf_fini(&good);
  mtr_buf_fini(&bad);
  fixture_stop(&fx);
}

static const uint8_t flipped[] = {0xFF};

static void bytes_are_flipped(void **state)
{
  (void)state;
  check_change("\"flip\": [{\"offset\": 40}]", NULL, 40, false, flipped, 1);
  check_change("\"flip\": [{\"place\": \"results.arrowBatches[1].batch\", \"offset\": 20}]",
               "results.arrowBatches[1].batch", 20, true, flipped, 1);
}

static void bytes_are_flipped_from_the_end(void **state)
{
  struct mtr_buf good, bad;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  fetch_raw(&fx, &good);
  fault_set(&fx, "[{\"call\": \"FetchResults\", \"flip\": [{\"offset\": -1}]}]");
  fetch_raw(&fx, &bad);
  assert_int_equal(bad.size, good.size);
  assert_memory_equal(bad.data, good.data, good.size - 1);
  assert_int_equal(bad.data[bad.size - 1], good.data[good.size - 1] ^ 0xFF);
  mtr_buf_fini(&good);
  mtr_buf_fini(&bad);
  fixture_stop(&fx);
}

/* 3 batches (11 in binary) and 5 more are 8 (1000): four bits change. */
static void counts_and_lengths_are_off(void **state)
{
  static const uint8_t three_to_eight[] = {0, 0, 0, 0x3 ^ 0x8};
  static const uint8_t magic[] = {0, 0, 0, 0x2 ^ 0x3};

  (void)state;
  check_change("\"lengths\": [{\"place\": \"results.arrow_batches\", \"add\": 5}]",
               "results.arrowBatches", 0, false, three_to_eight, 4);
  check_change("\"lengths\": [{\"offset\": 0, \"add\": 1}]", NULL, 0, false, magic, 4);
}

static void a_change_that_finds_nothing_is_told(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"*\", \"nth\": \"every\", \"flip\": [{\"place\": "
              "\"directResults.resultSet.results.arrowBatches[7].batch\", \"offset\": 0}]}]");
  assert_well_again(&fx, 0);
  assert_int_equal(fault_rule(&fx, 0, "hits"), 1);
  assert_int_equal(fault_rule(&fx, 0, "missed"), 1);
  fixture_stop(&fx);
}

/* ---- Lost handles ------------------------------------------------------------------------- */

static void an_operation_is_lost(void **state)
{
  struct mtr_TFetchResultsResp *page;
  struct wire_handle op;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"FetchResults\", \"lose\": \"operation\"}]");
  wire_keep(
      &op,
      wire_execute(&fx.wire, &fx.session, "rows 5", &ask_async)->operation_handle->operation_id);
  page = fixture_fetch(&fx, &op, 10, 0);
  assert_int_equal(page->status->status_code, MTR_STATUS_ERROR);
  assert_true(wire_contains(page->status->error_message, "Invalid OperationHandle"));
  assert_int_equal(fault_stat(&fx, "operations_open"), 0);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  fixture_stop(&fx);
}

static void a_session_is_lost(void **state)
{
  struct mtr_TExecuteStatementResp *ran;
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"ExecuteStatement\", \"nth\": 2, \"lose\": \"session\"}]");
  assert_well_again(&fx, 0);
  ran = wire_execute(&fx.wire, &fx.session, "rows 1", &ask_direct);
  assert_true(wire_contains(ran->status->error_message, "Invalid SessionHandle"));
  assert_int_equal(fault_stat(&fx, "sessions_open"), 0);
  assert_int_equal(fx.engine.executed, 1);
  fixture_await(&fx.engine.sessions, 0);
  fixture_stop(&fx);
}

/* ---- Paths -------------------------------------------------------------------------------- */

static int get(struct fixture *fx, const char *path)
{
  wire_http(&fx->wire, "GET", path, "", 0);
  return fx->wire.status;
}

static void other_paths_have_faults_too(void **state)
{
  static const char body[] = "hello";
  struct fixture fx;
  int64_t begun;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"path\": \"/file\", \"flip\": [{\"offset\": 0}]}, {\"path\": \"/file\", "
              "\"nth\": 2, \"status\": 403, \"body\": \"expired\"}, {\"path\": \"/file\", "
              "\"nth\": 3, \"delay_before_ms\": 120}, {\"path\": \"/file\", \"nth\": 4, \"cut\": "
              "2}]");
  assert_int_equal(kiln_server_route(fx.server, "/file", 200, "text/plain", body, 5, 1000, NULL),
                   MORTAR_OK);
  assert_int_equal(get(&fx, "/other"), 404);
  assert_int_equal(get(&fx, "/file"), 200);
  wire_assert_text(fx.wire.body,
                   "\x97"
                   "ello");
  assert_int_equal(get(&fx, "/file"), 403);
  wire_assert_text(fx.wire.body, "expired");
  begun = mtr_clock_now();
  assert_int_equal(get(&fx, "/file"), 200);
  assert_true(mtr_clock_now() - begun >= 120 * MTR_MS);
  wire_send(&fx.wire, "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n", 40);
  assert_false(wire_receive(&fx.wire));
  assert_memory_equal(fx.wire.in.data + fx.wire.in.size - 6, "\r\n\r\nhe", 6);
  fixture_stop(&fx);
}

/* A path's rule is for what is no call; Kiln's own paths are never hit. */
static void calls_are_no_paths(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"path\": \"*\", \"nth\": \"every\", \"status\": 418}, {\"call\": \"*\", "
              "\"nth\": \"every\", \"status\": 503}]");
  assert_true(fault_run(&fx, "ddl"));
  assert_int_equal(fx.wire.status, 503);
  assert_int_equal(get(&fx, "/anything"), 418);
  assert_int_equal(fault_stat(&fx, "sessions_open"), 1);
  fixture_stop(&fx);
}

/* ---- Leaving and stopping ------------------------------------------------------------------ */

static const char *const slow_rules[] = {
    "[{\"call\": \"*\", \"delay_before_ms\": 60000}]",
    "[{\"call\": \"*\", \"delay_after_ms\": 60000}]",
    "[{\"call\": \"*\", \"hang\": true}]",
    "[{\"call\": \"*\", \"hang\": true, \"when\": \"after\"}]",
    "[{\"call\": \"*\", \"trickle\": {\"bytes\": 1, \"every_ms\": 1000}}]",
    "[{\"call\": \"*\", \"cut\": 3, \"hang\": true}]",
    "[{\"call\": \"*\", \"close_after_ms\": 60000}]",
};

enum { SLOW_RULES = sizeof slow_rules / sizeof slow_rules[0] };

static void send_into(struct fixture *fx, const char *rules)
{
  fault_begin(fx, &tiny_engine, rules);
  wire_send_execute(&fx->wire, &fx->session, "rows 10", &ask_direct);
  while (fault_rule(fx, 0, "hits") == 0)
    pause_ms(1);
}

static void stopping_ends_every_fault(void **state)
{
  struct fixture fx;
  int64_t begun;
  size_t i;

  (void)state;
  for (i = 0; i < SLOW_RULES; i++) {
    send_into(&fx, slow_rules[i]);
    begun = mtr_clock_now();
    fixture_stop(&fx);
    assert_true(mtr_clock_now() - begun < 5 * MTR_SECOND);
  }
}

static void stopping_sends_what_was_delayed(void **state)
{
  struct fixture fx;

  (void)state;
  send_into(&fx, slow_rules[1]);
  fixture_await(&fx.engine.contexts, 0);
  kiln_server_stop(fx.server);
  fx.server = NULL;
  assert_true(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.status, 200);
  fixture_stop(&fx);
}

static void clients_may_leave_in_every_fault(void **state)
{
  struct fixture fx;
  size_t i;

  (void)state;
  for (i = 0; i < SLOW_RULES; i++) {
    send_into(&fx, slow_rules[i]);
    fault_reconnect(&fx);
    assert_int_equal(fault_control(&fx, "DELETE", "/kiln/faults", "", NULL), 200);
    assert_true(fault_run(&fx, "rows 1"));
    fixture_stop(&fx);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_status_before_or_after_executing),
      cmocka_unit_test(bodies_that_are_no_thrift),
      cmocka_unit_test(headers_alone_keep_the_reply),
      cmocka_unit_test(a_thrift_error_in_a_200),
      cmocka_unit_test(a_thrift_error_after_the_statement_ran),
      cmocka_unit_test(an_exception),
      cmocka_unit_test(a_reply_is_cut),
      cmocka_unit_test(a_cut_reply_may_hang_instead),
      cmocka_unit_test(a_connection_is_reset),
      cmocka_unit_test(a_call_hangs),
      cmocka_unit_test(a_reply_trickles),
      cmocka_unit_test(delays_before_and_after),
      cmocka_unit_test(keep_alive_ends_silently),
      cmocka_unit_test(an_idle_connection_ends_later),
      cmocka_unit_test(a_client_may_close_an_idle_connection_first),
      cmocka_unit_test(a_new_connection_is_ended),
      cmocka_unit_test(nothing_is_read_of_a_new_connection),
      cmocka_unit_test(content_length_is_off),
      cmocka_unit_test(bytes_are_flipped),
      cmocka_unit_test(bytes_are_flipped_from_the_end),
      cmocka_unit_test(counts_and_lengths_are_off),
      cmocka_unit_test(a_change_that_finds_nothing_is_told),
      cmocka_unit_test(an_operation_is_lost),
      cmocka_unit_test(a_session_is_lost),
      cmocka_unit_test(other_paths_have_faults_too),
      cmocka_unit_test(calls_are_no_paths),
      cmocka_unit_test(stopping_ends_every_fault),
      cmocka_unit_test(stopping_sends_what_was_delayed),
      cmocka_unit_test(clients_may_leave_in_every_fault),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
