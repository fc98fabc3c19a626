/* What a statement asks for beside its text: a row limit, settings of its own; and the settings of
 * a session. */
#include <stdio.h>

#include "codec/thrift/tcli.h"
#include "tests/client/client_fixture.h"

static struct mortar_statement *new_statement(struct client *c)
{
  struct mortar_statement *stmt;

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT 1", 8, &c->err), MORTAR_OK);
  return stmt;
}

static enum mortar_status run(struct client *c, struct mortar_statement *stmt)
{
  struct mortar_result *res = NULL;
  const enum mortar_status st = mortar_statement_execute(stmt, NULL, &res, &c->err);

  mortar_result_free(res);
  return st;
}

static bool asked(const struct client *c, const char *part)
{
  return strstr(c->fs.execute_asked, part) != NULL;
}

static void a_row_limit_goes_along(void **state)
{
  struct mortar_statement *stmt;
  struct client c;

  (void)state;
  client_start(&c);
  stmt = new_statement(&c);
  assert_int_equal(mortar_statement_set_row_limit(NULL, 1, &c.err), MORTAR_INVALID);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_false(asked(&c, "result_row_limit"));
  assert_int_equal(mortar_statement_set_row_limit(stmt, 7, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT 2", 8, &c.err), MORTAR_OK); /* it stays */
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_true(asked(&c, "\"result_row_limit\":7"));
  assert_int_equal(mortar_statement_set_row_limit(stmt, 0, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_true(asked(&c, "\"result_row_limit\":0"));
  mortar_statement_free(stmt);
  stmt = new_statement(&c); /* the same one again */
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_false(asked(&c, "result_row_limit"));
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void a_server_without_row_limits_gets_nothing(void **state)
{
  struct client c = {.session = NULL};
  struct mortar_statement *stmt;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_SPARK_V4 - 1;
  assert_int_equal(client_open(&c, NULL, NULL, NULL), MORTAR_OK);
  stmt = new_statement(&c);
  assert_int_equal(mortar_statement_set_row_limit(stmt, 7, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_UNSUPPORTED);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_non_null(strstr(c.err.message, "0xA503, which has no row limit"));
  assert_int_equal(c.fs.executed, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void settings_go_with_one_text(void **state)
{
  struct mortar_statement *stmt;
  struct client c;
  int i;

  (void)state;
  client_start(&c);
  stmt = new_statement(&c);
  assert_int_equal(mortar_statement_set_setting(stmt, NULL, "x", &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_set_setting(stmt, "x", NULL, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_set_setting(stmt, "query_tags", "a:b\\:c", &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_setting(stmt, "größe", "", &c.err), MORTAR_OK);
  for (i = 0; i < 2; i++) { /* also when it is run again */
    assert_int_equal(run(&c, stmt), MORTAR_OK);
    assert_true(asked(&c, "timestampAsString\":\"false\",\"query_tags\":\"a:b\\\\:c\""));
    assert_true(asked(&c, "größe\":\"\""));
  }
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT 2", 8, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_false(asked(&c, "conf_overlay"));
  assert_int_equal(mortar_statement_set_setting(stmt, "a", "b", &c.err), MORTAR_OK);
  mortar_statement_free(stmt);
  stmt = new_statement(&c);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_false(asked(&c, "conf_overlay"));
  for (i = 0; i < 1024; i++)
    assert_int_equal(mortar_statement_set_setting(stmt, "a", "b", &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_setting(stmt, "a", "b", &c.err), MORTAR_LIMIT);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* Rows would come as text where the schema says timestamp. */
static const char timestamps[] = "spark.thriftserver.arrowBasedRowSet.timestampAsString";

static enum mortar_status open_with_setting(struct client *c, const char *value)
{
  struct mortar_config *config;
  enum mortar_status st;
  char uri[64];

  snprintf(uri, sizeof uri, "http://127.0.0.1:%d/", c->fs.port);
  assert_int_equal(mortar_config_new(NULL, &config, &c->err), MORTAR_OK);
  assert_int_equal(mortar_config_set_uri(config, uri, &c->err), MORTAR_OK);
  assert_int_equal(mortar_config_set_session_setting(config, timestamps, value, &c->err),
                   MORTAR_OK);
  st = mortar_session_open(config, NULL, &c->session, &c->err);
  mortar_config_free(config);
  return st;
}

static void the_form_of_timestamps_is_not_to_be_set(void **state)
{
  struct client c = {.session = NULL};
  struct mortar_statement *stmt;

  (void)state;
  fake_server_start(&c.fs);
  assert_int_equal(open_with_setting(&c, "true"), MORTAR_INVALID);
  assert_non_null(strstr(c.err.message, "cannot be changed"));
  assert_int_equal(c.fs.opened, 0);
  assert_int_equal(open_with_setting(&c, "False"), MORTAR_OK);
  stmt = new_statement(&c);
  assert_int_equal(mortar_statement_set_setting(stmt, timestamps, "yes", &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_INVALID);
  assert_int_equal(c.fs.executed, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_row_limit_goes_along),
      cmocka_unit_test(a_server_without_row_limits_gets_nothing),
      cmocka_unit_test(settings_go_with_one_text),
      cmocka_unit_test(the_form_of_timestamps_is_not_to_be_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
