/* Endpoints that sessions share: which options make two of them one, how long one lives, and what
 * threads and forks see. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/endpoint_internal.h"
#include "tests/net/test_certs.h"
#include "tests/support/failing_alloc.h"

static struct mtr_endpoint_options usual(void)
{
  const struct mtr_endpoint_options options = {.host = "warehouse.test",
                                               .port = 443,
                                               .tls = true,
                                               .verify_peer = true,
                                               .verify_host = true,
                                               .ca_file = group_certs.ca,
                                               .connect_timeout_ms = 1000,
                                               .idle_ms = 1000,
                                               .max_reply = 1 << 20};
  return options;
}

static struct mtr_endpoint *get(const struct mtr_endpoint_options *options)
{
  struct mortar_error err = {0};
  struct mtr_endpoint *endpoint;

  if (mtr_endpoint_get(options, NULL, &endpoint, &err)) print_error("%s\n", err.message);
  assert_non_null(endpoint);
  return endpoint;
}

static bool is_shared(const struct mtr_endpoint_options *a, const struct mtr_endpoint_options *b)
{
  struct mtr_endpoint *first = get(a), *second = get(b);
  const bool same = first == second;

  mtr_endpoint_unref(first);
  mtr_endpoint_unref(second);
  return same;
}

/* ---- Equality ------------------------------------------------------------------------------ */

static void equal_options_are_one(void **state)
{
  struct mtr_endpoint_options a = usual(), b = usual();
  char host[] = "warehouse.test", ca[sizeof group_certs.ca];

  (void)state;
  memcpy(ca, group_certs.ca, sizeof ca);
  b.host = host; /* the text counts, not where it is */
  b.ca_file = ca;
  assert_true(is_shared(&a, &b));
  a.proxy = NULL;
  b.proxy = "";
  assert_true(is_shared(&a, &b));
  a.tls = b.tls = false;
  assert_true(is_shared(&a, &b));
  b.ca_file = group_certs.cert; /* nobody reads it */
  assert_true(is_shared(&a, &b));
}

static void any_difference_counts(void **state)
{
  struct mtr_endpoint_options others[11];
  const struct mtr_endpoint_options plain = usual();
  size_t i;

  (void)state;
  for (i = 0; i < 11; i++)
    others[i] = plain;
  others[0].host = "warehouse.tes";
  others[1].port = 444;
  others[2].tls = false;
  others[3].verify_peer = false;
  others[4].verify_host = false;
  others[5].ca_file = group_certs.cert;
  others[6].ca_file = NULL;
  others[7].proxy = "http://proxy.test:3128";
  others[8].connect_timeout_ms = -1;
  others[9].idle_ms = 999;
  others[10].max_reply = 1 << 21;
  for (i = 0; i < 11; i++) {
    if (is_shared(&plain, &others[i])) print_error("difference %zu\n", i);
    assert_false(is_shared(&plain, &others[i]));
    assert_true(is_shared(&others[i], &others[i]));
  }
}

static void another_user_of_the_proxy(void **state)
{
  struct mtr_endpoint_options a = usual(), b = usual();

  (void)state;
  a.proxy = "http://one:secret@proxy.test:3128";
  b.proxy = "http://two:secret@proxy.test:3128";
  assert_false(is_shared(&a, &b));
}

static void allocators(void **state)
{
  const struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *plain = get(&options), *first, *second, *third;
  struct failing_alloc a, b;
  struct mortar_alloc copy;

  (void)state;
  failing_alloc_init(&a, 0);
  failing_alloc_init(&b, 0);
  copy = a.alloc;
  assert_int_equal(mtr_endpoint_get(&options, &a.alloc, &first, NULL), MORTAR_OK);
  assert_int_equal(mtr_endpoint_get(&options, &b.alloc, &second, NULL), MORTAR_OK);
  assert_int_equal(mtr_endpoint_get(&options, &copy, &third, NULL), MORTAR_OK);
  assert_true(first != plain && second != plain && first != second);
  assert_ptr_equal(third, first);
  mtr_endpoint_unref(first);
  mtr_endpoint_unref(second);
  assert_int_equal(b.live, 0);
  assert_true(a.live > 0);
  mtr_endpoint_unref(third);
  assert_int_equal(a.live, 0); /* nothing stays behind with the caller's memory */
  assert_int_equal(a.size_mismatches + b.size_mismatches, 0);
  mtr_endpoint_unref(plain);
}

/* A session that is opened after the file changed must not trust what was in it before. */
static void changed_ca_file(void **state)
{
  struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *before, *after;
  char path[128], command[400];

  (void)state;
  (void)snprintf(path, sizeof path, "%s/changing.pem", group_certs.dir);
  (void)snprintf(command, sizeof command, "cp %s %s", group_certs.ca, path);
  assert_int_equal(system(command), 0);
  options.ca_file = path;
  before = get(&options);
  (void)snprintf(command, sizeof command, "cat %s >>%s", group_certs.cert, path);
  assert_int_equal(system(command), 0);
  after = get(&options);
  assert_ptr_not_equal(after, before);
  assert_true(is_shared(&options, &options));
  mtr_endpoint_unref(before);
  mtr_endpoint_unref(after);
}

static void refused_options_are_not_kept(void **state)
{
  struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *endpoint;
  struct mortar_error err;

  (void)state;
  options.host = NULL;
  assert_int_equal(mtr_endpoint_get(&options, NULL, &endpoint, &err), MORTAR_INVALID);
  assert_null(endpoint);
  options.host = "warehouse.test";
  options.ca_file = "/nowhere/ca.pem";
  assert_int_equal(mtr_endpoint_get(&options, NULL, &endpoint, &err), MORTAR_TLS);
  assert_null(endpoint);
  options.ca_file = group_certs.ca;
  assert_true(is_shared(&options, &options));
}

static void every_allocation_may_fail(void **state)
{
  const struct mtr_endpoint_options options = usual();
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_endpoint *endpoint;
    enum mortar_status st = mtr_endpoint_get(&options, &fa.alloc, &endpoint, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_int_equal(endpoint != NULL, !fa.failed);
    mtr_endpoint_unref(endpoint);
  }
}

/* ---- Threads and forks --------------------------------------------------------------------- */

enum { THREADS = 6, ROUNDS = 300 };

static pthread_barrier_t barrier;

/* The last reference goes while another thread looks the endpoint up. */
static void *come_and_go(void *arg)
{
  struct mtr_endpoint_options options = usual();
  int i;

  options.tls = false;
  (void)pthread_barrier_wait(&barrier);
  for (i = 0; i < ROUNDS; i++) {
    struct mtr_endpoint *endpoint;
    if (mtr_endpoint_get(&options, NULL, &endpoint, NULL) != MORTAR_OK) return arg;
    if (strcmp(mtr_endpoint_name(endpoint), "warehouse.test:443") != 0) return arg;
    mtr_endpoint_unref(endpoint);
  }
  return NULL;
}

static void *get_one(void *arg)
{
  const struct mtr_endpoint_options options = usual();
  struct mtr_endpoint **out = arg;

  (void)pthread_barrier_wait(&barrier);
  return mtr_endpoint_get(&options, NULL, out, NULL) == MORTAR_OK ? NULL : arg;
}

static void run_threads(void *(*work)(void *arg), struct mtr_endpoint **out)
{
  pthread_t threads[THREADS];
  size_t i;

  assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, &out[i]), 0);
  for (i = 0; i < THREADS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  (void)pthread_barrier_destroy(&barrier);
}

static void threads_come_and_go(void **state)
{
  struct mtr_endpoint *unused[THREADS] = {NULL};

  (void)state;
  run_threads(come_and_go, unused);
}

static void makers_at_once_share_one(void **state)
{
  struct mtr_endpoint *endpoints[THREADS] = {NULL};
  int i, round;

  (void)state;
  for (round = 0; round < 10; round++) {
    run_threads(get_one, endpoints);
    for (i = 1; i < THREADS; i++)
      assert_ptr_equal(endpoints[i], endpoints[0]);
    for (i = 0; i < THREADS; i++)
      mtr_endpoint_unref(endpoints[i]);
  }
}

/* The child gets one of its own, and drops the parent's without touching it. */
static int use_in_child(struct mtr_endpoint *inherited)
{
  const struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *own = NULL, *again = NULL;
  int wrong = mtr_endpoint_get(&options, NULL, &own, NULL) != MORTAR_OK || own == inherited;

  wrong |= mtr_endpoint_check_process(own, NULL) != MORTAR_OK;
  wrong |= mtr_endpoint_get(&options, NULL, &again, NULL) != MORTAR_OK || again != own;
  mtr_endpoint_unref(inherited);
  mtr_endpoint_unref(again);
  mtr_endpoint_unref(own);
  return wrong;
}

static void expect_good_child(struct mtr_endpoint *inherited)
{
  int status = -1;
  pid_t child = fork();

  if (child == 0) {
    (void)alarm(20); /* a lock that is never released ends the test, not the patience */
    _exit(use_in_child(inherited));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void fork_starts_empty(void **state)
{
  const struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *endpoint = get(&options);

  (void)state;
  expect_good_child(endpoint);
  assert_true(is_shared(&options, &options));
  mtr_endpoint_unref(endpoint);
}

/* Whatever the other thread holds at that moment, the child is not stuck. Not under
 * AddressSanitizer of gcc 12: its allocator's own lock may be held over the fork. */
#ifndef __SANITIZE_ADDRESS__
static atomic_bool stop;

static void *keep_busy(void *arg)
{
  struct mtr_endpoint_options options = usual();

  options.port = 80;
  options.tls = false;
  while (!atomic_load(&stop)) {
    struct mtr_endpoint *endpoint;
    if (mtr_endpoint_get(&options, NULL, &endpoint, NULL) != MORTAR_OK) return arg;
    mtr_endpoint_unref(endpoint);
  }
  return NULL;
}

static void fork_while_another_thread_is_busy(void **state)
{
  const struct mtr_endpoint_options options = usual();
  struct mtr_endpoint *endpoint = get(&options);
  pthread_t thread;
  void *wrong;
  int i;

  (void)state;
  assert_int_equal(pthread_create(&thread, NULL, keep_busy, &stop), 0);
  for (i = 0; i < 30; i++)
    expect_good_child(endpoint);
  atomic_store(&stop, true);
  assert_int_equal(pthread_join(thread, &wrong), 0);
  assert_null(wrong);
  mtr_endpoint_unref(endpoint);
}
#endif

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(equal_options_are_one),
                                     cmocka_unit_test(any_difference_counts),
                                     cmocka_unit_test(another_user_of_the_proxy),
                                     cmocka_unit_test(allocators),
                                     cmocka_unit_test(changed_ca_file),
                                     cmocka_unit_test(refused_options_are_not_kept),
                                     cmocka_unit_test(every_allocation_may_fail),
                                     cmocka_unit_test(threads_come_and_go),
                                     cmocka_unit_test(makers_at_once_share_one),
#ifndef __SANITIZE_ADDRESS__
                                     cmocka_unit_test(fork_while_another_thread_is_busy),
#endif
                                     cmocka_unit_test(fork_starts_empty)};
  return cmocka_run_group_tests(tests, group_certs_make, group_certs_remove);
}
