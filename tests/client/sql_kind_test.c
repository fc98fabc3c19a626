/* Which texts count as reads; when in doubt, none. */
#include "client/sql_kind.h"
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

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_reads),
      cmocka_unit_test(everything_else),
      cmocka_unit_test(every_cut_is_safe),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
