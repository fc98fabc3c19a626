/* What /kiln/stats shows: counters of the running server. Loop thread only, so nothing here locks.
 */
#ifndef KILN_SERVER_STATS_H
#define KILN_SERVER_STATS_H

#include "base/buf.h"
#include "base/span.h"
#include "codec/thrift/metadata.h"

/* The calls that are counted apart; the rest is "other". */
enum kiln_call_kind {
  KILN_CALL_OPEN_SESSION,
  KILN_CALL_CLOSE_SESSION,
  KILN_CALL_EXECUTE,
  KILN_CALL_STATUS,
  KILN_CALL_METADATA,
  KILN_CALL_FETCH,
  KILN_CALL_CLOSE,
  KILN_CALL_CANCEL,
#define X(kind, call, type) KILN_CALL_##call,
  MTR_METADATA_MAP(X)
#undef X
      KILN_CALL_OTHER,
  KILN_CALL_COUNT
};

/* Texts are kept up to this length, and so many of them: a load test sends a few, a fuzzer
 * millions, and a page of statistics is read by people. */
enum { KILN_STATS_TEXT = 200, KILN_STATS_TEXTS = 256 };

struct kiln_stats_text {
  uint64_t count;
  uint32_t hash;
  uint16_t size;
  char text[KILN_STATS_TEXT];
};

struct kiln_stats {
  const char *engine;
  int64_t started; /* of the monotonic clock */
  uint64_t calls[KILN_CALL_COUNT];
  uint64_t errors, bytes_in, bytes_out, exchanges;
  uint64_t requests; /* of HTTP, on whatever path; exchanges are those with calls */
  uint64_t tls_handshakes, tls_resumed; /* all, and those that went on with an earlier session */
  uint64_t sessions_open, sessions_total, operations_open, operations_total;
  uint64_t other_texts; /* executed, but their text did not fit into the table */
  struct kiln_stats_text texts[KILN_STATS_TEXTS];
};

void kiln_stats_init(struct kiln_stats *stats, const char *engine);
void kiln_stats_executed(struct kiln_stats *stats, struct mtr_span sql);

const char *kiln_stats_call_name(int kind);

struct kiln_attempts;

/* Appends the JSON object. attempts NULL: without what is kept for tests only (attempts.h). */
MORTAR_MUST_USE enum mortar_status kiln_stats_json(const struct kiln_stats *stats,
                                                   const struct kiln_attempts *attempts,
                                                   struct mtr_buf *out, struct mortar_error *err);

#endif
