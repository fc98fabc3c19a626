/* The step machine over scripted bytes in virtual time: every cut, every split, every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/net/scripted_transport.h"
#include "tests/support/failing_alloc.h"

static const char request[] = "POST / HTTP/1.1\r\n\r\nthe body";
static const char plain[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
static const char chunked[] =
    "HTTP/1.1 100 Continue\r\n\r\n"
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: a/b\r\n\r\n"
    "2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: v\r\n\r\n";

/* One exchange and all it needs; the tests change fields before run. */
struct rig {
  struct scripted peer;
  struct mtr_exchange ex;
  struct mtr_buf reply;
  struct mtr_lease_stats stats;
  struct mortar_error err;
  struct mtr_reply result;
  int64_t ended;
};

static void rig_init(struct rig *r, const char *reply, size_t size, bool connected)
{
  memset(r, 0, sizeof *r);
  scripted_init(&r->peer, reply, size, connected);
  mtr_buf_init(&r->reply, NULL, "reply", 1 << 20);
  r->ex.transport = &r->peer.base;
  r->ex.out[0] = mtr_span_of(request, sizeof request - 1);
  r->ex.reply = &r->reply;
  r->ex.max_body = 1000;
  r->ex.connect_timeout_ms = -1;
  r->ex.deadline = MTR_NEVER;
  r->ex.stats = &r->stats;
  r->ex.err = &r->err;
}

static enum mortar_status run_until(struct rig *r, int64_t interrupt_at)
{
  r->ended = scripted_run(&r->ex, interrupt_at);
  if (r->ex.status == MORTAR_OK) mtr_http1_reply(&r->ex.http, &r->reply, &r->result);
  return r->ex.status;
}

static enum mortar_status run(struct rig *r) { return run_until(r, MTR_NEVER); }

static void rig_fini(struct rig *r) { mtr_buf_fini(&r->reply); }

static void assert_hello(const struct rig *r)
{
  assert_int_equal(r->result.status, 200);
  assert_int_equal(r->result.body.size, 5);
  assert_memory_equal(r->result.body.data, "hello", 5);
  assert_int_equal(r->peer.sent_size, sizeof request - 1);
  assert_memory_equal(r->peer.sent, request, sizeof request - 1);
}

static void fresh_connection(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_waits = 3;
  assert_int_equal(run(&r), MORTAR_OK);
  assert_hello(&r);
  assert_true(r.ex.reusable);
  assert_int_equal(r.peer.closes, 0);
  assert_int_equal(r.stats.connects, 1);
  assert_int_equal(r.stats.exchanges, 1);
  rig_fini(&r);
}

/* Probe, send, wait, receive: nothing else on a connection that lives. */
static void steady_state(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, true);
  assert_int_equal(run(&r), MORTAR_OK);
  assert_hello(&r);
  assert_int_equal(r.stats.connects, 0);
  assert_int_equal(r.stats.writes, 1);
  assert_int_equal(r.stats.waits, 1);
  assert_int_equal(r.stats.reads, 1);
  assert_int_equal(r.stats.stale, 0);
  rig_fini(&r);
}

static void stale_connection_is_replaced(void **state)
{
  enum scripted_end ends[] = {SCRIPTED_CLOSE, SCRIPTED_RESET};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct rig r;
    rig_init(&r, plain, sizeof plain - 1, true);
    r.peer.idle = ends[i];
    assert_int_equal(run(&r), MORTAR_OK);
    assert_hello(&r);
    assert_int_equal(r.stats.stale, 1);
    assert_int_equal(r.stats.connects, 1);
    assert_int_equal(r.peer.closes, 1);
    rig_fini(&r);
  }
}

/* Bytes that nobody asked for spoil a connection as much as its end does. */
static void unasked_bytes_make_it_stale(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, "x", 1, true);
  r.peer.early = true;
  r.peer.end = SCRIPTED_CLOSE;
  assert_int_equal(run(&r), MORTAR_IO);
  assert_int_equal(r.stats.stale, 1);
  assert_int_equal(r.stats.connects, 1);
  rig_fini(&r);
}

static void every_split(const char *text, size_t size)
{
  size_t first, again;

  for (first = 1; first <= size; first++)
    for (again = 0; again < 2; again++) {
      struct rig r;
      rig_init(&r, text, size, true);
      r.peer.first_piece = first;
      r.peer.piece = first == size ? 1 : 0;
      r.peer.again_between = again != 0;
      assert_int_equal(run(&r), MORTAR_OK);
      assert_hello(&r);
      assert_true(r.ex.reusable);
      rig_fini(&r);
    }
}

static void byte_by_byte(const char *text, size_t size)
{
  struct rig r;

  rig_init(&r, text, size, true);
  r.peer.piece = r.peer.send_piece = 1;
  r.peer.again_between = true;
  assert_int_equal(run(&r), MORTAR_OK);
  assert_hello(&r);
  assert_int_equal(r.stats.writes, sizeof request - 1);
  rig_fini(&r);
}

static void split_at_every_byte(void **state)
{
  (void)state;
  every_split(plain, sizeof plain - 1);
  every_split(chunked, sizeof chunked - 1);
  byte_by_byte(plain, sizeof plain - 1);
  byte_by_byte(chunked, sizeof chunked - 1);
}

static void every_cut(const char *text, size_t size, enum scripted_end end)
{
  size_t cut;

  for (cut = 0; cut < size; cut++) {
    struct rig r;
    rig_init(&r, text, cut, true);
    r.peer.end = end;
    assert_int_equal(run(&r), MORTAR_IO);
    assert_int_equal(r.err.status, MORTAR_IO);
    assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    assert_false(r.ex.reusable);
    assert_int_equal(r.peer.closes, 1);
    assert_int_equal(r.stats.connects, 0); /* never sent again */
    rig_fini(&r);
  }
}

static void cut_at_every_byte(void **state)
{
  (void)state;
  every_cut(plain, sizeof plain - 1, SCRIPTED_CLOSE);
  every_cut(plain, sizeof plain - 1, SCRIPTED_RESET);
  every_cut(chunked, sizeof chunked - 1, SCRIPTED_CLOSE);
  every_cut(chunked, sizeof chunked - 1, SCRIPTED_RESET);
}

static void bad_replies(void **state)
{
  static const struct {
    const char *text;
    enum mortar_status status;
  } cases[] = {
      {"garbage", MORTAR_PROTOCOL},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", MORTAR_PROTOCOL},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", MORTAR_PROTOCOL},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", MORTAR_LIMIT},
      {"HTTP/1.1 200 OK\r\n\r\nhello", MORTAR_PROTOCOL},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rig r;
    rig_init(&r, cases[i].text, strlen(cases[i].text), true);
    assert_int_equal(run(&r), cases[i].status);
    assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    assert_int_equal(r.peer.closes, 1);
    rig_fini(&r);
  }
}

static void connection_that_is_not_kept(void **state)
{
  static const char text[] =
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
  struct rig r;

  (void)state;
  rig_init(&r, text, sizeof text - 1, true);
  assert_int_equal(run(&r), MORTAR_OK);
  assert_hello(&r);
  assert_false(r.ex.reusable);
  assert_int_equal(r.peer.closes, 1);
  rig_fini(&r);
}

static void connect_failure(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_fails = true;
  assert_int_equal(run(&r), MORTAR_CONNECT);
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(r.peer.sent_size, 0);
  rig_fini(&r);
}

static void send_failures(void **state)
{
  size_t stop;

  (void)state;
  for (stop = 0; stop < sizeof request - 1; stop++) {
    struct rig r;
    rig_init(&r, plain, sizeof plain - 1, true);
    r.peer.send_stop = stop;
    r.peer.send_fails = true;
    assert_int_equal(run(&r), MORTAR_IO);
    assert_int_equal(r.err.outcome, stop ? MORTAR_OUTCOME_UNKNOWN : MORTAR_OUTCOME_NOT_SENT);
    assert_int_equal(r.stats.connects, 0);
    rig_fini(&r);
  }
}

/* The peer refuses a request that it has read in part only. */
static void early_reply(void **state)
{
  static const char text[] = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
  struct rig r;

  (void)state;
  rig_init(&r, text, sizeof text - 1, false);
  r.peer.early = true;
  r.peer.send_stop = 7;
  r.peer.piece = 3;
  r.peer.again_between = true;
  assert_int_equal(run(&r), MORTAR_OK);
  assert_int_equal(r.result.status, 413);
  assert_false(r.ex.reusable);
  assert_int_equal(r.peer.closes, 1);
  rig_fini(&r);
}

static void expect_timeout(struct rig *r, int64_t at_ms, enum mortar_outcome outcome,
                           const char *words)
{
  assert_int_equal(run(r), MORTAR_TIMEOUT);
  assert_int_equal(r->ended, at_ms * MTR_MS);
  assert_int_equal(r->err.outcome, outcome);
  if (!strstr(r->err.message, words)) print_error("%s\n", r->err.message);
  assert_non_null(strstr(r->err.message, words));
  rig_fini(r);
}

static void timeouts(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_waits = -1;
  r.ex.connect_timeout_ms = 50;
  r.ex.deadline = 70 * MTR_MS;
  expect_timeout(&r, 50, MORTAR_OUTCOME_NOT_SENT,
                 "the connect timeout passed after 50 ms while pretending to connect");
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_waits = -1;
  r.ex.connect_timeout_ms = 80;
  r.ex.deadline = 70 * MTR_MS;
  expect_timeout(&r, 70, MORTAR_OUTCOME_NOT_SENT, "the deadline passed after 70 ms");
  rig_init(&r, plain, sizeof plain - 1, true);
  r.peer.send_stop = 7;
  r.ex.deadline = 20 * MTR_MS;
  expect_timeout(&r, 20, MORTAR_OUTCOME_UNKNOWN, "sending the request (20 bytes left)");
  rig_init(&r, plain, 0, true);
  r.ex.deadline = 30 * MTR_MS;
  expect_timeout(&r, 30, MORTAR_OUTCOME_UNKNOWN, "waiting for the reply");
  rig_init(&r, plain, 10, true);
  r.ex.deadline = 30 * MTR_MS;
  expect_timeout(&r, 30, MORTAR_OUTCOME_UNKNOWN, "receiving the reply (10 bytes so far)");
}

/* The time for connecting does not run on while the reply is waited for. */
static void connect_timeout_is_for_connecting(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_waits = 8;
  r.peer.piece = 1;
  r.peer.again_between = true;
  r.ex.connect_timeout_ms = 10;
  assert_int_equal(run(&r), MORTAR_OK);
  assert_true(r.ended > 20 * MTR_MS);
  rig_fini(&r);
}

static void past_deadline_sends_nothing(void **state)
{
  struct rig r;
  int connected;

  (void)state;
  for (connected = 0; connected < 2; connected++) {
    rig_init(&r, plain, sizeof plain - 1, connected != 0);
    r.ex.deadline = -1;
    assert_int_equal(run(&r), MORTAR_TIMEOUT);
    assert_int_equal(r.err.outcome, MORTAR_OUTCOME_NOT_SENT);
    assert_int_equal(r.peer.sent_size, 0);
    rig_fini(&r);
  }
}

static void interrupts(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, plain, sizeof plain - 1, false);
  r.peer.connect_waits = -1;
  assert_int_equal(run_until(&r, 5 * MTR_MS), MORTAR_INTERRUPTED);
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_non_null(strstr(r.err.message, "woken up after 5 ms while pretending to connect"));
  rig_fini(&r);
  rig_init(&r, plain, 0, true);
  assert_int_equal(run_until(&r, 5 * MTR_MS), MORTAR_INTERRUPTED);
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_int_equal(r.peer.closes, 1);
  rig_fini(&r);
}

/* A reply that never runs dry lets the driver look up, so that the deadline and the wake-up work.
 */
static void endless_bytes_can_be_ended(void **state)
{
  char reply[2000];
  struct rig r;

  (void)state;
  memset(reply, 'x', sizeof reply);
  memcpy(reply, "HTTP/1.1 200 OK\r\nA: ", 20);
  rig_init(&r, reply, sizeof reply, true);
  r.peer.piece = 1;
  assert_int_equal(run_until(&r, 1), MORTAR_INTERRUPTED);
  assert_true(r.peer.reply_at < sizeof reply);
  rig_fini(&r);
}

static void every_allocation_may_fail(void **state)
{
  static char reply[60000];
  struct failing_alloc fa;

  (void)state;
  memset(reply, 'x', sizeof reply);
  memcpy(reply, "HTTP/1.1 200 OK\r\nContent-Length: 59958\r\n\r\n", 42);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct rig r;
    rig_init(&r, reply, sizeof reply, true);
    r.ex.max_body = sizeof reply;
    r.peer.piece = 7000;
    mtr_buf_init(&r.reply, &fa.alloc, "reply", 1 << 20);
    (void)run(&r);
    assert_int_equal(r.ex.status, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (fa.failed) assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    if (!fa.failed) assert_int_equal(r.result.body.size, 59958);
    assert_int_equal(r.peer.closes, fa.failed);
    rig_fini(&r);
  }
  assert_true(fa.rounds >= 3); /* two buffers and a round without failure */
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(fresh_connection),
                                     cmocka_unit_test(steady_state),
                                     cmocka_unit_test(stale_connection_is_replaced),
                                     cmocka_unit_test(unasked_bytes_make_it_stale),
                                     cmocka_unit_test(split_at_every_byte),
                                     cmocka_unit_test(cut_at_every_byte),
                                     cmocka_unit_test(bad_replies),
                                     cmocka_unit_test(connection_that_is_not_kept),
                                     cmocka_unit_test(connect_failure),
                                     cmocka_unit_test(send_failures),
                                     cmocka_unit_test(early_reply),
                                     cmocka_unit_test(timeouts),
                                     cmocka_unit_test(connect_timeout_is_for_connecting),
                                     cmocka_unit_test(past_deadline_sends_nothing),
                                     cmocka_unit_test(interrupts),
                                     cmocka_unit_test(endless_bytes_can_be_ended),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
