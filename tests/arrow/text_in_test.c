/* Text read into values: written out again it is the same text, and what is no such value, or would
 * lose a digit, is refused. */
#include "arrow/text_in.h"

#include "arrow/text_out.h"
#include "tests/support/test.h"

struct decimal_case {
  const char *text;
  int precision, scale;
  const char *want; /* NULL: refused */
};

static const struct decimal_case decimals[] = {
    {"0", 1, 0, "0"},
    {"-0", 1, 0, "0"},
    {"+7", 1, 0, "7"},
    {"12.30", 4, 2, "12.30"},
    {"-12.3", 4, 2, "-12.30"},
    {"12", 4, 2, "12.00"},
    {"0.001", 3, 3, "0.001"},
    {"-0.001", 3, 3, "-0.001"},
    {"000123.4500000", 5, 2, "123.45"},
    {"99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999"},
    {"-9999999999999999999.9999999999999999999", 38, 19,
     "-9999999999999999999.9999999999999999999"},
    {"0.00000000000000000000000000000000000001", 38, 38,
     "0.00000000000000000000000000000000000001"},
    {"18446744073709551616", 20, 0, "18446744073709551616"},
    {"100.00", 4, 2, NULL}, /* three digits before the point */
    {"1.005", 4, 2, NULL},  /* three behind it */
    {"", 4, 2, NULL},
    {"-", 4, 2, NULL},
    {".5", 4, 2, NULL},
    {"1.", 4, 2, NULL},
    {"1e3", 38, 0, NULL},
    {"1,5", 38, 1, NULL},
    {" 1", 38, 0, NULL},
    {"1 ", 38, 0, NULL},
    {"NaN", 38, 0, NULL},
    {"--1", 38, 0, NULL},
};

static void decimals_are_read_whole(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof decimals / sizeof *decimals; i++) {
    const struct decimal_case *k = &decimals[i];
    struct mtr_text_out out = {0};
    uint8_t value[MTR_DECIMAL_SIZE];
    char text[100];
    const bool read = mtr_in_decimal(mtr_span_text(k->text), k->precision, k->scale, value);

    if (read != (k->want != NULL)) fail_msg("%s", k->text);
    if (!read) continue;
    out.buf = text;
    out.capacity = sizeof text;
    mtr_out_decimal(&out, value, MTR_DECIMAL_SIZE, k->scale);
    mtr_out_end(&out);
    assert_string_equal(text, k->want);
  }
}

/* Every day of 800 years, and days far away. */
static void dates_are_what_is_written(void **state)
{
  enum { YEARS_400 = 146097 };
  int64_t days;
  int step;

  (void)state;
  for (step = 1; step <= 99991; step += 99990) {
    const int64_t range = step == 1 ? YEARS_400 : INT32_MAX - 100000;
    for (days = -range; days <= range; days += step) {
      struct mtr_text_out out = {0};
      int32_t back = 0;
      char text[40];

      out.buf = text;
      out.capacity = sizeof text;
      mtr_out_date(&out, days);
      mtr_out_end(&out);
      if (!mtr_in_date(mtr_span_text(text), &back) || back != days) fail_msg("%s", text);
    }
  }
}

static void no_dates(void **state)
{
  static const char *const texts[] = {
      "",           "2024",        "2024-1",      "2024-13-01",     "2024-00-01",
      "2024-02-30", "2023-02-29",  "1900-02-29",  "2024-01-00",     "2024-01-011",
      "2024/01/01", " 2024-01-01", "2024-01-01 ", "99999999-01-01", "9999999-01-01",
      "--1-01-01",  "2024-1-",
  };
  int32_t days;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof texts / sizeof *texts; i++)
    if (mtr_in_date(mtr_span_text(texts[i]), &days)) fail_msg("%s", texts[i]);
  assert_true(mtr_in_date(mtr_span_text("2000-02-29"), &days));
  assert_true(mtr_in_date(mtr_span_text("-0004-02-29"), &days));
}

static void timestamps(void **state)
{
  static const struct {
    const char *text;
    bool valid;
    int64_t micros;
  } cases[] = {
      {"1970-01-01 00:00:00", true, 0},
      {"1970-01-01T00:00:00.000001", true, 1},
      {"1969-12-31 23:59:59.999999", true, -1},
      {"1970-01-01 00:00:00.5", true, 500000},
      {"2024-02-29 12:34:56.789012", true, 1709210096789012},
      {"2024-02-29 12:34:56.789012000", true, 1709210096789012},
      {"9999-12-31 23:59:59.999999", true, 253402300799999999},
      {"0001-01-01 00:00:00", true, -62135596800000000},
      {"+294246-01-01 00:00:00", true, 9223339708800000000},
      {"2024-02-29 12:34:56.789012001", false, 0}, /* a digit would be lost */
      {"2024-02-29 12:34:56.", false, 0},
      {"2024-02-29", false, 0},
      {"2024-02-29 12:34", false, 0},
      {"2024-02-29 24:00:00", false, 0},
      {"2024-02-29 12:60:00", false, 0},
      {"2024-02-29 12:00:60", false, 0},
      {"2024-02-29 12:34:56 UTC", false, 0},
      {"2024-02-29 12:34:56Z", false, 0},
      {"+300000-01-01 00:00:00", false, 0}, /* more than 64 bits */
      {"-300000-01-01 00:00:00", false, 0},
      {"", false, 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t micros = 0;
    const bool valid = mtr_in_timestamp(mtr_span_text(cases[i].text), &micros);
    if (valid != cases[i].valid || micros != cases[i].micros)
      fail_msg("%s: %lld", cases[i].text, (long long)micros);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decimals_are_read_whole),
      cmocka_unit_test(dates_are_what_is_written),
      cmocka_unit_test(no_dates),
      cmocka_unit_test(timestamps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
