/* Forks and exits: a child sends nothing over what its parent has open, can open its own, and the
 * parent goes on; a process that exits with everything open neither crashes nor writes. Each child
 * ends with exit, so that what the library does then is seen, and has its standard error caught. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/session.h"
#include "tests/client/client_fixture.h"

/* The leak checker asks. In a child it would report what only the parent's threads point to. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static bool is_child;
int __lsan_is_turned_off(void) { return is_child; }

static void sleep_ms(int ms)
{
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

  nanosleep(&pause, NULL);
}

/* ThreadSanitizer does not let the child of a process with threads start one of its own. */
static void skip_if_children_have_no_threads(void)
{
#ifdef __SANITIZE_THREAD__
  skip();
#endif
}

/* Runs f in a child; true when it said nothing, and true was returned. */
static bool in_child(bool (*f)(struct client *c), struct client *c)
{
  int words[2], status = 0;
  char byte;
  pid_t pid;
  bool silent;

  assert_int_equal(pipe(words), 0);
  (void)fflush(NULL);
  pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    is_child = true;
    (void)dup2(words[1], 2);
    (void)close(words[0]);
    (void)close(words[1]);
    exit(f(c) ? 0 : 1);
  }
  (void)close(words[1]);
  silent = read(words[0], &byte, 1) == 0; /* until the child is gone */
  (void)close(words[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return silent && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What every child must be able to do: nothing with the parent's session, all with its own. */
static bool lives_alone(struct client *c)
{
  struct client own = {.fs = {.port = c->fs.port}};
  struct mortar_result *res;
  int64_t rows;
  bool good = mortar_session_usable(c->session, &c->err) == MORTAR_STATE;

  good = good && mortar_query(c->session, "SELECT 1", NULL, &res, &c->err) == MORTAR_STATE;
  mortar_session_free(c->session); /* says nothing to the server */
  good = good && client_open(&own, NULL, NULL, NULL) == MORTAR_OK;
  good = good && client_rows(&own, &rows) == MORTAR_OK && rows == 3;
  mortar_session_free(own.session);
  return good;
}

static void goes_on(struct client *c)
{
  int64_t rows;

  fake_server_fault(&c->fs, &(struct fake_fault){.event = FAKE_NONE});
  assert_int_equal(client_rows(c, &rows), MORTAR_OK);
}

static void with_an_idle_session(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  assert_true(in_child(lives_alone, &c));
  assert_int_equal(c.fs.closed, 1); /* the child's */
  goes_on(&c);
  client_stop(&c);
}

static struct mortar_result *open_result;

static bool frees_a_result(struct client *c)
{
  struct ArrowArray batch;
  const bool refused = mortar_result_next(open_result, NULL, &batch, NULL) == MORTAR_STATE;

  mortar_result_free(open_result);
  mortar_session_free(c->session);
  return refused;
}

static void with_an_open_result(void **state)
{
  struct ArrowArray batch;
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 1);
  c.fs.pages = 3;
  assert_int_equal(mortar_query(c.session, "SELECT 1", NULL, &open_result, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_next(open_result, NULL, &batch, NULL), MORTAR_OK);
  batch.release(&batch);
  assert_true(in_child(frees_a_result, &c));
  assert_int_equal(c.fs.operations_closed, 0);
  assert_int_equal(c.fs.closed, 0);
  assert_int_equal(mortar_result_next(open_result, NULL, &batch, &c.err), MORTAR_OK);
  batch.release(&batch);
  mortar_result_free(open_result);
  assert_int_equal(c.fs.operations_closed, 1);
  goes_on(&c);
  client_stop(&c);
}

/* The fork came while another thread was in the session's list: its lock stays held here. */
static bool frees_half_a_page(struct client *c)
{
  (void)alarm(60);
  mortar_result_free(open_result);
  mortar_session_free(c->session);
  return true;
}

static void while_the_lock_is_held(void **state)
{
  struct client c = {.option = "window_bytes", .value = "4096"};
  struct ArrowArray batch;

  (void)state;
  client_start_with(&c);
  fake_server_batches(&c.fs, 40, 100);
  assert_int_equal(mortar_query(c.session, "SELECT 1", NULL, &open_result, &c.err), MORTAR_OK);
  assert_int_equal(mortar_result_next(open_result, NULL, &batch, NULL), MORTAR_OK);
  batch.release(&batch);
  (void)pthread_mutex_lock(&c.session->lock);
  assert_true(in_child(frees_half_a_page, &c));
  (void)pthread_mutex_unlock(&c.session->lock);
  mortar_result_free(open_result);
  goes_on(&c);
  client_stop(&c);
}

struct runner {
  struct client *c;
  enum mortar_status st;
};

static void *run_statement(void *arg)
{
  struct runner *r = arg;
  struct mortar_result *res = NULL;

  r->st = mortar_query(r->c->session, "SELECT 1", NULL, &res, NULL);
  mortar_result_free(res);
  return NULL;
}

static void while_another_thread_runs_a_statement(void **state)
{
  struct client c;
  struct runner r = {.c = &c};
  pthread_t thread;

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                .event = FAKE_LATE,
                                                .runs = true,
                                                .delay_ms = 300,
                                                .last = 1});
  assert_int_equal(pthread_create(&thread, NULL, run_statement, &r), 0);
  sleep_ms(100);
  assert_true(in_child(lives_alone, &c));
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(r.st, MORTAR_OK);
  assert_int_equal(c.fs.closed, 1); /* the child's */
  goes_on(&c);
  client_stop(&c);
}

/* The child may have orphans of its own, and those of the parent are not its business. */
static bool has_its_own_orphan(struct client *c)
{
  const struct mortar_call call = {.timeout_ms = 20};
  struct client own = {.fs = {.port = c->fs.port}};
  struct mortar_result *res;
  bool good = mortar_background_wait(0) && lives_alone(c);

  good = good && client_open(&own, NULL, NULL, NULL) == MORTAR_OK;
  good = good && mortar_query(own.session, "INSERT", &call, &res, NULL) == MORTAR_TIMEOUT;
  good = good && mortar_background_wait(5000);
  mortar_session_free(own.session);
  return good;
}

static void while_an_orphan_waits(void **state)
{
  const struct mortar_call call = {.timeout_ms = 20};
  struct mortar_result *res;
  struct client c;

  (void)state;
  skip_if_children_have_no_threads();
  client_start(&c);
  fake_server_fault(
      &c.fs, &(struct fake_fault){
                 .call = "ExecuteStatement", .event = FAKE_LATE, .runs = true, .delay_ms = 300});
  assert_int_equal(mortar_query(c.session, "INSERT", &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_true(in_child(has_its_own_orphan, &c)); /* the parent's thread waits meanwhile */
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.closed, 2); /* the child's two */
  goes_on(&c);
  client_stop(&c);
}

/* ---- Exit with everything open --------------------------------------------------------------- */

static bool exits_with_everything_open(struct client *c)
{
  const struct mortar_call call = {.timeout_ms = 50};
  static struct client own;
  static struct mortar_result *res;
  bool good;

  own.fs.port = c->fs.port;
  good = client_open(&own, NULL, NULL, NULL) == MORTAR_OK;
  good = good && mortar_query(own.session, "SELECT 1", NULL, &open_result, NULL) == MORTAR_OK;
  return good && mortar_query(own.session, "INSERT", &call, &res, NULL) == MORTAR_TIMEOUT;
}

static void a_process_may_exit_with_everything_open(void **state)
{
  struct client c;

  (void)state;
  skip_if_children_have_no_threads();
  client_start(&c);
  fake_server_batches(&c.fs, 3, 1);
  c.fs.pages = 3;
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "ExecuteStatement", .event = FAKE_HANG, .skip = 1});
  assert_true(in_child(exits_with_everything_open, &c));
  c.fs.let_go = true;
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(with_an_idle_session),
      cmocka_unit_test(with_an_open_result),
      cmocka_unit_test(while_the_lock_is_held),
      cmocka_unit_test(while_another_thread_runs_a_statement),
      cmocka_unit_test(while_an_orphan_waits),
      cmocka_unit_test(a_process_may_exit_with_everything_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
