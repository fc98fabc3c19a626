/* What tests want to know of every statement text: how often it was sent, how often the engine
 * really ran it, the time between attempts, headers and settings of the last one; and of every call
 * the time between attempts. Kept only where faults are allowed. Loop thread only. */
#ifndef KILN_SERVER_ATTEMPTS_H
#define KILN_SERVER_ATTEMPTS_H

#include <event2/http.h>
#include <jansson.h>

#include "codec/thrift/tcli.h"
#include "kiln/server/stats.h"

/* As many texts as in the statistics, each with its last gaps. */
enum { KILN_ATTEMPT_TEXTS = KILN_STATS_TEXTS, KILN_ATTEMPT_GAPS = 64 };

/* The last times between attempts of one kind. */
struct kiln_gaps {
  int64_t last; /* of the monotonic clock; 0: none yet */
  double ms[KILN_ATTEMPT_GAPS];
  size_t count;
};

struct kiln_attempt {
  struct kiln_attempt *next; /* the text seen before it */
  char *text;
  size_t size;
  uint64_t attempts, executed;
  struct kiln_gaps gaps;
  json_t *headers, *settings; /* of the last attempt, secrets masked */
};

/* All zero is a valid empty value. */
struct kiln_attempts {
  struct kiln_attempt *first;
  size_t count;
  struct kiln_gaps gaps[KILN_CALL_COUNT]; /* by call */
  uint64_t faults[KILN_CALL_COUNT];       /* rules that were met, by call */
  uint64_t other_faults;                  /* of paths and connections */
};

/* A call of this kind came. */
void kiln_attempts_called(struct kiln_attempts *attempts, enum kiln_call_kind kind);

/* This request for a statement came. */
void kiln_attempts_note(struct kiln_attempts *attempts, const struct mtr_TExecuteStatementReq *req,
                        struct evhttp_request *http);

/* The engine was given the statement; -1: it was not, after all. */
void kiln_attempts_executed(struct kiln_attempts *attempts, struct mtr_span sql, int by);

/* Adds "texts" and "calls" to the statistics. false: memory ran out. */
bool kiln_attempts_show(const struct kiln_attempts *attempts, const struct kiln_stats *stats,
                        json_t *root);

void kiln_attempts_fini(struct kiln_attempts *attempts);

#endif
