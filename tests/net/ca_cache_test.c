/* The kept CA stores: what is parsed once, what is parsed anew, and which one makes room. A store
 * is marked when it comes for the first time; a store without the mark was parsed again. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/ca_cache.h"
#include "tests/net/test_certs.h"

static struct test_certs certs;
static int mark_index;
static char a_mark;

static int set_up(void **state)
{
  (void)state;
  test_certs_make(&certs);
  mark_index = X509_STORE_get_ex_new_index(0, NULL, NULL, NULL, NULL);
  return mark_index < 0;
}

static int tear_down(void **state)
{
  (void)state;
  test_certs_remove(&certs);
  return 0;
}

/* The CA's certificate, this many times, in a file of its own. */
static void repeat_ca(char *path, size_t size, const char *name, int times)
{
  char bytes[8192];
  FILE *from = fopen(certs.ca, "r"), *to;
  size_t n;

  (void)snprintf(path, size, "%s/%s", certs.dir, name);
  to = fopen(path, "w");
  assert_true(from && to);
  n = fread(bytes, 1, sizeof bytes, from);
  while (times-- > 0)
    assert_int_equal(fwrite(bytes, 1, n, to), n);
  assert_int_equal(fclose(to), 0);
  (void)fclose(from);
}

static void copy_ca(char *path, size_t size, const char *name) { repeat_ca(path, size, name, 1); }

/* True when the store was there before; gives its reference back. */
static bool was_kept(const char *file)
{
  struct mortar_error err = {0};
  X509_STORE *store;
  bool kept;

  if (mtr_ca_cache_get(file, NULL, &store, &err)) print_error("%s\n", err.message);
  assert_non_null(store);
  kept = X509_STORE_get_ex_data(store, mark_index) == &a_mark;
  assert_int_equal(X509_STORE_set_ex_data(store, mark_index, &a_mark), 1);
  X509_STORE_free(store);
  return kept;
}

static void kept_without_users(void **state)
{
  char path[128];

  (void)state;
  copy_ca(path, sizeof path, "kept.pem");
  assert_false(was_kept(path));
  assert_true(was_kept(path));
  assert_true(was_kept(path));
}

static void changed_file_is_parsed_anew(void **state)
{
  const struct timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
  const struct timespec later[2] = {{1000000001, 0}, {1000000001, 0}};
  char path[128], other[128];
  FILE *file;

  (void)state;
  copy_ca(path, sizeof path, "changed.pem");
  assert_false(was_kept(path));
  file = fopen(path, "a");
  assert_non_null(file);
  (void)fputs("\n", file); /* the size */
  assert_int_equal(fclose(file), 0);
  assert_false(was_kept(path));
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0); /* the time */
  assert_false(was_kept(path));
  assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
  assert_false(was_kept(path));
  copy_ca(other, sizeof other, "renamed.pem"); /* the inode alone */
  assert_int_equal(truncate(path, 0), 0);
  copy_ca(path, sizeof path, "changed.pem");
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
  assert_false(was_kept(path));
  assert_int_equal(rename(other, path), 0);
  assert_false(was_kept(path));
  assert_true(was_kept(path));
}

static void oldest_makes_room(void **state)
{
  char paths[5][128];
  size_t i;

  (void)state;
  for (i = 0; i < 5; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "room%zu.pem", i);
    copy_ca(paths[i], sizeof paths[i], name);
  }
  for (i = 0; i < 4; i++)
    assert_false(was_kept(paths[i]));
  assert_true(was_kept(paths[0]));
  assert_false(was_kept(paths[4]));
  assert_true(was_kept(paths[0]));
  assert_true(was_kept(paths[2]));
  assert_false(was_kept(paths[1]));
}

static void places_of_the_system(void **state)
{
  char first[128], second[128];

  (void)state;
  copy_ca(first, sizeof first, "first.pem");
  copy_ca(second, sizeof second, "second.pem");
  assert_int_equal(unsetenv("SSL_CERT_DIR"), 0);
  assert_int_equal(setenv("SSL_CERT_FILE", first, 1), 0);
  assert_false(was_kept(NULL));
  assert_true(was_kept(NULL));
  assert_false(was_kept(first)); /* the places include a folder, this does not */
  assert_int_equal(setenv("SSL_CERT_FILE", second, 1), 0);
  assert_false(was_kept(NULL));
  assert_int_equal(setenv("SSL_CERT_DIR", certs.dir, 1), 0);
  assert_false(was_kept(NULL));
  assert_int_equal(unsetenv("SSL_CERT_DIR"), 0);
  assert_true(was_kept(NULL));
  assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void failures_are_not_kept(void **state)
{
  struct mortar_error err;
  X509_STORE *store;
  char path[128];

  (void)state;
  (void)snprintf(path, sizeof path, "%s/late.pem", certs.dir);
  assert_int_equal(mtr_ca_cache_get(path, NULL, &store, &err), MORTAR_TLS);
  assert_null(store);
  assert_non_null(strstr(err.message, path));
  copy_ca(path, sizeof path, "late.pem");
  assert_false(was_kept(path));
}

/* The child may not touch what another thread of the parent may have been using. */
static void child_starts_empty(void **state)
{
  char path[128];
  int status = -1;
  pid_t child;

  (void)state;
  copy_ca(path, sizeof path, "fork.pem");
  assert_false(was_kept(path));
  child = fork();
  if (child == 0) _exit(was_kept(path) || !was_kept(path));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(was_kept(path));
}

enum { THREADS = 6, ROUNDS = 20 };

static char shared_path[128];
static pthread_barrier_t barrier;

static void *get_often(void *arg)
{
  X509_STORE **first = arg;
  int i;

  (void)pthread_barrier_wait(&barrier);
  if (mtr_ca_cache_get(shared_path, NULL, first, NULL) != MORTAR_OK) return arg;
  for (i = 0; i < ROUNDS; i++) {
    X509_STORE *again;
    if (mtr_ca_cache_get(shared_path, NULL, &again, NULL) != MORTAR_OK) return arg;
    X509_STORE_free(again);
    if (again != *first) return arg;
  }
  return NULL;
}

static void threads_share_one(void **state)
{
  X509_STORE *stores[THREADS] = {NULL};
  pthread_t threads[THREADS];
  size_t i;

  (void)state;
  /* Parsing takes so long that all threads are at it at once. */
  repeat_ca(shared_path, sizeof shared_path, "threads.pem", 1000);
  assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, get_often, &stores[i]), 0);
  for (i = 0; i < THREADS; i++) {
    void *wrong;
    assert_int_equal(pthread_join(threads[i], &wrong), 0);
    assert_null(wrong);
  }
  for (i = 0; i < THREADS; i++) {
    assert_ptr_equal(stores[i], stores[0]);
    X509_STORE_free(stores[i]);
  }
  (void)pthread_barrier_destroy(&barrier);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kept_without_users),    cmocka_unit_test(changed_file_is_parsed_anew),
      cmocka_unit_test(oldest_makes_room),     cmocka_unit_test(places_of_the_system),
      cmocka_unit_test(failures_are_not_kept), cmocka_unit_test(child_starts_empty),
      cmocka_unit_test(threads_share_one)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
