/* A server on loopback threads for tests: lets the test's function talk on each connection, one
 * after the other or all at once. Every read gives up after a few seconds, so nothing hangs. */
#ifndef MTR_TESTS_LOOP_SERVER_H
#define MTR_TESTS_LOOP_SERVER_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { LOOP_MAX_AT_ONCE = 300 };

struct loop_job;

struct loop_conn {
  int fd;
  SSL *ssl;  /* NULL: plain */
  int index; /* 0: the first connection */
};

struct loop_server {
  /* Set before start; the rest is zero. */
  void (*serve)(struct loop_server *server, struct loop_conn *conn);
  const char *cert, *key; /* PEM files; NULL: plain */
  const char *client_ca;  /* PEM file: clients must show a certificate that it signed; NULL: none */
  int max_tls;            /* TLS1_2_VERSION; 0: the newest */
  bool abrupt;            /* clients without that certificate are not waited for */
  void *arg;
  bool at_once; /* a thread for each connection, at most LOOP_MAX_AT_ONCE in all */

  int port;
  int listener, stop_fds[2];
  atomic_int accepted, closed;
  SSL_CTX *tls;
  pthread_t thread;
  struct loop_job *jobs;
};

void loop_server_start(struct loop_server *server);
void loop_server_stop(struct loop_server *server);
/* Until it has closed every connection that it accepted. */
void loop_server_wait_closed(struct loop_server *server);

/* Readable when the server is being stopped. */
int loop_server_stop_fd(const struct loop_server *server);

/* Reads one request, head and body; its bytes into text (cut, NUL behind), which may be NULL.
 * Returns the size of the body, -1 when the client is gone. */
long loop_conn_request(struct loop_conn *conn, char *text, size_t capacity);
/* Exactly so many bytes, whatever they are; false when the client is gone. */
bool loop_conn_read(struct loop_conn *conn, void *data, size_t size);
bool loop_conn_send(struct loop_conn *conn, const void *data, size_t size);
bool loop_conn_text(struct loop_conn *conn, const char *text);

/* Answers every request with "200" and the body "hello" until the client leaves. */
void loop_serve_hello(struct loop_server *server, struct loop_conn *conn);

/* Announces a body of 1,000 bytes and sends one every 5 ms until the client leaves. */
void loop_serve_trickle(struct loop_server *server, struct loop_conn *conn);

/* Waits until the test ends without reading a byte. */
void loop_serve_silence(struct loop_server *server, struct loop_conn *conn);

#endif
