/* Errors: texts that are cut, prefixes, the table. */
#include "base/error.h"

#include <stdio.h>

#include "tests/support/test.h"

static void a_failure_fills_the_carrier(void **state)
{
  struct mortar_error err;

  (void)state;
  memset(&err, 0x5a, sizeof err);
  assert_int_equal(mtr_fail(&err, MORTAR_TIMEOUT, "row %d", 7), MORTAR_TIMEOUT);
  assert_int_equal(err.status, MORTAR_TIMEOUT);
  assert_string_equal(err.sqlstate, "HYT00");
  assert_string_equal(err.message, "row 7");
  assert_string_equal(err.query_id, "");
  assert_int_equal(err.outcome, MORTAR_OUTCOME_NONE);
  assert_int_equal(mtr_fail(NULL, MORTAR_IO, "%s", "nobody listens"), MORTAR_IO);
}

static void a_long_text_is_cut_at_a_character(void **state)
{
  struct mortar_error err;
  char text[4000];
  size_t i;

  (void)state;
  for (i = 0; i + 2 < sizeof text; i += 2)
    memcpy(text + i, "\xc3\xa9", 2);
  text[i] = '\0';
  (void)mtr_fail(&err, MORTAR_SERVER, "x%s", text);
  assert_int_equal(strlen(err.message) % 2, 1); /* x and whole characters */
  assert_true(strlen(err.message) > sizeof err.message - 4);
  (void)mtr_fail(&err, MORTAR_SERVER, "%s", text);
  assert_int_equal(strlen(err.message) % 2, 0);
}

static void a_prefix_keeps_the_rest(void **state)
{
  struct mortar_error err;

  (void)state;
  (void)mtr_fail(&err, MORTAR_SERVER, "no such table");
  mtr_error_sqlstate(&err, "42P01", 5);
  mtr_error_prefix(&err, "page %d", 3);
  assert_string_equal(err.message, "page 3: no such table");
  assert_string_equal(err.sqlstate, "42P01");
  mtr_error_sqlstate(&err, "12", 2); /* not five characters: ignored */
  assert_string_equal(err.sqlstate, "42P01");
  memset(&err, 0, sizeof err);
  mtr_error_prefix(&err, "nothing failed");
  assert_string_equal(err.message, "");
}

static void a_long_prefix_or_text_never_overflows(void **state)
{
  struct mortar_error err;
  char text[2000];
  int n;

  (void)state;
  memset(text, 'a', sizeof text);
  for (n = 900; n < 1100; n++) {
    (void)mtr_fail(&err, MORTAR_SERVER, "%.*s", n, text);
    mtr_error_prefix(&err, "prefix");
    assert_true(strlen(err.message) < sizeof err.message);
    (void)mtr_fail(&err, MORTAR_SERVER, "short");
    mtr_error_prefix(&err, "%.*s", n, text);
    assert_true(strlen(err.message) < sizeof err.message);
  }
}

static void a_secret_is_masked(void **state)
{
  static const char secret[] = "dapi0123456789";
  struct mortar_error err;
  char text[1200];

  (void)state;
  (void)mtr_fail(&err, MORTAR_HTTP, "%s, Bearer %s, dapi0123, %s", secret, secret, secret);
  mtr_error_mask(&err, secret);
  assert_string_equal(err.message, "***, Bearer ***, dapi0123, ***");
  mtr_error_mask(&err, "Bearer"); /* short enough to be a word */
  mtr_error_mask(&err, NULL);
  mtr_error_mask(NULL, secret);
  assert_string_equal(err.message, "***, Bearer ***, dapi0123, ***");

  memset(text, 'a', sizeof text); /* the end of the message cuts the secret */
  (void)snprintf(text + sizeof err.message - 11, 50, "%s", secret);
  (void)mtr_fail(&err, MORTAR_HTTP, "%s", text);
  assert_non_null(strstr(err.message, "dapi012345"));
  mtr_error_mask(&err, secret);
  assert_null(strstr(err.message, "dapi"));
}

static void every_status_has_words(void **state)
{
  int i;

  (void)state;
#define X(name, text, sqlstate)                                                                    \
  assert_string_equal(mortar_status_name(MORTAR_##name), #name);                                   \
  assert_int_equal(strlen(sqlstate), 5);
  MORTAR_STATUS_MAP(X)
#undef X
  assert_string_equal(mortar_status_name((enum mortar_status)999), "UNKNOWN");
  for (i = -2; i < 100; i++) {
    assert_non_null(mortar_status_name((enum mortar_status)i));
    assert_non_null(mortar_status_text((enum mortar_status)i));
    assert_non_null(mortar_outcome_name((enum mortar_outcome)i));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_fills_the_carrier),
      cmocka_unit_test(a_long_text_is_cut_at_a_character),
      cmocka_unit_test(a_prefix_keeps_the_rest),
      cmocka_unit_test(a_long_prefix_or_text_never_overflows),
      cmocka_unit_test(a_secret_is_masked),
      cmocka_unit_test(every_status_has_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
