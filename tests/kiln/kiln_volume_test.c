/* Volumes from a socket: the statements' answers, what their links let through and what they do
 * not, and that nothing leads out of the folder. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kiln/server/volume.h"
#include "tests/kiln/kiln_fault_fixture.h"

#define FILE_A "/Volumes/main/default/v/a b.txt"

struct store {
  struct fixture fx;
  char folder[40];
  char cells[4]
            [1000]; /* of the last answer's row; "NULL" for a null, "" where there is no column */
};

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
  (void)st;
  (void)kind;
  (void)place;
  return remove(path);
}

static void begin(struct store *s)
{
  struct kiln_options options = {.faults = true};

  memset(s, 0, sizeof *s);
  (void)snprintf(s->folder, sizeof s->folder, "/tmp/kiln-volume-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
  options.volumes = s->folder;
  fixture_start(&s->fx, &tiny_engine, &options);
}

static void end(struct store *s)
{
  fixture_stop(&s->fx);
  assert_int_equal(nftw(s->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* The first string of a column of one row. */
static void keep_cell(const struct mtr_TStringColumn *column, char out[1000])
{
  const uint8_t *p = column->values.bytes.data;
  const size_t size = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
  const bool null = column->nulls.size && column->nulls.data[0] & 1;

  assert_int_equal(column->values.count, 1);
  assert_true(size < 1000);
  (void)snprintf(out, 1000, "%.*s", null ? 4 : (int)size, null ? "NULL" : (const char *)p + 4);
}

static void ask_link(struct store *s, const char *sql)
{
  const struct wire_ask ask = {.direct = true, .async = true, .max_rows = 10, .no_arrow = true};
  const struct mtr_TSparkDirectResults *direct =
      wire_execute(&s->fx.wire, &s->fx.session, sql, &ask)->direct_results;
  const struct mtr_TRowSet *rows;
  size_t i;

  assert_non_null(direct->result_set);
  assert_true(direct->result_set_metadata->is_staging_operation);
  rows = direct->result_set->results;
  assert_in_range(rows->columns.count, 3, 4);
  s->cells[3][0] = '\0';
  for (i = 0; i < rows->columns.count; i++)
    keep_cell(rows->columns.items[i].string_val, s->cells[i]);
}

/* The link without scheme and host, which is the one that the wire names. */
static const char *link_path(const struct store *s)
{
  static const char prefix[] = "http://localhost/";

  if (strncmp(s->cells[1], prefix, strlen(prefix)) != 0) fail_msg("%s", s->cells[1]);
  return s->cells[1] + strlen(prefix) - 1;
}

static void expect_error(struct store *s, const char *sql, const char *sqlstate, const char *words)
{
  const struct mtr_TGetOperationStatusResp *state =
      wire_execute(&s->fx.wire, &s->fx.session, sql, &ask_direct)->direct_results->operation_status;

  if (!state || state->operation_state != MTR_OPERATION_ERROR) fail_msg("%s", sql);
  wire_assert_text(state->sql_state, sqlstate);
  if (!wire_contains(state->error_message, words) && !wire_contains(state->display_message, words))
    fail_msg("%s: %.*s", sql, MTR_SPAN_ARG(state->error_message));
}

static void put(struct store *s, const char *path, const char *text)
{
  char sql[1000];

  (void)snprintf(sql, sizeof sql, "PUT 'x' INTO '%s' OVERWRITE", path);
  ask_link(s, sql);
  wire_http(&s->fx.wire, "PUT", link_path(s), text, strlen(text));
  assert_int_equal(s->fx.wire.status, 200);
  assert_int_equal(s->fx.wire.body.size, 0);
}

static void statements_are_answered_with_links(void **state)
{
  struct store s;

  (void)state;
  begin(&s);
  ask_link(&s, " -- c\n/* d */ put 'it\\'s' INTO \"" FILE_A "\" overwrite ; ");
  assert_string_equal(s.cells[0], "PUT");
  assert_non_null(strstr(link_path(&s), "/Volumes/main/default/v/a%20b.txt?"));
  assert_string_equal(s.cells[2], "{}");
  assert_string_equal(s.cells[3], "it's");
  ask_link(&s, "GET '" FILE_A "' TO '__output_stream__'");
  assert_string_equal(s.cells[0], "GET");
  assert_string_equal(s.cells[3], "__output_stream__");
  ask_link(&s, "REMOVE '" FILE_A "'");
  assert_string_equal(s.cells[0], "REMOVE");
  assert_string_equal(s.cells[3], "");
  assert_int_equal(s.fx.engine.executed, 0); /* the engine has no part in it */
  assert_true(fault_run(&s.fx, "rows 1"));
  assert_int_equal(s.fx.engine.executed, 1);
  end(&s);
}

static void what_is_no_path_of_a_file_is_refused(void **state)
{
  static const char *const paths[] = {"/Volumes/main/default/v",
                                      "/Volumes/main/default/v/",
                                      "/Volumes/main/default/v/../w/a",
                                      "/Volumes/main/default/v/./a",
                                      "/Volumes/../../etc/passwd",
                                      "/Volumes/main//v/a",
                                      "/Volumes/main/default/v/a/",
                                      "/volumes/main/default/v/a",
                                      "dbfs:/Volumes/main/default/v/a",
                                      "/etc/passwd",
                                      "main/default/v/a",
                                      "/Volumes/main/default/v/.kiln-1-1",
                                      "/Volumes/main/default/v/a\\\nb"};
  struct store s;
  char sql[300];
  size_t i;

  (void)state;
  begin(&s);
  for (i = 0; i < sizeof paths / sizeof *paths; i++) {
    (void)snprintf(sql, sizeof sql, "PUT 'x' INTO '%s'", paths[i]);
    expect_error(&s, sql, "42604", "[INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY]");
    (void)snprintf(sql, sizeof sql, "GET '%s' TO 'x'", paths[i]);
    expect_error(&s, sql, "42604", "[INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY]");
    (void)snprintf(sql, sizeof sql, "REMOVE '%s'", paths[i]);
    expect_error(&s, sql, "42604", "[INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY]");
  }
  end(&s);
}

static void other_mistakes_have_their_conditions(void **state)
{
  struct store s;

  (void)state;
  begin(&s);
  expect_error(&s, "PUT '' INTO '" FILE_A "'", "22023", "EMPTY_LOCAL_FILE");
  expect_error(&s, "GET '" FILE_A "' TO ''", "22023", "EMPTY_LOCAL_FILE");
  expect_error(&s, "PUT 'x' TO '" FILE_A "'", "42601", "PARSE_SYNTAX_ERROR");
  expect_error(&s, "PUT 'x' INTO '" FILE_A "' OVERWRITE twice", "42601", "PARSE_SYNTAX_ERROR");
  expect_error(&s, "REMOVE '" FILE_A, "42601", "PARSE_SYNTAX_ERROR");
  expect_error(&s, "GET", "42601", "PARSE_SYNTAX_ERROR");
  expect_error(&s, "LIST '/Volumes/main/default/v' LIMIT x", "42601", "PARSE_SYNTAX_ERROR");
  expect_error(&s, "LIST '/Volumes/main/default'", "42604", "INVALID_STAGING_PATH");
  expect_error(&s, "LIST '/Volumes/main/default/none'", "42K03", "PATH_NOT_FOUND");
  put(&s, FILE_A, "1");
  expect_error(&s, "PUT 'x' INTO '" FILE_A "'", "42K04", "FILE_IN_STAGING_PATH_ALREADY_EXISTS");
  end(&s);
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void files_go_up_and_down(void **state)
{
  static char large[200000];
  struct store s;

  (void)state;
  begin(&s);
  memset(large, 'q', sizeof large - 1);
  put(&s, "/Volumes/main/default/v/deep/er/f", large);
  ask_link(&s, "GET '/Volumes/main/default/v/deep/er/f' TO 'x'");
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 200);
  assert_string_equal(wire_header(&s.fx.wire, "Content-Type"), "application/octet-stream");
  wire_assert_text(s.fx.wire.body, large);
  put(&s, "/Volumes/main/default/v/deep/er/f", "");
  ask_link(&s, "GET '/Volumes/main/default/v/deep/er/f' TO 'x'");
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 200);
  assert_int_equal(s.fx.wire.body.size, 0);
  ask_link(&s, "REMOVE '/Volumes/main/default/v/deep/er/f'");
  wire_http(&s.fx.wire, "DELETE", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 204);
  wire_http(&s.fx.wire, "DELETE", link_path(&s), NULL, 0); /* as an object store has it */
  assert_int_equal(s.fx.wire.status, 204);
  ask_link(&s, "GET '/Volumes/main/default/v/deep/er/f' TO 'x'");
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 404);
  assert_true(wire_contains(s.fx.wire.body, "<Code>NoSuchKey</Code>"));
  end(&s);
}

static void expect_refusal(struct store *s, const char *method, const char *path)
{
  wire_http(&s->fx.wire, method, path, "evil", strcmp(method, "PUT") == 0 ? 4 : 0);
  if (s->fx.wire.status != 403) fail_msg("%s %s: %d", method, path, s->fx.wire.status);
}

/* Puts c in the place of the n-th byte behind a mark. */
static void tamper(char *path, const char *mark, size_t n, char c)
{
  char *at = strstr(path, mark);

  assert_non_null(at);
  at[strlen(mark) + n] = at[strlen(mark) + n] == c ? '1' : c;
}

static void a_link_is_good_for_what_it_says_alone(void **state)
{
  static const char *const marks[] = {"Signature=", "Expires=", "/Volumes/main/default/v/"};
  struct store s;
  char path[1000];
  size_t i;

  (void)state;
  begin(&s);
  put(&s, FILE_A, "good");
  ask_link(&s, "GET '" FILE_A "' TO 'x'");
  for (i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s", link_path(&s));
    tamper(path, marks[i], 0, '7');
    expect_refusal(&s, "GET", path);
  }
  expect_refusal(&s, "PUT", link_path(&s));
  expect_refusal(&s, "DELETE", link_path(&s));
  expect_refusal(&s, "GET", "/Volumes/main/default/v/a%20b.txt");
  expect_refusal(&s, "GET", "/Volumes/main/default/v/a%20b.txt?X-Kiln-Expires=9&X-Kiln-Signature=");
  (void)snprintf(path, sizeof path, "%s", link_path(&s));
  path[strlen(path) - 1] = '\0';
  expect_refusal(&s, "GET", path);
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  wire_assert_text(s.fx.wire.body, "good");
  end(&s);
}

static void a_link_expires(void **state)
{
  struct store s;

  (void)state;
  begin(&s);
  put(&s, FILE_A, "good");
  ask_link(&s, "GET '" FILE_A "' TO 'x'");
  assert_int_equal(fault_control(&s.fx, "POST", "/kiln/clock", "{\"advance_ms\": 890000}", NULL),
                   200);
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 200);
  assert_int_equal(fault_control(&s.fx, "POST", "/kiln/clock", "{\"advance_ms\": 20000}", NULL),
                   200);
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 403);
  assert_true(wire_contains(s.fx.wire.body, "expired"));
  end(&s);
}

static void faults_meet_links_too(void **state)
{
  struct store s;

  (void)state;
  begin(&s);
  put(&s, FILE_A, "good");
  ask_link(&s, "GET '" FILE_A "' TO 'x'");
  fault_set(&s.fx, "[{\"path\": \"*\", \"status\": 503}]");
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  assert_int_equal(s.fx.wire.status, 503);
  wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
  wire_assert_text(s.fx.wire.body, "good");
  end(&s);
}

/* ---- The folder ------------------------------------------------------------------------------ */

static void no_symbolic_link_leads_out_of_the_folder(void **state)
{
  static const char *const sqls[] = {"GET '/Volumes/main/default/v/file' TO 'x'",
                                     "GET '/Volumes/main/default/v/folder/passwd' TO 'x'"};
  struct store s;
  char path[100];
  size_t i;

  (void)state;
  begin(&s);
  put(&s, FILE_A, "good");
  (void)snprintf(path, sizeof path, "%s/main/default/v/file", s.folder);
  assert_int_equal(symlink("/etc/passwd", path), 0);
  (void)snprintf(path, sizeof path, "%s/main/default/v/folder", s.folder);
  assert_int_equal(symlink("/etc", path), 0);
  for (i = 0; i < 2; i++) {
    ask_link(&s, sqls[i]);
    wire_http(&s.fx.wire, "GET", link_path(&s), NULL, 0);
    assert_int_equal(s.fx.wire.status, 404);
  }
  ask_link(&s, "PUT 'x' INTO '/Volumes/main/default/v/folder/new' OVERWRITE");
  wire_http(&s.fx.wire, "PUT", link_path(&s), "x", 1);
  assert_int_equal(s.fx.wire.status, 404);
  end(&s);
}

static int64_t list_rows(struct store *s, const char *sql)
{
  const struct wire_ask ask = {.direct = true, .async = true, .max_rows = 10, .no_arrow = true};
  const struct mtr_TSparkDirectResults *direct =
      wire_execute(&s->fx.wire, &s->fx.session, sql, &ask)->direct_results;

  assert_false(direct->result_set_metadata->is_staging_operation);
  return direct->result_set->results->columns.items[0].string_val->values.count;
}

static void a_list_has_files_and_folders(void **state)
{
  struct store s;
  char path[100];
  FILE *part;

  (void)state;
  begin(&s);
  put(&s, FILE_A, "good");
  put(&s, "/Volumes/main/default/v/sub/f", "good");
  (void)snprintf(path, sizeof path, "%s/main/default/v/" KILN_VOLUME_PART "1-1", s.folder);
  part = fopen(path, "w");
  assert_non_null(part);
  assert_int_equal(fclose(part), 0);
  assert_int_equal(list_rows(&s, "LIST '/Volumes/main/default/v'"), 2);
  assert_int_equal(list_rows(&s, "list '/Volumes/main/default/v/' LIMIT 1"), 1);
  assert_int_equal(list_rows(&s, "LIST '/Volumes/main/default/v/sub'"), 1);
  end(&s);
}

static void bodies_are_bounded(void **state)
{
  static const char head[] =
      "PUT /Volumes/main/default/v/a HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 268435457\r\n\r\nx";
  const size_t size = 65 << 20;
  char *body = calloc(1, size);
  struct store s;

  (void)state;
  begin(&s);
  assert_non_null(body);
  wire_http(&s.fx.wire, "POST", "/sql/1.0/warehouses/kiln", body, size);
  assert_int_equal(s.fx.wire.status, 413);
  fault_reconnect(&s.fx);
  wire_send(&s.fx.wire, head, sizeof head - 1);
  assert_true(wire_receive(&s.fx.wire));
  assert_int_equal(s.fx.wire.status, 413);
  free(body);
  end(&s);
}

static void without_a_folder_statements_are_the_engines(void **state)
{
  struct fixture fx;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  (void)wire_execute(&fx.wire, &fx.session, "REMOVE '" FILE_A "'", &ask_direct);
  assert_int_equal(fx.engine.executed, 1);
  wire_http(&fx.wire, "GET", "/Volumes/main/default/v/a", NULL, 0);
  assert_int_equal(fx.wire.status, 404);
  fixture_stop(&fx);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statements_are_answered_with_links),
      cmocka_unit_test(what_is_no_path_of_a_file_is_refused),
      cmocka_unit_test(other_mistakes_have_their_conditions),
      cmocka_unit_test(files_go_up_and_down),
      cmocka_unit_test(a_link_is_good_for_what_it_says_alone),
      cmocka_unit_test(a_link_expires),
      cmocka_unit_test(faults_meet_links_too),
      cmocka_unit_test(no_symbolic_link_leads_out_of_the_folder),
      cmocka_unit_test(a_list_has_files_and_folders),
      cmocka_unit_test(bodies_are_bounded),
      cmocka_unit_test(without_a_folder_statements_are_the_engines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
