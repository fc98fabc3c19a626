/* DuckDB's messages and what a client gets to read instead. */
#include "kiln/engine/duckdb/duck_error.h"

#include <setjmp.h>
#include <stdarg.h>
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
     "[CAST_INVALID_INPUT] Could not convert string 'abc' to INT32 SQLSTATE: 22018"},
    {"Conversion Error: date field value out of range: \"2024-13-01\"", "22018",
     "[CAST_INVALID_INPUT] date field value"},
    {"Conversion Error: Type INT64 with value 300 can't be cast because the value is out of range",
     "22003", "[CAST_OVERFLOW]"},
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

    duck_error_map(cases[i].text, &err);
    assert_string_equal(err.sqlstate, cases[i].sqlstate);
    assert_memory_equal(err.message, cases[i].start, strlen(cases[i].start));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
