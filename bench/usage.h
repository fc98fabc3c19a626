/* What this process has used so far, from the operating system. Only this process: a server or a
 * client beside it is not in the numbers. */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdint.h>

struct usage {
  double user_seconds, system_seconds; /* CPU of all threads */
  int64_t switches;                    /* how often a thread went to sleep by itself */
  int64_t max_rss_kb;                  /* the most resident memory so far */
  int64_t rss_kb;                      /* resident memory now; both 0 where there is no /proc */
};

struct usage usage_now(void);

/* Seconds of a clock that never jumps, for differences. */
double usage_clock(void);

#endif
