/* Leases over real sockets, plain HTTP: the bytes on the wire, the steady state, connections that
 * end, long bodies, deadlines and wake-ups. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"
#include "tests/support/failing_alloc.h"

static void assert_hello(const struct net_rig *rig)
{
  assert_int_equal(rig->reply.status, 200);
  assert_int_equal(rig->reply.body.size, 5);
  assert_memory_equal(rig->reply.body.data, "hello", 5);
}

static void assert_error(const struct net_rig *rig, enum mortar_outcome outcome, const char *words)
{
  char name[64];

  (void)snprintf(name, sizeof name, "127.0.0.1:%d: ", rig->options.port);
  if (!strstr(rig->err.message, words) || !strstr(rig->err.message, name))
    print_error("%s\n", rig->err.message);
  assert_non_null(strstr(rig->err.message, words));
  assert_ptr_equal(strstr(rig->err.message, name), rig->err.message);
  assert_int_equal(rig->err.outcome, outcome);
}

static struct mtr_lease_stats stats_of(const struct net_rig *rig)
{
  struct mtr_lease_stats stats;

  mtr_lease_stats(rig->lease, &stats);
  return stats;
}

/* ---- Bytes and steady state ---------------------------------------------------------------- */

static void serve_echo(struct loop_server *server, struct loop_conn *conn)
{
  char text[8192], reply[9000];

  (void)server;
  while (loop_conn_request(conn, text, sizeof text) >= 0) {
    (void)snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                   strlen(text), text);
    if (!loop_conn_text(conn, reply)) return;
  }
}

static void request_on_the_wire(void **state)
{
  struct loop_server server = {.serve = serve_echo};
  struct net_rig rig;
  char want[256];

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  (void)snprintf(want, sizeof want,
                 "POST /sql HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept-Encoding: identity\r\n"
                 "X-Test: secret\r\nContent-Length: 4\r\n\r\nping",
                 server.port);
  assert_int_equal(rig.reply.body.size, strlen(want));
  assert_memory_equal(rig.reply.body.data, want, strlen(want));
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* A head too long for the room before the body leaves on its own; an empty body needs none. */
static void long_head_and_empty_body(void **state)
{
  struct loop_server server = {.serve = serve_echo};
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  struct net_rig rig;
  char headers[6000];

  (void)state;
  memset(headers, 'x', sizeof headers);
  memcpy(headers, "A: ", 3);
  memcpy(headers + sizeof headers - 3, "\r\n", 3);
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  rig.request.headers = headers;
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_memory_equal(rig.reply.body.data + rig.reply.body.size - 8, "\r\n\r\nping", 8);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_memory_equal(rig.reply.body.data + rig.reply.body.size - 8, "\r\n\r\nping", 8);
  rig.request.headers = "";
  assert_int_equal(mtr_lease_body(rig.lease)->size, 0);
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_OK);
  assert_memory_equal(rig.reply.body.data + rig.reply.body.size - 7, ": 0\r\n\r\n", 7);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* What a retry needs: the body is still there after an exchange. */
static void body_can_be_sent_again(void **state)
{
  struct loop_server server = {.serve = serve_echo};
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, NULL), MORTAR_OK);
  assert_memory_equal(rig.reply.body.data + rig.reply.body.size - 9, "4\r\n\r\nping", 9);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void steady_state(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;
  struct mtr_lease_stats before, after;
  int i;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_hello(&rig);
  before = stats_of(&rig);
  for (i = 0; i < 100; i++) {
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    assert_hello(&rig);
  }
  after = stats_of(&rig);
  assert_int_equal(after.connects, 1);
  assert_int_equal(after.exchanges - before.exchanges, 100);
  assert_int_equal(after.writes - before.writes, 100);
  assert_int_equal(after.waits - before.waits, 100);
  assert_int_equal(after.reads - before.reads, 100);
  assert_int_equal(after.probes - before.probes, 100);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void bad_header_is_refused_before_connecting(void **state)
{
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, 1);
  net_rig_open(&rig);
  rig.request.headers = "A: secret\rB: c\r\n";
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_INVALID);
  assert_error(&rig, MORTAR_OUTCOME_NOT_SENT, "control character");
  assert_int_equal(stats_of(&rig).writes, 0);
  net_rig_close(&rig);
}

/* ---- Connections that end ------------------------------------------------------------------ */

static void serve_once_then_close(struct loop_server *server, struct loop_conn *conn)
{
  (void)server;
  if (loop_conn_request(conn, NULL, 0) >= 0)
    (void)loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}

static void stale_connection_is_replaced(void **state)
{
  struct loop_server server = {.serve = serve_once_then_close};
  struct net_rig rig;
  int i;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  for (i = 0; i < 3; i++) {
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    assert_hello(&rig);
    loop_server_wait_closed(&server);
  }
  assert_int_equal(stats_of(&rig).connects, 3);
  assert_int_equal(stats_of(&rig).stale, 2);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* The server takes the request and goes away: it may have run, so it is not sent again. */
static void serve_and_vanish(struct loop_server *server, struct loop_conn *conn)
{
  const struct linger reset = {1, 0};

  if (loop_conn_request(conn, NULL, 0) < 0) return;
  if (server->arg) (void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

static void serve_once_and_vanish(struct loop_server *server, struct loop_conn *conn)
{
  if (conn->index > 0)
    serve_and_vanish(server, conn);
  else if (loop_conn_request(conn, NULL, 0) >= 0)
    (void)loop_conn_text(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}

static void server_vanishes(void **state)
{
  int resets;

  (void)state;
  for (resets = 0; resets < 2; resets++) {
    struct loop_server server = {.serve = serve_and_vanish};
    struct net_rig rig;
    server.arg = resets ? &server : NULL;
    loop_server_start(&server);
    net_rig_init(&rig, server.port);
    net_rig_open(&rig);
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_IO);
    assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, resets ? "receiving failed" : "without a reply");
    assert_int_equal(atomic_load(&server.accepted), 1);
    net_rig_close(&rig);
    loop_server_stop(&server);
  }
}

/* A server of TLS hangs up on a plain request; one that has replied before is not of that kind. */
static void a_plain_request_without_a_reply_hints_at_tls(void **state)
{
  int replies, resets;

  (void)state;
  for (replies = 0; replies < 2; replies++)
    for (resets = 0; resets < 2; resets++) {
      struct loop_server server = {.serve = replies ? serve_once_and_vanish : serve_and_vanish};
      struct net_rig rig;
      server.arg = resets ? &server : NULL;
      loop_server_start(&server);
      net_rig_init(&rig, server.port);
      net_rig_open(&rig);
      if (replies) assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
      assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_IO);
      assert_int_equal(strstr(rig.err.message, "wants TLS") == NULL, replies);
      net_rig_close(&rig);
      loop_server_stop(&server);
    }
}

/* A second lease takes the connection that the first one gave back, unless it is too old. */
static void idle_connections(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  int64_t ages[] = {-1, 30};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct net_rig rig;
    loop_server_start(&server);
    net_rig_init(&rig, server.port);
    rig.options.idle_ms = ages[i];
    net_rig_open(&rig);
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    mtr_lease_free(rig.lease);
    (void)usleep(60000);
    assert_int_equal(mtr_lease_new(rig.endpoint, &rig.lease, &rig.err), MORTAR_OK);
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    assert_int_equal(stats_of(&rig).connects, i);
    (void)usleep(60000);
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    assert_int_equal(stats_of(&rig).stale, i);
    net_rig_close(&rig);
    loop_server_stop(&server);
    atomic_store(&server.accepted, 0);
  }
}

/* ---- Bodies -------------------------------------------------------------------------------- */

enum { BIG = 40 << 20 };

static uint8_t big_byte(size_t i) { return (uint8_t)(i * 31 + i / 251); }

static void serve_big(struct loop_server *server, struct loop_conn *conn)
{
  static uint8_t block[65536];
  size_t at, i;
  char head[100];

  (void)server;
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BIG);
  if (!loop_conn_text(conn, head)) return;
  for (at = 0; at < BIG; at += sizeof block) {
    for (i = 0; i < sizeof block; i++)
      block[i] = big_byte(at + i);
    if (!loop_conn_send(conn, block, sizeof block)) return;
  }
}

static void big_body(void **state)
{
  struct loop_server server = {.serve = serve_big};
  struct net_rig rig;
  size_t i;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 60000, NULL), MORTAR_OK);
  assert_int_equal(rig.reply.body.size, BIG);
  for (i = 0; i < BIG; i++)
    if (rig.reply.body.data[i] != big_byte(i)) break;
  assert_int_equal(i, BIG);
  mtr_lease_trim(rig.lease);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void serve_two_gigabytes(struct loop_server *server, struct loop_conn *conn)
{
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  (void)loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\nonly this");
  if (!server->arg) return; /* closes */
  loop_serve_silence(server, conn);
}

/* A length that is claimed but does not come takes no memory; one above the limit is refused. */
static void claimed_lengths(void **state)
{
  struct loop_server server = {.serve = serve_two_gigabytes};
  struct failing_alloc fa;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_LIMIT);
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "2147483648 bytes crosses the limit of 67108864");
  net_rig_close(&rig);

  failing_alloc_init(&fa, 0);
  net_rig_init(&rig, server.port);
  rig.options.max_reply = (size_t)4 << 30;
  assert_int_equal(mtr_endpoint_new(&rig.options, &fa.alloc, &rig.endpoint, &rig.err), MORTAR_OK);
  assert_int_equal(mtr_lease_new(rig.endpoint, &rig.lease, &rig.err), MORTAR_OK);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_IO);
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "after 9 of 2147483648 bytes");
  assert_true(fa.live_bytes < 200000);
  net_rig_close(&rig);
  assert_int_equal(fa.live, 0);
  loop_server_stop(&server);
}

static void every_allocation_may_fail(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct failing_alloc fa;

  (void)state;
  loop_server_start(&server);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct net_rig rig;
    enum mortar_status st;
    const struct mtr_wait wait = {.deadline = MTR_NEVER};
    net_rig_init(&rig, server.port);
    st = mtr_endpoint_new(&rig.options, &fa.alloc, &rig.endpoint, &rig.err);
    if (st == MORTAR_OK) st = mtr_lease_new(rig.endpoint, &rig.lease, &rig.err);
    if (st == MORTAR_OK) st = mtr_buf_append(mtr_lease_body(rig.lease), "ping", 4, &rig.err);
    if (st == MORTAR_OK)
      st = mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (!fa.failed) assert_hello(&rig);
    net_rig_close(&rig);
  }
  loop_server_stop(&server);
}

/* ---- Deadlines and wake-ups ---------------------------------------------------------------- */

static void expect_prompt(const struct net_rig *rig, int64_t after_ms)
{
  assert_true(rig->took_ms >= after_ms - 1);
  assert_true(rig->took_ms < after_ms + NET_PROMPT_MS);
}

static void deadline_while_waiting(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 100, NULL), MORTAR_TIMEOUT);
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "while waiting for the reply");
  expect_prompt(&rig, 100);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static enum mortar_status exchange_with_alarm(struct net_rig *rig, int delay_ms)
{
  struct mortar_wake *wake;
  struct net_alarm *alarm;
  enum mortar_status st;
  int64_t begun;

  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  begun = mtr_clock_now();
  alarm = net_alarm_start(wake, delay_ms);
  st = net_rig_exchange(rig, 8000, wake);
  rig->took_ms = (mtr_clock_now() - begun) / MTR_MS; /* on a busy machine the alarm gets ahead */
  net_alarm_join(alarm);
  mortar_wake_free(wake);
  return st;
}

static void wake_up_while_waiting(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(exchange_with_alarm(&rig, 80), MORTAR_INTERRUPTED);
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "while waiting for the reply");
  expect_prompt(&rig, 80);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void serve_refusal_unread(struct loop_server *server, struct loop_conn *conn)
{
  (void)usleep(50000); /* the sockets are full by then and the client waits */
  if (loop_conn_text(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"))
    loop_serve_silence(server, conn);
}

/* The server answers and reads nothing: the reply is heard though the request is not out. */
static void early_reply(void **state)
{
  struct loop_server server = {.serve = serve_refusal_unread};
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), 5000)};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  net_rig_fill_body(&rig);
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_OK);
  assert_int_equal(rig.reply.status, 413);
  /* By the reply itself, not by a last look at the deadline. */
  assert_true(mtr_clock_now() < wait.deadline - 2 * MTR_SECOND);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void serve_late(struct loop_server *server, struct loop_conn *conn)
{
  (void)usleep(50000);
  loop_serve_hello(server, conn);
}

static void large_request(void **state)
{
  struct loop_server server = {.serve = serve_late};
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), 20000)};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  net_rig_fill_body(&rig);
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_OK);
  assert_hello(&rig);
  assert_true(stats_of(&rig).writes > 1);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* The server reads nothing, so the sockets fill up. */
static void wake_up_while_sending(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct net_rig rig;
  struct mtr_wait wait = {.deadline = MTR_NEVER};
  struct net_alarm *alarm;
  int64_t start;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  net_rig_fill_body(&rig);
  assert_int_equal(mortar_wake_new(&wait.wake, NULL), MORTAR_OK);
  start = mtr_clock_now();
  alarm = net_alarm_start(wait.wake, 150);
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_INTERRUPTED);
  rig.took_ms = (mtr_clock_now() - start) / MTR_MS;
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "while sending the request (");
  expect_prompt(&rig, 150);
  net_alarm_join(alarm);
  mortar_wake_free(wait.wake);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

static void wake_up_while_receiving(void **state)
{
  struct loop_server server = {.serve = loop_serve_trickle};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(exchange_with_alarm(&rig, 80), MORTAR_INTERRUPTED);
  assert_error(&rig, MORTAR_OUTCOME_UNKNOWN, "while receiving the reply (");
  expect_prompt(&rig, 80);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* ---- Fork ---------------------------------------------------------------------------------- */

static int use_in_child(struct net_rig *rig)
{
  struct mtr_lease *lease = NULL;
  int wrong = net_rig_exchange(rig, 1000, NULL) != MORTAR_STATE;

  wrong |= rig->err.outcome != MORTAR_OUTCOME_NOT_SENT;
  wrong |= mtr_lease_new(rig->endpoint, &lease, NULL) != MORTAR_STATE || lease;
  net_rig_close(rig);
  return wrong;
}

/* The child may drop what it inherited and nothing else; the parent's connection lives on. */
static void fork_with_an_open_lease(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;
  pid_t child;
  int status = -1;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  child = fork();
  if (child == 0) _exit(use_in_child(&rig));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_int_equal(stats_of(&rig).connects, 1);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Leases come and go on many threads over one endpoint and its idle connections. */
static void threads_share_an_endpoint(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello, .at_once = true};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_share(&rig, 4, 20), 4 * 20);
  /* Four threads need at most four connections: the others were idle ones taken again. */
  assert_in_range(atomic_load(&server.accepted), 1, 4);
  net_rig_close(&rig);
  loop_server_stop(&server);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(request_on_the_wire),
                                     cmocka_unit_test(long_head_and_empty_body),
                                     cmocka_unit_test(body_can_be_sent_again),
                                     cmocka_unit_test(steady_state),
                                     cmocka_unit_test(bad_header_is_refused_before_connecting),
                                     cmocka_unit_test(stale_connection_is_replaced),
                                     cmocka_unit_test(server_vanishes),
                                     cmocka_unit_test(a_plain_request_without_a_reply_hints_at_tls),
                                     cmocka_unit_test(idle_connections),
                                     cmocka_unit_test(big_body),
                                     cmocka_unit_test(claimed_lengths),
                                     cmocka_unit_test(every_allocation_may_fail),
                                     cmocka_unit_test(deadline_while_waiting),
                                     cmocka_unit_test(wake_up_while_waiting),
                                     cmocka_unit_test(early_reply),
                                     cmocka_unit_test(large_request),
                                     cmocka_unit_test(wake_up_while_sending),
                                     cmocka_unit_test(wake_up_while_receiving),
                                     cmocka_unit_test(fork_with_an_open_lease),
                                     cmocka_unit_test(threads_share_an_endpoint)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
