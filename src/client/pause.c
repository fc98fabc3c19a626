/* Waits with poll(2) for the wake-up alone. */
#include "client/pause.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/error.h"

/* How long a cancel goes unnoticed at most. */
enum { LOOK_MS = 100 };

static bool is_canceled(const struct mtr_wait *wait)
{
  return wait->canceled && atomic_load(wait->canceled);
}

/* Polls for the wake-up alone; true when it was signalled. */
static bool wait_for_wake(struct mortar_wake *wake, int timeout_ms, bool *interrupted)
{
  struct pollfd p = {mtr_wake_fd(wake), POLLIN, 0};
  const int n = poll(&p, 1, timeout_ms);

  *interrupted = n < 0 && errno == EINTR;
  return n > 0;
}

enum mortar_status mtr_pause(const struct mtr_wait *wait, int64_t ms, const char *what,
                             struct mortar_error *err)
{
  int64_t now = mtr_clock_now(), end = mtr_deadline_after(now, ms);
  int64_t until = mtr_deadline_min(end, wait->deadline);
  int64_t tick_at = mtr_wait_first_tick(wait, now);
  bool interrupted;

  do {
    int64_t next = mtr_deadline_min(until, tick_at);
    if (wait->canceled) next = mtr_deadline_min(next, mtr_deadline_after(now, LOOK_MS));
    if (wait_for_wake(wait->wake, mtr_deadline_poll_ms(next, now), &interrupted))
      return mtr_fail(err, MORTAR_INTERRUPTED, "%s: the caller woke the wait up", what);
    if (is_canceled(wait)) return mtr_fail(err, MORTAR_CANCELED, "%s: cancelled", what);
    now = mtr_clock_now();
    if (mtr_wait_tick(wait, interrupted, &now, &tick_at))
      return mtr_fail(err, MORTAR_INTERRUPTED, "%s: the caller's tick ended the wait", what);
  } while (now < until);
  if (until == end) return MORTAR_OK;
  return mtr_fail(err, MORTAR_TIMEOUT, "%s: the deadline passed", what);
}
