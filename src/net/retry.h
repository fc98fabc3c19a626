/* What is sent again, and when: one table of call kinds and events, and the arithmetic of budgets.
 * Pure functions: no clock, no I/O, no random source; all three are told. docs/retries.md is made
 * from the table, and tests hold both to what really happens.
 *
 * The rule behind the cells: a write is sent again only when it is certain that the server did not
 * start it (outcome not_sent or rejected). */
#ifndef MTR_NET_RETRY_H
#define MTR_NET_RETRY_H

#include <stdint.h>

#include "mortar/mortar.h"

/* What a call does on the server, as far as sending it twice matters. */
#define MTR_CALL_KIND_MAP(X)                                                                       \
  X(OPEN, "open")         /* OpenSession */                                                        \
  X(READ, "read")         /* ExecuteStatement, plainly a read or called idempotent; GetTables */   \
  X(WRITE, "write")       /* any other ExecuteStatement */                                         \
  X(POLL, "poll")         /* GetOperationStatus */                                                 \
  X(FETCH, "fetch")       /* FetchResults: the server's cursor may have moved */                   \
  X(METADATA, "metadata") /* GetResultSetMetadata */                                               \
  X(CANCEL, "cancel")     /* CancelOperation */                                                    \
  X(CLOSE, "close")       /* CloseOperation, CloseSession */

enum mtr_call_kind {
#define X(name, text) MTR_CALL_##name,
  MTR_CALL_KIND_MAP(X)
#undef X
      MTR_CALL_KINDS
};

enum mtr_retry_action {
  MTR_RETRY_NEVER,   /* the call fails */
  MTR_RETRY_AGAIN,   /* sent again within the budget of the options */
  MTR_RETRY_BRIEFLY, /* the same, but at most MTR_RETRY_BRIEF times */
  MTR_RETRY_SWALLOW  /* what was to be closed is gone: that is a success */
};

/* Enough to get over a restarting gateway, few enough not to hide a server that is down. */
enum { MTR_RETRY_BRIEF = 3 };

/* The table. Columns: event, outcome, words, then a letter for each call kind: N never, A again,
 * B briefly, S swallowed. Outcome NONE: as the error stands. */
#define MTR_RETRY_MAP(X)                                                                           \
  X(NOT_CONNECTED, NOT_SENT,                                                                       \
    "no connection: refused, unreachable, no such name, connect time-out", N, B, B, B, B, B, N, N) \
  X(TLS_FAILED, NOT_SENT, "no connection: the TLS handshake failed", N, N, N, N, N, N, N, N)       \
  X(NOT_SENT, NOT_SENT, "the connection broke before a byte was sent", B, B, B, B, B, B, B, B)     \
  X(RESET, UNKNOWN, "the connection broke before the first byte of the reply", B, B, N, A, N, A,   \
    B, B)                                                                                          \
  X(CUT, UNKNOWN, "the connection broke inside the reply", B, B, N, A, N, A, B, B)                 \
  X(TIMED_OUT, UNKNOWN, "no whole reply within `read_timeout_ms`", N, N, N, B, N, B, B, B)         \
  X(EMPTY, UNKNOWN, "HTTP 200 with an empty body", B, B, N, B, N, B, B, B)                         \
  X(WEB_PAGE, UNKNOWN, "HTTP 200 with a web page", N, N, N, B, N, B, B, B)                         \
  X(MALFORMED, UNKNOWN, "a reply that is no HTTP/1.1, no Thrift or another call's", N, N, N, N, N, \
    N, N, N)                                                                                       \
  X(HTTP_3XX, UNKNOWN, "HTTP 3xx", N, N, N, N, N, N, N, N)                                         \
  X(HTTP_400, REJECTED, "HTTP 400", N, N, N, N, N, N, N, N)                                        \
  X(HTTP_401, REJECTED, "HTTP 401", N, N, N, N, N, N, N, N)                                        \
  X(HTTP_403, REJECTED, "HTTP 403", N, N, N, N, N, N, N, N)                                        \
  X(HTTP_404, REJECTED, "HTTP 404", N, N, N, N, N, N, S, S)                                        \
  X(HTTP_408, UNKNOWN, "HTTP 408", B, B, N, A, N, A, B, B)                                         \
  X(HTTP_429, REJECTED, "HTTP 429", A, A, A, A, A, A, B, B)                                        \
  X(HTTP_4XX, REJECTED, "HTTP 4xx, any other", N, N, N, N, N, N, N, N)                             \
  X(HTTP_500, UNKNOWN, "HTTP 500", N, N, N, B, N, B, B, B)                                         \
  X(HTTP_502, UNKNOWN, "HTTP 502", B, B, N, A, N, A, B, B)                                         \
  X(HTTP_503, UNKNOWN, "HTTP 503 without Retry-After", A, A, N, A, N, A, B, B)                     \
  X(HTTP_503_LATER, REJECTED, "HTTP 503 with Retry-After", A, A, A, A, A, A, B, B)                 \
  X(HTTP_504, UNKNOWN, "HTTP 504", B, B, N, A, N, A, B, B)                                         \
  X(HTTP_OTHER, UNKNOWN, "HTTP, any other status", N, N, N, N, N, N, N, N)                         \
  X(NOT_STARTED, REJECTED, "Thrift error that begins with `TEMPORARILY_UNAVAILABLE`", A, A, A, A,  \
    A, A, B, B)                                                                                    \
  X(GONE, DONE, "Thrift error: the handle is not known", N, N, N, N, N, N, S, S)                   \
  X(ERROR, DONE, "Thrift error, any other", N, N, N, N, N, N, N, N)                                \
  X(EXCEPTION, UNKNOWN, "Thrift exception in place of a reply", N, N, N, N, N, N, N, N)            \
  X(OTHER, NONE, "deadline, wake-up, tick; memory or a limit of this side", N, N, N, N, N, N, N, N)

enum mtr_retry_event {
#define X(name, outcome, words, ...) MTR_EVENT_##name,
  MTR_RETRY_MAP(X)
#undef X
      MTR_EVENTS
};

enum mtr_retry_action mtr_retry_action(enum mtr_call_kind kind, enum mtr_retry_event event);
enum mortar_outcome mtr_retry_outcome(enum mtr_retry_event event);
const char *mtr_retry_words(enum mtr_retry_event event);
const char *mtr_call_kind_name(enum mtr_call_kind kind);

/* The event behind an exchange that failed with st and outcome. begun: bytes of a reply had come.
 */
enum mtr_retry_event mtr_retry_event_of_failure(enum mortar_status st, enum mortar_outcome outcome,
                                                bool begun);

/* The event behind an HTTP status other than 200. retry_after: the header was there. */
enum mtr_retry_event mtr_retry_event_of_http(int status, bool retry_after);

/* The options retry_*. */
struct mtr_retry_policy {
  int64_t attempts; /* times a request is sent again at most */
  int64_t delay_min_ms, delay_max_ms;
  int64_t total_ms; /* from the first attempt to the last one's start */
};

/* Where a call stands after an attempt that failed. */
struct mtr_retry_state {
  int64_t retries;        /* so far */
  int64_t elapsed_ms;     /* since the first attempt began */
  int64_t left_ms;        /* until the caller's deadline; INT64_MAX: none */
  int64_t retry_after_ms; /* what the server asked for; 0 or less: nothing */
  uint32_t random;        /* any number, for the jitter */
};

/* A number for the jitter, of the time: spread well enough for waits, and nothing more is asked of
 * it. */
static inline uint32_t mtr_retry_scramble(int64_t now)
{
  return (uint32_t)(((uint64_t)now * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* How long to wait before the next attempt; -1: there is none. The n-th wait (from 1) lies between
 * min * 2^(n-1) and min * 2^n, both at most max; what the server asked for takes its place. A wait
 * that would end behind the total or the caller's deadline is not begun. */
int64_t mtr_retry_delay_ms(const struct mtr_retry_policy *policy, enum mtr_retry_action action,
                           const struct mtr_retry_state *state);

#endif
