/* The blocking driver: the only file of net that reads the clock while an exchange runs. */
#include "net/driver_blocking.h"

#include <errno.h>
#include <poll.h>

/* What a wait tells the driver; that the descriptor is ready, the next step finds out. */
enum event { STEP, INTERRUPTED_BY_SIGNAL, WOKEN };

static enum event wait_connect(struct mtr_exchange *ex, struct mortar_wake *wake, int timeout_ms)
{
  struct mtr_transport *t = ex->transport;
  const bool interrupted = t->ops->wait_connect(t, timeout_ms, mtr_wake_fd(wake));

  if (mtr_wake_signalled(wake)) return WOKEN;
  return interrupted ? INTERRUPTED_BY_SIGNAL : STEP;
}

static enum event wait_for(struct mtr_exchange *ex, enum mtr_want want, struct mortar_wake *wake,
                           int timeout_ms)
{
  struct pollfd fds[2] = {{mtr_wake_fd(wake), POLLIN, 0}, {ex->transport->fd, POLLIN, 0}};
  int n;

  ex->stats->waits++;
  if (want == MTR_WANT_CONNECT) return wait_connect(ex, wake, timeout_ms);
  if (want == MTR_WANT_TIMER) return mtr_wake_signalled(wake) ? WOKEN : STEP;
  if (want == MTR_WANT_WRITE) fds[1].events = POLLIN | POLLOUT;
  n = poll(fds, 2, timeout_ms);
  if (n < 0 && errno == EINTR) return INTERRUPTED_BY_SIGNAL;
  return n > 0 && fds[0].revents != 0 ? WOKEN : STEP;
}

static enum mortar_status drive(struct mtr_exchange *ex, const struct mtr_wait *wait, int64_t now)
{
  int64_t tick_at = mtr_wait_first_tick(wait, now);
  bool ended = false;

  for (;;) {
    enum mtr_want want = mtr_exchange_step(ex, now);
    int64_t limit = mtr_deadline_min(mtr_exchange_limit(ex), tick_at);
    enum event event;
    if (want == MTR_WANT_NOTHING) return ex->status;
    if (ended) {
      mtr_exchange_interrupt(ex, now);
      return ex->status;
    }
    event = wait_for(ex, want, wait->wake, mtr_deadline_poll_ms(limit, now));
    now = mtr_clock_now();
    ended = event == WOKEN || mtr_wait_tick(wait, event == INTERRUPTED_BY_SIGNAL, &now, &tick_at);
  }
}

enum mortar_status mtr_drive_blocking(struct mtr_exchange *ex, const struct mtr_wait *wait)
{
  const int64_t now = mtr_clock_now();

  mtr_exchange_start(ex, now);
  return drive(ex, wait, now);
}

enum mortar_status mtr_drive_resumed(struct mtr_exchange *ex, const struct mtr_wait *wait)
{
  const int64_t now = mtr_clock_now();

  mtr_exchange_resume(ex, wait->deadline, now);
  return drive(ex, wait, now);
}
