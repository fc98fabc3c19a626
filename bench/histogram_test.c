/* The histogram against values whose quantiles are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/histogram.h"

static void test_empty(void **state)
{
  const struct histogram h = {0};

  (void)state;
  assert_int_equal(histogram_quantile(&h, 0.5), 0);
}

static void test_small_values_are_exact(void **state)
{
  struct histogram h = {0};
  int64_t v;

  (void)state;
  for (v = 0; v < 64; v++)
    histogram_add(&h, v);
  assert_int_equal(h.total, 64);
  assert_int_equal(histogram_quantile(&h, 0.0), 0);
  assert_int_equal(histogram_quantile(&h, 0.5), 31);
  assert_int_equal(histogram_quantile(&h, 1.0), 63);
}

static void test_one_value_comes_back_within_a_step(void **state)
{
  int64_t v;

  (void)state;
  for (v = 64; v < HISTOGRAM_MAX / 3; v = v * 3 + 1) {
    struct histogram h = {0};
    int64_t got, off;
    histogram_add(&h, v);
    got = histogram_quantile(&h, 0.5);
    off = got > v ? got - v : v - got;
    assert_true(off * HISTOGRAM_STEPS <= v);
  }
}

static void test_quantiles_of_a_long_tail(void **state)
{
  struct histogram h = {0};
  int i;

  (void)state;
  for (i = 0; i < 980; i++)
    histogram_add(&h, 20);
  for (i = 0; i < 20; i++)
    histogram_add(&h, 60);
  assert_int_equal(histogram_quantile(&h, 0.5), 20);
  assert_int_equal(histogram_quantile(&h, 0.98), 20);
  assert_int_equal(histogram_quantile(&h, 0.99), 60);
}

static void test_values_out_of_range_are_kept_at_the_ends(void **state)
{
  struct histogram h = {0};

  (void)state;
  histogram_add(&h, -5);
  histogram_add(&h, INT64_MAX);
  assert_int_equal(histogram_quantile(&h, 0.5), 0);
  assert_true(histogram_quantile(&h, 1.0) > HISTOGRAM_MAX / 64 * 63);
}

static void test_merge_adds(void **state)
{
  struct histogram a = {0}, b = {0};

  (void)state;
  histogram_add(&a, 10);
  histogram_add(&b, 30);
  histogram_add(&b, 50);
  histogram_merge(&a, &b);
  assert_int_equal(a.total, 3);
  assert_int_equal(histogram_quantile(&a, 0.5), 30);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_empty),
      cmocka_unit_test(test_small_values_are_exact),
      cmocka_unit_test(test_one_value_comes_back_within_a_step),
      cmocka_unit_test(test_quantiles_of_a_long_tail),
      cmocka_unit_test(test_values_out_of_range_are_kept_at_the_ends),
      cmocka_unit_test(test_merge_adds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
