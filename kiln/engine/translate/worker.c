/* Starts, asks and ends one translator process. */
#include "kiln/engine/translate/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "kiln/engine/translate/field.h"

extern char **environ;

/* How often a wait looks whether its statement was cancelled. */
enum { LOOK_MS = 20 };

static bool set_up_socket(int fd)
{
  return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/* A Python parent ignores SIGPIPE and may block signals; the child starts with neither. */
static int set_attributes(posix_spawnattr_t *attr)
{
  sigset_t none, defaults;

  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGTERM);
  posix_spawnattr_setpgroup(attr, 0);
  posix_spawnattr_setsigmask(attr, &none);
  posix_spawnattr_setsigdefault(attr, &defaults);
  return posix_spawnattr_setflags(
      attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(pid_t *pid, const char *const *argv, int fd)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attr;
  int rc = posix_spawn_file_actions_init(&actions);

  if (rc != 0) return rc;
  rc = posix_spawnattr_init(&attr);
  if (rc != 0) goto done;
  rc = set_attributes(&attr);
  if (rc == 0) rc = posix_spawn_file_actions_adddup2(&actions, fd, 0);
  if (rc == 0) rc = posix_spawn_file_actions_adddup2(&actions, fd, 1);
  /* posix_spawn takes char *const[] for history's sake and changes none of it. */
  if (rc == 0)
    rc = posix_spawnp(pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
  posix_spawnattr_destroy(&attr);
done:
  posix_spawn_file_actions_destroy(&actions);
  return rc;
}

enum mortar_status kiln_worker_start(struct kiln_worker *worker, const char *const *argv,
                                     struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  int fds[2], rc;

  worker->fd = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
    return mtr_fail(err, MORTAR_IO, "no socket for a translator: %s", strerror(errno));
  if (!set_up_socket(fds[0]) || fcntl(fds[1], F_SETFD, FD_CLOEXEC) != 0) {
    st = mtr_fail(err, MORTAR_IO, "socket of a translator: %s", strerror(errno));
    goto done;
  }
  rc = spawn(&worker->pid, argv, fds[1]);
  if (rc != 0) {
    st = mtr_fail(err, MORTAR_IO, "translator %s does not start: %s", argv[0], strerror(rc));
    goto done;
  }
  worker->fd = fds[0];
  fds[0] = -1;
done:
  if (fds[0] >= 0) (void)close(fds[0]);
  (void)close(fds[1]);
  return st;
}

static enum mortar_status gone(struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_IO, "a translator ended before it answered");
}

/* Waits until the socket is ready, the deadline passes or the statement is stopped. */
static enum mortar_status wait_ready(const struct kiln_worker *worker, short events,
                                     int64_t deadline, const atomic_bool *stop,
                                     struct mortar_error *err)
{
  struct pollfd p = {worker->fd, events, 0};

  for (;;) {
    int64_t now = mtr_clock_now();
    int64_t look = mtr_deadline_min(deadline, mtr_deadline_after(now, LOOK_MS));

    if (atomic_load(stop)) return mtr_fail(err, MORTAR_CANCELED, "cancelled while translating");
    if (now >= deadline) return mtr_fail(err, MORTAR_TIMEOUT, "the translation took too long");
    if (poll(&p, 1, mtr_deadline_poll_ms(look, now)) > 0) return MORTAR_OK;
  }
}

static bool again(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

static enum mortar_status send_all(const struct kiln_worker *worker, struct mtr_span bytes,
                                   int64_t deadline, const atomic_bool *stop,
                                   struct mortar_error *err)
{
  while (bytes.size > 0) {
    ssize_t n = send(worker->fd, bytes.data, bytes.size, MSG_NOSIGNAL);

    if (n > 0) {
      bytes = mtr_span_of(bytes.data + n, bytes.size - (size_t)n);
      continue;
    }
    if (!again()) return gone(err);
    MTR_TRY(wait_ready(worker, POLLOUT, deadline, stop, err));
  }
  return MORTAR_OK;
}

static enum mortar_status receive_all(const struct kiln_worker *worker, struct mtr_buf *into,
                                      size_t size, int64_t deadline, const atomic_bool *stop,
                                      struct mortar_error *err)
{
  MTR_TRY(mtr_buf_reserve(into, size, err));
  while (size > 0) {
    ssize_t n = recv(worker->fd, into->data + into->size, size, 0);

    if (n > 0) {
      into->size += (size_t)n;
      size -= (size_t)n;
      continue;
    }
    if (n == 0 || !again()) return gone(err);
    MTR_TRY(wait_ready(worker, POLLIN, deadline, stop, err));
  }
  return MORTAR_OK;
}

enum mortar_status kiln_worker_exchange(struct kiln_worker *worker, struct mtr_span message,
                                        int64_t deadline, const atomic_bool *stop,
                                        struct mtr_buf *reply, struct mortar_error *err)
{
  uint8_t head[KILN_FIELD_HEAD];
  size_t n;

  if (message.size > UINT32_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "a statement of %zu bytes", message.size);
  kiln_field_write_size(head, (uint32_t)message.size);
  MTR_TRY(send_all(worker, mtr_span_of(head, sizeof head), deadline, stop, err));
  MTR_TRY(send_all(worker, message, deadline, stop, err));
  mtr_buf_reset(reply);
  MTR_TRY(receive_all(worker, reply, sizeof head, deadline, stop, err));
  n = kiln_field_read_size(reply->data);
  mtr_buf_reset(reply);
  return receive_all(worker, reply, n, deadline, stop, err);
}

void kiln_worker_end(struct kiln_worker *worker)
{
  if (worker->fd < 0) return;
  (void)close(worker->fd);
  worker->fd = -1;
  (void)kill(worker->pid, SIGKILL);
  while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
    continue;
}
