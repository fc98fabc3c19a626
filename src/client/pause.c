#include "client/pause.h"

#include <errno.h>
#include <poll.h>

#include "base/error.h"

enum mortar_status mtr_pause(const struct mtr_wait *wait, int64_t ms, const char *what,
                             struct mortar_error *err)
{
  int64_t now = mtr_clock_now(), end = mtr_deadline_after(now, ms);
  int64_t until = mtr_deadline_min(end, wait->deadline);
  struct pollfd p = {mtr_wake_fd(wait->wake), POLLIN, 0};

  do {
    if (poll(&p, 1, mtr_deadline_poll_ms(until, now)) > 0)
      return mtr_fail(err, MORTAR_INTERRUPTED, "%s: the caller woke the wait up", what);
    now = mtr_clock_now();
  } while (now < until);
  if (until == end) return MORTAR_OK;
  return mtr_fail(err, MORTAR_TIMEOUT, "%s: the deadline passed", what);
}
