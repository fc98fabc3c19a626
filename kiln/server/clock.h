/* Time as idle expiry sees it: the monotonic clock and what tests have added to it. Nothing else
 * follows it: delays, held polls and queryTimeout are real time. Loop thread only. */
#ifndef KILN_SERVER_CLOCK_H
#define KILN_SERVER_CLOCK_H

#include <event2/event.h>

#include "mortar/mortar.h"

struct kiln_core;

struct kiln_clock {
  int64_t ahead_ns;                           /* of the monotonic clock */
  int64_t session_idle_ms, operation_idle_ms; /* 0: never closed for being idle */
  bool watched;                               /* whether the time of the last use is kept at all */
  struct event *sweep;
};

/* Reads the options; watched also when faults are allowed, since they may set limits later. */
MORTAR_MUST_USE enum mortar_status kiln_clock_start(struct kiln_core *core,
                                                    struct mortar_error *err);

/* Nanoseconds. */
int64_t kiln_clock_now(const struct kiln_clock *clock);

/* Moves the clock, sets limits, closes what is idle for too long by now. */
void kiln_clock_advance(struct kiln_core *core, int64_t ms);
void kiln_clock_limit(struct kiln_core *core, int64_t session_idle_ms, int64_t operation_idle_ms);

/* Whether something that was used then has been idle for longer than the limit. */
bool kiln_clock_expired(const struct kiln_clock *clock, int64_t last_used, int64_t limit_ms);

void kiln_clock_stop(struct kiln_core *core);

#endif
