/* The log: silent by default, nothing above INFO on success, no secret at any level, the SQL text
 * at its own level only; it tells who waits and what was left behind. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tests/client/client_fixture.h"

struct lines {
  pthread_mutex_t lock; /* the background thread logs, too */
  char text[32768];
  size_t size;
  int count[MORTAR_LOG_SQL + 1];
};

static void keep(void *ctx, enum mortar_log_level level, const char *line)
{
  struct lines *lines = ctx;

  (void)pthread_mutex_lock(&lines->lock);
  lines->count[level]++;
  if (lines->size < sizeof lines->text - 1100)
    lines->size +=
        (size_t)snprintf(lines->text + lines->size, sizeof lines->text - lines->size, "%s\n", line);
  (void)pthread_mutex_unlock(&lines->lock);
}

static void start(struct client *c, struct lines *lines, enum mortar_log_level level)
{
  memset(c, 0, sizeof *c);
  memset(lines, 0, sizeof *lines);
  (void)pthread_mutex_init(&lines->lock, NULL);
  c->log = keep;
  c->log_ctx = lines;
  c->log_level = level;
  client_start_with(c);
}

static void success_writes_nothing_above_info(void **state)
{
  struct lines lines;
  struct client c;
  int64_t rows;

  (void)state;
  start(&c, &lines, MORTAR_LOG_SQL);
  c.fs.live_polls = 1;
  c.fs.pages = 2;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  client_stop(&c);
  assert_int_equal(lines.count[MORTAR_LOG_WARNING], 0);
  assert_int_equal(lines.count[MORTAR_LOG_INFO], 2);
  assert_non_null(strstr(lines.text, "opened on 127.0.0.1"));
  assert_non_null(strstr(lines.text, "closed"));
  assert_non_null(strstr(lines.text, "GetOperationStatus"));
  assert_non_null(strstr(lines.text, "SELECT n, s"));
  assert_null(strstr(lines.text, "secret-token"));
}

static void sql_has_a_level_of_its_own(void **state)
{
  struct lines lines;
  struct client c;
  int64_t rows;

  (void)state;
  start(&c, &lines, MORTAR_LOG_DEBUG);
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  client_stop(&c);
  assert_true(lines.count[MORTAR_LOG_DEBUG] >= 3);
  assert_null(strstr(lines.text, "SELECT"));
}

static void a_wait_is_announced(void **state)
{
  struct lines lines;
  struct client c;
  int64_t rows;

  (void)state;
  start(&c, &lines, MORTAR_LOG_INFO);
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_STATUS, .status = 429, .last = 2});
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_non_null(strstr(lines.text, "attempt 2 follows in"));
  assert_non_null(strstr(lines.text, "attempt 3 follows in"));
  assert_non_null(strstr(lines.text, "HTTP status 429"));
  assert_null(strstr(lines.text, "attempt 4"));
  assert_int_equal(lines.count[MORTAR_LOG_WARNING], 0);
  client_stop(&c);
}

/* A server, or a gateway before it, may answer with all that it was sent. */
static void what_a_server_echoes_is_not_said(void **state)
{
  struct lines lines;
  struct client c;
  int64_t rows;

  (void)state;
  start(&c, &lines, MORTAR_LOG_DEBUG);
  c.fs.http_status = 503;
  c.fs.http_headers = "Retry-After: 0\r\n";
  c.fs.http_body =
      "[WARMING_UP] Authorization: Bearer secret-token; SELECT n, s; "
      "https://store/page?X-Amz-Signature=feed";
  assert_int_equal(client_rows(&c, &rows), MORTAR_HTTP);
  client_stop(&c);
  assert_non_null(strstr(lines.text, "answered: HTTP status 503 [WARMING_UP]\n"));
  assert_null(strstr(lines.text, "secret-token"));
  assert_null(strstr(lines.text, "X-Amz-Signature"));
  assert_null(strstr(lines.text, "SELECT"));
  assert_non_null(strstr(c.err.message, "Bearer ***; SELECT n, s"));
}

static void why_there_was_no_answer_is_said(void **state)
{
  struct lines lines;
  struct client c;
  int64_t rows;

  (void)state;
  start(&c, &lines, MORTAR_LOG_INFO);
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "ExecuteStatement", .event = FAKE_RESET, .last = 1});
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  client_stop(&c);
  assert_non_null(strstr(lines.text, " ms: ExecuteStatement: 127.0.0.1:"));
}

/* ---- A counted ctx ---- */

static _Atomic int holders;

static void hold(void *ctx)
{
  (void)ctx;
  atomic_fetch_add(&holders, 1);
}

static void release(void *ctx)
{
  (void)ctx;
  atomic_fetch_sub(&holders, 1);
}

static enum mortar_status open_counted(const char *uri, struct mortar_session **out)
{
  struct mortar_config *config = NULL;
  enum mortar_status st = mortar_config_new(NULL, &config, NULL);

  if (st == MORTAR_OK) st = mortar_config_set_uri(config, uri, NULL);
  if (st == MORTAR_OK) st = mortar_config_set(config, "retry_attempts", "0", NULL);
  if (st == MORTAR_OK)
    st = mortar_config_set_log(config, MORTAR_LOG_WARNING, keep, (void *)&holders, NULL);
  if (st == MORTAR_OK) st = mortar_config_set_log_owner(config, hold, release, NULL);
  if (st == MORTAR_OK) st = mortar_session_open(config, NULL, out, NULL);
  mortar_config_free(config);
  return st;
}

static void a_counted_ctx_is_held_while_it_is_used(void **state)
{
  const struct mortar_call call = {.timeout_ms = 20};
  struct mortar_statement *stmt;
  struct mortar_session *session;
  struct mortar_result *res;
  struct client c;
  char uri[64];

  (void)state;
  client_start(&c);
  (void)snprintf(uri, sizeof uri, "http://127.0.0.1:%d/", c.fs.port);
  assert_int_equal(open_counted(uri, &session), MORTAR_OK);
  assert_int_equal(mortar_statement_new(session, &stmt, NULL), MORTAR_OK);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement", .event = FAKE_HANG});
  assert_int_equal(mortar_query(session, "INSERT", &call, &res, NULL), MORTAR_TIMEOUT);
  mortar_session_free(session);
  assert_int_equal(atomic_load(&holders), 1);
  mortar_statement_free(stmt);
  c.fs.let_go = true; /* the background thread has the rest */
  assert_true(mortar_background_wait(60000));
  assert_int_equal(atomic_load(&holders), 0);
  client_stop(&c);
}

static void an_open_that_fails_releases(void **state)
{
  struct mortar_session *session;

  (void)state;
  assert_int_equal(open_counted("http://127.0.0.1:1/", &session), MORTAR_CONNECT);
  assert_true(mortar_background_wait(60000));
  assert_int_equal(atomic_load(&holders), 0);
}

static void the_level_and_the_config_are_checked(void **state)
{
  struct mortar_config *config = NULL;

  (void)state;
  assert_int_equal(mortar_config_set_log(NULL, MORTAR_LOG_INFO, keep, NULL, NULL), MORTAR_INVALID);
  assert_int_equal(mortar_config_new(NULL, &config, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_log(config, 0, keep, NULL, NULL), MORTAR_INVALID);
  assert_int_equal(mortar_config_set_log(config, 5, keep, NULL, NULL), MORTAR_INVALID);
  assert_int_equal(mortar_config_set_log(config, MORTAR_LOG_INFO, NULL, NULL, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_log_owner(NULL, hold, release, NULL), MORTAR_INVALID);
  assert_int_equal(mortar_config_set_log_owner(config, hold, NULL, NULL), MORTAR_INVALID);
  mortar_config_free(config);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(success_writes_nothing_above_info),
      cmocka_unit_test(sql_has_a_level_of_its_own),
      cmocka_unit_test(a_wait_is_announced),
      cmocka_unit_test(what_a_server_echoes_is_not_said),
      cmocka_unit_test(why_there_was_no_answer_is_said),
      cmocka_unit_test(a_counted_ctx_is_held_while_it_is_used),
      cmocka_unit_test(an_open_that_fails_releases),
      cmocka_unit_test(the_level_and_the_config_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
