/* TLS over loopback: whom a lease trusts and what it says when it does not; resumption; large
 * messages; what a fork leaves alone; a peer that speaks HTTP/2 only. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"
#include "tests/net/test_certs.h"

static void start_tls(struct loop_server *server)
{
  if (!server->cert) {
    server->cert = group_certs.cert;
    server->key = group_certs.key;
  }
  loop_server_start(server);
}

static void tls_rig(struct net_rig *rig, int port)
{
  net_rig_init(rig, port);
  rig->options.tls = true;
  rig->options.host = "localhost";
  rig->options.ca_file = group_certs.ca;
}

static void open_tls(struct loop_server *server, struct net_rig *rig)
{
  start_tls(server);
  tls_rig(rig, server->port);
  net_rig_open(rig);
}

static void close_tls(struct loop_server *server, struct net_rig *rig)
{
  net_rig_close(rig);
  loop_server_stop(server);
}

/* One exchange that must fail before anything was sent. */
static void expect_refusal(struct net_rig *rig, enum mortar_status status, const char *words)
{
  net_rig_open(rig);
  assert_int_equal(net_rig_exchange(rig, 8000, NULL), status);
  assert_int_equal(rig->err.outcome, MORTAR_OUTCOME_NOT_SENT);
  if (!strstr(rig->err.message, words)) print_error("%s\n", rig->err.message);
  assert_non_null(strstr(rig->err.message, words));
  net_rig_close(rig);
}

static void expect_hello(struct net_rig *rig)
{
  net_rig_open(rig);
  if (net_rig_exchange(rig, 8000, NULL)) print_error("%s\n", rig->err.message);
  assert_int_equal(rig->err.status, MORTAR_OK);
  assert_int_equal(rig->reply.body.size, 5);
  net_rig_close(rig);
}

/* ---- Trust --------------------------------------------------------------------------------- */

static void trusted_by_its_ca(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct mtr_lease_stats stats;
  struct net_rig rig;
  int i;

  (void)state;
  open_tls(&server, &rig);
  for (i = 0; i < 10; i++) {
    assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
    assert_memory_equal(rig.reply.body.data, "hello", 5);
  }
  mtr_lease_stats(rig.lease, &stats);
  assert_int_equal(stats.connects, 1);
  net_rig_close(&rig);
  tls_rig(&rig, server.port);
  rig.options.host = "127.0.0.1";
  expect_hello(&rig);
  loop_server_stop(&server);
}

static void unknown_ca(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;

  (void)state;
  start_tls(&server);
  tls_rig(&rig, server.port);
  rig.options.ca_file = NULL; /* the system's */
  expect_refusal(&rig, MORTAR_TLS, "set 'tls_ca_file'");
  tls_rig(&rig, server.port);
  rig.options.ca_file = NULL;
  rig.options.verify_peer = false;
  expect_hello(&rig);
  loop_server_stop(&server);
}

static void certificate_for_another_host(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;

  (void)state;
  server.cert = group_certs.other;
  server.key = group_certs.other_key;
  start_tls(&server);
  tls_rig(&rig, server.port);
  expect_refusal(&rig, MORTAR_TLS, "'tls_verify_host'");
  tls_rig(&rig, server.port);
  rig.options.verify_host = false;
  expect_hello(&rig);
  loop_server_stop(&server);
}

static void ca_from_the_environment(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;

  (void)state;
  start_tls(&server);
  assert_int_equal(setenv("SSL_CERT_FILE", group_certs.ca, 1), 0);
  tls_rig(&rig, server.port);
  rig.options.ca_file = NULL;
  expect_hello(&rig);
  assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
  loop_server_stop(&server);
}

static void missing_ca_file(void **state)
{
  struct net_rig rig;

  (void)state;
  tls_rig(&rig, 1);
  rig.options.ca_file = "/nowhere/ca.pem";
  assert_int_equal(mtr_endpoint_new(&rig.options, NULL, &rig.endpoint, &rig.err), MORTAR_TLS);
  assert_null(rig.endpoint);
  assert_non_null(strstr(rig.err.message, "/nowhere/ca.pem"));
}

/* ---- Peers that do not speak what we speak ------------------------------------------------- */

static void serve_plain_error(struct loop_server *server, struct loop_conn *conn)
{
  (void)server;
  (void)loop_conn_text(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

static void plain_server(void **state)
{
  struct loop_server server = {.serve = serve_plain_error};
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  tls_rig(&rig, server.port);
  expect_refusal(&rig, MORTAR_TLS, "does not speak TLS");
  loop_server_stop(&server);
}

static void plain_request_on_a_tls_port(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello, .abrupt = true};
  struct net_rig rig;

  (void)state;
  start_tls(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_IO);
  assert_non_null(strstr(rig.err.message, "wants TLS"));
  close_tls(&server, &rig);
}

/* openssl s_server for HTTP/2 only. It ends when its input does and when nobody reads its output,
 * so both stay open as long as it is needed. */
struct h2_server {
  pid_t pid;
  int in, port;
  FILE *out;
};

static void h2_server_start(struct h2_server *server)
{
  char line[256];
  int in[2], out[2];

  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  server->pid = fork();
  if (server->pid == 0) {
    (void)close(in[1]); /* its own copy would keep it alive after a failed test */
    (void)dup2(in[0], 0);
    (void)dup2(out[1], 1);
    (void)dup2(out[1], 2);
    (void)execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-alpn", "h2", "-cert",
                 group_certs.cert, "-key", group_certs.key, (char *)NULL);
    _exit(127);
  }
  (void)close(in[0]);
  (void)close(out[1]);
  server->in = in[1];
  server->out = fdopen(out[0], "r");
  server->port = 0;
  while (server->port == 0 && fgets(line, sizeof line, server->out))
    if (strncmp(line, "ACCEPT ", 7) == 0) server->port = atoi(strrchr(line, ':') + 1);
  assert_true(server->pid > 0 && server->port > 0);
}

static void h2_server_stop(struct h2_server *server)
{
  assert_int_equal(kill(server->pid, SIGTERM), 0);
  assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
  (void)close(server->in);
  (void)fclose(server->out);
}

static void http2_only_server(void **state)
{
  struct h2_server server;
  struct net_rig rig;

  (void)state;
  h2_server_start(&server);
  tls_rig(&rig, server.port);
  expect_refusal(&rig, MORTAR_TLS, "HTTP/2 only");
  h2_server_stop(&server);
}

/* The same without ALPN: the greeting of HTTP/2 comes where a reply is due. */
static void serve_settings_frame(struct loop_server *server, struct loop_conn *conn)
{
  static const char frame[] = "\0\0\x06\4\0\0\0\0\0\0\3\0\0\0\x80";

  if (loop_conn_send(conn, frame, sizeof frame - 1)) loop_serve_silence(server, conn);
}

static void http2_greeting(void **state)
{
  struct loop_server server = {.serve = serve_settings_frame};
  struct net_rig rig;

  (void)state;
  open_tls(&server, &rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_PROTOCOL);
  assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_non_null(strstr(rig.err.message, "HTTP/2 only"));
  close_tls(&server, &rig);
}

static void silent_handshake(void **state)
{
  struct loop_server server = {.serve = loop_serve_silence};
  struct mortar_wake *wake;
  struct net_alarm *alarm;
  struct net_rig rig;

  (void)state;
  loop_server_start(&server);
  tls_rig(&rig, server.port);
  rig.options.connect_timeout_ms = 100;
  expect_refusal(&rig, MORTAR_TIMEOUT, "while shaking hands");
  assert_in_range(rig.took_ms, 99, 100 + NET_PROMPT_MS);
  tls_rig(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  alarm = net_alarm_start(wake, 80);
  assert_int_equal(net_rig_exchange(&rig, 8000, wake), MORTAR_INTERRUPTED);
  assert_in_range(rig.took_ms, 0, 80 + NET_PROMPT_MS);
  assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  net_alarm_join(alarm);
  mortar_wake_free(wake);
  close_tls(&server, &rig);
}

/* ---- Sessions, sizes, forks, threads ------------------------------------------------------- */

static atomic_int resumed;

static void serve_and_close(struct loop_server *server, struct loop_conn *conn)
{
  (void)server;
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  atomic_fetch_add(&resumed, SSL_session_reused(conn->ssl));
  (void)loop_conn_text(conn,
                       "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
}

static void sessions_are_resumed(void **state)
{
  struct loop_server server = {.serve = serve_and_close};
  struct net_rig rig;
  struct mtr_lease *second;

  (void)state;
  open_tls(&server, &rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  assert_int_equal(atomic_load(&resumed), 0);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  assert_int_equal(atomic_load(&resumed), 1);
  assert_int_equal(mtr_lease_new(rig.endpoint, &second, NULL), MORTAR_OK);
  mtr_lease_free(rig.lease);
  rig.lease = second;
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  assert_int_equal(atomic_load(&resumed), 2);
  close_tls(&server, &rig);
}

/* The goodbye of TLS comes in the packet of the reply, and the connection beneath stays open: only
 * what OpenSSL has received already tells of it. */
static void serve_and_say_goodbye(struct loop_server *server, struct loop_conn *conn)
{
  const int on = 1, off = 0;
  char byte;

  (void)server;
  if (loop_conn_request(conn, NULL, 0) < 0) return;
  (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
  (void)loop_conn_text(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  (void)SSL_shutdown(conn->ssl);
  (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off);
  (void)!read(conn->fd, &byte, 1); /* until the client leaves */
}

static void a_goodbye_behind_the_reply_is_seen(void **state)
{
  struct loop_server server = {.serve = serve_and_say_goodbye};
  struct mtr_lease_stats stats;
  struct net_rig rig;

  (void)state;
  open_tls(&server, &rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  mtr_lease_stats(rig.lease, &stats);
  assert_int_equal(stats.stale, 1);
  assert_int_equal(stats.connects, 2);
  close_tls(&server, &rig);
}

/* The descriptor does not show what OpenSSL holds, so nothing may be waited for while it does: this
 * reply comes in records of all sizes, many in a packet. */
static void serve_many_records(struct loop_server *server, struct loop_conn *conn)
{
  static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 20100\r\n\r\n";
  static const char bytes[200];
  size_t i;

  (void)server;
  while (loop_conn_request(conn, NULL, 0) >= 0) {
    for (i = 0; i < sizeof head - 1; i++)
      if (!loop_conn_send(conn, head + i, 1)) return;
    for (i = 1; i <= sizeof bytes; i++)
      if (!loop_conn_send(conn, bytes, i)) return;
  }
}

static void many_records_in_a_packet(void **state)
{
  struct loop_server server = {.serve = serve_many_records};
  struct net_rig rig;
  int i;

  (void)state;
  open_tls(&server, &rig);
  for (i = 0; i < 20; i++) {
    assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
    assert_int_equal(rig.reply.body.size, 20100);
  }
  close_tls(&server, &rig);
}

enum { LARGE = 3000000 };

/* Sends back as many bytes as came. */
static void serve_same_size(struct loop_server *server, struct loop_conn *conn)
{
  static char bytes[LARGE];
  char head[100];
  long size;

  (void)server;
  memset(bytes, 'y', sizeof bytes);
  while ((size = loop_conn_request(conn, NULL, 0)) >= 0) {
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", size);
    if (!loop_conn_text(conn, head) || !loop_conn_send(conn, bytes, (size_t)size)) return;
  }
}

static void large_messages(void **state)
{
  struct loop_server server = {.serve = serve_same_size};
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), 20000)};
  struct net_rig rig;
  int i;

  (void)state;
  open_tls(&server, &rig);
  for (i = 0; i < 2; i++) {
    struct mtr_buf *body = mtr_lease_body(rig.lease);
    assert_int_equal(mtr_buf_reserve(body, LARGE, NULL), MORTAR_OK);
    memset(body->data, 'x', LARGE);
    body->size = LARGE;
    assert_int_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                     MORTAR_OK);
    assert_int_equal(rig.reply.body.size, LARGE);
    assert_int_equal(rig.reply.body.data[LARGE - 1], 'y');
  }
  close_tls(&server, &rig);
}

static void fork_with_an_open_lease(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct mtr_lease_stats stats;
  struct net_rig rig;
  pid_t child;
  int status = -1;

  (void)state;
  open_tls(&server, &rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  child = fork();
  if (child == 0) {
    int wrong = net_rig_exchange(&rig, 1000, NULL) != MORTAR_STATE;
    net_rig_close(&rig);
    _exit(wrong);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  mtr_lease_stats(rig.lease, &stats);
  assert_int_equal(stats.connects, 1);
  assert_int_equal(stats.stale, 0);
  close_tls(&server, &rig);
}

/* ---- Client certificates ------------------------------------------------------------------- */

static void strict_rig(struct loop_server *server, struct net_rig *rig)
{
  server->serve = loop_serve_hello;
  server->client_ca = group_certs.ca;
  start_tls(server);
  tls_rig(rig, server->port);
}

static void a_client_certificate_opens_the_door(void **state)
{
  struct loop_server server = {.serve = NULL};
  struct net_rig rig;

  (void)state;
  strict_rig(&server, &rig);
  rig.options.client_cert_file = group_certs.cert;
  rig.options.client_key_file = group_certs.locked_key;
  rig.options.client_key_password = "open sesame";
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_OK);
  close_tls(&server, &rig);
}

static void a_wrong_key_password_names_the_options(void **state)
{
  struct loop_server server = {.serve = NULL};
  struct net_rig rig;

  (void)state;
  strict_rig(&server, &rig);
  rig.options.client_cert_file = group_certs.cert;
  rig.options.client_key_file = group_certs.locked_key;
  rig.options.client_key_password = "close sesame";
  expect_refusal(&rig, MORTAR_TLS, "'tls_client_key_password'");
  assert_null(strstr(rig.err.message, "sesame"));
  loop_server_stop(&server);
}

/* What the key's password would be read from lies ready on the standard input. */
static void offer_password(int *out)
{
  static const char line[] = "open sesame\n";
  int in[2], err[2];

  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(err), 0);
  assert_int_equal(write(in[1], line, sizeof line - 1), sizeof line - 1);
  (void)close(in[1]);
  (void)dup2(in[0], 0);
  (void)dup2(err[1], 2);
  (void)close(err[1]);
  *out = err[0];
}

/* OpenSSL's own way would be to print a prompt and to wait for a terminal, so a process without one
 * tries: its answer would be the standard input's line. */
static int connect_with_a_locked_key(int port_fd)
{
  struct net_rig rig;
  int port, out;
  char byte;

  if (setsid() < 0 || read(port_fd, &port, sizeof port) != sizeof port) return 2;
  tls_rig(&rig, port);
  rig.options.client_cert_file = group_certs.cert;
  rig.options.client_key_file = group_certs.locked_key;
  offer_password(&out);
  net_rig_open(&rig);
  if (net_rig_exchange(&rig, 8000, NULL) != MORTAR_TLS) return 3;
  net_rig_close(&rig);
  if (!strstr(rig.err.message, "'tls_client_key_password'")) return 4;
  if (read(0, &byte, 1) != 1 || byte != 'o') return 5;
  (void)close(2);
  return read(out, &byte, 1) == 0 ? 0 : 6;
}

/* The fork comes before the server's thread, which may hold a lock of the allocator. */
static void a_key_without_its_password_is_not_asked_for(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello, .client_ca = group_certs.ca};
  int status = -1, ports[2];
  pid_t child;

  (void)state;
  assert_int_equal(pipe(ports), 0);
  child = fork();
  if (child == 0) _exit(connect_with_a_locked_key(ports[0]));
  start_tls(&server);
  assert_int_equal(write(ports[1], &server.port, sizeof server.port), sizeof server.port);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  loop_server_stop(&server);
  (void)close(ports[0]);
  (void)close(ports[1]);
}

/* With TLS 1.3 the client hears of it only when it reads. */
static void a_missing_client_certificate_is_named(void **state)
{
  struct loop_server server = {.serve = NULL};
  struct net_rig rig;

  (void)state;
  strict_rig(&server, &rig);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 8000, NULL), MORTAR_TLS);
  assert_non_null(strstr(rig.err.message, "'tls_client_cert_file'"));
  close_tls(&server, &rig);
}

/* The alert of TLS 1.2 says as much as nothing. */
static void an_old_server_s_wish_is_named_too(void **state)
{
  struct loop_server server = {.max_tls = TLS1_2_VERSION};
  struct net_rig rig;

  (void)state;
  strict_rig(&server, &rig);
  expect_refusal(&rig, MORTAR_TLS, "'tls_client_cert_file'");
  loop_server_stop(&server);
}

/* With its bytes unread the server's closing resets the connection: the client fails in sending. */
static void a_wish_that_comes_while_sending_is_named(void **state)
{
  struct loop_server server = {.abrupt = true};
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), 8000)};
  struct net_rig rig;
  int i;

  (void)state;
  strict_rig(&server, &rig);
  net_rig_open(&rig);
  for (i = 0; i < 20; i++) {
    net_rig_fill_body(&rig);
    assert_int_not_equal(mtr_lease_exchange(rig.lease, &rig.request, &wait, &rig.reply, &rig.err),
                         MORTAR_OK);
    if (!strstr(rig.err.message, "'tls_client_cert_file'")) fail_msg("%d: %s", i, rig.err.message);
  }
  close_tls(&server, &rig);
}

/* Handshakes on several threads at once use one CA store and one set of sessions. */
static void threads_share_the_store(void **state)
{
  struct loop_server server = {.serve = serve_and_close, .at_once = true};
  struct net_rig rig;

  (void)state;
  open_tls(&server, &rig);
  assert_int_equal(net_rig_share(&rig, 4, 10), 4 * 10);
  close_tls(&server, &rig);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(trusted_by_its_ca),
                                     cmocka_unit_test(unknown_ca),
                                     cmocka_unit_test(certificate_for_another_host),
                                     cmocka_unit_test(ca_from_the_environment),
                                     cmocka_unit_test(missing_ca_file),
                                     cmocka_unit_test(plain_server),
                                     cmocka_unit_test(plain_request_on_a_tls_port),
                                     cmocka_unit_test(http2_only_server),
                                     cmocka_unit_test(http2_greeting),
                                     cmocka_unit_test(silent_handshake),
                                     cmocka_unit_test(sessions_are_resumed),
                                     cmocka_unit_test(a_goodbye_behind_the_reply_is_seen),
                                     cmocka_unit_test(many_records_in_a_packet),
                                     cmocka_unit_test(large_messages),
                                     cmocka_unit_test(fork_with_an_open_lease),
                                     cmocka_unit_test(a_client_certificate_opens_the_door),
                                     cmocka_unit_test(a_wrong_key_password_names_the_options),
                                     cmocka_unit_test(a_key_without_its_password_is_not_asked_for),
                                     cmocka_unit_test(a_missing_client_certificate_is_named),
                                     cmocka_unit_test(an_old_server_s_wish_is_named_too),
                                     cmocka_unit_test(a_wish_that_comes_while_sending_is_named),
                                     cmocka_unit_test(threads_share_the_store)};
  /* The server threads write to clients that are gone. */
  (void)signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, group_certs_make, group_certs_remove);
}
