/* Pauses: how long they last and what ends them early. */
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/pause.h"

enum { SIGNAL_AFTER_MS = 30, LATE_MS = 500 /* what a busy machine may add */ };

struct ticker {
  int calls, end_at; /* the call that ends the pause; 0: none */
};

static int count_tick(void *arg)
{
  struct ticker *ticker = arg;
  return ++ticker->calls == ticker->end_at;
}

static enum mortar_status pause_for(const struct mtr_wait *wait, int64_t ms, int64_t *took_ms,
                                    struct mortar_error *err)
{
  const int64_t start = mtr_clock_now();
  const enum mortar_status st = mtr_pause(wait, ms, "resting", err);

  *took_ms = (mtr_clock_now() - start) / MTR_MS;
  return st;
}

static void lasts_its_time(void **state)
{
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  int64_t took;

  (void)state;
  assert_int_equal(pause_for(&wait, 30, &took, NULL), MORTAR_OK);
  assert_in_range(took, 30, 30 + LATE_MS);
}

static void deadline_comes_first(void **state)
{
  const struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), 30)};
  struct mortar_error err;
  int64_t took;

  (void)state;
  assert_int_equal(pause_for(&wait, 10000, &took, &err), MORTAR_TIMEOUT);
  assert_in_range(took, 29, 30 + LATE_MS);
  assert_string_equal(err.message, "resting: the deadline passed");
}

static void woken(void **state)
{
  struct mtr_wait wait = {.deadline = MTR_NEVER};
  struct mortar_error err;
  int64_t took;

  (void)state;
  assert_int_equal(mortar_wake_new(&wait.wake, NULL), MORTAR_OK);
  mortar_wake_signal(wait.wake);
  assert_int_equal(pause_for(&wait, 10000, &took, &err), MORTAR_INTERRUPTED);
  assert_in_range(took, 0, LATE_MS);
  mortar_wake_free(wait.wake);
}

static void ended_by_the_tick(void **state)
{
  struct ticker ticker = {0, 2};
  const struct mtr_wait wait = {.deadline = MTR_NEVER, .tick = count_tick, .tick_ctx = &ticker};
  struct mortar_error err;
  int64_t took;

  (void)state;
  assert_int_equal(pause_for(&wait, 10000, &took, &err), MORTAR_INTERRUPTED);
  assert_int_equal(ticker.calls, 2);
  assert_in_range(took, 199, 200 + LATE_MS);
  assert_string_equal(err.message, "resting: the caller's tick ended the wait");
}

static void tick_lets_it_last(void **state)
{
  struct ticker ticker = {0, 0};
  const struct mtr_wait wait = {.deadline = MTR_NEVER, .tick = count_tick, .tick_ctx = &ticker};
  int64_t took;

  (void)state;
  assert_int_equal(pause_for(&wait, 20, &took, NULL), MORTAR_OK);
  if (took < 100) assert_int_equal(ticker.calls, 0);
  ticker.calls = 0;
  assert_int_equal(pause_for(&wait, 550, &took, NULL), MORTAR_OK);
  assert_in_range(took, 550, 550 + LATE_MS);
  assert_in_range(ticker.calls, 2, 10);
}

static void ignore(int signal) { (void)signal; }

static _Atomic int64_t signalled; /* when: the sender may be held up on a busy machine */

static void *send_signal(void *arg)
{
  const struct timespec delay = {0, SIGNAL_AFTER_MS * 1000000L};
  const pthread_t *to = arg;

  (void)nanosleep(&delay, NULL);
  atomic_store(&signalled, mtr_clock_now());
  (void)pthread_kill(*to, SIGUSR1);
  return NULL;
}

/* A signal does not shorten a pause, but the tick comes with it. */
static void signal_brings_the_tick(void **state)
{
  struct ticker ticker = {0, 1};
  const struct mtr_wait wait = {.deadline = MTR_NEVER, .tick = count_tick, .tick_ctx = &ticker};
  const struct sigaction action = {.sa_handler = ignore};
  pthread_t self = pthread_self(), thread;
  int64_t took;

  (void)state;
  assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
  assert_int_equal(pthread_create(&thread, NULL, send_signal, &self), 0);
  assert_int_equal(pause_for(&wait, 10000, &took, NULL), MORTAR_INTERRUPTED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(mtr_clock_now() - atomic_load(&signalled) < 60 * MTR_MS);
  assert_int_equal(pthread_create(&thread, NULL, send_signal, &self), 0);
  assert_int_equal(pause_for(&(struct mtr_wait){.deadline = MTR_NEVER}, 80, &took, NULL),
                   MORTAR_OK);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_in_range(took, 80, 80 + LATE_MS);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(lasts_its_time),
                                     cmocka_unit_test(deadline_comes_first),
                                     cmocka_unit_test(woken),
                                     cmocka_unit_test(ended_by_the_tick),
                                     cmocka_unit_test(tick_lets_it_last),
                                     cmocka_unit_test(signal_brings_the_tick)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
