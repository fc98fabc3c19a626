/* The tick of a wait: called while one lasts, in every phase of an exchange, and not before 100 ms;
 * it may end the wait; a signal makes it come at once. */
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"

enum { LONG_MS = 8000 };

struct ticker {
  pthread_t thread;  /* that must be called */
  int calls, end_at; /* the call that ends the wait; 0: none */
  bool strange;
};

static int count_tick(void *arg)
{
  struct ticker *ticker = arg;

  ticker->strange |= !pthread_equal(ticker->thread, pthread_self());
  return ++ticker->calls == ticker->end_at;
}

static void rig_with_ticker(struct net_rig *rig, int port, struct ticker *ticker, int end_at)
{
  memset(ticker, 0, sizeof *ticker);
  ticker->thread = pthread_self();
  ticker->end_at = end_at;
  net_rig_init(rig, port);
  rig->tick = count_tick;
  rig->tick_ctx = ticker;
  net_rig_open(rig);
}

static void expect_end(const struct net_rig *rig, const struct ticker *ticker, const char *words,
                       enum mortar_outcome outcome)
{
  if (!strstr(rig->err.message, words)) print_error("%s\n", rig->err.message);
  assert_non_null(strstr(rig->err.message, words));
  assert_int_equal(rig->err.outcome, outcome);
  assert_int_equal(ticker->calls, ticker->end_at);
  assert_false(ticker->strange);
  assert_in_range(rig->took_ms, 100 * ticker->end_at - 1, 100 * ticker->end_at + NET_PROMPT_MS);
}

static void quick_exchanges_do_not_tick(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct ticker ticker;
  struct net_rig rig;
  int i;

  (void)state;
  loop_server_start(&server);
  rig_with_ticker(&rig, server.port, &ticker, 1);
  for (i = 0; i < 200; i++) {
    assert_int_equal(net_rig_exchange(&rig, LONG_MS, NULL), MORTAR_OK);
    /* A machine that stands still for 100 ms proves nothing. */
    if (rig.took_ms < 100) assert_int_equal(ticker.calls, 0);
  }
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void ends_a_wait_for_the_reply(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct ticker ticker;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  rig_with_ticker(&rig, server.port, &ticker, 2);
  assert_int_equal(net_rig_exchange(&rig, LONG_MS, NULL), MORTAR_INTERRUPTED);
  expect_end(&rig, &ticker, "while waiting for the reply", MORTAR_OUTCOME_UNKNOWN);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* One that returns 0 ends nothing and costs no deadline. */
static void goes_on_until_the_deadline(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct ticker ticker;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  rig_with_ticker(&rig, server.port, &ticker, 0);
  assert_int_equal(net_rig_exchange(&rig, 550, NULL), MORTAR_TIMEOUT);
  assert_in_range(ticker.calls, 1, 5);
  assert_in_range(rig.took_ms, 549, 550 + NET_PROMPT_MS);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void ends_a_reply_that_trickles(void **state)
{
  struct loop_server server = {.serve = loop_serve_trickle};
  struct ticker ticker;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  rig_with_ticker(&rig, server.port, &ticker, 2);
  assert_int_equal(net_rig_exchange(&rig, LONG_MS, NULL), MORTAR_INTERRUPTED);
  expect_end(&rig, &ticker, "while receiving the reply (", MORTAR_OUTCOME_UNKNOWN);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void ends_a_send(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), LONG_MS)};
  struct ticker ticker;
  struct net_rig rig;
  int64_t start;

  (void)state;
  loop_server_start(&server);
  rig_with_ticker(&rig, server.port, &ticker, 2);
  wait.tick = count_tick;
  wait.tick_ctx = &ticker;
  net_rig_fill_body(&rig);
  start = mtr_clock_now();
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_INTERRUPTED);
  rig.took_ms = (mtr_clock_now() - start) / MTR_MS;
  expect_end(&rig, &ticker, "while sending the request (", MORTAR_OUTCOME_UNKNOWN);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* The server never answers the handshake. */
static void rig_for_handshake(struct net_rig *rig, int port, struct ticker *ticker, int end_at)
{
  rig_with_ticker(rig, port, ticker, end_at);
  net_rig_close(rig);
  rig->options.tls = true;
  rig->options.verify_peer = rig->options.verify_host = false;
  net_rig_open(rig);
}

static void ends_a_connect(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct ticker ticker;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  rig_for_handshake(&rig, server.port, &ticker, 2);
  assert_int_equal(net_rig_exchange(&rig, LONG_MS, NULL), MORTAR_INTERRUPTED);
  expect_end(&rig, &ticker, "while shaking hands", MORTAR_OUTCOME_NOT_SENT);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* ---- Signals ------------------------------------------------------------------------------- */

enum { SIGNAL_AFTER_MS = 30, WITH_SIGNAL_MS = 40, TRIES = 50 };

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

/* The exchange is ended by the first tick. Returns how long after the signal: less than nothing
 * when the sender was held up, and the tick came by itself. */
static int64_t end_by_signal(struct net_rig *rig, const struct ticker *ticker)
{
  pthread_t self = pthread_self(), thread;
  int64_t end;

  assert_int_equal(pthread_create(&thread, NULL, send_signal, &self), 0);
  assert_int_equal(net_rig_exchange(rig, LONG_MS, NULL), MORTAR_INTERRUPTED);
  end = mtr_clock_now();
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(ticker->calls, 1);
  return (end - atomic_load(&signalled)) / MTR_MS;
}

/* The tick comes with the signal, and not 70 ms later when it would be due: a busy machine may be
 * late with it now and then, but not each time. */
static void check_signal(void (*open_rig)(struct net_rig *, int port, struct ticker *, int end_at))
{
  const struct sigaction action = {.sa_handler = ignore};
  struct loop_server server = {.serve = loop_serve_silence};
  struct ticker ticker;
  struct net_rig rig;
  int64_t late = -1;
  int tries;

  assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
  loop_server_start(&server);
  for (tries = 0; tries < TRIES && (late < 0 || late > WITH_SIGNAL_MS); tries++) {
    open_rig(&rig, server.port, &ticker, 1);
    late = end_by_signal(&rig, &ticker);
    net_rig_close(&rig);
  }
  assert_in_range(late, 0, WITH_SIGNAL_MS);
  loop_server_stop(&server);
}

static void signal_while_waiting(void **state)
{
  (void)state;
  check_signal(rig_with_ticker);
}

static void signal_while_connecting(void **state)
{
  (void)state;
  check_signal(rig_for_handshake);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(quick_exchanges_do_not_tick),
                                     cmocka_unit_test(ends_a_wait_for_the_reply),
                                     cmocka_unit_test(goes_on_until_the_deadline),
                                     cmocka_unit_test(ends_a_reply_that_trickles),
                                     cmocka_unit_test(ends_a_send),
                                     cmocka_unit_test(ends_a_connect),
                                     cmocka_unit_test(signal_while_waiting),
                                     cmocka_unit_test(signal_while_connecting)};
  /* The server threads write to clients that are gone. */
  (void)signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
