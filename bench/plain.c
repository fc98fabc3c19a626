/* Plain: what the machine can do. It sends the bytes of one recorded Mortar statement and receives
 * the bytes of its answer over a raw blocking socket, again and again, with the same threads as the
 * program it is compared with. It reads the head of the first reply to learn how long a reply is;
 * after that it looks at nothing, so every other client can only cost more.
 *
 * It speaks no TLS, and refuses a reply that is not a 200 with a Content-Length. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/message.h"

enum {
  REQUEST_MAX = 64 << 20, /* servers refuse longer ones */
  HEAD_MAX = 64 << 10,    /* of a reply; servers send 1 KB */
  RECEIVE_SECONDS = 60    /* a server that is silent for longer is taken as gone */
};

struct bytes {
  char *data;
  size_t size;
};

struct arguments {
  const char *host, *port, *request_file;
  struct load_plan plan;
};

struct client {
  int fd;
  const struct bytes *request;
  struct bytes reply; /* room for exactly one */
};

static bool fail(const char *what, const char *why)
{
  fprintf(stderr, "plain: %s: %s\n", what, why);
  return false;
}

static bool read_file(const char *name, struct bytes *out)
{
  FILE *file = fopen(name, "rb");
  bool ok = false;

  if (!file) return fail(name, strerror(errno));
  out->data = malloc(REQUEST_MAX);
  if (out->data) {
    out->size = fread(out->data, 1, REQUEST_MAX, file);
    ok = out->size > 0 && out->size < REQUEST_MAX && !ferror(file);
  }
  (void)fclose(file);
  return ok || fail(name, "empty, too long or not readable");
}

/* ---- The socket ---------------------------------------------------------------------------- */

static bool open_socket(const struct addrinfo *where, int *fd)
{
  const struct timeval patience = {RECEIVE_SECONDS, 0};
  const int on = 1;

  *fd = socket(where->ai_family, where->ai_socktype, where->ai_protocol);
  if (*fd < 0) return fail("socket", strerror(errno));
  if (connect(*fd, where->ai_addr, where->ai_addrlen) != 0) return fail("connect", strerror(errno));
  if (setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
      setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
    return fail("setsockopt", strerror(errno));
  return true;
}

static bool connect_to(const struct arguments *args, int *fd)
{
  struct addrinfo hints = {0}, *list = NULL;
  int code;
  bool ok;

  hints.ai_socktype = SOCK_STREAM;
  code = getaddrinfo(args->host, args->port, &hints, &list);
  if (code != 0) return fail(args->host, gai_strerror(code));
  ok = open_socket(list, fd);
  freeaddrinfo(list);
  return ok;
}

static bool send_all(int fd, const struct bytes *request)
{
  size_t sent = 0;

  while (sent < request->size) {
    ssize_t n = send(fd, request->data + sent, request->size - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("send", strerror(errno));
    sent += (size_t)n;
  }
  return true;
}

static bool receive(int fd, char *data, size_t size, size_t *have)
{
  ssize_t n;

  do
    n = recv(fd, data + *have, size - *have, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) return fail("recv", strerror(errno));
  if (n == 0) return fail("recv", "the server closed the connection");
  *have += (size_t)n;
  return true;
}

/* ---- Learning the length of a reply -------------------------------------------------------- */

/* Receives until the head is complete, and says how long the whole reply is; data is ended with NUL
 * and may hold some of the body. */
static bool receive_head(int fd, char data[HEAD_MAX + 1], size_t *have, size_t *size)
{
  *have = 0;
  do {
    if (*have == HEAD_MAX) return fail("reply", "its head has no end");
    if (!receive(fd, data, HEAD_MAX, have)) return false;
    data[*have] = '\0';
  } while (!message_size(data, size));
  return true;
}

/* The request has been sent. */
static bool learn(struct client *client)
{
  static char data[HEAD_MAX + 1]; /* clients learn one after the other */
  size_t have, size;

  if (!receive_head(client->fd, data, &have, &size)) return false;
  if (strncmp(data, "HTTP/1.1 200 ", 13) != 0 || size < have)
    return fail("reply", "not a 200 with a Content-Length");
  client->reply.data = malloc(size);
  if (!client->reply.data) return fail("reply", "out of memory");
  client->reply.size = size;
  while (have < size)
    if (!receive(client->fd, client->reply.data, size, &have)) return false;
  return true;
}

/* ---- The load ------------------------------------------------------------------------------ */

static bool once(void *arg)
{
  struct client *client = arg;
  size_t have = 0;

  if (!send_all(client->fd, client->request)) return false;
  while (have < client->reply.size)
    if (!receive(client->fd, client->reply.data, client->reply.size, &have)) return false;
  return true;
}

/* Had one reply been of another length, the last one would begin elsewhere. */
static bool still_in_step(const struct client *client)
{
  if (client->reply.size > 13 && memcmp(client->reply.data, "HTTP/1.1 200 ", 13) == 0) return true;
  return fail("reply", "not all replies had the length of the first");
}

/* All ask before the first one waits: the server takes its time for every call. */
static bool open_clients(const struct arguments *args, const struct bytes *request,
                         struct client *clients, void **list)
{
  int i;

  for (i = 0; i < args->plan.threads; i++) {
    clients[i].request = request;
    list[i] = &clients[i];
    if (!connect_to(args, &clients[i].fd) || !send_all(clients[i].fd, request)) return false;
  }
  for (i = 0; i < args->plan.threads; i++)
    if (!learn(&clients[i])) return false;
  return true;
}

static bool run_load(const struct arguments *args, struct client *clients, void *const *list)
{
  struct load_report report;
  int i;

  if (!load_run(&args->plan, once, list, &report)) return false;
  for (i = 0; i < args->plan.threads; i++)
    if (!still_in_step(&clients[i])) return false;
  printf("{\"program\": \"plain\", \"threads\": %d, \"request_bytes\": %zu, \"reply_bytes\": %zu, ",
         args->plan.threads, clients[0].request->size, clients[0].reply.size);
  load_print(&report);
  printf("}\n");
  return true;
}

static void close_clients(struct client *clients, int count)
{
  int i;

  for (i = 0; clients && i < count; i++) {
    if (clients[i].fd >= 0) (void)close(clients[i].fd);
    free(clients[i].reply.data);
  }
  free(clients);
}

static struct client *new_clients(int count)
{
  struct client *clients = calloc((size_t)count, sizeof *clients);
  int i;

  for (i = 0; clients && i < count; i++)
    clients[i].fd = -1;
  return clients;
}

static bool run(const struct arguments *args)
{
  struct bytes request = {NULL, 0};
  struct client *clients = new_clients(args->plan.threads);
  void **list = calloc((size_t)args->plan.threads, sizeof *list);
  bool ok = clients && list && read_file(args->request_file, &request) &&
            open_clients(args, &request, clients, list) && run_load(args, clients, list);

  close_clients(clients, args->plan.threads);
  free(list);
  free(request.data);
  return ok;
}

static int usage(FILE *to)
{
  fprintf(to,
          "usage: plain --port PORT --request FILE [OPTION...]\n\n"
          "Sends FILE (one HTTP request, head and body) and receives the reply, again and again.\n"
          "  --host HOST      (127.0.0.1)\n"
          "  --port PORT\n"
          "  --request FILE   the recorded request\n" LOAD_USAGE
          "Prints one JSON object. Exit status: 0 done, 1 it failed, 2 wrong usage.\n");
  return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {
      {"threads", 1, 0, 't'}, {"statements", 1, 0, 'n'}, {"seconds", 1, 0, 's'},
      {"warm-up", 1, 0, 'w'}, {"host", 1, 0, 'H'},       {"port", 1, 0, 'p'},
      {"request", 1, 0, 'r'}, {"help", 0, 0, 'h'},       {0, 0, 0, 0}};
  struct arguments args = {"127.0.0.1", NULL, NULL, load_plan_default()};
  int letter;

  while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (letter == 'h') return usage(stdout);
    if (letter == 'H')
      args.host = optarg;
    else if (letter == 'p')
      args.port = optarg;
    else if (letter == 'r')
      args.request_file = optarg;
    else if (!load_option(&args.plan, letter, optarg))
      return usage(stderr);
  }
  if (optind != argc || !args.port || !args.request_file) return usage(stderr);
  return run(&args) ? 0 : 1;
}
