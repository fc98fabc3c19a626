/* A server whose process has no descriptors left: it neither spins nor dies, serves those that are
 * connected, and takes the others once there is room again. A program of its own, since the limit
 * is the process's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/kiln/kiln_fixture.h"

enum { CLIENTS = 12, ROOM = 2 };

static rlim_t set_limit(rlim_t count)
{
  struct rlimit limit;
  rlim_t before;

  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  before = limit.rlim_cur;
  limit.rlim_cur = count;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  return before;
}

/* The lowest free descriptor: with no gaps below, their number. */
static rlim_t used_descriptors(void)
{
  int fd = dup(0);

  assert_true(fd >= 0);
  assert_int_equal(close(fd), 0);
  return (rlim_t)fd;
}

static void connect_to(int fd, int port)
{
  struct sockaddr_in to = {0};

  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
}

static int64_t cpu_time(void)
{
  struct timespec now;

  assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
  return (int64_t)now.tv_sec * MTR_SECOND + now.tv_nsec;
}

static void send_request(int fd)
{
  static const char request[] = "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n";

  assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
}

static void assert_answered(int fd)
{
  struct timeval limit = {10, 0};
  char answer[256];

  assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  assert_true(recv(fd, answer, sizeof answer, 0) > 12);
  assert_memory_equal(answer, "HTTP/1.1 404", 12);
}

static void no_descriptors_left(void **state)
{
  struct timespec pause = {0, 500000000};
  struct wire_handle session;
  int clients[CLIENTS], i;
  struct fixture fx;
  int64_t cpu;
  rlim_t before;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  for (i = 0; i < CLIENTS; i++) {
    clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(clients[i] >= 0);
  }
  before = set_limit(used_descriptors() + ROOM);
  for (i = 0; i < CLIENTS; i++) {
    connect_to(clients[i], fx.wire.port);
    send_request(clients[i]);
  }
  for (i = 0; i < ROOM; i++)
    assert_answered(clients[i]);
  cpu = cpu_time();
  assert_int_equal(nanosleep(&pause, NULL), 0);
  assert_true(cpu_time() - cpu < 100 * MTR_MS); /* a loop that spins takes all of the 500 */
  assert_int_equal(wire_open_session_as(&fx.wire, WIRE_ABSENT, 0xA508, &session), 0xA508);
  (void)set_limit(before);
  for (i = ROOM; i < CLIENTS; i++)
    assert_answered(clients[i]);
  for (i = 0; i < CLIENTS; i++)
    assert_int_equal(close(clients[i]), 0);
  fixture_stop(&fx);
}

/* The pause of the listener must not outlive it. */
static void stopping_while_no_descriptors_are_left(void **state)
{
  struct timespec pause = {0, 20000000};
  struct fixture fx;
  rlim_t before;
  int fd;

  (void)state;
  fixture_start(&fx, &tiny_engine, NULL);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  before = set_limit(used_descriptors());
  connect_to(fd, fx.wire.port);
  assert_int_equal(nanosleep(&pause, NULL), 0);
  fixture_stop(&fx);
  (void)set_limit(before);
  assert_int_equal(close(fd), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_descriptors_left),
      cmocka_unit_test(stopping_while_no_descriptors_are_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
