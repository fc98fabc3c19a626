/* The retry table's promises, and the arithmetic of waits and budgets, in no time at all. */
#include "net/http1.h"
#include "net/retry.h"
#include "tests/net/scripted_transport.h"
#include "tests/support/test.h"

static const struct mtr_retry_policy usual = {
    .attempts = 30, .delay_min_ms = 1000, .delay_max_ms = 60000, .total_ms = 900000};

static bool is_sent_again(enum mtr_call_kind kind, enum mtr_retry_event event)
{
  const enum mtr_retry_action action = mtr_retry_action(kind, event);

  return action == MTR_RETRY_AGAIN || action == MTR_RETRY_BRIEFLY;
}

static void a_write_is_sent_again_only_when_it_did_not_start(void **state)
{
  enum mtr_retry_event event;

  (void)state;
  for (event = 0; event < MTR_EVENTS; event++) {
    const enum mortar_outcome outcome = mtr_retry_outcome(event);
    const bool safe = outcome == MORTAR_OUTCOME_NOT_SENT || outcome == MORTAR_OUTCOME_REJECTED;
    if (!safe) assert_false(is_sent_again(MTR_CALL_WRITE, event));
    if (!safe) assert_false(is_sent_again(MTR_CALL_FETCH, event));
    assert_true(strlen(mtr_retry_words(event)) > 5);
  }
  assert_true(is_sent_again(MTR_CALL_WRITE, MTR_EVENT_HTTP_429));
  assert_true(is_sent_again(MTR_CALL_WRITE, MTR_EVENT_HTTP_503_LATER));
  assert_true(is_sent_again(MTR_CALL_WRITE, MTR_EVENT_NOT_CONNECTED));
}

static void credentials_are_never_tried_twice(void **state)
{
  enum mtr_call_kind kind;

  (void)state;
  for (kind = 0; kind < MTR_CALL_KINDS; kind++) {
    assert_int_equal(mtr_retry_action(kind, MTR_EVENT_HTTP_401), MTR_RETRY_NEVER);
    assert_int_equal(mtr_retry_action(kind, MTR_EVENT_HTTP_403), MTR_RETRY_NEVER);
    assert_int_equal(mtr_retry_action(kind, MTR_EVENT_OTHER), MTR_RETRY_NEVER);
    assert_true(strlen(mtr_call_kind_name(kind)) > 3);
  }
}

static void only_what_is_closed_may_be_gone(void **state)
{
  enum mtr_call_kind kind;
  enum mtr_retry_event event;

  (void)state;
  for (event = 0; event < MTR_EVENTS; event++)
    for (kind = 0; kind < MTR_CALL_KINDS; kind++) {
      const bool swallowed = mtr_retry_action(kind, event) == MTR_RETRY_SWALLOW;
      assert_int_equal(swallowed, (kind == MTR_CALL_CANCEL || kind == MTR_CALL_CLOSE) &&
                                      (event == MTR_EVENT_HTTP_404 || event == MTR_EVENT_GONE));
    }
}

static struct mtr_retry_state state_of(int64_t retries, uint32_t random)
{
  struct mtr_retry_state s = {
      .retries = retries, .left_ms = INT64_MAX, .retry_after_ms = -1, .random = random};

  return s;
}

static int64_t delay(const struct mtr_retry_state *s)
{
  return mtr_retry_delay_ms(&usual, MTR_RETRY_AGAIN, s);
}

static void waits_double_up_to_the_longest(void **state)
{
  static const int64_t low[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
  bool differ = false;
  int64_t n;
  uint32_t random;

  (void)state;
  for (n = 0; n < 8; n++) {
    const int64_t high = low[n] * 2 < 60000 ? low[n] * 2 : 60000;
    for (random = 0; random < 5; random++) {
      const struct mtr_retry_state s = state_of(n, random * 987654321u);
      assert_in_range(delay(&s), low[n], high);
      differ |= delay(&s) != low[n];
    }
  }
  assert_true(differ); /* jitter */
}

static void a_huge_number_of_retries_does_not_overflow(void **state)
{
  const struct mtr_retry_policy wide = {
      .attempts = 1000, .delay_min_ms = 3, .delay_max_ms = INT64_MAX - 1, .total_ms = INT64_MAX};
  const struct mtr_retry_state s = state_of(999, UINT32_MAX);

  (void)state;
  assert_true(mtr_retry_delay_ms(&wide, MTR_RETRY_AGAIN, &s) > 0);
}

static void the_server_s_wish_comes_first(void **state)
{
  struct mtr_retry_state s = state_of(0, 77);

  (void)state;
  s.retry_after_ms = 7000;
  assert_int_equal(delay(&s), 7000);
  s.retry_after_ms = 100000; /* also beyond the longest wait of our own */
  assert_int_equal(delay(&s), 100000);
  s.retry_after_ms = 0; /* the header said nothing usable */
  assert_in_range(delay(&s), 1000, 2000);
}

static void budgets_are_kept(void **state)
{
  struct mtr_retry_state s = state_of(29, 0);

  (void)state;
  assert_int_equal(delay(&s), 60000);
  s.retries = 30;
  assert_int_equal(delay(&s), -1);
  s = state_of(0, 0);
  s.elapsed_ms = 899000;
  assert_int_equal(delay(&s), 1000);
  s.elapsed_ms++;
  assert_int_equal(delay(&s), -1);
  s = state_of(0, 0);
  s.left_ms = 1001;
  assert_int_equal(delay(&s), 1000);
  s.left_ms = 1000; /* would end with the deadline, and nothing could be sent any more */
  assert_int_equal(delay(&s), -1);
  s = state_of(0, 0);
  s.retry_after_ms = 900001;
  assert_int_equal(delay(&s), -1);
}

static void briefly_is_three_times_at_most(void **state)
{
  const struct mtr_retry_policy one = {
      .attempts = 1, .delay_min_ms = 1, .delay_max_ms = 1, .total_ms = 10};
  struct mtr_retry_state s = state_of(2, 0);

  (void)state;
  assert_true(mtr_retry_delay_ms(&usual, MTR_RETRY_BRIEFLY, &s) > 0);
  s.retries = 3;
  assert_int_equal(mtr_retry_delay_ms(&usual, MTR_RETRY_BRIEFLY, &s), -1);
  s.retries = 1; /* the option may say less */
  assert_int_equal(mtr_retry_delay_ms(&one, MTR_RETRY_BRIEFLY, &s), -1);
  s.retries = 0;
  assert_int_equal(mtr_retry_delay_ms(&usual, MTR_RETRY_NEVER, &s), -1);
  assert_int_equal(mtr_retry_delay_ms(&usual, MTR_RETRY_SWALLOW, &s), -1);
}

static void every_http_status_has_its_event(void **state)
{
  static const struct {
    int status;
    bool later;
    enum mtr_retry_event event;
  } cases[] = {
      {301, false, MTR_EVENT_HTTP_3XX},   {400, false, MTR_EVENT_HTTP_400},
      {401, false, MTR_EVENT_HTTP_401},   {403, false, MTR_EVENT_HTTP_403},
      {404, false, MTR_EVENT_HTTP_404},   {408, false, MTR_EVENT_HTTP_408},
      {429, false, MTR_EVENT_HTTP_429},   {429, true, MTR_EVENT_HTTP_429},
      {418, false, MTR_EVENT_HTTP_4XX},   {500, true, MTR_EVENT_HTTP_500},
      {501, false, MTR_EVENT_HTTP_OTHER}, {502, false, MTR_EVENT_HTTP_502},
      {503, false, MTR_EVENT_HTTP_503},   {503, true, MTR_EVENT_HTTP_503_LATER},
      {504, false, MTR_EVENT_HTTP_504},   {599, false, MTR_EVENT_HTTP_OTHER},
      {204, false, MTR_EVENT_HTTP_OTHER},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(mtr_retry_event_of_http(cases[i].status, cases[i].later), cases[i].event);
}

/* ---- Failures of the step machine, by script ------------------------------------------------- */

static const char request[] = "POST / HTTP/1.1\r\n\r\nthe body";
static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/* Runs one exchange over peer and names what went wrong. */
static enum mtr_retry_event event_of(struct scripted *peer, int64_t deadline, int64_t interrupt_at)
{
  struct mtr_lease_stats stats = {0};
  struct mortar_error err = {0};
  struct mtr_exchange ex = {.transport = &peer->base,
                            .out = {mtr_span_of(request, sizeof request - 1)},
                            .max_body = 100,
                            .connect_timeout_ms = 5,
                            .deadline = deadline,
                            .stats = &stats,
                            .err = &err};
  struct mtr_buf reply;
  bool begun;

  mtr_buf_init(&reply, NULL, "reply", 1 << 16);
  ex.reply = &reply;
  (void)scripted_run(&ex, interrupt_at);
  assert_int_not_equal(ex.status, MORTAR_OK);
  begun = reply.size != 0;
  mtr_buf_fini(&reply);
  return mtr_retry_event_of_failure(ex.status, err.outcome, begun);
}

static void every_failure_has_its_event(void **state)
{
  const int64_t late = 10 * MTR_MS;
  struct scripted peer;

  (void)state;
  scripted_init(&peer, whole, sizeof whole - 1, false);
  peer.connect_fails = true;
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_NOT_CONNECTED);
  scripted_init(&peer, whole, sizeof whole - 1, false);
  peer.connect_waits = -1; /* the connect timeout */
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_NOT_CONNECTED);
  scripted_init(&peer, "", 0, false);
  peer.end = SCRIPTED_RESET;
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_RESET);
  scripted_init(&peer, "", 0, false);
  peer.end = SCRIPTED_CLOSE;
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_RESET);
  scripted_init(&peer, whole, 1, false);
  peer.end = SCRIPTED_RESET;
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_CUT);
  scripted_init(&peer, whole, sizeof whole - 2, false);
  peer.end = SCRIPTED_CLOSE;
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_CUT);
  scripted_init(&peer, "", 0, false);
  assert_int_equal(event_of(&peer, late, MTR_NEVER), MTR_EVENT_TIMED_OUT);
  scripted_init(&peer, "", 0, false);
  assert_int_equal(event_of(&peer, MTR_NEVER, late), MTR_EVENT_OTHER);
  scripted_init(&peer, "SMTP here\r\n\r\n", 13, false);
  assert_int_equal(event_of(&peer, MTR_NEVER, MTR_NEVER), MTR_EVENT_MALFORMED);
}

static void what_never_left_is_told_apart(void **state)
{
  const enum mortar_outcome not_sent = MORTAR_OUTCOME_NOT_SENT;

  (void)state;
  assert_int_equal(mtr_retry_event_of_failure(MORTAR_IO, not_sent, false), MTR_EVENT_NOT_SENT);
  assert_int_equal(mtr_retry_event_of_failure(MORTAR_TLS, not_sent, false), MTR_EVENT_TLS_FAILED);
  assert_int_equal(mtr_retry_event_of_failure(MORTAR_NOMEM, not_sent, false), MTR_EVENT_OTHER);
  assert_int_equal(mtr_retry_event_of_failure(MORTAR_STATE, not_sent, false), MTR_EVENT_OTHER);
  assert_int_equal(mtr_retry_event_of_failure(MORTAR_LIMIT, MORTAR_OUTCOME_UNKNOWN, true),
                   MTR_EVENT_OTHER);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_write_is_sent_again_only_when_it_did_not_start),
      cmocka_unit_test(credentials_are_never_tried_twice),
      cmocka_unit_test(only_what_is_closed_may_be_gone),
      cmocka_unit_test(waits_double_up_to_the_longest),
      cmocka_unit_test(a_huge_number_of_retries_does_not_overflow),
      cmocka_unit_test(the_server_s_wish_comes_first),
      cmocka_unit_test(budgets_are_kept),
      cmocka_unit_test(briefly_is_three_times_at_most),
      cmocka_unit_test(every_http_status_has_its_event),
      cmocka_unit_test(every_failure_has_its_event),
      cmocka_unit_test(what_never_left_is_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
