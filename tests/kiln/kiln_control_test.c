/* Kiln's own paths: who may ask, what is there when, and the counters that tests read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kiln/server/control.h"
#include "tests/kiln/kiln_fault_fixture.h"

/* ---- Who may ask --------------------------------------------------------------------------- */

static void hosts_of_this_machine(void **state)
{
  static const char *const ours[] = {"localhost",   "localhost:80", "LocalHost", "127.0.0.1",
                                     "127.9.9.9:1", "[::1]:8080",   "[::1]",     "10.1.2.3:5"};
  static const char *const others[] = {"",          "example.com", "localhost.example.com",
                                       "10.1.2.4",  "128.0.0.1",   "127.0.0.1.example.com",
                                       ":80",       "[::2]",       "notlocalhost",
                                       "127.0.0.x", "[",           "localhost@example.com"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
    if (!kiln_control_is_ours("10.1.2.3", ours[i])) fail_msg("%s", ours[i]);
  for (i = 0; i < sizeof others / sizeof others[0]; i++)
    if (kiln_control_is_ours("10.1.2.3", others[i])) fail_msg("%s", others[i]);
  assert_true(kiln_control_is_ours("0.0.0.0", "10.1.2.4:80"));
  assert_true(kiln_control_is_ours("::", "[fe80::1]:80"));
  assert_false(kiln_control_is_ours("0.0.0.0", "example.com"));
}

static int ask_as(struct fixture *fx, const char *host, const char *headers, const char *path)
{
  char request[512];
  struct wire wire;
  int status, n;

  n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n%s%s%s%s\r\n", path,
               host ? "Host: " : "", host ? host : "", host ? "\r\n" : "", headers);
  assert_in_range(n, 1, sizeof request - 1);
  wire_open(&wire, fx->wire.port);
  wire_send(&wire, request, (size_t)n);
  assert_true(wire_receive(&wire));
  status = wire.status;
  wire_close(&wire);
  return status;
}

static void other_origins_are_refused(void **state)
{
  static const char *const paths[] = {"/kiln/stats", "/kiln/faults", "/kiln/clock"};
  struct fixture fx;
  size_t i;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  for (i = 0; i < 3; i++) {
    assert_int_equal(ask_as(&fx, "localhost", "", paths[i]), 200);
    assert_int_equal(ask_as(&fx, NULL, "", paths[i]), 200);
    assert_int_equal(ask_as(&fx, "evil.example", "", paths[i]), 403);
    assert_int_equal(ask_as(&fx, "localhost", "Origin: http://127.0.0.1:1\r\n", paths[i]), 200);
    assert_int_equal(ask_as(&fx, "localhost", "Origin: https://evil.example\r\n", paths[i]), 403);
    assert_int_equal(ask_as(&fx, "localhost", "Origin: null\r\n", paths[i]), 403);
  }
  assert_int_equal(ask_as(&fx, "evil.example", "", "/elsewhere"), 404);
  fixture_stop(&fx);
}

/* ---- What is there ------------------------------------------------------------------------- */

static void without_the_option_there_are_no_faults(void **state)
{
  struct fixture fx;
  json_t *stats;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  assert_int_equal(fault_control(&fx, "GET", "/kiln/faults", "", NULL), 404);
  assert_int_equal(
      fault_control(&fx, "POST", "/kiln/faults", "[{\"call\": \"*\", \"status\": 503}]", NULL),
      404);
  assert_int_equal(fault_control(&fx, "POST", "/kiln/clock", "{\"advance_ms\": 1}", NULL), 404);
  assert_true(fault_run(&fx, "rows 1"));
  assert_int_equal(fx.wire.status, 200);
  assert_int_equal(fault_control(&fx, "GET", "/kiln/stats", "", &stats), 200);
  assert_null(json_object_get(stats, "texts"));
  json_decref(stats);
  fixture_stop(&fx);
}

static void methods(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  assert_int_equal(fault_control(&fx, "PUT", "/kiln/faults", "[]", NULL), 405);
  assert_int_equal(fault_control(&fx, "DELETE", "/kiln/clock", "", NULL), 405);
  assert_int_equal(fault_control(&fx, "GET", "/kiln/nothing", "", NULL), 404);
  fixture_stop(&fx);
}

static size_t rules_of(struct fixture *fx, const char *method, const char *body)
{
  json_t *answer;
  size_t count;

  assert_int_equal(fault_control(fx, method, "/kiln/faults", body, &answer), 200);
  count = json_array_size(json_object_get(answer, "rules"));
  json_decref(answer);
  return count;
}

static void rules_are_added_replaced_and_cleared(void **state)
{
  static const char one[] = "[{\"call\": \"*\", \"status\": 503}]";
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  assert_int_equal(rules_of(&fx, "POST", one), 1);
  assert_int_equal(rules_of(&fx, "POST", one), 2);
  assert_int_equal(rules_of(&fx, "POST", "{\"rules\": []}"), 2);
  assert_int_equal(
      rules_of(&fx, "POST", "{\"replace\": true, \"rules\": [{\"call\": \"*\", \"status\": 500}]}"),
      1);
  assert_int_equal(rules_of(&fx, "GET", ""), 1);
  assert_int_equal(rules_of(&fx, "DELETE", ""), 0);
  assert_true(fault_run(&fx, "rows 1"));
  assert_int_equal(fx.wire.status, 200);
  fixture_stop(&fx);
}

static void a_bad_script_changes_nothing(void **state)
{
  struct fixture fx;
  json_t *answer;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[{\"call\": \"*\", \"status\": 503}]");
  assert_int_equal(fault_control(&fx, "POST", "/kiln/faults",
                                 "{\"replace\": true, \"rules\": [{\"call\": \"\\\"\"}]}", &answer),
                   400);
  assert_non_null(strstr(json_string_value(json_object_get(answer, "message")), "rule 1"));
  json_decref(answer);
  assert_int_equal(rules_of(&fx, "GET", ""), 1);
  fixture_stop(&fx);
}

static void a_file_is_read_at_start(void **state)
{
  static const char script[] = "[{\"call\": \"OpenSession\", \"nth\": 2, \"status\": 503}]";
  char path[] = "/tmp/kiln-faults-XXXXXX";
  struct kiln_options options = {0};
  struct mtr_TOpenSessionReq req = {0};
  struct mortar_error err = {0};
  struct kiln_server *server;
  struct fixture fx;
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(write(fd, script, sizeof script - 1), sizeof script - 1);
  assert_int_equal(close(fd), 0);
  options.faults_file = path;
  fixture_start(&fx, &tiny_engine, &options);
  wire_send_call(&fx.wire, "OpenSession", &mtr_TOpenSessionReq_info, &req);
  assert_true(wire_receive(&fx.wire));
  assert_int_equal(fx.wire.status, 503);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(kiln_server_start(&options, &tiny_engine, &fx.engine, &server, &err),
                   MORTAR_INVALID);
  assert_non_null(strstr(err.message, path));
  fixture_stop(&fx);
}

/* ---- Counters ------------------------------------------------------------------------------ */

static void attempts_and_executions_are_counted(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine,
              "[{\"call\": \"ExecuteStatement\", \"text\": \"ddl\", \"nth\": [1, 2], \"status\": "
              "503}, {\"call\": \"ExecuteStatement\", \"text\": \"ddl\", \"nth\": 4, \"status\": "
              "500, \"when\": \"after\"}]");
  assert_true(fault_run(&fx, "ddl one"));
  assert_true(fault_run(&fx, "ddl one"));
  assert_true(fault_run(&fx, "rows 1"));
  assert_true(fault_run(&fx, "ddl one"));
  assert_true(fault_run(&fx, "ddl one"));
  assert_int_equal(fault_text(&fx, "ddl one", "attempts"), 4);
  assert_int_equal(fault_text(&fx, "ddl one", "executed"), 2);
  assert_int_equal(fault_text(&fx, "rows 1", "attempts"), 1);
  assert_int_equal(fault_text(&fx, "rows 1", "executed"), 1);
  assert_int_equal(fault_text(&fx, "never", "attempts"), -1);
  assert_int_equal(fault_call(&fx, "ExecuteStatement", "attempts"), 5);
  assert_int_equal(fault_call(&fx, "ExecuteStatement", "faults"), 3);
  assert_int_equal(fault_call(&fx, "FetchResults", "faults"), 0);
  assert_int_equal(fx.engine.executed, 3);
  fixture_stop(&fx);
}

static void an_engine_that_never_blocks_is_counted_too(void **state)
{
  struct fixture fx;

  (void)state;
  fault_begin(&fx, &tiny_engine_inline, "[]");
  assert_true(fault_run(&fx, "rows 1"));
  assert_true(fault_run(&fx, "fail"));
  assert_int_equal(fault_text(&fx, "rows 1", "executed"), 1);
  assert_int_equal(fault_text(&fx, "fail", "executed"), 1);
  fixture_stop(&fx);
}

/* One worker, which is busy: what is canceled meanwhile never gets to the engine. */
static void what_was_canceled_in_time_did_not_run(void **state)
{
  struct kiln_options options = {.faults = true, .workers = 1};
  struct wire_handle running, waiting;
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, &options);
  wire_keep(
      &running,
      wire_execute(&fx.wire, &fx.session, "slow", &ask_async)->operation_handle->operation_id);
  fixture_await(&fx.engine.executed, 1);
  wire_keep(&waiting,
            wire_execute(&fx.wire, &fx.session, "ddl", &ask_async)->operation_handle->operation_id);
  assert_int_equal(fixture_close(&fx, &waiting), MTR_STATUS_SUCCESS);
  assert_int_equal(fixture_close(&fx, &running), MTR_STATUS_SUCCESS);
  fixture_await(&fx.engine.contexts, 0);
  assert_true(fault_run(&fx, "rows 1"));
  assert_int_equal(fault_text(&fx, "ddl", "attempts"), 1);
  assert_int_equal(fault_text(&fx, "ddl", "executed"), 0);
  assert_int_equal(fault_text(&fx, "slow", "executed"), 1);
  assert_int_equal(fault_stat(&fx, "operations_open"), 0);
  fixture_stop(&fx);
}

static json_t *text_entry(struct fixture *fx, const char *text, json_t **stats)
{
  assert_int_equal(fault_control(fx, "GET", "/kiln/stats", "", stats), 200);
  return json_object_get(json_object_get(*stats, "texts"), text);
}

static void gaps_are_measured(void **state)
{
  struct timespec pause = {0, 60 * 1000000};
  struct fixture fx;
  json_t *stats, *gaps;
  double gap;
  int i;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  for (i = 0; i < 3; i++) {
    assert_true(fault_run(&fx, "ddl"));
    if (i == 0) assert_int_equal(nanosleep(&pause, NULL), 0);
  }
  gaps = json_object_get(text_entry(&fx, "ddl", &stats), "gaps_ms");
  assert_int_equal(json_array_size(gaps), 2);
  gap = json_real_value(json_array_get(gaps, 0));
  assert_true(gap >= 60 && gap < 5000);
  assert_true(json_real_value(json_array_get(gaps, 1)) < gap);
  gaps = json_object_get(json_object_get(stats, "calls"), "ExecuteStatement");
  assert_int_equal(json_array_size(json_object_get(gaps, "gaps_ms")), 2);
  gaps = json_object_get(json_object_get(stats, "calls"), "FetchResults");
  assert_int_equal(json_array_size(json_object_get(gaps, "gaps_ms")), 0);
  json_decref(stats);
  fixture_stop(&fx);
}

static const char *header(json_t *entry, const char *name)
{
  return json_string_value(json_object_get(json_object_get(entry, "headers"), name));
}

static void headers_are_shown_without_secrets(void **state)
{
  struct fixture fx;
  json_t *stats, *entry;
  char *text;

  (void)state;
  fault_begin(&fx, &tiny_engine, "[]");
  fx.wire.headers =
      "Authorization: Bearer s3cret\r\nX-Some-Token: s3cret\r\nCookie: a=s3cret\r\n"
      "User-Agent: test/1\r\n";
  assert_true(fault_run(&fx, "ddl"));
  entry = text_entry(&fx, "ddl", &stats);
  assert_string_equal(header(entry, "User-Agent"), "test/1");
  assert_string_equal(header(entry, "Authorization"), "Bearer ***");
  assert_string_equal(header(entry, "X-Some-Token"), "***");
  text = json_dumps(stats, 0);
  assert_null(strstr(text, "s3cret"));
  free(text);
  json_decref(stats);
  fixture_stop(&fx);
}

static const char *setting(json_t *entry, const char *name)
{
  return json_string_value(json_object_get(json_object_get(entry, "settings"), name));
}

static void settings_of_a_statement_are_shown_without_secrets(void **state)
{
  static const char *const pairs[] = {"query_tags", "team:a\\:b", "some.password", "s3cret"};
  struct mtr_TExecuteStatementReq req = {0};
  struct mtr_thrift_values settings = {2, MTR_T_STRING, MTR_T_STRING, {NULL, 0}};
  struct mtr_buf bytes;
  struct mtr_tw wr;
  struct fixture fx;
  json_t *stats, *entry;
  size_t i;

  (void)state;
  mtr_buf_init(&bytes, NULL, "settings", 1 << 16);
  mtr_tw_init(&wr, &bytes, NULL);
  for (i = 0; i < 4; i++)
    mtr_tw_string(&wr, mtr_span_text(pairs[i]));
  settings.bytes = mtr_buf_span(&bytes);
  fault_begin(&fx, &tiny_engine, "[]");
  MTR_SET(&req, TExecuteStatementReq, session_handle, &fx.session.session);
  MTR_SET(&req, TExecuteStatementReq, statement, mtr_span_text("ddl"));
  MTR_SET(&req, TExecuteStatementReq, conf_overlay, settings);
  assert_non_null(WIRE_CALL(&fx.wire, ExecuteStatement, &req));
  entry = text_entry(&fx, "ddl", &stats);
  assert_string_equal(setting(entry, "query_tags"), "team:a\\:b");
  assert_string_equal(setting(entry, "some.password"), "***");
  json_decref(stats);
  assert_true(fault_run(&fx, "ddl")); /* the last attempt counts */
  entry = text_entry(&fx, "ddl", &stats);
  assert_null(setting(entry, "query_tags"));
  json_decref(stats);
  mtr_buf_fini(&bytes);
  fixture_stop(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_of_this_machine),
      cmocka_unit_test(other_origins_are_refused),
      cmocka_unit_test(without_the_option_there_are_no_faults),
      cmocka_unit_test(methods),
      cmocka_unit_test(rules_are_added_replaced_and_cleared),
      cmocka_unit_test(a_bad_script_changes_nothing),
      cmocka_unit_test(a_file_is_read_at_start),
      cmocka_unit_test(attempts_and_executions_are_counted),
      cmocka_unit_test(an_engine_that_never_blocks_is_counted_too),
      cmocka_unit_test(what_was_canceled_in_time_did_not_run),
      cmocka_unit_test(gaps_are_measured),
      cmocka_unit_test(headers_are_shown_without_secrets),
      cmocka_unit_test(settings_of_a_statement_are_shown_without_secrets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
