/* Loopback servers of one thread: they read, answer, stall or close as a test says. */
#include "tests/net/loop_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { GIVE_UP_SECONDS = 10, HEAD_SIZE = 16384 };

static void must(bool yes, const char *what)
{
  if (yes) return;
  perror(what);
  abort();
}

static void listen_on_loopback(struct loop_server *server)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;

  server->listener = socket(AF_INET, SOCK_STREAM, 0);
  must(server->listener >= 0, "socket");
  must(bind(server->listener, (struct sockaddr *)&at, sizeof at) == 0, "bind");
  must(listen(server->listener, 64) == 0, "listen");
  must(getsockname(server->listener, (struct sockaddr *)&at, &size) == 0, "getsockname");
  server->port = ntohs(at.sin_port);
}

static void load_certificate(struct loop_server *server)
{
  if (!server->cert) return;
  server->tls = SSL_CTX_new(TLS_server_method());
  must(server->tls && SSL_CTX_set_max_proto_version(server->tls, server->max_tls) == 1 &&
           SSL_CTX_use_certificate_chain_file(server->tls, server->cert) == 1 &&
           SSL_CTX_use_PrivateKey_file(server->tls, server->key, SSL_FILETYPE_PEM) == 1 &&
           (!server->client_ca ||
            SSL_CTX_load_verify_locations(server->tls, server->client_ca, NULL) == 1),
       "certificate");
  if (server->client_ca)
    SSL_CTX_set_verify(server->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

/* A refused client must find the alert: closing with its bytes unread would reset the connection.
 */
static void wait_for_end(int fd)
{
  char bytes[256];

  (void)shutdown(fd, SHUT_WR);
  while (recv(fd, bytes, sizeof bytes, 0) > 0)
    continue;
}

static void serve_one(struct loop_server *server, int fd, int index)
{
  const struct timeval limit = {GIVE_UP_SECONDS, 0};
  struct loop_conn conn = {fd, NULL, index};

  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (server->tls) {
    conn.ssl = SSL_new(server->tls);
    must(conn.ssl && SSL_set_fd(conn.ssl, fd) == 1, "SSL_new");
  }
  if (!conn.ssl || SSL_accept(conn.ssl) == 1)
    server->serve(server, &conn);
  else if (!server->abrupt)
    wait_for_end(fd);
  if (conn.ssl) (void)SSL_shutdown(conn.ssl);
  SSL_free(conn.ssl);
  if (conn.fd >= 0) (void)close(conn.fd);
  atomic_fetch_add(&server->closed, 1);
}

/* One connection with its thread. */
struct loop_job {
  struct loop_server *server;
  pthread_t thread;
  int fd, index;
};

static void *run_job(void *arg)
{
  struct loop_job *job = arg;

  serve_one(job->server, job->fd, job->index);
  return NULL;
}

static void start_job(struct loop_server *server, int fd, int index)
{
  struct loop_job *job;

  must(index < LOOP_MAX_AT_ONCE, "too many connections");
  job = &server->jobs[index];
  job->server = server;
  job->fd = fd;
  job->index = index;
  must(pthread_create(&job->thread, NULL, run_job, job) == 0, "thread");
}

static void *run(void *arg)
{
  struct loop_server *server = arg;
  int index = 0;

  for (;;) {
    struct pollfd fds[2] = {{server->listener, POLLIN, 0}, {server->stop_fds[0], POLLIN, 0}};
    int fd;
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents) return NULL;
    fd = accept(server->listener, NULL, NULL);
    if (fd < 0) continue;
    atomic_fetch_add(&server->accepted, 1);
    if (server->at_once)
      start_job(server, fd, index++);
    else
      serve_one(server, fd, index++);
  }
}

void loop_server_start(struct loop_server *server)
{
  listen_on_loopback(server);
  load_certificate(server);
  atomic_init(&server->accepted, 0);
  atomic_init(&server->closed, 0);
  must(pipe(server->stop_fds) == 0, "pipe");
  server->jobs = calloc(LOOP_MAX_AT_ONCE, sizeof *server->jobs);
  must(server->jobs != NULL, "calloc");
  must(pthread_create(&server->thread, NULL, run, server) == 0, "thread");
}

int loop_server_stop_fd(const struct loop_server *server) { return server->stop_fds[0]; }

void loop_server_stop(struct loop_server *server)
{
  int i;

  must(write(server->stop_fds[1], "", 1) == 1, "stop");
  (void)pthread_join(server->thread, NULL);
  for (i = 0; server->at_once && i < atomic_load(&server->accepted); i++)
    (void)pthread_join(server->jobs[i].thread, NULL);
  free(server->jobs);
  SSL_CTX_free(server->tls);
  (void)close(server->listener);
  (void)close(server->stop_fds[0]);
  (void)close(server->stop_fds[1]);
}

void loop_server_wait_closed(struct loop_server *server)
{
  const struct timespec pause = {0, 1000000};

  while (atomic_load(&server->closed) < atomic_load(&server->accepted))
    (void)nanosleep(&pause, NULL);
}

static long receive(struct loop_conn *conn, void *data, size_t size)
{
  if (conn->ssl) return SSL_read(conn->ssl, data, (int)size);
  return recv(conn->fd, data, size, 0);
}

/* Reads the head byte by byte: slow and right. */
static bool read_head(struct loop_conn *conn, char *head)
{
  size_t n = 0;

  while (n < HEAD_SIZE - 1) {
    if (receive(conn, head + n, 1) != 1) return false;
    head[++n] = '\0';
    if (n >= 4 && memcmp(head + n - 4, "\r\n\r\n", 4) == 0) return true;
  }
  return false;
}

long loop_conn_request(struct loop_conn *conn, char *text, size_t capacity)
{
  char head[HEAD_SIZE], drop[4096];
  const char *length;
  long size, left;
  size_t used;

  if (!read_head(conn, head)) return -1;
  length = strstr(head, "Content-Length: ");
  size = left = length ? atol(length + 16) : 0;
  used = strlen(head);
  if (text) (void)snprintf(text, capacity, "%s", head);
  while (left > 0) {
    long n = receive(conn, drop, (size_t)left < sizeof drop ? (size_t)left : sizeof drop);
    if (n <= 0) return -1;
    if (text && used + (size_t)n < capacity) {
      memcpy(text + used, drop, (size_t)n);
      used += (size_t)n;
      text[used] = '\0';
    }
    left -= n;
  }
  return size;
}

bool loop_conn_read(struct loop_conn *conn, void *data, size_t size)
{
  char *p = data;

  while (size) {
    const long n = receive(conn, p, size);
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

bool loop_conn_send(struct loop_conn *conn, const void *data, size_t size)
{
  const char *p = data;

  while (size) {
    long n = conn->ssl ? SSL_write(conn->ssl, p, (int)size) : send(conn->fd, p, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

bool loop_conn_text(struct loop_conn *conn, const char *text)
{
  return loop_conn_send(conn, text, strlen(text));
}

void loop_serve_hello(struct loop_server *server, struct loop_conn *conn)
{
  (void)server;
  while (loop_conn_request(conn, NULL, 0) >= 0)
    if (!loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) return;
}

void loop_serve_trickle(struct loop_server *server, struct loop_conn *conn)
{
  int i;

  (void)server;
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  if (!loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")) return;
  for (i = 0; i < 1000 && loop_conn_text(conn, "x"); i++)
    (void)poll(NULL, 0, 5);
}

void loop_serve_silence(struct loop_server *server, struct loop_conn *conn)
{
  struct pollfd stop = {loop_server_stop_fd(server), POLLIN, 0};

  (void)conn;
  (void)poll(&stop, 1, GIVE_UP_SECONDS * 1000);
}
