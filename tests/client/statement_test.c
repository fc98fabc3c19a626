/* Statements: what is said of failures, who may end a wait, and memory that runs out. */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "client/session.h"
#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

static void a_failed_statement_brings_the_servers_words(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.failure = "[TABLE_OR_VIEW_NOT_FOUND] no table t\n\tat org.apache.spark.Something";
  c.fs.sqlstate = "42P01";
  assert_int_equal(client_rows(&c, &rows), MORTAR_SERVER);
  assert_string_equal(c.err.message, "[TABLE_OR_VIEW_NOT_FOUND] no table t");
  assert_string_equal(c.err.sqlstate, "42P01");
  assert_string_equal(c.err.query_id, "4f504552-4154-494f-4e2d-303030312121");
  assert_string_equal(c.err.session_id, mortar_session_id(c.session));
  assert_int_equal(c.err.server_code, 42);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_DONE);
  c.fs.failure = NULL;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK); /* the session lives on */
  client_stop(&c);
}

struct http_case {
  int status;
  const char *headers, *body;
  enum mortar_status st;
  enum mortar_outcome outcome;
  const char *words;
};

static void http_errors_are_told_apart(void **state)
{
  static const struct http_case cases[] = {
      {401, NULL, "", MORTAR_AUTH, MORTAR_OUTCOME_REJECTED, "access_token"},
      {403, "x-databricks-reason-phrase: token is expired\r\n", "{}", MORTAR_AUTH,
       MORTAR_OUTCOME_REJECTED, "token is expired"},
      {404, NULL, "<html>nothing</html>", MORTAR_HTTP, MORTAR_OUTCOME_REJECTED, "is gone"},
      {500, "x-thriftserver-error-message: out of order\r\n", "", MORTAR_HTTP,
       MORTAR_OUTCOME_UNKNOWN, "out of order"},
      {503, NULL, "", MORTAR_HTTP, MORTAR_OUTCOME_UNKNOWN, "503"},
      {503, "Retry-After: 3\r\n", "", MORTAR_HTTP, MORTAR_OUTCOME_REJECTED, "503"},
      {429, NULL, "slow down", MORTAR_HTTP, MORTAR_OUTCOME_REJECTED, "slow down"},
      {302, "Location: http://elsewhere/\r\n", "", MORTAR_HTTP, MORTAR_OUTCOME_UNKNOWN,
       "redirects"},
      {200, NULL, "<!doctype html><p>Sign in</p>", MORTAR_PROTOCOL, MORTAR_OUTCOME_UNKNOWN,
       "web page"},
      {200, NULL, "", MORTAR_PROTOCOL, MORTAR_OUTCOME_UNKNOWN, "empty reply"},
      {200, NULL, "rubbish that is no Thrift", MORTAR_PROTOCOL, MORTAR_OUTCOME_UNKNOWN,
       "malformed"},
  };
  struct client c = {.option = "retry_attempts", .value = "0"};
  int64_t rows;
  char host[40];
  size_t i;

  (void)state;
  client_start_with(&c);
  snprintf(host, sizeof host, "127.0.0.1:%d", c.fs.port);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    c.fs.http_status = cases[i].status;
    c.fs.http_headers = cases[i].headers;
    c.fs.http_body = cases[i].body;
    assert_int_equal(client_rows(&c, &rows), cases[i].st);
    assert_int_equal(c.err.outcome, cases[i].outcome);
    assert_int_equal(c.err.http_status, cases[i].status);
    assert_non_null(strstr(c.err.message, cases[i].words));
    assert_non_null(strstr(c.err.message, host));
    assert_null(strstr(c.err.message, "secret-token"));
  }
  assert_int_equal(c.fs.executed, sizeof cases / sizeof *cases); /* none was sent twice */
  client_stop(&c);
}

static void an_exception_is_an_error(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.exception = true;
  assert_int_equal(client_rows(&c, &rows), MORTAR_SERVER);
  assert_non_null(strstr(c.err.message, "no such thing"));
  client_stop(&c);
}

/* Once the operation's name is there, the error has it, and the statement is not left running. */
static void a_reply_cut_at_any_byte_is_an_error(void **state)
{
  struct client c;
  int64_t rows;
  long size, named = 0;

  (void)state;
  client_start(&c);
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  size = c.fs.reply_size;
  assert_true(size > 500);
  for (c.fs.cut_to = 1; c.fs.cut_to < size; c.fs.cut_to++) {
    assert_int_equal(client_rows(&c, &rows), MORTAR_PROTOCOL);
    assert_int_equal(rows, 0);
    assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    named += c.err.query_id[0] != '\0';
    /* A hundred at once are left to the background thread at most; it has room for a few more. */
    if (c.fs.cut_to % 100 == 0) assert_true(mortar_background_wait(10000));
  }
  assert_true(named > size / 2);
  assert_true(mortar_background_wait(10000));
  assert_int_equal(c.fs.canceled, named);
  assert_int_equal(c.fs.operations_closed, named);
  c.fs.cut_to = -1;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  client_stop(&c);
}

static void a_running_statement_is_polled_to_its_end(void **state)
{
  struct client c;
  int64_t rows;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 3;
  assert_int_equal(client_rows(&c, &rows), MORTAR_OK);
  assert_int_equal(rows, 3);
  assert_int_equal(c.fs.polled, 3);
  assert_int_equal(c.fs.operations_closed, 1);
  client_stop(&c);
}

/* At once, then after 10, 20, 40, ... and at last 500 ms: a server that answers at once is asked
 * nine times in 1,700 ms. */
static void pauses_between_polls_grow(void **state)
{
  const struct mortar_call call = {.timeout_ms = 1700};
  struct mortar_result *res = NULL;
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  assert_int_equal(mortar_query(c.session, "SELECT", &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_in_range(c.fs.polled, 3, 9);
  assert_true(mortar_background_wait(10000));
  client_stop(&c);
}

struct helper {
  struct mortar_wake *wake;
  struct mortar_statement *stmt;
  int64_t done_at;
};

static void *wake_soon(void *arg)
{
  struct helper *h = arg;
  struct timespec pause = {0, 100 * 1000000};

  nanosleep(&pause, NULL);
  h->done_at = mtr_clock_now();
  if (h->wake) mortar_wake_signal(h->wake);
  if (h->stmt) (void)!mortar_statement_cancel(h->stmt, NULL);
  return NULL;
}

static void check_wake_ends_the_wait(struct client *c)
{
  struct helper h = {NULL, NULL, 0};
  struct mortar_call call = {.timeout_ms = -1};
  struct mortar_result *res = NULL;
  pthread_t thread;

  assert_int_equal(mortar_wake_new(&h.wake, NULL), MORTAR_OK);
  call.wake = h.wake;
  assert_int_equal(pthread_create(&thread, NULL, wake_soon, &h), 0);
  assert_int_equal(mortar_query(c->session, "SELECT", &call, &res, &c->err), MORTAR_INTERRUPTED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(mtr_clock_now() - h.done_at < 500 * MTR_MS);
  mortar_wake_free(h.wake);
}

static void a_wake_up_ends_every_wait(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  check_wake_ends_the_wait(&c); /* between polls */
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 1); /* the statement is not left running */
  assert_int_equal(c.fs.operations_closed, 1);
  c.fs.live_polls = 0;
  c.fs.hang = true;
  check_wake_ends_the_wait(&c); /* while the reply is awaited */
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  client_stop(&c);
}

/* A poll or a fetch that was refused says nothing of the statement: it has been sent. */
static void a_refused_question_does_not_make_the_statement_unsent(void **state)
{
  struct client c = {.option = "retry_attempts", .value = "0"};
  struct mortar_result *res = NULL;
  int64_t rows;

  (void)state;
  client_start_with(&c);
  c.fs.live_polls = 1000;
  fake_server_fault(&c.fs, &(struct fake_fault){
                               .call = "GetOperationStatus", .event = FAKE_STATUS, .status = 429});
  assert_int_equal(client_rows(&c, &rows), MORTAR_HTTP);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_true(mortar_background_wait(10000));
  c.fs.live_polls = 0;
  c.fs.pages = 2;
  fake_server_batches(&c.fs, 2, 3);
  fake_server_fault(
      &c.fs, &(struct fake_fault){.call = "FetchResults", .event = FAKE_STATUS, .status = 429});
  assert_int_equal(mortar_query(c.session, "SELECT", NULL, &res, &c.err), MORTAR_OK);
  assert_int_equal(client_drain(res, &rows, &c.err), MORTAR_HTTP);
  assert_int_equal(rows, 3);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_DONE);
  mortar_result_free(res);
  client_stop(&c);
}

static void a_wake_up_before_the_call_sends_nothing(void **state)
{
  struct mortar_call call = {.timeout_ms = -1};
  struct mortar_result *res = NULL;
  struct client c;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_wake_new(&call.wake, NULL), MORTAR_OK);
  mortar_wake_signal(call.wake);
  assert_int_equal(mortar_query(c.session, "SELECT", &call, &res, &c.err), MORTAR_INTERRUPTED);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(c.fs.executed, 0);
  mortar_wake_clear(call.wake);
  assert_int_equal(mortar_query(c.session, "SELECT", &call, &res, &c.err), MORTAR_OK);
  mortar_result_free(res);
  mortar_wake_free(call.wake);
  client_stop(&c);
}

static void a_deadline_ends_every_wait(void **state)
{
  struct mortar_call call = {.timeout_ms = 150};
  struct mortar_result *res = NULL;
  struct client c;
  int64_t start;

  (void)state;
  client_start(&c);
  c.fs.hang = true;
  start = mtr_clock_now();
  assert_int_equal(mortar_query(c.session, "SELECT", &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_true(mtr_clock_now() - start < 2 * MTR_SECOND);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  c.fs.hang = false;
  c.fs.live_polls = 1000;
  assert_int_equal(mortar_query(c.session, "SELECT", &call, &res, &c.err), MORTAR_TIMEOUT);
  assert_true(c.err.query_id[0] != '\0');
  assert_non_null(strstr(c.err.message, "being cancelled"));
  c.fs.let_go = true; /* of the statement that is never answered */
  assert_true(mortar_background_wait(5000));
  assert_int_equal(c.fs.canceled, 1);
  client_stop(&c);
}

/* Runs a statement that another thread cancels in the middle. */
static void run_cancelled(struct client *c, const char *sql)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  struct helper h = {NULL, NULL, 0};
  pthread_t thread;

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, sql, strlen(sql), &c->err), MORTAR_OK);
  h.stmt = stmt;
  assert_int_equal(pthread_create(&thread, NULL, wake_soon, &h), 0);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c->err), MORTAR_CANCELED);
  assert_int_equal(pthread_join(thread, NULL), 0);
  mortar_statement_free(stmt);
}

static void another_thread_cancels(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  c.fs.live_polls = 1000;
  c.fs.ends_canceled = true;
  run_cancelled(&c, "SELECT");
  assert_int_equal(c.fs.canceled, 1);
  client_stop(&c);
}

/* While the client waits to send it again nothing is under way: it is not sent. */
static void a_cancel_between_two_attempts(void **state)
{
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs, &(struct fake_fault){.call = "ExecuteStatement",
                                                .event = FAKE_STATUS,
                                                .status = 503,
                                                .headers = "Retry-After: 60\r\n",
                                                .last = 1});
  run_cancelled(&c, "INSERT");
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_REJECTED);
  assert_int_equal(c.fs.fault_requests, 1);
  assert_int_equal(c.fs.ran, 0);
  client_stop(&c);
}

/* The tick's word counts also when an answer arrives at the same time and the wait goes on. */
static int say_once(void *ctx)
{
  int *calls = ctx;

  return ++*calls == 1;
}

static void a_tick_is_not_forgotten(void **state)
{
  int calls = 0;
  const struct mortar_call call = {.timeout_ms = 20000, .tick = say_once, .tick_ctx = &calls};
  struct mtr_session_wait w;
  struct client c;

  (void)state;
  client_start(&c);
  mtr_session_wait_init(&w, c.session, &call);
  assert_int_equal(w.wait.tick(w.wait.tick_ctx), 1);
  assert_int_equal(w.wait.tick(w.wait.tick_ctx), 1);
  assert_int_equal(calls, 1);
  client_stop(&c);
}

/* It comes between the text and the run, or when there is nothing to stop. */
static void a_cancel_before_the_run(void **state)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  struct client c;

  (void)state;
  client_start(&c);
  assert_int_equal(mortar_statement_new(c.session, &stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK); /* no text: nothing */
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT", 6, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_CANCELED);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(c.fs.executed, 0);
  assert_int_equal(mortar_statement_cancel(stmt, &c.err), MORTAR_OK); /* it is over: nothing */
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c.err), MORTAR_OK);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static enum mortar_status whole_life(struct client *c, const struct mortar_alloc *alloc)
{
  struct mortar_result *res = NULL;
  struct ArrowArrayStream stream = {0};
  struct ArrowSchema schema = {0};
  struct ArrowArray batch = {0};
  enum mortar_status st = client_open(c, alloc, "window_bytes", "2048");
  int64_t rows = 0;

  if (st == MORTAR_OK) st = mortar_query(c->session, "SELECT n, s", NULL, &res, &c->err);
  if (st == MORTAR_OK) st = mortar_result_schema(res, &schema, &c->err);
  if (schema.release) schema.release(&schema);
  if (st == MORTAR_OK) st = mortar_result_next(res, NULL, &batch, &c->err);
  if (batch.release) {
    rows += batch.length;
    batch.release(&batch);
  }
  if (st == MORTAR_OK) st = mortar_result_to_stream(&res, &stream, &c->err);
  while (st == MORTAR_OK && rows < 200) {
    if (stream.get_next(&stream, &batch) != 0) {
      assert_non_null(strstr(stream.get_last_error(&stream), "memory"));
      st = MORTAR_NOMEM;
    } else {
      assert_non_null(batch.release); /* never an early end */
      rows += batch.length;
      batch.release(&batch);
    }
  }
  if (stream.release) stream.release(&stream);
  mortar_result_free(res);
  mortar_session_free(c->session);
  c->session = NULL;
  return st;
}

static void memory_that_runs_out_anywhere_is_reported(void **state)
{
  struct failing_alloc fa;
  struct client c = {.session = NULL};

  (void)state;
  fake_server_start(&c.fs);
  fake_server_batches(&c.fs, 20, 10);
  c.fs.pages = 2;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st;
    c.session = NULL;
    st = whole_life(&c, &fa.alloc);
    assert_true(mortar_background_wait(5000)); /* it uses the allocator, too */
    if (st != (fa.failed ? MORTAR_NOMEM : MORTAR_OK)) print_message("%s\n", c.err.message);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  }
  assert_true(fa.rounds > 30);
  fake_server_stop(&c.fs);
}

struct steady {
  int batches;
  int64_t rows;   /* of each */
  int64_t joined; /* at least so many in one batch; 0: as they come */
  bool plain;     /* not compressed */
  bool every_type;
};

static void run_and_count(struct client *c, const struct steady *how)
{
  struct mortar_result *res = NULL;
  struct ArrowArray batch;
  int64_t rows = 0;

  assert_int_equal(mortar_query(c->session, "SELECT n, s", NULL, &res, &c->err), MORTAR_OK);
  for (;;) {
    assert_int_equal(mortar_result_next_joined(res, NULL, how->joined, &batch, &c->err), MORTAR_OK);
    if (!batch.release) break;
    rows += batch.length;
    batch.release(&batch);
  }
  assert_int_equal(rows, how->batches * how->rows);
  mortar_result_free(res);
}

static void check_steady(const struct steady *how)
{
  struct failing_alloc fa;
  struct client c = {.session = NULL};
  long calls = 0;
  int i;

  failing_alloc_init(&fa, 0);
  fake_server_start(&c.fs);
  fake_server_batches(&c.fs, how->batches, how->rows);
  c.fs.lz4 = !how->plain;
  c.fs.every_type = how->every_type;
  assert_int_equal(client_open(&c, &fa.alloc, NULL, NULL), MORTAR_OK);
  for (i = 0; i < 30; i++) {
    if (i == 5) calls = fa.calls;
    run_and_count(&c, how);
  }
  if (fa.calls != calls)
    fail_msg("%d batches of %d rows, joined %d, plain %d, every type %d: %ld allocations",
             how->batches, (int)how->rows, (int)how->joined, how->plain, how->every_type,
             (long)fa.calls - calls);
  client_stop(&c);
  assert_int_equal(fa.live, 0);
}

/* What one statement left serves the next: session, channel, statement, result, slab and arrays. */
static void the_steady_state_allocates_nothing(void **state)
{
  static const struct steady cases[] = {
      {1, 3, 0, false, false},    {1, 3, 0, true, false},     {2, 14, 0, false, false},
      {72, 14, 0, false, false},  {72, 14, 0, true, false},   {72, 14, 5000, false, false},
      {72, 14, 100, true, false}, {1, 1000, 0, false, false}, {1, 100, 0, false, true},
      {2, 50, 0, false, true},    {8, 10, 1000, false, true},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    check_steady(&cases[i]);
}

/* The slab of a large reply is kept as long as the replies are large. */
static void what_is_large_is_given_back(void **state)
{
  static const struct steady large = {72, 14, 0, true, false}, small = {1, 3, 0, true, false},
                             huge = {100, 1000, 0, true, false};
  struct failing_alloc fa;
  struct client c = {.session = NULL};
  long before, with_large;

  (void)state;
  failing_alloc_init(&fa, 0);
  fake_server_start(&c.fs);
  c.fs.lz4 = false;
  assert_int_equal(client_open(&c, &fa.alloc, NULL, NULL), MORTAR_OK);
  run_and_count(&c, &small);
  fake_server_batches(&c.fs, 72, 14);
  run_and_count(&c, &large);
  with_large = fa.live_bytes;
  fake_server_batches(&c.fs, 1, 3);
  run_and_count(&c, &small);
  before = fa.live_bytes;
  assert_true(with_large - before > 48 * 1024); /* the slab is gone */
  fake_server_batches(&c.fs, 100, 1000);
  run_and_count(&c, &huge);
  assert_true(fa.live_bytes - before < 512 * 1024); /* of 3 MB */
  client_stop(&c);
  assert_int_equal(fa.live, 0);
}

static void run_new_statement(struct client *c, int number)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  int64_t rows;
  char text[60];
  const int size = snprintf(text, sizeof text, "SELECT %d%*s", number, number % 30, "");

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, text, (size_t)size, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_execute(stmt, NULL, &res, &c->err), MORTAR_OK);
  assert_int_equal(client_drain(res, &rows, &c->err), MORTAR_OK);
  assert_int_equal(rows, 3);
  mortar_result_free(res);
  mortar_statement_free(stmt);
}

/* Nothing is left of a statement but what serves the next. */
static void many_statements_leave_nothing_behind(void **state)
{
  enum { MANY = 20000, SETTLED = 200 };
  struct failing_alloc fa;
  struct client c = {.session = NULL};
  long live = 0, bytes = 0;
  int i;

  (void)state;
  failing_alloc_init(&fa, 0);
  fake_server_start(&c.fs);
  assert_int_equal(client_open(&c, &fa.alloc, NULL, NULL), MORTAR_OK);
  for (i = 0; i < MANY; i++) {
    if (i == SETTLED) {
      live = fa.live;
      bytes = fa.live_bytes;
    }
    run_new_statement(&c, i);
  }
  assert_int_equal(fa.live, live);
  assert_int_equal(fa.live_bytes, bytes);
  client_stop(&c);
  assert_int_equal(fa.live, 0);
  assert_int_equal(fa.live_bytes, 0);
  assert_int_equal(fa.size_mismatches, 0);
}

/* Two at once: only one of them can leave its memory to the next, and nothing is lost or shared. */
static void statements_side_by_side_share_no_memory(void **state)
{
  struct mortar_result *a = NULL, *b = NULL;
  struct client c;
  int64_t rows;
  int i;

  (void)state;
  client_start(&c);
  for (i = 0; i < 5; i++) {
    assert_int_equal(mortar_query(c.session, "SELECT", NULL, &a, &c.err), MORTAR_OK);
    assert_int_equal(mortar_query(c.session, "SELECT", NULL, &b, &c.err), MORTAR_OK);
    assert_ptr_not_equal(a, b);
    assert_int_equal(client_drain(a, &rows, &c.err), MORTAR_OK);
    assert_int_equal(rows, 3);
    mortar_result_free(a);
    assert_int_equal(client_drain(b, &rows, &c.err), MORTAR_OK);
    assert_int_equal(rows, 3);
    mortar_result_free(b);
  }
  client_stop(&c);
}

enum { THREADS = 8, ROUNDS = 50 };

static void *run_many(void *arg)
{
  struct client *c = arg;
  struct client own = {.session = c->session};
  int64_t rows;
  int i;

  for (i = 0; i < ROUNDS; i++)
    if (client_rows(&own, &rows) != MORTAR_OK || rows != 30) return arg;
  return NULL;
}

static void many_threads_share_a_session(void **state)
{
  pthread_t threads[THREADS];
  struct client c;
  void *failed;
  int i;

  (void)state;
  client_start(&c);
  fake_server_batches(&c.fs, 3, 10);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_many, &c), 0);
  for (i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  assert_int_equal(c.fs.executed, THREADS * ROUNDS);
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failed_statement_brings_the_servers_words),
      cmocka_unit_test(http_errors_are_told_apart),
      cmocka_unit_test(an_exception_is_an_error),
      cmocka_unit_test(a_reply_cut_at_any_byte_is_an_error),
      cmocka_unit_test(a_running_statement_is_polled_to_its_end),
      cmocka_unit_test(pauses_between_polls_grow),
      cmocka_unit_test(a_wake_up_ends_every_wait),
      cmocka_unit_test(a_refused_question_does_not_make_the_statement_unsent),
      cmocka_unit_test(a_wake_up_before_the_call_sends_nothing),
      cmocka_unit_test(a_deadline_ends_every_wait),
      cmocka_unit_test(another_thread_cancels),
      cmocka_unit_test(a_cancel_before_the_run),
      cmocka_unit_test(a_cancel_between_two_attempts),
      cmocka_unit_test(a_tick_is_not_forgotten),
      cmocka_unit_test(memory_that_runs_out_anywhere_is_reported),
      cmocka_unit_test(the_steady_state_allocates_nothing),
      cmocka_unit_test(what_is_large_is_given_back),
      cmocka_unit_test(many_statements_leave_nothing_behind),
      cmocka_unit_test(statements_side_by_side_share_no_memory),
      cmocka_unit_test(many_threads_share_a_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
