/* What differs between systems, for POSIX ones: the wake-up descriptor is a non-blocking pipe,
 * which every POSIX system has and whose write end a signal handler may use. */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/wake.h"

struct mortar_wake {
  int read_fd, write_fd;
};

static bool set_flags(int fd)
{
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
         fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

enum mortar_status mortar_wake_new(struct mortar_wake **out, struct mortar_error *err)
{
  struct mortar_wake *wake = mtr_calloc(NULL, 1, sizeof *wake);
  int fds[2];

  *out = NULL;
  if (!wake) return mtr_fail_nomem(err, "wake-up handle");
  wake->read_fd = wake->write_fd = -1;
  if (pipe(fds) != 0) {
    mtr_free(NULL, wake, sizeof *wake);
    return mtr_fail(err, MORTAR_IO, "no descriptor for a wake-up handle: %s", strerror(errno));
  }
  wake->read_fd = fds[0];
  wake->write_fd = fds[1];
  if (!set_flags(fds[0]) || !set_flags(fds[1])) {
    mortar_wake_free(wake);
    return mtr_fail(err, MORTAR_IO, "wake-up handle: %s", strerror(errno));
  }
  *out = wake;
  return MORTAR_OK;
}

void mortar_wake_signal(struct mortar_wake *wake)
{
  int saved = errno;

  /* A full pipe is signalled already. */
  if (wake && write(wake->write_fd, "", 1) < 0) errno = saved;
}

void mortar_wake_clear(struct mortar_wake *wake)
{
  char bytes[64];

  if (!wake) return;
  while (read(wake->read_fd, bytes, sizeof bytes) > 0)
    continue;
}

void mortar_wake_free(struct mortar_wake *wake)
{
  if (!wake) return;
  if (wake->read_fd >= 0) (void)close(wake->read_fd);
  if (wake->write_fd >= 0) (void)close(wake->write_fd);
  mtr_free(NULL, wake, sizeof *wake);
}

int mtr_wake_fd(const struct mortar_wake *wake) { return wake ? wake->read_fd : -1; }

bool mtr_wake_signalled(const struct mortar_wake *wake)
{
  struct pollfd p = {mtr_wake_fd(wake), POLLIN, 0};
  return wake && poll(&p, 1, 0) > 0;
}
