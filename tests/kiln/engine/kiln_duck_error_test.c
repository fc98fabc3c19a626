/* DuckDB's messages and what a client gets to read instead. */
#include "kiln/engine/duckdb/duck_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
  const char *text, *sqlstate, *start;
} cases[] = {
    {"Catalog Error: Table with name nope does not exist!\nDid you mean \"pg_enum\"?", "42P01",
     "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nope` cannot be found."},
    {"Catalog Error: Table with name \"k_main.x.t\" does not exist because schema", "42P01",
     "[TABLE_OR_VIEW_NOT_FOUND] The table or view `main.x.t` cannot be found."},
    {"Catalog Error: Table with name \"t\" already exists!", "42P07",
     "[TABLE_OR_VIEW_ALREADY_EXISTS] Cannot create table or view `t`"},
    {"Catalog Error: SET search_path: No catalog + schema named \"k_a.b\" found.", "42704",
     "[SCHEMA_NOT_FOUND] The schema or catalog `a.b`"},
    {"Catalog Error: Scalar Function with name f does not exist!", "42883",
     "[UNRESOLVED_ROUTINE] Cannot resolve routine `f`"},
    {"Binder Error: Referenced column \"c\" not found in FROM clause!", "42703",
     "[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] A column, variable, or function parameter with name "
     "`c` cannot"},
    {"Conversion Error: Could not convert string 'abc' to INT32\n\nLINE 1", "22018",
     "[CAST_INVALID_INPUT] Could not convert string 'abc' to INT SQLSTATE: 22018"},
    {"Conversion Error: date field value out of range: \"2024-13-01\"", "22018",
     "[CAST_INVALID_INPUT] date field value"},
    {"Conversion Error: Type INT64 with value 300 can't be cast because the value is out of range",
     "22003", "[CAST_OVERFLOW] Type BIGINT with value 300 can't"},
    {"Invalid Input Error: More than one row returned by a subquery used as an expression.\n\nUse "
     "\"SET x=false\"",
     "21000",
     "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery used as an "
     "expression. SQLSTATE: 21000"},
    {"Catalog Error: Column with name \"a\" already exists!", "42711",
     "[COLUMN_ALREADY_EXISTS] The column `a` already exists."},
    {"Binder Error: Failed to attach database: database with name \"k_c\" already exists", "42710",
     "[CATALOG_ALREADY_EXISTS] Cannot create catalog `c` because it already exists."},
    {"Binder Error: Referenced update column z not found in table!", "42703",
     "[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] A column with name `z` cannot"},
    {"Invalid Input Error: [DIVIDE_BY_ZERO] Division. SQLSTATE: 22012", "22012",
     "[DIVIDE_BY_ZERO] Division. SQLSTATE: 22012"},
    {"Invalid Input Error: [ODD] no state, cut SQLSTATE: 2", "XX000", "[ODD] no state"},
    {"Constraint Error: CHECK constraint failed on table v with expression CHECK(f(a, 3)) (Error: "
     "[TOO_LONG] Three. SQLSTATE: 22001)",
     "22001", "[TOO_LONG] Three. SQLSTATE: 22001"},
    {"Constraint Error: CHECK constraint failed on table v with expression CHECK((a < '(Error: [', "
     "1",
     "23001", "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES]"},
    {"Constraint Error: CHECK constraint failed on table v with expression CHECK((a < 3))", "23001",
     "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES]"},
    {"INTERRUPT Error: Interrupted!", "HY008", "[OPERATION_CANCELED]"},
    {"Odd Error: what\nlines", "XX000", "[INTERNAL_ERROR] Odd Error: what\nlines"},
    {"Catalog Error: Table with name ", "XX000", "[INTERNAL_ERROR]"},
    {"", "XX000", "[INTERNAL_ERROR]"},
    {NULL, "XX000", "[INTERNAL_ERROR]"},
};

static void test_cases(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct kiln_error err;

    duck_error_map(cases[i].text, NULL, &err);
    assert_string_equal(err.sqlstate, cases[i].sqlstate);
    assert_memory_equal(err.message, cases[i].start, strlen(cases[i].start));
  }
}

/* DuckDB names the table alone; the statement names its schema and catalog, too. */
static void test_names_in_full(void **state)
{
  static const struct {
    const char *sql, *name;
  } names[] = {
      {"SELECT * FROM k_main.s.zz", "main.s.zz"},
      {"SELECT * FROM \"k_my-c\".\"a b\".\"zz\" AS t", "my-c.a b.zz"},
      {"SELECT x.zzz, zz FROM k_a.zzz, k_a.b.zz", "a.b.zz"},
      {"DROP TABLE s.zz", "s.zz"},
      {"DROP TABLE zz", "zz"},
      {"DROP TABLE \"zz\"", "zz"},
      {".zz", "zz"},
      {"", "zz"},
      {NULL, "zz"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    struct kiln_error err;
    char start[128];

    duck_error_map("Catalog Error: Table with name zz does not exist!", names[i].sql, &err);
    (void)snprintf(start, sizeof start,
                   "[TABLE_OR_VIEW_NOT_FOUND] The table or view `%s` cannot be found.",
                   names[i].name);
    assert_memory_equal(err.message, start, strlen(start));
  }
}

/* Longer than what is kept of it. */
static void test_long_texts(void **state)
{
  static char sql[3000], text[6000] = "Binder Error: ";
  struct kiln_error err;

  (void)state;
  memset(sql, 'a', sizeof sql - 1);
  memcpy(sql + sizeof sql - 4, ".zz", 3);
  duck_error_map("Catalog Error: Table with name zz does not exist!", sql, &err);
  assert_non_null(strstr(err.message, "aaaa"));
  memset(text + strlen(text), 'b', sizeof text - 1 - strlen(text));
  duck_error_map(text, NULL, &err);
  assert_string_equal(err.sqlstate, "42000");
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                     cmocka_unit_test(test_names_in_full),
                                     cmocka_unit_test(test_long_texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
