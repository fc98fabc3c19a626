/* One fault of Kiln's, whichever, under one limit, whichever: the call is back within the limit and
 * 0.2 s, has all rows or an error, and leaves nothing running that it knows of; what it can't know
 * its error names. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "client/orphans.h"
#include "tests/together/rig.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { LATE_MS = 600 }; /* instrumented code */
#else
enum { LATE_MS = 200 };
#endif

enum { LIMIT_MS = 150 };

/* ---- The machine ----------------------------------------------------------------------------- */

/* A thread that only sleeps. As late as it wakes up, every thread of a call may: the caller's,
 * Kiln's loop, its worker and the one that ends what was given up. */
static struct {
  pthread_t thread;
  _Atomic int64_t worst; /* ns */
  atomic_bool stop;
} control;

enum { HOPS = 4 };

static void sleep_ms(int ms)
{
  const struct timespec pause = {0, ms * MTR_MS};

  (void)nanosleep(&pause, NULL);
}

static void *sleep_and_look(void *arg)
{
  while (!atomic_load(&control.stop)) {
    const int64_t begun = mtr_clock_now();
    int64_t late;
    sleep_ms(5);
    late = mtr_clock_now() - begun - 5 * MTR_MS;
    if (late > atomic_load(&control.worst)) atomic_store(&control.worst, late);
  }
  return arg;
}

static int start_control(void **state)
{
  (void)state;
  return pthread_create(&control.thread, NULL, sleep_and_look, NULL);
}

static int stop_control(void **state)
{
  (void)state;
  atomic_store(&control.stop, true);
  return pthread_join(control.thread, NULL);
}

/* ---- The faults ------------------------------------------------------------------------------ */

/* What becomes of the reply. */
enum reply { NONE, LATE, NEVER }; /* lost or bad; whole but too late; awaited in vain */

struct fault {
  const char *rule;
  enum reply reply;
};

static const struct fault faults[] = {
    {"\"delay_before_ms\": 500", LATE},
    {"\"delay_after_ms\": 500", LATE},
    {"\"when\": \"after\", \"hang\": true", NEVER},
    {"\"when\": \"after\", \"hang\": true, \"cut\": 20", NEVER},
    {"\"trickle\": {\"bytes\": 10, \"every_ms\": 10}", LATE},
    {"\"cut\": 30", NONE},
    {"\"cut\": 30, \"reset\": true", NONE},
    {"\"reset\": true", NONE},
    {"\"when\": \"after\", \"reset\": true", NONE},
    {"\"close_after_ms\": 0", NONE},
    {"\"content_length_add\": 7", NEVER},
    {"\"content_length_add\": -7", NONE},
    {"\"lengths\": [{\"offset\": 4, \"add\": 100000}]", NONE},
    {"\"lengths\": [{\"offset\": 4, \"add\": -1}]", NONE},
    {"\"flip\": [{\"offset\": 0}]", NONE},
    {"\"flip\": [{\"offset\": 30}]", NONE},
    {"\"flip\": [{\"offset\": -1}]", NONE},
    {"\"status\": 503, \"headers\": {\"Retry-After\": 60}", NONE},
    {"\"when\": \"after\", \"status\": 503", NONE},
    {"\"status\": 429, \"headers\": {\"Retry-After\": 60}", NONE},
    {"\"status\": 500", NONE},
    {"\"status\": 200", NONE},
    {"\"status\": 200, \"body\": \"<html>\"", NONE},
    {"\"error\": {\"sqlstate\": \"22012\", \"message\": \"[DIVIDE_BY_ZERO]\"}", NONE},
    {"\"exception\": {\"message\": \"not I\"}", NONE},
    {"\"lose\": \"operation\"", NONE}, /* a stale handle */
    {"\"lose\": \"session\"", NONE},   /* an expired session */
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* ---- The calls ------------------------------------------------------------------------------- */

struct shot {
  const char *wire, *sql;
  int64_t rows;
  bool runs_on; /* the statement runs until it is cancelled */
};

/* Of one statement to its end, each exchange in turn. */
static const struct shot shots[] = {
    {"ExecuteStatement", "SELECT rows 10", 10, false}, /* with direct results, if they are quick */
    {"ExecuteStatement", "lazy 10", 10, false},        /* without */
    {"GetOperationStatus", "lazy 10", 10, false},
    {"GetResultSetMetadata", "lazy 10", 10, false},
    {"FetchResults", "rows 3000", 3000, false},
    {"CloseOperation", "rows 3000", 3000, false},
    {"ExecuteStatement", "slow", 0, true},
    {"GetOperationStatus", "slow", 0, true},
};
enum { SHOTS = sizeof shots / sizeof *shots };

static const struct rig_option by_call[] = {
    {"retry_delay_min_ms", "1"}, {"retry_delay_max_ms", "4"}, {"page_rows", "1000"}, {NULL, NULL}};
static const struct rig_option by_read[] = {
    {"retry_delay_min_ms", "1"}, {"retry_delay_max_ms", "4"}, {"page_rows", "1000"},
    {"read_timeout_ms", "150"},  {"retry_total_ms", "150"},   {NULL, NULL}};

static int64_t start_clock(void)
{
  atomic_store(&control.worst, 0);
  return mtr_clock_now();
}

static void check_time(const struct rig *rig, const char *what, const char *rule, int64_t begun,
                       int64_t ended, int64_t limit_ms)
{
  const int64_t took = (ended - begun) / MTR_MS;
  const int64_t slack = LATE_MS + HOPS * atomic_load(&control.worst) / MTR_MS;

  if (took > limit_ms + slack)
    print_error("%s, %s: %lld ms for %lld and %lld: %s\n", what, rule, (long long)took,
                (long long)limit_ms, (long long)slack, rig->err.message);
  assert_true(took <= limit_ms + slack);
}

static void await_call(struct rig *rig, const char *call, int64_t attempts)
{
  const int64_t until = mtr_deadline_after(mtr_clock_now(), 10000);

  while (fault_call(&rig->kiln, call, "attempts") < attempts && mtr_clock_now() < until)
    sleep_ms(2);
  assert_int_equal(fault_call(&rig->kiln, call, "attempts"), attempts);
}

/* A rule that changes nothing that a client looks at. It fits only while Kiln knows the operation,
 * so it counts what was cancelled before it was closed. */
#define COUNT_CANCELS                                                                              \
  "{\"call\": \"CancelOperation\", \"text\": \"slow\", \"nth\": \"every\", "                       \
  "\"headers\": {\"X-Seen\": 1}}"

static void check_cancelled(struct rig *rig, int64_t closes)
{
  await_call(rig, "CloseOperation", closes + 1);
  rig_await(rig, "operations_open", 0);
  assert_int_equal(fault_rule(&rig->kiln, 1, "seen"), 1);
}

/* The handle of a statement whose reply was lost is known to nobody, also where it was sent again.
 */
static bool was_sent_again(const struct rig *rig)
{
  struct mortar_session_stats stats;

  mortar_session_get_stats(rig->session, &stats);
  return stats.retries > 0;
}

/* What the client knew, or was told later, it has ended. What it could not know, it said. */
static void check_rest(struct rig *rig, const struct shot *shot, const struct fault *fault,
                       enum mortar_status st)
{
  const char *text = rig->err.message;
  const bool may_run = strstr(text, "may be running") || strstr(text, "may have run");
  const bool is_named_later = fault->reply == LATE && strstr(text, "once the server names it");
  const bool is_known = st == MORTAR_OK ? !was_sent_again(rig) : !may_run || is_named_later;

  /* A request to close that was refused leaves it to the session's end; nothing runs. */
  if (is_known && strcmp(shot->wire, "CloseOperation") != 0) rig_await(rig, "operations_open", 0);
  rig_fault(rig, "%s", "");
  rig_close(rig);
  rig_await(rig, "operations_open", 0);
  rig_await(rig, "sessions_open", 0);
}

static void shoot(struct rig *rig, const struct shot *shot, const struct fault *fault,
                  const struct mortar_call *call)
{
  int64_t begun, closes;
  enum mortar_status st;

  assert_int_equal(rig_open(rig, NULL), MORTAR_OK);
  rig_fault(rig, "{\"call\": \"%s\", %s}, " COUNT_CANCELS, shot->wire, fault->rule);
  closes = fault_call(&rig->kiln, "CloseOperation", "attempts");
  begun = start_clock();
  st = rig_run(rig, shot->sql, call);
  check_time(rig, shot->wire, fault->rule, begun, mtr_clock_now(), LIMIT_MS);
  if (st == MORTAR_OK) assert_int_equal(rig->rows, shot->rows);
  if (st == MORTAR_OK) assert_false(shot->runs_on);
  if (shot->runs_on && st == MORTAR_TIMEOUT && fault->reply != NEVER) check_cancelled(rig, closes);
  check_rest(rig, shot, fault, st);
}

static void the_limit_of_a_call(void **state)
{
  const struct mortar_call call = {.timeout_ms = LIMIT_MS};
  struct rig rig;
  int i, k;

  (void)state;
  rig_start(&rig, by_call);
  for (k = 0; k < SHOTS; k++)
    for (i = 0; i < FAULTS; i++)
      shoot(&rig, &shots[k], &faults[i], &call);
  rig_stop(&rig);
}

/* A statement that runs on is polled for a second at a time, which is no fault. */
static void the_limit_of_a_reply(void **state)
{
  struct rig rig;
  int i, k;

  (void)state;
  rig_start(&rig, by_read);
  for (k = 0; k < SHOTS; k++)
    for (i = 0; i < FAULTS; i++)
      if (!shots[k].runs_on) shoot(&rig, &shots[k], &faults[i], NULL);
  rig_stop(&rig);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void shoot_open(struct rig *rig, const struct fault *fault, const struct mortar_call *call)
{
  int64_t begun;

  rig_fault(rig, "{\"call\": \"OpenSession\", %s}", fault->rule);
  begun = start_clock();
  (void)!rig_open(rig, call);
  check_time(rig, "OpenSession", fault->rule, begun, mtr_clock_now(), LIMIT_MS);
  rig_fault(rig, "%s", "");
  rig_close(rig);
  if (fault->reply == LATE) rig_await(rig, "sessions_open", 0);
}

static void shoot_close(struct rig *rig, const struct fault *fault, const struct mortar_call *call)
{
  enum mortar_status st;
  int64_t begun;

  assert_int_equal(rig_open(rig, NULL), MORTAR_OK);
  rig_fault(rig, "{\"call\": \"CloseSession\", %s}", fault->rule);
  begun = start_clock();
  st = mortar_session_close(rig->session, call, &rig->err);
  check_time(rig, "CloseSession", fault->rule, begun, mtr_clock_now(), LIMIT_MS);
  rig_fault(rig, "%s", "");
  rig_close(rig);
  if (st == MORTAR_OK || fault->reply == LATE) rig_await(rig, "sessions_open", 0);
}

/* What neither side can know, a session whose name or whose end was lost, ends for being idle. */
static void expire_sessions(struct rig *rig)
{
  const char *clock = "{\"session_idle_ms\": 1000, \"advance_ms\": 2000}";

  assert_int_equal(fault_control(&rig->kiln, "POST", "/kiln/clock", clock, NULL), 200);
  rig_await(rig, "sessions_open", 0);
  clock = "{\"session_idle_ms\": 0}";
  assert_int_equal(fault_control(&rig->kiln, "POST", "/kiln/clock", clock, NULL), 200);
}

static void the_limits_of_open_and_close(void **state)
{
  const struct mortar_call call = {.timeout_ms = LIMIT_MS};
  struct rig rig;
  int i;

  (void)state;
  rig_start(&rig, by_call);
  for (i = 0; i < FAULTS; i++) {
    shoot_open(&rig, &faults[i], &call);
    expire_sessions(&rig);
    shoot_close(&rig, &faults[i], &call);
    expire_sessions(&rig);
  }
  rig_stop(&rig);
}

/* ---- The statement's own limit --------------------------------------------------------------- */

static const char *const slow_faults[] = {
    "\"nth\": 999", /* none: the server ends the statement */
    "\"delay_before_ms\": 1700",
    "\"delay_after_ms\": 1700",
    "\"when\": \"after\", \"hang\": true",
    "\"trickle\": {\"bytes\": 1, \"every_ms\": 60}",
    "\"content_length_add\": 7",
};
enum { SLOW_FAULTS = sizeof slow_faults / sizeof *slow_faults };

/* One statement on a thread of its own: they take a second each. */
struct limited {
  pthread_t thread;
  struct rig *rig;
  char sql[10];
  struct mortar_error err;
  enum mortar_status st;
  int64_t ended;
};

static void *run_limited(void *arg)
{
  struct limited *l = arg;
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;

  l->st = mortar_statement_new(l->rig->session, &stmt, &l->err);
  if (l->st == MORTAR_OK) l->st = mortar_statement_set_sql(stmt, l->sql, strlen(l->sql), &l->err);
  if (l->st == MORTAR_OK) l->st = mortar_statement_set_timeout(stmt, 1, &l->err);
  if (l->st == MORTAR_OK) l->st = mortar_statement_execute(stmt, NULL, &res, &l->err);
  l->ended = mtr_clock_now();
  mortar_result_free(res);
  mortar_statement_free(stmt);
  return NULL;
}

static void shoot_limited(struct rig *rig, const char *call)
{
  struct limited all[SLOW_FAULTS];
  char rules[1000] = "";
  int64_t begun;
  size_t i;

  assert_int_equal(rig_open(rig, NULL), MORTAR_OK);
  for (i = 0; i < SLOW_FAULTS; i++)
    (void)snprintf(rules + strlen(rules), sizeof rules - strlen(rules),
                   "%s{\"call\": \"%s\", \"text\": \"slow %zu\", %s}", i ? "," : "", call, i,
                   slow_faults[i]);
  rig_fault(rig, "%s", rules);
  begun = start_clock();
  for (i = 0; i < SLOW_FAULTS; i++) {
    all[i].rig = rig;
    (void)snprintf(all[i].sql, sizeof all[i].sql, "slow %zu", i);
    assert_int_equal(pthread_create(&all[i].thread, NULL, run_limited, &all[i]), 0);
  }
  for (i = 0; i < SLOW_FAULTS; i++) {
    assert_int_equal(pthread_join(all[i].thread, NULL), 0);
    rig->err = all[i].err;
    assert_int_equal(all[i].st, MORTAR_TIMEOUT);
    check_time(rig, call, slow_faults[i], begun, all[i].ended, 1000);
  }
  /* Without a fault it is the server that says it, where the machine lets it be in time. */
  if (atomic_load(&control.worst) < 10 * MTR_MS)
    assert_non_null(strstr(all[0].err.message, "queryTimeout of 1 seconds"));
  rig_fault(rig, "%s", "");
  rig_close(rig);
  rig_await(rig, "operations_open", 0);
  rig_await(rig, "sessions_open", 0);
}

static void the_limit_of_a_statement(void **state)
{
  struct rig rig;

  (void)state;
  rig_start(&rig, by_call);
  shoot_limited(&rig, "ExecuteStatement");
  shoot_limited(&rig, "GetOperationStatus");
  rig_stop(&rig);
}

/* ---- What nobody ever answers ---------------------------------------------------------------- */

static void check_given_up(struct rig *rig, const char *what)
{
  assert_true(mortar_background_wait(10000)); /* Kiln still holds the request */
  assert_non_null(strstr(rig->warning, "never answered"));
  assert_non_null(strstr(rig->warning, what));
}

static void an_orphan_is_given_up_in_time(void **state)
{
  const struct mortar_call call = {.timeout_ms = 20};
  struct rig rig;

  (void)state;
  mtr_orphan_set_budget_ms(100);
  rig_start(&rig, by_call);
  assert_int_equal(rig_open(&rig, NULL), MORTAR_OK);
  rig_fault(&rig, "%s", "{\"call\": \"*\", \"nth\": \"every\", \"hang\": true}");
  assert_int_equal(rig_run(&rig, "dml", &call), MORTAR_TIMEOUT);
  check_given_up(&rig, "a statement given up may still be there");
  rig_fault(&rig, "%s", "");
  rig_close(&rig);
  rig_fault(&rig, "%s", "{\"call\": \"*\", \"nth\": \"every\", \"hang\": true}");
  assert_int_equal(rig_open(&rig, &call), MORTAR_TIMEOUT);
  check_given_up(&rig, "a session given up may still be there");
  rig_stop(&rig);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_limit_of_a_call),           cmocka_unit_test(the_limit_of_a_reply),
      cmocka_unit_test(the_limits_of_open_and_close),  cmocka_unit_test(the_limit_of_a_statement),
      cmocka_unit_test(an_orphan_is_given_up_in_time),
  };
  mtr_orphan_set_budget_ms(3000);
  return cmocka_run_group_tests(tests, start_control, stop_control);
}
