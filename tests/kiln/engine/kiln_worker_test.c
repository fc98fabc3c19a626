/* One translator process, played by small programs: cat answers with what it was sent. */
#include "kiln/engine/translate/worker.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"

static atomic_bool never, always = true;

static const char *const echo[] = {"cat", NULL};
static const char *const silent[] = {"sleep", "100", NULL};
static const char *const ends[] = {"true", NULL};
static const char *const missing[] = {"no-such-program-of-kiln", NULL};

static enum mortar_status ask(const char *const *argv, size_t size, int64_t limit_ms,
                              const atomic_bool *stop, struct mtr_buf *reply)
{
  struct mortar_error err;
  struct kiln_worker worker;
  enum mortar_status st = kiln_worker_start(&worker, argv, &err);
  char *text = mtr_calloc(NULL, size + 1, 1);

  memset(text, 'x', size);
  if (st == MORTAR_OK)
    st = kiln_worker_exchange(&worker, mtr_span_of(text, size),
                              mtr_deadline_after(mtr_clock_now(), limit_ms), stop, reply, &err);
  kiln_worker_end(&worker);
  assert_int_equal(worker.fd, -1);
  mtr_free(NULL, text, size + 1);
  return st;
}

static void test_messages_come_back_whole(void **state)
{
  static const size_t sizes[] = {0, 1, 4096};
  struct mtr_buf reply;
  size_t i;

  (void)state;
  mtr_buf_init(&reply, NULL, "reply", 1 << 22);
  for (i = 0; i < 3; i++) {
    assert_int_equal(ask(echo, sizes[i], 20000, &never, &reply), MORTAR_OK);
    assert_int_equal(reply.size, sizes[i]);
    assert_true(sizes[i] == 0 || (reply.data[0] == 'x' && reply.data[sizes[i] - 1] == 'x'));
  }
  mtr_buf_fini(&reply);
}

static void test_silence_ends_at_the_deadline(void **state)
{
  struct mtr_buf reply;
  int64_t start = mtr_clock_now();

  (void)state;
  mtr_buf_init(&reply, NULL, "reply", 1 << 20);
  assert_int_equal(ask(silent, 10, 100, &never, &reply), MORTAR_TIMEOUT);
  assert_true(mtr_clock_now() - start >= 100 * MTR_MS);
  assert_true(mtr_clock_now() - start < 5 * MTR_SECOND);
  mtr_buf_fini(&reply);
}

static void test_stop_ends_the_wait(void **state)
{
  struct mtr_buf reply;

  (void)state;
  mtr_buf_init(&reply, NULL, "reply", 1 << 20);
  assert_int_equal(ask(silent, 10, 100000, &always, &reply), MORTAR_CANCELED);
  mtr_buf_fini(&reply);
}

static void test_a_process_that_ends_is_told(void **state)
{
  struct mtr_buf reply;

  (void)state;
  mtr_buf_init(&reply, NULL, "reply", 1 << 20);
  assert_int_equal(ask(ends, 10, 20000, &never, &reply), MORTAR_IO);
  assert_int_equal(ask(missing, 10, 20000, &never, &reply), MORTAR_IO);
  mtr_buf_fini(&reply);
}

static void test_an_answer_above_the_limit_is_refused(void **state)
{
  struct mtr_buf reply;

  (void)state;
  mtr_buf_init(&reply, NULL, "reply", 1000);
  assert_int_equal(ask(echo, 1001, 20000, &never, &reply), MORTAR_LIMIT);
  mtr_buf_fini(&reply);
}

static void test_end_leaves_no_process(void **state)
{
  struct kiln_worker worker;

  (void)state;
  assert_int_equal(kiln_worker_start(&worker, silent, NULL), MORTAR_OK);
  assert_int_equal(kill(worker.pid, 0), 0);
  kiln_worker_end(&worker);
  assert_int_equal(kill(worker.pid, 0), -1);
  assert_int_equal(errno, ESRCH);
  kiln_worker_end(&worker); /* twice is fine */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages_come_back_whole),
      cmocka_unit_test(test_silence_ends_at_the_deadline),
      cmocka_unit_test(test_stop_ends_the_wait),
      cmocka_unit_test(test_a_process_that_ends_is_told),
      cmocka_unit_test(test_an_answer_above_the_limit_is_refused),
      cmocka_unit_test(test_end_leaves_no_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
