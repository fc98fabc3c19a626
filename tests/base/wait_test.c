/* Deadlines and wake-ups. */
#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/wake.h"
#include "tests/support/test.h"

static void deadlines_saturate(void **state)
{
  (void)state;
  assert_true(mtr_deadline_after(5, -1) == MTR_NEVER);
  assert_true(mtr_deadline_after(5, INT64_MAX) == MTR_NEVER);
  assert_true(mtr_deadline_after(5, 2) == 5 + 2 * MTR_MS);
  assert_int_equal(mtr_deadline_poll_ms(MTR_NEVER, 0), -1);
  assert_int_equal(mtr_deadline_poll_ms(10, 20), 0);
  assert_int_equal(mtr_deadline_poll_ms(MTR_MS + 1, 0), 2); /* rounded up: no busy loop */
  assert_int_equal(mtr_deadline_poll_ms(MTR_NEVER - 1, 0), 3600 * 1000);
}

static bool readable(struct mortar_wake *wake)
{
  struct pollfd p = {mtr_wake_fd(wake), POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

static void a_signal_stays_until_it_is_cleared(void **state)
{
  struct mortar_wake *wake;
  int i;

  (void)state;
  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  assert_false(readable(wake));
  for (i = 0; i < 100000; i++)
    mortar_wake_signal(wake); /* more than a pipe holds */
  assert_true(readable(wake));
  assert_true(mtr_wake_signalled(wake));
  mortar_wake_clear(wake);
  assert_false(readable(wake));
  mortar_wake_signal(NULL);
  mortar_wake_clear(NULL);
  assert_int_equal(mtr_wake_fd(NULL), -1);
  assert_false(mtr_wake_signalled(NULL));
  mortar_wake_free(wake);
  mortar_wake_free(NULL);
}

static void *signal_it(void *arg)
{
  mortar_wake_signal(arg);
  return NULL;
}

static void another_thread_wakes_a_wait(void **state)
{
  struct mortar_wake *wake;
  struct pollfd p = {0, POLLIN, 0};
  pthread_t thread;

  (void)state;
  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  p.fd = mtr_wake_fd(wake);
  assert_int_equal(pthread_create(&thread, NULL, signal_it, wake), 0);
  assert_int_equal(poll(&p, 1, 10000), 1);
  assert_int_equal(pthread_join(thread, NULL), 0);
  mortar_wake_free(wake);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deadlines_saturate),
      cmocka_unit_test(a_signal_stays_until_it_is_cleared),
      cmocka_unit_test(another_thread_wakes_a_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
