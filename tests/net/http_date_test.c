/* Dates in headers: the one accepted form, its limits, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "net/http_date.h"

static void known_dates(void **state)
{
  static const struct {
    const char *text;
    int64_t seconds;
  } cases[] = {
      {"Thu, 01 Jan 1970 00:00:00 GMT", 0},          {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
      {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199}, {"Fri, 01 Mar 2024 00:00:00 GMT", 1709251200},
      {"Wed, 31 Dec 1969 23:59:59 GMT", -1},         {"Tue, 19 Jan 2038 03:14:08 GMT", 2147483648},
      {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t seconds = 0;
    assert_true(mtr_http_date(mtr_span_text(cases[i].text), &seconds));
    assert_int_equal(seconds, cases[i].seconds);
  }
}

static void refused_dates(void **state)
{
  static const char *const cases[] = {"",
                                      "Sunday, 06-Nov-94 08:49:37 GMT",
                                      "Sun Nov  6 08:49:37 1994",
                                      "Sun, 06 Nov 1994 08:49:37 UTC",
                                      "Sun, 06 Nov 1994 24:00:00 GMT",
                                      "Sun, 06 Nov 1994 08:60:00 GMT",
                                      "Sun, 06 Nop 1994 08:49:37 GMT",
                                      "Sun, 00 Nov 1994 08:49:37 GMT",
                                      "Sun, 32 Nov 1994 08:49:37 GMT",
                                      "Sun, 06 Nov 19x4 08:49:37 GMT",
                                      "Sun, 06 Nov 0000 08:49:37 GMT",
                                      "Sun, 06 Nov 1994 08:49:37 GMT "};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t seconds = 0;
    assert_false(mtr_http_date(mtr_span_text(cases[i]), &seconds));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(known_dates),
                                     cmocka_unit_test(refused_dates)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
