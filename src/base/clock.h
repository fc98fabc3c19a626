/* Time as the library counts it: monotonic nanoseconds. A deadline is a point on that clock;
 * MTR_NEVER is the one that does not come. Only drivers read the clock, protocol code is told. */
#ifndef MTR_BASE_CLOCK_H
#define MTR_BASE_CLOCK_H

#include <stdint.h>

#define MTR_NEVER INT64_MAX
#define MTR_MS INT64_C(1000000)
#define MTR_SECOND INT64_C(1000000000)

int64_t mtr_clock_now(void);

/* now + ms as a deadline; a negative ms means never. Saturates. */
int64_t mtr_deadline_after(int64_t now, int64_t ms);

/* Milliseconds left for poll(2), rounded up, 0 when passed, at most an hour; -1: never. */
int mtr_deadline_poll_ms(int64_t deadline, int64_t now);

static inline int64_t mtr_deadline_min(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
