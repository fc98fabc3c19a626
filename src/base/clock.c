/* Reads the monotonic clock and counts with it, without overflow. Knows no calendar. */
#include "base/clock.h"

#include <time.h>

int64_t mtr_clock_now(void)
{
  struct timespec ts;

  (void)clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * MTR_SECOND + ts.tv_nsec;
}

int64_t mtr_deadline_after(int64_t now, int64_t ms)
{
  if (ms < 0 || ms > (MTR_NEVER - now) / MTR_MS) return MTR_NEVER;
  return now + ms * MTR_MS;
}

int mtr_deadline_poll_ms(int64_t deadline, int64_t now)
{
  const int64_t hour = 3600 * MTR_SECOND;
  int64_t left;

  if (deadline == MTR_NEVER) return -1;
  left = deadline - now;
  if (left <= 0) return 0;
  if (left > hour) left = hour;
  return (int)((left + MTR_MS - 1) / MTR_MS);
}
