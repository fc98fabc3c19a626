/* The bare epoll responder: what a server can do. It answers every request with the same recorded
 * reply, after a server time if one is given, on one thread. Of a request it reads the
 * Content-Length, to know where the next one begins, and nothing else; so every real server can
 * only cost more.
 *
 * It knows no TLS and no sessions, and closes a connection whose request is too long or says no
 * length. */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/message.h"
#include "bench/usage.h"

enum {
  REQUEST_MAX = 16 << 10, /* a recorded statement is below 1 KB */
  REPLY_MAX = 64 << 20,
  EVENTS = 64, /* taken from the kernel at once */
  BACKLOG = 1024,
  HOUR_MS = 3600000
};

struct peer {
  int fd;            /* -1: gone, but still in the queue */
  bool held;         /* in the queue */
  size_t have, sent; /* bytes of the request, of the reply */
  bool replying;
  double due;
  struct peer *next;
  char request[REQUEST_MAX + 1];
};

struct responder {
  int epoll, listener;
  char *reply;
  size_t reply_size;
  double server_seconds;
  struct peer *first, *last; /* held back; all for the same time, so in the order of their ends */
};

static bool fail(const char *what)
{
  fprintf(stderr, "responder: %s: %s\n", what, strerror(errno));
  return false;
}

/* ---- Peers --------------------------------------------------------------------------------- */

static void accept_peer(struct responder *r)
{
  struct epoll_event event = {.events = EPOLLIN};
  const int fd = accept(r->listener, NULL, NULL);
  const int on = 1;
  struct peer *peer = fd >= 0 ? calloc(1, sizeof *peer) : NULL;

  if (peer) {
    peer->fd = fd;
    event.data.ptr = peer;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &event) == 0) return;
  }
  free(peer);
  if (fd >= 0) (void)close(fd);
}

static void drop(struct peer *peer)
{
  (void)close(peer->fd);
  peer->fd = -1;
  if (!peer->held) free(peer);
}

static void watch(struct responder *r, struct peer *peer, uint32_t events)
{
  struct epoll_event event = {.events = events, .data.ptr = peer};

  (void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, peer->fd, &event);
}

/* Sends what the socket takes; the rest when it is ready again. */
static void send_reply(struct responder *r, struct peer *peer)
{
  const ssize_t n = send(peer->fd, r->reply + peer->sent, r->reply_size - peer->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    drop(peer);
    return;
  }
  if (n > 0) peer->sent += (size_t)n;
  if (peer->sent < r->reply_size) {
    if (!peer->replying) watch(r, peer, EPOLLOUT);
    peer->replying = true;
    return;
  }
  if (peer->replying) watch(r, peer, EPOLLIN);
  peer->replying = false;
  peer->sent = 0;
}

static void hold(struct responder *r, struct peer *peer)
{
  peer->due = usage_clock() + r->server_seconds;
  peer->held = true;
  peer->next = NULL;
  if (r->last)
    r->last->next = peer;
  else
    r->first = peer;
  r->last = peer;
}

/* A client waits for its reply before it asks again, so a request ends where the bytes end. */
static void read_request(struct responder *r, struct peer *peer)
{
  const ssize_t n = recv(peer->fd, peer->request + peer->have, REQUEST_MAX - peer->have, 0);
  size_t size;

  if (n <= 0) {
    drop(peer);
    return;
  }
  peer->have += (size_t)n;
  peer->request[peer->have] = '\0';
  if (message_size(peer->request, &size) ? size == 0 : peer->have == REQUEST_MAX) {
    drop(peer);
    return;
  }
  if (!size || peer->have < size) return;
  peer->have = 0;
  if (r->server_seconds > 0)
    hold(r, peer);
  else
    send_reply(r, peer);
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void release_due(struct responder *r)
{
  const double now = r->first ? usage_clock() : 0;

  while (r->first && r->first->due <= now) {
    struct peer *peer = r->first;
    r->first = peer->next;
    if (!r->first) r->last = NULL;
    peer->held = false;
    if (peer->fd < 0)
      free(peer);
    else
      send_reply(r, peer);
  }
}

/* Up, to the next millisecond: too early would mean to turn in circles. */
static int wait_ms(const struct responder *r)
{
  const double left = r->first ? r->first->due - usage_clock() : -1;

  if (!r->first) return -1;
  return left > 0 ? (int)(left * 1e3) + 1 : 0;
}

static bool serve(struct responder *r)
{
  struct epoll_event events[EVENTS];
  int i, count;

  for (;;) {
    count = epoll_wait(r->epoll, events, EVENTS, wait_ms(r));
    if (count < 0 && errno != EINTR) return fail("epoll_wait");
    for (i = 0; i < count; i++) {
      struct peer *peer = events[i].data.ptr;
      if (!peer)
        accept_peer(r);
      else if (events[i].events & EPOLLOUT)
        send_reply(r, peer);
      else
        read_request(r, peer);
    }
    release_due(r);
  }
}

/* ---- Start --------------------------------------------------------------------------------- */

static bool read_reply(struct responder *r, const char *name)
{
  FILE *file = fopen(name, "rb");

  if (!file) return fail(name);
  r->reply = malloc(REPLY_MAX);
  if (r->reply) r->reply_size = fread(r->reply, 1, REPLY_MAX, file);
  (void)fclose(file);
  return r->reply_size > 0 || fail(name);
}

/* Listens on a free port and says which. */
static bool start(struct responder *r)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  socklen_t size = sizeof at;

  r->epoll = epoll_create1(0);
  r->listener = socket(AF_INET, SOCK_STREAM, 0);
  if (r->epoll < 0 || r->listener < 0) return fail("socket");
  if (bind(r->listener, (struct sockaddr *)&at, size) != 0 || listen(r->listener, BACKLOG) != 0 ||
      getsockname(r->listener, (struct sockaddr *)&at, &size) != 0 ||
      epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->listener, &event) != 0)
    return fail("listen");
  printf("listening on http://127.0.0.1:%d/\n", ntohs(at.sin_port));
  return fflush(stdout) == 0;
}

static int usage(FILE *to)
{
  fprintf(to,
          "usage: responder --reply FILE [--server-time MS]\n\n"
          "Answers every request on a free port with FILE (one HTTP reply, head and body), after\n"
          "MS milliseconds (0). Prints one line when it is ready; a signal ends it.\n");
  return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {
      {"reply", 1, 0, 'r'}, {"server-time", 1, 0, 's'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
  struct responder r = {.epoll = -1, .listener = -1};
  const char *reply = NULL;
  int64_t ms = 0;
  int letter;

  while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (letter == 'h') return usage(stdout);
    if (letter == 'r')
      reply = optarg;
    else if (letter != 's' || !load_number(optarg, 0, HOUR_MS, &ms))
      return usage(stderr);
  }
  if (optind != argc || !reply) return usage(stderr);
  r.server_seconds = (double)ms / 1e3;
  if (read_reply(&r, reply) && start(&r)) (void)serve(&r);
  free(r.reply);
  return 1;
}
