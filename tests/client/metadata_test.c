/* Metadata calls of the client: what is sent, how often, and how each ends. Their rows are those of
 * any result, which the tests of statements and columns look at. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

#define SESSION                                                                                    \
  "{\"session_handle\":{\"session_id\":{\"guid\":\"hex:53455353494f4e2d49442d3030303121\","        \
  "\"secret\":\"hex:30303030303030303030303030303031\"}}"
#define REST                                                                                       \
  ",\"get_direct_results\":{\"max_rows\":1000000,\"max_bytes\":8388608},\"run_async\":true}"

static enum mortar_status ask(struct client *c, const struct mortar_metadata *what,
                              const struct mortar_call *call, struct mortar_result **out)
{
  struct mortar_statement *stmt = NULL;
  enum mortar_status st = mortar_statement_new(c->session, &stmt, &c->err);

  *out = NULL;
  if (st == MORTAR_OK) st = mortar_statement_set_metadata(stmt, what, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_execute(stmt, call, out, &c->err);
  mortar_statement_free(stmt);
  return st;
}

/* Asks and reads all rows. */
static enum mortar_status rows_of(struct client *c, const struct mortar_metadata *what,
                                  int64_t *rows)
{
  struct mortar_result *res;
  enum mortar_status st = ask(c, what, NULL, &res);

  if (st == MORTAR_OK) st = client_drain(res, rows, &c->err);
  mortar_result_free(res);
  return st;
}

static const struct mortar_metadata some_tables = {.kind = MORTAR_METADATA_TABLES, .table = "t%"};

static void every_call_is_sent_with_its_filters(void **state)
{
  static const char *const types[] = {"VIEW"};
  static const struct {
    struct mortar_metadata what;
    const char *filters;
  } cases[] = {
      {{.kind = MORTAR_METADATA_CATALOGS}, ""},
      {{.kind = MORTAR_METADATA_SCHEMAS, .catalog = "c", .schema = "%"},
       ",\"catalog_name\":\"c\",\"schema_name\":\"%\""},
      {{.kind = MORTAR_METADATA_TABLES, .schema = "", .table_types = types, .table_type_count = 1},
       ",\"schema_name\":\"\",\"table_types\":[\"VIEW\"]"},
      {{.kind = MORTAR_METADATA_COLUMNS, .table = "a\\_b", .column = "`c`"},
       ",\"table_name\":\"a\\\\_b\",\"column_name\":\"`c`\""},
      {{.kind = MORTAR_METADATA_TABLE_TYPES}, ""},
      {{.kind = MORTAR_METADATA_TYPE_INFO}, ""},
      {{.kind = MORTAR_METADATA_FUNCTIONS}, ",\"function_name\":\"%\""},
      {{.kind = MORTAR_METADATA_PRIMARY_KEYS, .table = "t"}, ",\"table_name\":\"t\""},
      {{.kind = MORTAR_METADATA_CROSS_REFERENCE, .table = "p", .foreign_table = "f"},
       ",\"parent_table_name\":\"p\",\"foreign_table_name\":\"f\""},
  };
  struct client c;
  char want[1024];
  int64_t rows;
  size_t i;

  (void)state;
  client_start(&c);
  c.fs.table = FAKE_TABLE_COLUMNS; /* as warehouses answer */
  c.fs.live_polls = 2;
  c.fs.pages = 2;
  fake_server_batches(&c.fs, 2, 3);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    c.fs.live_polls = 2;
    assert_int_equal(rows_of(&c, &cases[i].what, &rows), MORTAR_OK);
    assert_int_equal(rows, 6);
    snprintf(want, sizeof want, SESSION "%s" REST, cases[i].filters);
    assert_string_equal(c.fs.asked, want);
  }
  assert_int_equal(c.fs.executed, i);
  assert_true(c.fs.polled >= (int)i);
  assert_int_equal(c.fs.operations_closed, i);
  assert_int_equal(c.fs.misnamed, 0); /* an operation is named with the type that it came with */
  client_stop(&c);
}

static void filters_are_checked_before_anything_is_sent(void **state)
{
  static const char *const types[] = {"TABLE", NULL};
  static const struct {
    struct mortar_metadata what;
    const char *words;
  } cases[] = {
      {{.kind = MORTAR_METADATA_CATALOGS, .catalog = ""}, "'catalogs' takes no filter 'catalog'"},
      {{.kind = MORTAR_METADATA_SCHEMAS, .table = "t"}, "'schemas' takes no filter 'table'"},
      {{.kind = MORTAR_METADATA_TABLES, .column = "c"}, "'column'"},
      {{.kind = MORTAR_METADATA_COLUMNS, .table_types = types, .table_type_count = 1},
       "'table_types'"},
      {{.kind = MORTAR_METADATA_COLUMNS, .function = "f"}, "'function'"},
      {{.kind = MORTAR_METADATA_PRIMARY_KEYS, .foreign_table = "f"}, "'foreign_table'"},
      {{.kind = MORTAR_METADATA_TABLES, .table_types = types, .table_type_count = 2},
       "table type 1 must not be NULL"},
      {{.kind = (enum mortar_metadata_kind)9}, "no metadata call 9"},
  };
  struct mortar_statement *stmt = NULL;
  struct client c;
  size_t i;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mortar_statement_set_metadata(stmt, &cases[i].what, &c.err), MORTAR_INVALID);
    assert_non_null(strstr(c.err.message, cases[i].words));
  }
  assert_int_equal(mortar_statement_set_metadata(stmt, NULL, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_set_metadata(NULL, &cases[0].what, &c.err), MORTAR_INVALID);
  assert_int_equal(c.fs.executed, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* A statement is what was set last; what was set is the caller's no more. */
static void a_text_and_a_call_take_each_others_place(void **state)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  char name[] = "t%";
  struct mortar_metadata what = {.kind = MORTAR_METADATA_TABLES, .table = name};
  struct client c;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_metadata(stmt, &what, &c.err), MORTAR_OK);
  memset(name, 'x', sizeof name - 1);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_OK);
  mortar_result_free(res);
  assert_string_equal(c.fs.asked, SESSION ",\"table_name\":\"t%\"" REST);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_OK);
  mortar_result_free(res);
  assert_non_null(strstr(c.fs.execute_asked, "\"statement\":\"SELECT\""));
  assert_int_equal(c.fs.executed, 2);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* Where a write would be given up as unknown. */
static void it_is_sent_again_like_a_read(void **state)
{
  static const enum fake_event lost[] = {FAKE_RESET, FAKE_CUT, FAKE_EMPTY, FAKE_NOT_STARTED};
  struct client c;
  int64_t rows;
  size_t i;

  (void)state;
  client_start(&c);
  for (i = 0; i < sizeof lost / sizeof *lost; i++) {
    fake_server_fault(&c.fs, &(struct fake_fault){
                                 .call = "GetTables", .event = lost[i], .last = 2, .runs = true});
    assert_int_equal(rows_of(&c, &some_tables, &rows), MORTAR_OK);
    assert_int_equal(c.fs.fault_requests, 3);
  }
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "GetTables", .event = FAKE_ERROR});
  assert_int_equal(rows_of(&c, &some_tables, &rows), MORTAR_SERVER);
  assert_int_equal(c.fs.fault_requests, 1);
  assert_string_equal(c.err.message, "it does not please me");
  assert_string_equal(c.err.session_id, mortar_session_id(c.session));
  client_stop(&c);
}

static void a_failure_brings_the_servers_words(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.failure = "[NO_SUCH_CATALOG_EXCEPTION] no catalog c";
  c.fs.sqlstate = "42704";
  assert_int_equal(rows_of(&c, &some_tables, &rows), MORTAR_SERVER);
  assert_string_equal(c.err.message, c.fs.failure);
  assert_string_equal(c.err.sqlstate, "42704");
  assert_string_equal(c.err.query_id, "4f504552-4154-494f-4e2d-303030312121");
  c.fs.failure = NULL;
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "GetTables", .event = FAKE_GONE});
  assert_int_equal(rows_of(&c, &some_tables, &rows), MORTAR_SERVER);
  assert_true(c.err.session_lost);
  client_stop(&c);
}

/* Given up while its reply is on the way: the background thread reads the name in it, whatever the
 * call, and cancels. */
static void one_that_is_given_up_is_cancelled(void **state)
{
  const struct mortar_call soon = {.timeout_ms = 50};
  struct mortar_result *res;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  fake_server_fault(
      &c.fs,
      &(struct fake_fault){.call = "GetTables", .event = FAKE_LATE, .delay_ms = 300, .runs = true});
  assert_int_equal(ask(&c, &some_tables, &soon, &res), MORTAR_TIMEOUT);
  assert_null(res);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_true(mortar_background_wait(10000));
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.operations_closed, 1);
  assert_int_equal(c.fs.misnamed, 0);
  client_stop(&c);
}

static void waits_end_as_those_of_statements_do(void **state)
{
  struct mortar_call call = {.timeout_ms = 50};
  struct mortar_result *res;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  assert_int_equal(ask(&c, &some_tables, &call, &res), MORTAR_TIMEOUT); /* between polls */
  assert_true(c.err.query_id[0] != '\0');
  assert_true(mortar_background_wait(10000));
  assert_int_equal(c.fs.canceled, 1);
  call.timeout_ms = -1;
  assert_int_equal(mortar_wake_new(&call.wake, NULL), MORTAR_OK);
  mortar_wake_signal(call.wake);
  assert_int_equal(ask(&c, &some_tables, &call, &res), MORTAR_INTERRUPTED);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  mortar_wake_free(call.wake);
  client_stop(&c);
}

struct canceller {
  struct fake_server *fs;
  struct mortar_statement *stmt;
};

static void *cancel_once_polled(void *arg)
{
  struct canceller *canceller = arg;
  const struct timespec pause = {0, 1000000};

  while (canceller->fs->polled == 0)
    nanosleep(&pause, NULL);
  assert_int_equal(mortar_statement_cancel(canceller->stmt, NULL), MORTAR_OK);
  return NULL;
}

static void another_thread_cancels(void **state)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  struct canceller canceller;
  struct client c;
  pthread_t thread;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 100000;
  c.fs.ends_canceled = true;
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_metadata(stmt, &some_tables, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK); /* before it is sent */
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_CANCELED);
  assert_int_equal(c.fs.executed, 0);
  assert_int_equal(mortar_statement_set_metadata(stmt, &some_tables, &c.err), MORTAR_OK);
  canceller = (struct canceller){&c.fs, stmt};
  assert_int_equal(pthread_create(&thread, NULL, cancel_once_polled, &canceller), 0);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_CANCELED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(c.fs.canceled, 1);
  assert_int_equal(c.fs.misnamed, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

struct lines {
  char sql[200];
};

static void keep_line(void *ctx, enum mortar_log_level level, const char *line)
{
  struct lines *lines = ctx;

  if (level == MORTAR_LOG_SQL) snprintf(lines->sql, sizeof lines->sql, "%s", line);
}

static void the_log_tells_what_was_asked_at_the_level_of_texts(void **state)
{
  static const char *const types[] = {"VIEW"};
  const struct mortar_metadata what = {.kind = MORTAR_METADATA_TABLES,
                                       .catalog = "c",
                                       .table = "t%",
                                       .table_types = types,
                                       .table_type_count = 1};
  struct lines lines = {""};
  struct client c = {.log = keep_line, .log_ctx = &lines, .log_level = MORTAR_LOG_SQL};
  int64_t rows;

  (void)state;
  client_start_with(&c);
  assert_int_equal(rows_of(&c, &what, &rows), MORTAR_OK);
  assert_non_null(strstr(lines.sql, "tables catalog=c table=t% type=VIEW"));
  client_stop(&c);
}

static void memory_that_runs_out_anywhere_is_reported(void **state)
{
  static const char *const types[] = {"TABLE", "VIEW"};
  const struct mortar_metadata what = {
      .kind = MORTAR_METADATA_TABLES, .table = "t%", .table_types = types, .table_type_count = 2};
  struct failing_alloc fa;
  struct client c = {.session = NULL};
  int64_t rows;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.table = FAKE_TABLE_COLUMNS;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st = client_open(&c, &fa.alloc, NULL, NULL);
    if (st == MORTAR_OK) st = rows_of(&c, &what, &rows);
    mortar_session_free(c.session);
    c.session = NULL;
    assert_true(mortar_background_wait(10000)); /* it uses the allocator, too */
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  }
  assert_true(fa.rounds > 20);
  fake_server_stop(&c.fs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_is_sent_with_its_filters),
      cmocka_unit_test(filters_are_checked_before_anything_is_sent),
      cmocka_unit_test(a_text_and_a_call_take_each_others_place),
      cmocka_unit_test(it_is_sent_again_like_a_read),
      cmocka_unit_test(a_failure_brings_the_servers_words),
      cmocka_unit_test(one_that_is_given_up_is_cancelled),
      cmocka_unit_test(waits_end_as_those_of_statements_do),
      cmocka_unit_test(another_thread_cancels),
      cmocka_unit_test(the_log_tells_what_was_asked_at_the_level_of_texts),
      cmocka_unit_test(memory_that_runs_out_anywhere_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
