/* Which texts count as reads; when in doubt, none. */
#include "client/sql_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test.h"

static void check_all(const char *const *texts, size_t count, bool expect)
{
  size_t i;

  for (i = 0; i < count; i++) {
    const bool read = mtr_sql_is_read(mtr_span_text(texts[i]));
    if (read != expect) print_error("%s\n", texts[i]);
    assert_int_equal(read, expect);
  }
}

static void plain_reads(void **state)
{
  static const char *const texts[] = {
      "SELECT 1",
      "  \t\n select 1;",
      "-- why\n/* first /* of */ all */ Select 1 -- done",
      "(SELECT 1) UNION ALL (SELECT 2)",
      "((select 1))",
      "WITH a AS (SELECT 1) SELECT * FROM a",
      "with `insert` as (select 'delete from t', \"merge\" /* update */) select 1 -- insert",
      "VALUES (1), (2)",
      "TABLE t",
      "SHOW TABLES",
      "DESCRIBE EXTENDED t",
      "desc t",
      "EXPLAIN SELECT 1",
      "LIST '/Volumes/a'",
      "SELECT 'it''s'; -- no second statement",
      "SELECT 'a;b'",
      "SELECT \"inserted\", updated FROM t",
      "select*from t",
  };

  (void)state;
  check_all(texts, sizeof texts / sizeof *texts, true);
}

static void everything_else(void **state)
{
  static const char *const texts[] = {
      "",
      "   ",
      ";",
      "-- SELECT 1",
      "/* SELECT 1",
      "INSERT INTO t VALUES (1)",
      "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
      "with a as (select 'x') /* */ MERGE INTO t USING a ON true WHEN MATCHED THEN DELETE",
      "WITH a AS (SELECT 'it\\') INSERT INTO t SELECT ' FROM a",
      "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
      "SELECT 1; DELETE FROM t",
      "SELECT 'open",
      "SELECT 1 /* open",
      "FROM t INSERT INTO u SELECT *",
      "SELECTED",
      "SELECT_1",
      "CREATE TABLE t AS SELECT 1",
      "USE SCHEMA s",
      "SET a = 1",
      "CALL p()",
      "'SELECT 1'",
      "PUT '/a' INTO '/b'",
      "REFRESH TABLE t",
  };

  (void)state;
  check_all(texts, sizeof texts / sizeof *texts, false);
}

/* A span need not end with NUL; every cut of a text must be looked at without a byte too many. */
static void every_cut_is_safe(void **state)
{
  static const char text[] =
      "-- a\n/* b /* c */ */ (WITH x AS (SELECT 'a\\\\' `b` \"c\") SELECT 1) ;";
  size_t n;

  (void)state;
  for (n = 0; n < sizeof text; n++) {
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    (void)mtr_sql_is_read(mtr_span_of(copy, n));
    free(copy);
  }
  assert_false(mtr_sql_is_read(mtr_span_of(NULL, 0)));
}

/* ---- Volume verbs ---------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* The rule read plainly, by cutting off what may stand before the word. */
static bool plain_is_volume(const char *text)
{
  static const char *const verbs[] = {"put", "get", "remove"};
  size_t i, n;

  for (;;) {
    text += strspn(text, " \t\r\n");
    if (strncmp(text, "--", 2) == 0) {
      text += strcspn(text, "\n");
    } else if (strncmp(text, "/*", 2) == 0) {
      int depth = 1;
      for (text += 2; depth && *text; text += n) {
        n = strncmp(text, "/*", 2) == 0 || strncmp(text, "*/", 2) == 0 ? 2 : 1;
        if (n == 2) depth += *text == '/' ? 1 : -1;
      }
      if (depth) return false;
    } else {
      break;
    }
  }
  for (i = 0; i < 3; i++) {
    n = strlen(verbs[i]);
    if (strncasecmp(text, verbs[i], n) == 0 && !is_word(text[n])) return true;
  }
  return false;
}

static void volume_verbs_as_the_rule_says(void **state)
{
  static const char *const pieces[] = {"PUT",    "put", "Get", "REMOVE",  "remove", "SELECT",
                                       "PUTS",   "GE",  " ",   "\n",      "\t",     "--",
                                       "-- c\n", "/*",  "*/",  "/* x */", "'a'",    "(",
                                       ";",      "-",   "*",   "_",       "1",      "\xc3\xa4"};
  enum { PIECES = sizeof pieces / sizeof *pieces, TEXTS = 300000, LONGEST = 8 };
  uint32_t seed = 7;
  int i, volumes = 0;

  (void)state;
  for (i = 0; i < TEXTS; i++) {
    char text[200] = "";
    size_t n = 0;
    bool want;
    int k;
    for (k = 0; k < LONGEST; k++) {
      seed = seed * 1664525u + 1013904223u;
      n += (size_t)snprintf(text + n, sizeof text - n, "%s", pieces[(seed >> 16) % PIECES]);
      if ((seed >> 28) == 0) break;
    }
    want = plain_is_volume(text);
    if (mtr_sql_is_volume(mtr_span_text(text)) != want) fail_msg("%s", text);
    volumes += want;
  }
  assert_true(volumes > TEXTS / 20 && volumes < TEXTS / 2);
}

/* No look behind the first word, so a long text costs nothing: the rest can't even be read. */
static void only_the_first_word_is_read(void **state)
{
  static const char *const words[] = {
      "PUT ", " get\n", "REMOVE'", "SELECT ", "-- a\n /* b */ Remove ", "WITH\t", "putt "};
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), claimed = (size_t)1 << 30;
  char *pages = aligned_alloc(page, 2 * page);
  size_t i;

  (void)state;
  assert_non_null(pages);
  assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
  for (i = 0; i < sizeof words / sizeof *words; i++) {
    const size_t n = strlen(words[i]);
    char *text = pages + page - n;
    memcpy(text, words[i], n);
    assert_int_equal(mtr_sql_volume_verb(mtr_span_of(text, claimed)),
                     mtr_sql_volume_verb(mtr_span_text(words[i])));
  }
  assert_int_equal(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
  free(pages);
  assert_true(mtr_sql_is_volume(mtr_span_text("PUT")));
  assert_false(mtr_sql_is_volume(mtr_span_text("PU")));
  assert_false(mtr_sql_is_volume(mtr_span_of(NULL, 0)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(volume_verbs_as_the_rule_says),
      cmocka_unit_test(only_the_first_word_is_read),
      cmocka_unit_test(plain_reads),
      cmocka_unit_test(everything_else),
      cmocka_unit_test(every_cut_is_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
