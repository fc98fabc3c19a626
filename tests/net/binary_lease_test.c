/* Leases over the binary wires on real sockets, plain and TLS: the bytes on the wire, connections
 * that are used again, whose they are, and pending exchanges. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/be.h"
#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"
#include "tests/net/test_certs.h"
#include "tests/support/failing_alloc.h"

#define MESSAGE "\x80\x01\0\2\0\0\0\1x\0\0\0\1\x0b\0\0\0\0\0\5hello\0"
enum { MESSAGE_SIZE = sizeof MESSAGE - 1 };

/* What the server is told to do, and what it saw; one thread at a time. */
struct script {
  enum mtr_wire wire;
  char login[64]; /* of the last connection: what stands behind the heads */
  atomic_int logins, requests;
  atomic_bool hold; /* the reply waits until this is false */
};

static bool read_login(struct loop_conn *conn, struct script *script)
{
  uint8_t head[15];
  uint32_t size;

  if (!loop_conn_read(conn, head, sizeof head)) return false;
  size = mtr_be32(head + 11);
  assert_memory_equal(head, "\1\0\0\0\5PLAIN\2", 11);
  assert_true(size < sizeof script->login);
  memset(script->login, '.', sizeof script->login);
  if (!loop_conn_read(conn, script->login, size)) return false;
  script->logins++;
  return loop_conn_send(conn, "\5\0\0\0\0", 5);
}

static bool read_ping(struct loop_conn *conn, const struct script *script)
{
  char text[8];
  const size_t head = script->wire == MTR_WIRE_SASL ? 4 : 0;

  if (!loop_conn_read(conn, text, head + 4)) return false;
  if (head) assert_memory_equal(text, "\0\0\0\4", 4);
  assert_memory_equal(text + head, "ping", 4);
  return true;
}

static void serve(struct loop_server *server, struct loop_conn *conn)
{
  struct script *script = server->arg;

  if (script->wire == MTR_WIRE_SASL && !read_login(conn, script)) return;
  while (read_ping(conn, script)) {
    script->requests++;
    while (script->hold)
      continue;
    if (script->wire == MTR_WIRE_SASL && !loop_conn_send(conn, "\0\0\0\x1a", 4)) return;
    if (!loop_conn_send(conn, MESSAGE, MESSAGE_SIZE)) return;
  }
}

struct bench {
  struct script script;
  struct loop_server server;
  struct net_rig rig;
};

static void start(struct bench *b, enum mtr_wire wire, bool tls)
{
  memset(b, 0, sizeof *b);
  b->script.wire = wire;
  b->server.serve = serve;
  b->server.arg = &b->script;
  if (tls) {
    b->server.cert = group_certs.cert;
    b->server.key = group_certs.key;
  }
  loop_server_start(&b->server);
  net_rig_init(&b->rig, b->server.port);
  b->rig.options.wire = wire;
  b->rig.options.user = "user";
  b->rig.options.password = "secret";
  b->rig.options.tls = tls;
  b->rig.options.host = tls ? "localhost" : "127.0.0.1";
  b->rig.options.ca_file = tls ? group_certs.ca : NULL;
  net_rig_open(&b->rig);
}

static void stop(struct bench *b)
{
  net_rig_close(&b->rig);
  loop_server_stop(&b->server);
}

static void expect_hello(struct bench *b)
{
  const enum mortar_status st = net_rig_exchange(&b->rig, 8000, NULL);

  if (st != MORTAR_OK) print_error("%s\n", b->rig.err.message);
  assert_int_equal(st, MORTAR_OK);
  assert_int_equal(b->rig.reply.status, 0);
  assert_int_equal(b->rig.reply.body.size, MESSAGE_SIZE);
  assert_memory_equal(b->rig.reply.body.data, MESSAGE, MESSAGE_SIZE);
}

static void every_wire_with_and_without_tls(void **state)
{
  static const enum mtr_wire wires[] = {MTR_WIRE_NOSASL, MTR_WIRE_SASL};
  int i;

  (void)state;
  for (i = 0; i < 4; i++) {
    const bool sasl = wires[i / 2] == MTR_WIRE_SASL;
    struct bench b;
    start(&b, wires[i / 2], i % 2);
    expect_hello(&b);
    expect_hello(&b);
    assert_int_equal(b.script.logins, sasl);
    assert_int_equal(b.script.requests, 2);
    assert_int_equal(atomic_load(&b.server.accepted), 1);
    if (sasl) assert_memory_equal(b.script.login, "\0user\0secret.", 13);
    stop(&b);
  }
}

static void nobody_is_anonymous(void **state)
{
  struct bench b;

  (void)state;
  start(&b, MTR_WIRE_SASL, false);
  net_rig_close(&b.rig);
  b.rig.options.user = b.rig.options.password = NULL;
  net_rig_open(&b.rig);
  expect_hello(&b);
  assert_memory_equal(b.script.login, "\0anonymous\0anonymous.", 21);
  stop(&b);
}

/* A connection behind a login is its user's: another one's endpoint is another one. */
static void users_share_no_endpoint(void **state)
{
  struct mtr_endpoint_options o = {
      .wire = MTR_WIRE_SASL, .host = "127.0.0.1", .port = 1, .user = "a", .password = "b"};
  struct mtr_endpoint *first, *same, *other;
  int i;

  (void)state;
  assert_int_equal(mtr_endpoint_get(&o, NULL, &first, NULL), MORTAR_OK);
  assert_int_equal(mtr_endpoint_get(&o, NULL, &same, NULL), MORTAR_OK);
  assert_ptr_equal(first, same);
  for (i = 0; i < 4; i++) {
    o.wire = i == 3 ? MTR_WIRE_NOSASL : MTR_WIRE_SASL;
    o.user = i == 0 ? "ab" : i == 1 ? NULL : "a";
    o.password = i == 0 ? "" : i == 1 ? "b" : i == 2 ? "c" : "b";
    assert_int_equal(mtr_endpoint_get(&o, NULL, &other, NULL), MORTAR_OK);
    assert_ptr_not_equal(first, other);
    mtr_endpoint_unref(other);
  }
  mtr_endpoint_unref(first);
  mtr_endpoint_unref(same);
}

static void an_exchange_given_up_can_be_gone_on_with(void **state)
{
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  struct bench b;

  (void)state;
  start(&b, MTR_WIRE_SASL, true);
  b.script.hold = true;
  b.rig.request.keep = true;
  assert_int_equal(net_rig_exchange(&b.rig, 1500, NULL), MORTAR_TIMEOUT);
  b.script.hold = false;
  assert_true(mtr_lease_pending(b.rig.lease));
  assert_int_equal(mtr_lease_resume(b.rig.lease, &wait, &b.rig.reply, &b.rig.err), MORTAR_OK);
  assert_int_equal(b.rig.reply.body.size, MESSAGE_SIZE);
  b.rig.request.keep = false;
  expect_hello(&b);
  assert_int_equal(b.script.logins, 1);
  stop(&b);
}

static void a_login_that_is_too_long_is_refused(void **state)
{
  struct mtr_endpoint_options o = {.wire = MTR_WIRE_SASL, .host = "127.0.0.1", .port = 1};
  struct mtr_endpoint *endpoint;
  char user[70000];

  (void)state;
  memset(user, 'x', sizeof user);
  user[sizeof user - 1] = '\0';
  o.user = user;
  assert_int_equal(mtr_endpoint_new(&o, NULL, &endpoint, NULL), MORTAR_INVALID);
  assert_null(endpoint);
}

static enum mortar_status one_exchange(const struct mtr_endpoint_options *o,
                                       const struct mortar_alloc *alloc)
{
  const struct mtr_wait wait = {.deadline = MTR_NEVER};
  const struct mtr_request request = {"/", "", false};
  struct mtr_endpoint *endpoint = NULL;
  struct mtr_lease *lease = NULL;
  struct mtr_reply reply;
  enum mortar_status st = mtr_endpoint_get(o, alloc, &endpoint, NULL);

  if (st == MORTAR_OK) st = mtr_lease_new(endpoint, &lease, NULL);
  if (st == MORTAR_OK) st = mtr_buf_append(mtr_lease_body(lease), "ping", 4, NULL);
  if (st == MORTAR_OK) st = mtr_lease_exchange(lease, &request, &wait, &reply, NULL);
  mtr_lease_free(lease);
  mtr_endpoint_unref(endpoint);
  return st;
}

static void memory_may_run_out(void **state)
{
  struct failing_alloc fa;
  struct bench b;

  (void)state;
  start(&b, MTR_WIRE_SASL, false);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    const enum mortar_status st = one_exchange(&b.rig.options, &fa.alloc);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  }
  stop(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_wire_with_and_without_tls),
      cmocka_unit_test(nobody_is_anonymous),
      cmocka_unit_test(users_share_no_endpoint),
      cmocka_unit_test(an_exchange_given_up_can_be_gone_on_with),
      cmocka_unit_test(a_login_that_is_too_long_is_refused),
      cmocka_unit_test(memory_may_run_out),
  };

  return cmocka_run_group_tests(tests, group_certs_make, group_certs_remove);
}
