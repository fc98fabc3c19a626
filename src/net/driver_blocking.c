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

/* Whether the receive may do the waiting: nothing else can end it before its own limit does. */
static bool receive_waits(const struct mtr_exchange *ex, enum mtr_want want,
                          const struct mtr_wait *wait, int64_t left)
{
  return want == MTR_WANT_READ && ex->transport->can_wait && !wait->wake &&
         left >= MTR_RECV_WAIT_MS * MTR_MS;
}

/* Waits for what the last step wanted, then takes the next one. */
static enum mtr_want wait_and_step(struct mtr_exchange *ex, enum mtr_want want,
                                   const struct mtr_wait *wait, int64_t limit, int64_t *now,
                                   enum event *event)
{
  if (!receive_waits(ex, want, wait, limit - *now)) {
    *event = wait_for(ex, want, wait->wake, mtr_deadline_poll_ms(limit, *now));
    *now = mtr_clock_now();
    return mtr_exchange_step(ex, *now);
  }
  ex->stats->waits++;
  ex->transport->patient = true;
  want = mtr_exchange_step(ex, *now);
  *event = ex->transport->interrupted ? INTERRUPTED_BY_SIGNAL : STEP;
  *now = ex->finished = mtr_clock_now();
  return want;
}

static enum mortar_status drive(struct mtr_exchange *ex, const struct mtr_wait *wait, int64_t now)
{
  int64_t tick_at = mtr_wait_first_tick(wait, now);
  enum mtr_want want = mtr_exchange_step(ex, now);

  while (want != MTR_WANT_NOTHING) {
    const int64_t limit = mtr_deadline_min(mtr_exchange_limit(ex), tick_at);
    enum event event;
    want = wait_and_step(ex, want, wait, limit, &now, &event);
    if (want == MTR_WANT_NOTHING) break;
    if (event != WOKEN && !mtr_wait_tick(wait, event == INTERRUPTED_BY_SIGNAL, &now, &tick_at))
      continue;
    /* What has arrived meanwhile still counts. */
    if (mtr_exchange_step(ex, now) != MTR_WANT_NOTHING) mtr_exchange_interrupt(ex, now);
    break;
  }
  return ex->status;
}

enum mortar_status mtr_drive_blocking(struct mtr_exchange *ex, const struct mtr_wait *wait,
                                      int64_t now)
{
  mtr_exchange_start(ex, now);
  return drive(ex, wait, now);
}

enum mortar_status mtr_drive_resumed(struct mtr_exchange *ex, const struct mtr_wait *wait)
{
  const int64_t now = mtr_clock_now();

  mtr_exchange_resume(ex, wait->deadline, now);
  return drive(ex, wait, now);
}
