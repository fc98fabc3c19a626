/* The blocking driver: the only file of net that reads the clock while an exchange runs. */
#include "net/driver_blocking.h"

#include <poll.h>

/* Waits for what the exchange wants; true when the wake-up was signalled. An interrupted or failed
 * poll counts as "something happened": the next step finds out what. */
static bool wait_for(struct mtr_exchange *ex, enum mtr_want want, struct mortar_wake *wake,
                     int64_t now)
{
  const int timeout_ms = mtr_deadline_poll_ms(mtr_exchange_limit(ex), now);
  struct pollfd fds[2] = {{mtr_wake_fd(wake), POLLIN, 0}, {ex->transport->fd, POLLIN, 0}};
  int n;

  ex->stats->waits++;
  if (want == MTR_WANT_CONNECT) {
    ex->transport->ops->wait_connect(ex->transport, timeout_ms, fds[0].fd);
    return mtr_wake_signalled(wake);
  }
  if (want == MTR_WANT_TIMER) return mtr_wake_signalled(wake);
  if (want == MTR_WANT_WRITE) fds[1].events = POLLIN | POLLOUT;
  n = poll(fds, 2, timeout_ms);
  return n > 0 && fds[0].revents != 0;
}

enum mortar_status mtr_drive_blocking(struct mtr_exchange *ex, struct mortar_wake *wake)
{
  int64_t now = mtr_clock_now();
  bool woken = false;

  mtr_exchange_start(ex, now);
  for (;;) {
    enum mtr_want want = mtr_exchange_step(ex, now);
    if (want == MTR_WANT_NOTHING) return ex->status;
    if (woken) {
      mtr_exchange_interrupt(ex, now);
      return ex->status;
    }
    woken = wait_for(ex, want, wake, now);
    now = mtr_clock_now();
  }
}
