/* The step machine over the binary wires, with scripted bytes in virtual time: the login of a new
 * connection, every cut, every split, every fault. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/net/scripted_transport.h"
#include "tests/support/failing_alloc.h"

static const char request[] = "the request";
static const char login[] = "the login";

/* A reply of one field, a text. */
#define MESSAGE "\x80\x01\0\2\0\0\0\1x\0\0\0\1\x0b\0\0\0\0\0\5hello\0"
#define WELCOME "\5\0\0\0\0"
enum {
  MESSAGE_SIZE = sizeof MESSAGE - 1,
  WELCOME_SIZE = 5,
  WHOLE = WELCOME_SIZE + 4 + MESSAGE_SIZE
};

static const char bare[] = MESSAGE;
/* A welcome, and the message in a frame. */
static const char framed[] = WELCOME "\0\0\0\x1a" MESSAGE;

struct rig {
  struct scripted peer;
  struct mtr_exchange ex;
  struct mtr_binary binary;
  struct mtr_buf reply;
  struct mtr_lease_stats stats;
  struct mortar_error err;
};

/* With SASL, connected or not; without, not connected: always from the first byte on. */
static void rig_init(struct rig *r, bool sasl, bool connected)
{
  memset(r, 0, sizeof *r);
  if (sasl)
    scripted_init(&r->peer, framed + (connected ? WELCOME_SIZE : 0),
                  WHOLE - (connected ? WELCOME_SIZE : 0), connected);
  else
    scripted_init(&r->peer, bare, MESSAGE_SIZE, connected);
  r->peer.base.bare = true;
  mtr_buf_init(&r->reply, NULL, "reply", 1 << 20);
  mtr_binary_init(&r->binary, sasl, 1000);
  r->ex.transport = &r->peer.base;
  r->ex.binary = &r->binary;
  r->ex.out[0] = mtr_span_of(request, sizeof request - 1);
  r->ex.reply = &r->reply;
  r->ex.connect_timeout_ms = 5000;
  r->ex.deadline = MTR_NEVER;
  r->ex.stats = &r->stats;
  r->ex.err = &r->err;
  if (!sasl) return;
  r->ex.login = mtr_span_of(login, sizeof login - 1);
  if (connected) return;
  r->peer.login_size = sizeof login - 1;
  r->peer.answer_size = WELCOME_SIZE;
}

static void rig_fini(struct rig *r) { mtr_buf_fini(&r->reply); }

static enum mortar_status run(struct rig *r)
{
  (void)scripted_run(&r->ex, MTR_NEVER);
  return r->ex.status;
}

static void assert_hello(const struct rig *r)
{
  assert_int_equal(r->ex.status, MORTAR_OK);
  assert_true(r->ex.reusable);
  assert_int_equal(r->reply.size, MESSAGE_SIZE);
  assert_memory_equal(r->reply.data, MESSAGE, MESSAGE_SIZE);
  assert_int_equal(r->stats.exchanges, 1);
}

static void a_bare_message_comes_and_goes(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, false, true);
  (void)run(&r);
  assert_hello(&r);
  assert_int_equal(r.peer.sent_size, sizeof request - 1);
  assert_int_equal(r.stats.writes, 1);
  assert_int_equal(r.stats.reads, 1);
  rig_fini(&r);
}

static void a_new_connection_logs_in_first(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, true, false);
  r.peer.connect_waits = 2;
  (void)run(&r);
  assert_hello(&r);
  assert_memory_equal(r.peer.sent, "the loginthe request", 20);
  rig_fini(&r);
}

static void an_old_one_does_not(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, true, true);
  (void)run(&r);
  assert_hello(&r);
  assert_int_equal(r.peer.sent_size, sizeof request - 1);
  rig_fini(&r);
}

static void every_split_gives_the_same(void **state)
{
  size_t first, piece;

  (void)state;
  for (first = 1; first <= WHOLE; first++)
    for (piece = 1; piece <= 3; piece++) {
      struct rig r;
      rig_init(&r, true, false);
      r.peer.first_piece = first;
      r.peer.piece = piece;
      r.peer.again_between = piece > 1;
      r.peer.send_piece = piece;
      (void)run(&r);
      assert_hello(&r);
      rig_fini(&r);
      rig_init(&r, false, false);
      r.peer.first_piece = first;
      r.peer.piece = piece;
      r.peer.again_between = piece > 1;
      (void)run(&r);
      assert_hello(&r);
      rig_fini(&r);
    }
}

/* In the login nothing has left that the server could run; behind it, nobody knows. */
static void cut_at_every_byte(void **state)
{
  static const enum scripted_end ends[] = {SCRIPTED_CLOSE, SCRIPTED_RESET};
  size_t cut, i;

  (void)state;
  for (i = 0; i < 2; i++)
    for (cut = 0; cut < WHOLE; cut++) {
      struct rig r;
      const bool logged_in = cut >= WELCOME_SIZE;
      rig_init(&r, true, false);
      r.peer.reply_size = cut;
      if (!logged_in) r.peer.answer_size = cut;
      r.peer.early = !logged_in;
      r.peer.end = ends[i];
      assert_int_equal(run(&r), logged_in ? MORTAR_IO : MORTAR_AUTH);
      assert_int_equal(r.err.outcome, logged_in ? MORTAR_OUTCOME_UNKNOWN : MORTAR_OUTCOME_NOT_SENT);
      assert_int_equal(r.peer.sent_size > sizeof login - 1, logged_in);
      assert_int_equal(r.peer.closes, 1);
      if (!logged_in)
        assert_non_null(strstr(r.err.message, "'transport' nosasl"));
      else
        assert_null(strstr(r.err.message, "perhaps"));
      rig_fini(&r);
    }
}

static void a_bare_message_cut_at_every_byte(void **state)
{
  size_t cut;

  (void)state;
  for (cut = 0; cut < MESSAGE_SIZE; cut++) {
    struct rig r;
    rig_init(&r, false, false);
    r.peer.reply_size = cut;
    r.peer.end = SCRIPTED_CLOSE;
    assert_int_equal(run(&r), MORTAR_IO);
    assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    assert_int_equal(strstr(r.err.message, "'transport' sasl") != NULL, cut == 0);
    rig_fini(&r);
  }
}

/* The peer stops reading: after some of the login, or some of the request. */
static void sending_fails_at_every_byte(void **state)
{
  size_t stop;

  (void)state;
  for (stop = 1; stop < sizeof login - 1 + sizeof request - 1; stop++) {
    struct rig r;
    const bool logged_in = stop >= sizeof login - 1;
    rig_init(&r, true, false);
    r.peer.send_stop = stop;
    r.peer.send_fails = true;
    assert_int_equal(run(&r), logged_in ? MORTAR_IO : MORTAR_AUTH);
    /* A byte of the request may be enough for somebody. */
    assert_int_equal(r.err.outcome,
                     stop > sizeof login - 1 ? MORTAR_OUTCOME_UNKNOWN : MORTAR_OUTCOME_NOT_SENT);
    rig_fini(&r);
  }
}

static void a_login_without_an_answer_ends_with_the_connect_timeout(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, true, false);
  r.peer.answer_size = 0;
  assert_int_equal(run(&r), MORTAR_TIMEOUT);
  assert_string_equal(r.err.message,
                      "the connect timeout passed after 5000 ms while logging in (SASL): "
                      "perhaps the server wants none ('transport' nosasl or http)"
                      ", or TLS");
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  rig_fini(&r);
  /* Half a login that nobody reads, too. */
  rig_init(&r, true, false);
  r.peer.send_stop = 3;
  assert_int_equal(run(&r), MORTAR_TIMEOUT);
  rig_fini(&r);
}

/* Behind the login only the deadline counts. */
static void the_connect_timeout_ends_with_the_login(void **state)
{
  struct rig r;

  (void)state;
  rig_init(&r, true, false);
  r.peer.reply_size = WELCOME_SIZE;
  r.ex.deadline = 20 * MTR_SECOND;
  assert_int_equal(run(&r), MORTAR_TIMEOUT);
  assert_string_equal(r.err.message,
                      "the deadline passed after 20000 ms while waiting for the reply");
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  rig_fini(&r);
}

static void a_refused_login_says_why(void **state)
{
  static const char refusal[] = "\4\0\0\0\7go away";
  struct rig r;

  (void)state;
  rig_init(&r, true, false);
  r.peer.reply = refusal;
  r.peer.reply_size = r.peer.answer_size = sizeof refusal - 1;
  r.peer.early = true;
  assert_int_equal(run(&r), MORTAR_AUTH);
  assert_non_null(strstr(r.err.message, "go away; check 'username' and 'password'"));
  assert_int_equal(r.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_int_equal(r.peer.sent_size, sizeof login - 1);
  rig_fini(&r);
}

static void memory_may_run_out(void **state)
{
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct rig r;
    enum mortar_status st;
    rig_init(&r, true, false);
    mtr_buf_init(&r.reply, &fa.alloc, "reply", 1 << 20);
    st = run(&r);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    rig_fini(&r);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bare_message_comes_and_goes),
      cmocka_unit_test(a_new_connection_logs_in_first),
      cmocka_unit_test(an_old_one_does_not),
      cmocka_unit_test(every_split_gives_the_same),
      cmocka_unit_test(cut_at_every_byte),
      cmocka_unit_test(a_bare_message_cut_at_every_byte),
      cmocka_unit_test(sending_fails_at_every_byte),
      cmocka_unit_test(a_login_without_an_answer_ends_with_the_connect_timeout),
      cmocka_unit_test(the_connect_timeout_ends_with_the_login),
      cmocka_unit_test(a_refused_login_says_why),
      cmocka_unit_test(memory_may_run_out),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
