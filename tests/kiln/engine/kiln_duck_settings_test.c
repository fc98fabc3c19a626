/* The statements that make a session's schema: what they keep of OpenSession's configuration. */
#include "kiln/engine/duckdb/duck_settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/thrift/binary.h"

#define MADE                                                                                       \
  "CREATE SCHEMA kiln.s_7; CREATE TABLE kiln.s_7.kiln_settings (key VARCHAR, value VARCHAR)"
#define ROW "; INSERT INTO kiln.s_7.kiln_settings VALUES "

/* Keys and values in turn, as they stand on the wire: one byte of length is enough here. */
static const struct {
  uint32_t count;
  const char *bytes;
  size_t size;
  const char *sql;
  bool names_schema;
} cases[] = {
    {0, "", 0, MADE, false},
    {1, "\0\0\0\1a\0\0\0\0", 9, MADE ROW "('a', '')", false},
    {2, "\0\0\0\3it'\0\0\0\2''\0\0\0\1b\0\0\0\2\xc3\xa4", 24,
     MADE ROW "('it''', '''''')" ROW "('b', '\xc3\xa4')", false},
    {3, "\0\0\0\14use:database\0\0\0\1x\0\0\0\1n\0\0\0\1\0\0\0\0\1u\0\0\0\1\xff", 41, MADE, true},
    {1, "\0\0\0\1x\0\0\0\14use:database", 21, MADE ROW "('x', 'use:database')", false},
    {3,
     "\0\0\0\16set:hiveconf:a\0\0\0\1b\0\0\0\15set:hivevar:c\0\0\0\1d\0\0\0\15set:hiveconf:"
     "\0\0\0\1e",
     67, MADE ROW "('a', 'b')" ROW "('c', 'd')" ROW "('hiveconf:', 'e')", false},
};

static void test_cases(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_thrift_values settings = {cases[i].count, MTR_T_STRING, MTR_T_STRING,
                                         mtr_span_of(cases[i].bytes, cases[i].size)};
    struct mtr_buf sql;

    mtr_buf_init(&sql, NULL, "statements", 1024);
    assert_int_equal(duck_settings_write(&sql, 7, &settings, NULL), MORTAR_OK);
    assert_string_equal((const char *)sql.data, cases[i].sql);
    assert_int_equal(duck_settings_name_schema(&settings), cases[i].names_schema);
    mtr_buf_fini(&sql);
  }
}

static void test_timeouts(void **state)
{
  static const struct {
    const char *bytes;
    size_t size;
    int64_t seconds;
  } ways[] = {
      {"\0\0\0\21statement_timeout\0\0\0\1"
       "7",
       26, 7},
      {"\0\0\0\21STATEMENT_TIMEOUT\0\0\0\6"
       "172800",
       31, 172800},
      {"\0\0\0\21statement_timeout\0\0\0\6"
       "172801",
       31, 0},
      {"\0\0\0\21statement_timeout\0\0\0\2"
       "5m",
       27, 0},
      {"\0\0\0\36set:hiveconf:statement_timeout\0\0\0\1"
       "9",
       39, 9},
      {"\0\0\0\7timeout\0\0\0\1"
       "7",
       16, 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct mtr_thrift_values settings = {1, MTR_T_STRING, MTR_T_STRING,
                                         mtr_span_of(ways[i].bytes, ways[i].size)};
    assert_int_equal(duck_settings_timeout(&settings), ways[i].seconds);
  }
}

static void test_too_many(void **state)
{
  struct mtr_thrift_values settings = {1, MTR_T_STRING, MTR_T_STRING,
                                       mtr_span_of("\0\0\0\1a\0\0\0\1b", 10)};
  struct mtr_buf sql;

  (void)state;
  mtr_buf_init(&sql, NULL, "statements", sizeof MADE + 4);
  assert_int_equal(duck_settings_write(&sql, 7, &settings, NULL), MORTAR_LIMIT);
  mtr_buf_fini(&sql);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_timeouts),
                                     cmocka_unit_test(test_too_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
