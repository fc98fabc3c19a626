/* The retry table as data, and the length of a wait. */
#include "net/retry.h"

#include <stddef.h>

/* The letters of the map. */
enum {
  LETTER_N = MTR_RETRY_NEVER,
  LETTER_A = MTR_RETRY_AGAIN,
  LETTER_B = MTR_RETRY_BRIEFLY,
  LETTER_S = MTR_RETRY_SWALLOW
};

struct row {
  enum mortar_outcome outcome;
  const char *words;
  uint8_t actions[MTR_CALL_KINDS];
};

static const struct row table[MTR_EVENTS] = {
#define X(name, result, text, o, r, w, p, f, m, ca, cl)                                            \
  {MORTAR_OUTCOME_##result,                                                                        \
   text,                                                                                           \
   {LETTER_##o, LETTER_##r, LETTER_##w, LETTER_##p, LETTER_##f, LETTER_##m, LETTER_##ca,           \
    LETTER_##cl}},
    MTR_RETRY_MAP(X)
#undef X
};

enum mtr_retry_action mtr_retry_action(enum mtr_call_kind kind, enum mtr_retry_event event)
{
  return (enum mtr_retry_action)table[event].actions[kind];
}

enum mortar_outcome mtr_retry_outcome(enum mtr_retry_event event) { return table[event].outcome; }

const char *mtr_retry_words(enum mtr_retry_event event) { return table[event].words; }

const char *mtr_call_kind_name(enum mtr_call_kind kind)
{
  static const char *const names[MTR_CALL_KINDS] = {
#define X(name, text) text,
      MTR_CALL_KIND_MAP(X)
#undef X
  };

  return names[kind];
}

static enum mtr_retry_event event_before_sending(enum mortar_status st)
{
  switch (st) {
    case MORTAR_CONNECT:
    case MORTAR_TIMEOUT:
      return MTR_EVENT_NOT_CONNECTED;
    case MORTAR_TLS:
      return MTR_EVENT_TLS_FAILED;
    case MORTAR_IO:
      return MTR_EVENT_NOT_SENT;
    default:
      return MTR_EVENT_OTHER;
  }
}

enum mtr_retry_event mtr_retry_event_of_failure(enum mortar_status st, enum mortar_outcome outcome,
                                                bool begun)
{
  if (outcome == MORTAR_OUTCOME_NOT_SENT) return event_before_sending(st);
  switch (st) {
    case MORTAR_IO:
      return begun ? MTR_EVENT_CUT : MTR_EVENT_RESET;
    case MORTAR_TIMEOUT:
      return MTR_EVENT_TIMED_OUT;
    case MORTAR_PROTOCOL:
      return MTR_EVENT_MALFORMED;
    default:
      return MTR_EVENT_OTHER;
  }
}

enum mtr_retry_event mtr_retry_event_of_http(int status, bool retry_after)
{
  static const struct {
    int status;
    enum mtr_retry_event event;
  } named[] = {
      {400, MTR_EVENT_HTTP_400}, {401, MTR_EVENT_HTTP_401}, {403, MTR_EVENT_HTTP_403},
      {404, MTR_EVENT_HTTP_404}, {408, MTR_EVENT_HTTP_408}, {429, MTR_EVENT_HTTP_429},
      {500, MTR_EVENT_HTTP_500}, {502, MTR_EVENT_HTTP_502}, {504, MTR_EVENT_HTTP_504},
  };
  size_t i;

  if (status == 503) return retry_after ? MTR_EVENT_HTTP_503_LATER : MTR_EVENT_HTTP_503;
  for (i = 0; i < sizeof named / sizeof *named; i++)
    if (named[i].status == status) return named[i].event;
  if (status >= 300 && status < 400) return MTR_EVENT_HTTP_3XX;
  return status >= 400 && status < 500 ? MTR_EVENT_HTTP_4XX : MTR_EVENT_HTTP_OTHER;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* min * 2^n, at most max. */
static int64_t grown(const struct mtr_retry_policy *policy, int64_t n)
{
  int64_t delay = policy->delay_min_ms;

  while (n-- > 0 && delay < policy->delay_max_ms)
    delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
  return smaller(delay, policy->delay_max_ms);
}

static int64_t backoff_ms(const struct mtr_retry_policy *policy,
                          const struct mtr_retry_state *state)
{
  const int64_t low = grown(policy, state->retries), high = grown(policy, state->retries + 1);

  return low + (int64_t)(state->random % ((uint64_t)(high - low) + 1));
}

int64_t mtr_retry_delay_ms(const struct mtr_retry_policy *policy, enum mtr_retry_action action,
                           const struct mtr_retry_state *state)
{
  int64_t most = policy->attempts, delay;

  if (action != MTR_RETRY_AGAIN && action != MTR_RETRY_BRIEFLY) return -1;
  if (action == MTR_RETRY_BRIEFLY) most = smaller(most, MTR_RETRY_BRIEF);
  if (state->retries >= most) return -1;
  delay = state->retry_after_ms > 0 ? state->retry_after_ms : backoff_ms(policy, state);
  if (delay > policy->total_ms - state->elapsed_ms || delay >= state->left_ms) return -1;
  return delay;
}
