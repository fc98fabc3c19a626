/* Exchanges that were given up and are gone on with: the reply is not lost with the patience. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"
#include "tests/support/test.h"

enum { SERVER_MS = 150 };

/* Answers "hello" late, the second half even later. */
static void serve_late(struct loop_server *server, struct loop_conn *conn)
{
  const struct timespec pause = {0, SERVER_MS * 1000000};

  (void)server;
  while (loop_conn_request(conn, NULL, 0) >= 0) {
    nanosleep(&pause, NULL);
    if (!loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")) return;
    nanosleep(&pause, NULL);
    if (!loop_conn_text(conn, "llo")) return;
  }
}

static enum mortar_status resume(struct net_rig *rig, int64_t timeout_ms)
{
  const struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), timeout_ms)};

  return mtr_lease_resume(rig->lease, &wait, &rig->reply, &rig->err);
}

static void start(struct loop_server *server, struct net_rig *rig, bool keep)
{
  loop_server_start(server);
  net_rig_init(rig, server->port);
  rig->request.keep = keep;
  net_rig_open(rig);
}

static void stop(struct loop_server *server, struct net_rig *rig)
{
  net_rig_close(rig);
  loop_server_stop(server);
}

static void a_reply_can_be_fetched_later(void **state)
{
  struct loop_server server = {.serve = serve_late};
  struct net_rig rig;
  struct mtr_lease_stats stats;

  (void)state;
  start(&server, &rig, true);
  assert_int_equal(net_rig_exchange(&rig, 20, NULL), MORTAR_TIMEOUT);
  assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_true(mtr_lease_pending(rig.lease));
  assert_true(mtr_lease_fd(rig.lease) >= 0);
  assert_int_equal(resume(&rig, 0), MORTAR_TIMEOUT); /* nothing there yet */
  assert_int_equal(resume(&rig, SERVER_MS), MORTAR_TIMEOUT);
  assert_true(rig.reply.begun); /* half of it */
  assert_int_equal(resume(&rig, 5000), MORTAR_OK);
  assert_int_equal(rig.reply.body.size, 5);
  assert_memory_equal(rig.reply.body.data, "hello", 5);
  assert_false(mtr_lease_pending(rig.lease));
  assert_int_equal(mtr_lease_fd(rig.lease), -1);
  assert_int_equal(resume(&rig, 0), MORTAR_STATE);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK); /* over the same connection */
  mtr_lease_stats(rig.lease, &stats);
  assert_int_equal(stats.connects, 1);
  stop(&server, &rig);
}

static void without_keep_the_connection_ends(void **state)
{
  struct loop_server server = {.serve = serve_late};
  struct net_rig rig;

  (void)state;
  start(&server, &rig, false);
  assert_int_equal(net_rig_exchange(&rig, 20, NULL), MORTAR_TIMEOUT);
  assert_false(mtr_lease_pending(rig.lease));
  assert_int_equal(resume(&rig, 0), MORTAR_STATE);
  stop(&server, &rig);
}

static void another_exchange_abandons_it(void **state)
{
  struct loop_server server = {.serve = serve_late, .at_once = true};
  struct net_rig rig;
  struct mtr_lease_stats stats;

  (void)state;
  start(&server, &rig, true);
  assert_int_equal(net_rig_exchange(&rig, 20, NULL), MORTAR_TIMEOUT);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_int_equal(rig.reply.body.size, 5);
  mtr_lease_stats(rig.lease, &stats);
  assert_int_equal(stats.connects, 2); /* never the reply of another request */
  assert_int_equal(net_rig_exchange(&rig, 20, NULL), MORTAR_TIMEOUT);
  mtr_lease_trim(rig.lease);
  assert_false(mtr_lease_pending(rig.lease));
  stop(&server, &rig);
}

static void serve_cut(struct loop_server *server, struct loop_conn *conn)
{
  const struct timespec pause = {0, SERVER_MS * 1000000};

  (void)server;
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  nanosleep(&pause, NULL);
  (void)loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
}

static void a_connection_that_breaks_meanwhile_is_an_error(void **state)
{
  struct loop_server server = {.serve = serve_cut};
  struct net_rig rig;

  (void)state;
  start(&server, &rig, true);
  assert_int_equal(net_rig_exchange(&rig, 20, NULL), MORTAR_TIMEOUT);
  assert_int_equal(resume(&rig, 5000), MORTAR_IO);
  assert_non_null(strstr(rig.err.message, "2 of 5"));
  assert_false(mtr_lease_pending(rig.lease));
  stop(&server, &rig);
}

static void what_did_not_leave_whole_is_not_kept(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct mtr_wait wait;
  struct net_rig rig;
  struct mtr_buf *body;

  (void)state;
  start(&server, &rig, true);
  body = mtr_lease_body(rig.lease);
  assert_int_equal(mtr_buf_reserve(body, 64 << 20, NULL), MORTAR_OK);
  memset(body->data, 'x', 64 << 20);
  body->size = 64 << 20; /* more than sockets hold */
  wait = (struct mtr_wait){.deadline = mtr_deadline_after(mtr_clock_now(), 100)};
  assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                   MORTAR_TIMEOUT);
  assert_false(mtr_lease_pending(rig.lease));
  stop(&server, &rig);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_reply_can_be_fetched_later),
      cmocka_unit_test(without_keep_the_connection_ends),
      cmocka_unit_test(another_exchange_abandons_it),
      cmocka_unit_test(a_connection_that_breaks_meanwhile_is_an_error),
      cmocka_unit_test(what_did_not_leave_whole_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
