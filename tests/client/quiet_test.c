/* What a statement in the steady state does not do: system calls beyond one send and two receives,
 * a look for bytes before they are waited for, a request encoded anew, a lock that others may hold.
 *
 * The linker puts the functions __wrap_... in the place of what they are called after; they count
 * for their own thread, as the server runs in this process, too. */
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "codec/thrift/message.h"
#include "tests/client/client_fixture.h"

enum { LOCKS_MAX = 64, WARM_UP = 5, ROUNDS = 10, LATE_MS = 50, TICK_MS = 90, CPU_MS = 10 };

struct seen {
  int recv, send, poll, encoded, locks;
  const pthread_mutex_t *lock[LOCKS_MAX];
};

static _Thread_local struct seen seen;

ssize_t __real_recv(int fd, void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags)
{
  seen.recv++;
  return __real_recv(fd, data, size, flags);
}

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
  seen.send++;
  return __real_send(fd, data, size, flags);
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
  seen.poll++;
  return __real_poll(fds, count, timeout_ms);
}

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
  if (seen.locks < LOCKS_MAX) seen.lock[seen.locks] = lock;
  seen.locks++;
  return __real_pthread_mutex_lock(lock);
}

enum mortar_status __real_mtr_message_write(struct mtr_buf *out, enum mtr_message_type type,
                                            const char *name, int32_t seqid,
                                            const struct mtr_struct_info *info, const void *body,
                                            struct mortar_error *err);
enum mortar_status __wrap_mtr_message_write(struct mtr_buf *out, enum mtr_message_type type,
                                            const char *name, int32_t seqid,
                                            const struct mtr_struct_info *info, const void *body,
                                            struct mortar_error *err);
enum mortar_status __wrap_mtr_message_write(struct mtr_buf *out, enum mtr_message_type type,
                                            const char *name, int32_t seqid,
                                            const struct mtr_struct_info *info, const void *body,
                                            struct mortar_error *err)
{
  seen.encoded++;
  return __real_mtr_message_write(out, type, name, seqid, info, body, err);
}

static void run(struct client *c)
{
  int64_t rows;

  assert_int_equal(client_rows(c, &rows), MORTAR_OK);
  assert_int_equal(rows, c->fs.batch_count * c->fs.batches[0].rows);
}

static void warm_up(struct client *c)
{
  int i;

  for (i = 0; i < WARM_UP; i++)
    run(c);
  memset(&seen, 0, sizeof seen);
}

/* One of the receives is the look whether the connection is alive, the other one waits, for
 * TICK_MS: a machine that stands still for so long proves nothing of that. */
static bool check_one(struct client *c)
{
  const int64_t start = mtr_clock_now();

  memset(&seen, 0, sizeof seen);
  run(c);
  assert_int_equal(seen.send, 1);
  assert_int_equal(seen.poll, 0);
  assert_int_equal(seen.encoded, 0); /* the request is a template */
  if (mtr_clock_now() - start > TICK_MS * MTR_MS) return false;
  assert_int_equal(seen.recv, 2);
  return true;
}

static void check_calls(struct client *c)
{
  int quick = 0;

  while (quick < ROUNDS)
    quick += check_one(c);
}

static void a_statement_is_one_send_and_two_receives(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  warm_up(&c);
  check_calls(&c);
  client_stop(&c);
}

static int64_t cpu_ms(void)
{
  struct timespec used;

  assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
  return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* However long the server takes: one receive sleeps until it answers. */
static void a_wait_costs_nothing(void **state)
{
  struct client c;
  int64_t start;
  int i;

  (void)state;
  client_start(&c);
  warm_up(&c);
  fake_server_fault(
      &c.fs,
      &(struct fake_fault){
          .call = "ExecuteStatement", .event = FAKE_LATE, .runs = true, .delay_ms = LATE_MS});
  start = cpu_ms();
  for (i = 0; i < ROUNDS; i++)
    run(&c);
  assert_true(cpu_ms() - start < ROUNDS * CPU_MS);
  check_calls(&c);
  client_stop(&c);
}

static void a_finished_result_is_freed_without_a_lock(void **state)
{
  struct mortar_result *res = NULL;
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  warm_up(&c);
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(client_drain(res, &rows, &c.err), MORTAR_OK);
  assert_true(seen.locks > 0); /* they are seen at all */
  memset(&seen, 0, sizeof seen);
  mortar_result_free(res);
  assert_int_equal(seen.locks, 0);
  assert_int_equal(seen.send + seen.recv + seen.poll, 0);
  client_stop(&c);
}

static struct seen locks_of_one(struct client *c)
{
  warm_up(c);
  run(c);
  assert_in_range(seen.locks, 1, LOCKS_MAX);
  return seen;
}

static void sessions_share_no_lock(void **state)
{
  struct client a, b = {.session = NULL};
  struct seen of_a, of_b;
  int i, k;

  (void)state;
  client_start(&a);
  b.fs.port = a.fs.port;
  assert_int_equal(client_open(&b, NULL, NULL, NULL), MORTAR_OK);
  b.fs.batch_count = a.fs.batch_count;
  b.fs.batches[0] = a.fs.batches[0];
  of_a = locks_of_one(&a);
  of_b = locks_of_one(&b);
  for (i = 0; i < of_a.locks; i++)
    for (k = 0; k < of_b.locks; k++)
      assert_ptr_not_equal(of_a.lock[i], of_b.lock[k]);
  mortar_session_free(b.session);
  client_stop(&a);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_statement_is_one_send_and_two_receives),
      cmocka_unit_test(a_wait_costs_nothing),
      cmocka_unit_test(a_finished_result_is_freed_without_a_lock),
      cmocka_unit_test(sessions_share_no_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
