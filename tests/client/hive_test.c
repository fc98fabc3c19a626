/* Servers of Hive's family, Spark's among them: a session in their words, and what they say of
 * rows. */
#include <stdio.h>

#include "codec/thrift/tcli.h"
#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

#define AS_DATABRICKS                                                                              \
  "\"configuration\":{\"spark.thriftserver.arrowBasedRowSet.timestampAsString\":\"false\","        \
  "\"ansi_mode\":\"true\"}"
#define AS_HIVE "\"configuration\":{\"set:hiveconf:ansi_mode\":\"true\",\"use:database\":\"b`x\"}"

/* The fixture has a setting of the session. */
static void a_session_is_opened_again_in_words_that_hive_knows(void **state)
{
  struct client c = {0};

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_HIVE_V10;
  assert_int_equal(client_open(&c, NULL, "schema", "b`x"), MORTAR_OK);
  assert_non_null(strstr(c.fs.asked, AS_HIVE));
  assert_int_equal(c.fs.opened, 2);
  assert_int_equal(c.fs.closed, 1);
  client_stop(&c);
  assert_int_equal(c.fs.closed, 2);
}

static void databricks_is_asked_once(void **state)
{
  struct client c = {0};

  (void)state;
  fake_server_start(&c.fs);
  assert_int_equal(client_open(&c, NULL, "schema", "s"), MORTAR_OK);
  assert_non_null(strstr(c.fs.asked, AS_DATABRICKS));
  assert_int_equal(c.fs.opened, 1);
  client_stop(&c);
}

/* Opens a session with one setting and nothing else. */
static enum mortar_status open_with(struct client *c, const char *setting)
{
  struct mortar_config *config;
  enum mortar_status st;
  char port[16];

  snprintf(port, sizeof port, "%d", c->fs.port);
  assert_int_equal(mortar_config_new(NULL, &config, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "host", "127.0.0.1", NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "port", port, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "tls", "false", NULL), MORTAR_OK);
  if (setting)
    assert_int_equal(mortar_config_set_session_setting(config, setting, "1", NULL), MORTAR_OK);
  st = mortar_session_open(config, NULL, &c->session, &c->err);
  mortar_config_free(config);
  return st;
}

static void hive_is_asked_once_where_its_words_are_the_same(void **state)
{
  static const char *const settings[] = {NULL, "set:hiveconf:a", "use:database"};
  struct client c = {0};
  size_t i;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_HIVE_V10;
  for (i = 0; i < sizeof settings / sizeof *settings; i++) {
    c.fs.opened = 0;
    assert_int_equal(open_with(&c, settings[i]), MORTAR_OK);
    assert_int_equal(c.fs.opened, 1);
    mortar_session_free(c.session);
  }
  c.session = NULL;
  client_stop(&c);
}

/* The first session is closed by then, and the second never was: there is nothing to close. */
static void a_schema_that_hive_does_not_know_fails_the_open(void **state)
{
  const struct fake_fault unknown = {
      .call = "OpenSession", .event = FAKE_ERROR, .skip = 1, .last = 2};
  struct client c = {0};

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_HIVE_V10;
  fake_server_fault(&c.fs, &unknown);
  assert_int_equal(client_open(&c, NULL, "schema", "s"), MORTAR_SERVER);
  assert_non_null(strstr(c.err.message, "it does not please me"));
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.closed, 1);
  client_stop(&c);
  assert_int_equal(c.fs.closed, 1);
}

/* What the server says that it changed, of a statement with rows. */
static int64_t rows_changed(int version)
{
  struct client c = {0};
  struct mortar_statement *stmt;
  struct mortar_result *res;
  int64_t changed;

  fake_server_start(&c.fs);
  c.fs.version = version;
  c.fs.table = FAKE_TABLE_COLUMNS;
  c.fs.tells_unchanged = true;
  c.fs.live_polls = 1;
  assert_int_equal(client_open(&c, NULL, NULL, NULL), MORTAR_OK);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT 1", 8, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_OK);
  changed = mortar_result_rows_affected(res);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  client_stop(&c);
  return changed;
}

static void rows_that_are_read_are_not_rows_changed(void **state)
{
  (void)state;
  assert_int_equal(rows_changed(MTR_PROTOCOL_HIVE_V10), -1);
  assert_int_equal(rows_changed(MTR_PROTOCOL_SPARK_V8),
                   0); /* Databricks means it: an update that found nothing */
}

static void memory_may_run_out_in_every_open(void **state)
{
  struct client c = {0};
  struct failing_alloc fa;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_HIVE_V10;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    const enum mortar_status st = client_open(&c, &fa.alloc, "schema", "s");
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mortar_session_free(c.session);
    c.session = NULL;
    assert_true(mortar_background_wait(5000));
  }
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_session_is_opened_again_in_words_that_hive_knows),
      cmocka_unit_test(databricks_is_asked_once),
      cmocka_unit_test(hive_is_asked_once_where_its_words_are_the_same),
      cmocka_unit_test(a_schema_that_hive_does_not_know_fails_the_open),
      cmocka_unit_test(rows_that_are_read_are_not_rows_changed),
      cmocka_unit_test(memory_may_run_out_in_every_open),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
