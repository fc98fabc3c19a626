/* Many at once and many in turn: threads that open, run and close; results left half read at any
 * point. Sockets, threads and memory come back to where they were. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "tests/client/client_fixture.h"

enum { THREADS = 100, ROUNDS = 1000 };

static int entries_of(const char *folder)
{
  DIR *dir = opendir(folder);
  int n = 0;

  assert_non_null(dir);
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

static bool is_back_to(int fds, int threads)
{
  return entries_of("/proc/self/fd") <= fds && entries_of("/proc/self/task") <= threads;
}

/* The server's threads see their connections' ends a moment later. */
static void expect_back_to(int fds, int threads)
{
  const struct timespec pause = {0, 10 * 1000000};
  const int64_t until = mtr_deadline_after(mtr_clock_now(), 5000);

  assert_true(mortar_background_wait(5000));
  while (!is_back_to(fds, threads) && mtr_clock_now() < until)
    nanosleep(&pause, NULL);
  assert_true(is_back_to(fds, threads));
}

/* What is made once, such as the sanitizers' threads, is there before anything is counted. */
static int warm_up(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  client_stop(&c);
  return 0;
}

static void *open_run_close(void *arg)
{
  const struct client *shared = arg;
  struct client own = {.fs = {.port = shared->fs.port}};
  bool good = client_open(&own, NULL, NULL, NULL) == MORTAR_OK;
  int64_t rows;
  int i;

  for (i = 0; i < 3 && good; i++)
    good = client_rows(&own, &rows) == MORTAR_OK && rows == 3;
  if (good) good = mortar_session_close(own.session, NULL, &own.err) == MORTAR_OK;
  mortar_session_free(own.session);
  return good ? NULL : arg;
}

static void a_hundred_threads_open_run_and_close(void **state)
{
  const int fds = entries_of("/proc/self/fd"), tasks = entries_of("/proc/self/task");
  pthread_t threads[THREADS];
  struct client c = {.session = NULL};
  void *failed;
  int i;

  (void)state;
  fake_server_start(&c.fs);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, open_run_close, &c), 0);
  for (i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_int_equal(c.fs.opened, THREADS);
  assert_int_equal(c.fs.closed, THREADS);
  assert_int_equal(c.fs.ran, 3 * THREADS);
  fake_server_stop(&c.fs);
  expect_back_to(fds, tasks);
}

/* ---- Handles that move between threads ------------------------------------------------------- */

struct moved {
  struct client *c;
  struct mortar_result *res;
  enum mortar_status st;
};

static void *execute_there(void *arg)
{
  struct moved *m = arg;

  m->st = mortar_query(m->c->session, "SELECT 1", NULL, &m->res, NULL);
  return NULL;
}

static void *close_there(void *arg)
{
  struct moved *m = arg;

  mortar_result_free(m->res);
  return NULL;
}

static void on_a_thread(void *(*f)(void *), struct moved *m)
{
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, f, m), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static void made_here_read_there_closed_elsewhere(void **state)
{
  struct ArrowArray batch;
  struct client c;
  struct moved m = {.c = &c};

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 4, 10);
  c.fs.pages = 4;
  on_a_thread(execute_there, &m);
  assert_int_equal(m.st, MORTAR_OK);
  assert_int_equal(mortar_result_next(m.res, NULL, &batch, &c.err), MORTAR_OK);
  on_a_thread(close_there, &m);
  assert_int_equal(c.fs.operations_closed, 1);
  assert_int_equal(batch.length, 10); /* the batch outlives its result */
  batch.release(&batch);
  client_stop(&c);
}

/* ---- Left at any point ----------------------------------------------------------------------- */

/* A small generator: the same rounds each time. */
static uint32_t next_random(uint32_t *seed)
{
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

/* Reads up to `most` batches and leaves; every third time with a deadline that may strike. */
static void leave_early(struct client *c, uint32_t *seed)
{
  const uint32_t most = next_random(seed) % 6;
  const bool hurried = next_random(seed) % 3 == 0;
  const struct mortar_call call = {.timeout_ms = hurried ? (int64_t)(next_random(seed) % 3) : -1};
  struct mortar_result *res = NULL;
  struct ArrowArray batch = {.release = NULL};
  enum mortar_status st = mortar_query(c->session, "SELECT 1", &call, &res, &c->err);
  uint32_t n;

  assert_true(st == MORTAR_OK || hurried);
  for (n = 0; n < most && st == MORTAR_OK; n++) {
    st = mortar_result_next(res, &call, &batch, &c->err);
    assert_true(st == MORTAR_OK || hurried);
    if (batch.release) batch.release(&batch);
    batch.release = NULL;
  }
  mortar_result_free(res);
}

static void leave_a_session_early(struct client *c, uint32_t *seed, int rounds)
{
  int i;

  assert_int_equal(client_open(c, NULL, NULL, NULL), MORTAR_OK);
  for (i = 0; i < rounds; i++)
    leave_early(c, seed);
  mortar_session_free(c->session);
  c->session = NULL;
}

static void results_left_at_any_point_leave_nothing(void **state)
{
  struct client c = {.session = NULL};
  uint32_t seed = 1;
  int fds, tasks, i;

  (void)state;
  fake_server_start(&c.fs);
  fake_server_batches(&c.fs, 5, 10);
  c.fs.pages = 5;
  fds = entries_of("/proc/self/fd");
  tasks = entries_of("/proc/self/task");
  for (i = 0; i < ROUNDS / 20; i++)
    leave_a_session_early(&c, &seed, 20);
  assert_true(mortar_background_wait(10000));
  assert_int_equal(c.fs.closed, c.fs.opened);
  expect_back_to(fds, tasks); /* the leak checker looks at the memory */
  fake_server_stop(&c.fs);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hundred_threads_open_run_and_close),
      cmocka_unit_test(made_here_read_there_closed_elsewhere),
      cmocka_unit_test(results_left_at_any_point_leave_nothing),
  };
  return cmocka_run_group_tests(tests, warm_up, NULL);
}
