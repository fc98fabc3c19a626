/* Connections that do not come about: refused, unresolvable, hanging in the name look-up or in the
 * network, refused by a proxy. None may outlast its deadline, its time to connect or a wake-up. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/net/loop_server.h"
#include "tests/net/net_rig.h"

enum { HANG_SECONDS = 3 };

/* Stands before the C library's, also for libcurl's look-up thread: the test's names behave as
 * their tests need, all others are passed on. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **out)
{
  typedef int function(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  const struct timespec hang = {HANG_SECONDS, 0};
  function *real;

  if (node && strcmp(node, "hang.test") == 0) {
    (void)nanosleep(&hang, NULL);
    return EAI_AGAIN;
  }
  if (node && strcmp(node, "nowhere.test") == 0) return EAI_NONAME;
  *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  return real(node, service, hints, out);
}

/* One exchange that must fail with nothing sent, in time. */
static void expect_failure(struct net_rig *rig, int64_t timeout_ms, struct mortar_wake *wake,
                           enum mortar_status status, const char *words)
{
  net_rig_open(rig);
  assert_int_equal(net_rig_exchange(rig, timeout_ms, wake), status);
  assert_int_equal(rig->err.status, status);
  assert_int_equal(rig->err.outcome, MORTAR_OUTCOME_NOT_SENT);
  if (!strstr(rig->err.message, words)) print_error("%s\n", rig->err.message);
  assert_non_null(strstr(rig->err.message, words));
  net_rig_close(rig);
}

/* A port of loopback that nobody listens on. */
static int closed_port(void)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);

  assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
  assert_int_equal(close(fd), 0);
  return ntohs(at.sin_port);
}

static void refused(void **state)
{
  struct net_rig rig;
  char name[64];
  const int port = closed_port();

  (void)state;
  (void)snprintf(name, sizeof name, "127.0.0.1:%d: no connection: ", port);
  net_rig_init(&rig, port);
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, name);
  net_rig_init(&rig, port);
  rig.options.host = "::1";
  (void)snprintf(name, sizeof name, "[::1]:%d: ", port);
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, name);
}

static void unresolvable(void **state)
{
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, 443);
  rig.options.host = "nowhere.test";
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, "nowhere.test:443: no connection: ");
  assert_non_null(strstr(rig.err.message, "resolve"));
}

static void refused_options(void **state)
{
  static const struct {
    const char *host;
    int port;
  } cases[] = {{"", 1},       {NULL, 1},  {"a b", 1}, {"a/b", 1},
               {"a\r\nb", 1}, {"u@h", 1}, {"h", 0},   {"h", 65536}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct net_rig rig;
    net_rig_init(&rig, cases[i].port);
    rig.options.host = cases[i].host;
    assert_int_equal(mtr_endpoint_new(&rig.options, NULL, &rig.endpoint, &rig.err), MORTAR_INVALID);
    assert_null(rig.endpoint);
  }
}

/* ---- Hanging ------------------------------------------------------------------------------- */

/* A listener whose queue is full: further connects get no answer. */
struct full_listener {
  int fd, port, fill[8];
};

static void full_listener_open(struct full_listener *full)
{
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  size_t i;

  full->fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(full->fd, (struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(listen(full->fd, 0), 0);
  assert_int_equal(getsockname(full->fd, (struct sockaddr *)&at, &size), 0);
  full->port = ntohs(at.sin_port);
  for (i = 0; i < 8; i++) {
    full->fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(full->fill[i], (struct sockaddr *)&at, sizeof at);
  }
}

static void full_listener_close(struct full_listener *full)
{
  size_t i;

  for (i = 0; i < 8; i++)
    (void)close(full->fill[i]);
  (void)close(full->fd);
}

/* Ended by the deadline, by the time to connect, by a wake-up, and by one given before the start.
 */
static void expect_prompt_ends(const char *host, int port, const char *words)
{
  struct mortar_wake *wake;
  struct net_alarm *alarm;
  struct net_rig rig;

  net_rig_init(&rig, port);
  rig.options.host = host;
  expect_failure(&rig, 100, NULL, MORTAR_TIMEOUT, words);
  assert_in_range(rig.took_ms, 99, 100 + NET_PROMPT_MS);
  assert_non_null(strstr(rig.err.message, "the deadline"));
  net_rig_init(&rig, port);
  rig.options.host = host;
  rig.options.connect_timeout_ms = 100;
  expect_failure(&rig, 8000, NULL, MORTAR_TIMEOUT, words);
  assert_in_range(rig.took_ms, 99, 100 + NET_PROMPT_MS);
  assert_non_null(strstr(rig.err.message, "the connect timeout"));
  net_rig_init(&rig, port);
  rig.options.host = host;
  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  alarm = net_alarm_start(wake, 80);
  expect_failure(&rig, 8000, wake, MORTAR_INTERRUPTED, words);
  assert_in_range(rig.took_ms, 0, 80 + NET_PROMPT_MS);
  net_alarm_join(alarm);
  net_rig_init(&rig, port);
  rig.options.host = host;
  expect_failure(&rig, 8000, wake, MORTAR_INTERRUPTED, words);
  assert_in_range(rig.took_ms, 0, NET_PROMPT_MS);
  mortar_wake_free(wake);
}

static void hanging_look_up(void **state)
{
  (void)state;
  expect_prompt_ends("hang.test", 443, "looking up the name");
}

static void hanging_connect(void **state)
{
  struct full_listener full;

  (void)state;
  full_listener_open(&full);
  expect_prompt_ends("127.0.0.1", full.port, "connecting");
  full_listener_close(&full);
}

/* ---- Proxies ------------------------------------------------------------------------------- */

static char asked[4096]; /* what the proxy was asked; read when it is stopped */

/* Refuses with server->arg, or opens a tunnel that ends in a server of its own. */
static void serve_proxy(struct loop_server *server, struct loop_conn *conn)
{
  if (loop_conn_request(conn, asked, sizeof asked) < 0) return;
  if (server->arg) {
    (void)loop_conn_text(conn, server->arg);
    return;
  }
  if (loop_conn_text(conn, "HTTP/1.1 200 Connection established\r\n\r\n"))
    loop_serve_hello(server, conn);
}

static void proxy_rig(struct net_rig *rig, const struct loop_server *server, char *url, size_t size)
{
  (void)snprintf(url, size, "http://user:secret@127.0.0.1:%d", server->port);
  net_rig_init(rig, 443);
  rig->options.host = "warehouse.test";
  rig->options.proxy = url;
}

static void proxy_refuses(void **state)
{
  static char refusals[2][100] = {
      "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"};
  static const char *const words[2] = {"HTTP status 407 (it wants", "HTTP status 403"};
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct loop_server server = {.serve = serve_proxy, .arg = refusals[i]};
    struct net_rig rig;
    char url[100];
    int tls;
    loop_server_start(&server);
    for (tls = 0; tls < 2; tls++) {
      proxy_rig(&rig, &server, url, sizeof url);
      rig.options.tls = tls != 0;
      expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, words[i]);
      assert_non_null(strstr(rig.err.message, strchr(url, '@') + 1));
      assert_null(strstr(rig.err.message, "user:"));
    }
    loop_server_stop(&server);
    assert_memory_equal(asked, "CONNECT warehouse.test:443 ", 27);
  }
}

static void proxy_tunnels_plain_http(void **state)
{
  struct loop_server server = {.serve = serve_proxy};
  struct net_rig rig;
  char url[100];

  (void)state;
  loop_server_start(&server);
  proxy_rig(&rig, &server, url, sizeof url);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  assert_int_equal(rig.reply.body.size, 5);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  net_rig_close(&rig);
  loop_server_stop(&server);
  assert_memory_equal(asked, "CONNECT warehouse.test:443 ", 27);
  assert_non_null(strstr(asked, "Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
  assert_null(strstr(asked, "X-Test")); /* our headers are for the server only */
}

static void no_proxy_goes_straight(void **state)
{
  static const char *const lists[] = {"127.0.0.1", "a.test, 127.0.0.0/8", "*"};
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;
  size_t i;

  (void)state;
  loop_server_start(&server);
  for (i = 0; i < sizeof lists / sizeof *lists; i++) {
    net_rig_init(&rig, server.port);
    rig.options.proxy = "http://user:secret@nowhere.test:3128";
    rig.options.no_proxy = lists[i];
    net_rig_open(&rig);
    assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
    net_rig_close(&rig);
  }
  loop_server_stop(&server);
  net_rig_init(&rig, 80);
  rig.options.proxy = "http://user:secret@nowhere.test:3128";
  rig.options.no_proxy = "warehouse.test";
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, "resolve proxy");
  assert_null(strstr(rig.err.message, "secret"));
}

static void other_kinds_of_proxy_are_refused(void **state)
{
  struct mtr_endpoint *endpoint = NULL;
  struct mortar_error err;
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, 80);
  rig.options.proxy = "socks5://user:secret@127.0.0.1:1080";
  assert_int_equal(mtr_endpoint_new(&rig.options, NULL, &endpoint, &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, "socks5"));
  assert_null(strstr(err.message, "secret"));
}

/* libcurl would go without a proxy whose user or password it can't decode, and show what it can't
 * read. */
static void a_bad_proxy_url_is_refused_unseen(void **state)
{
  static const char *const bad[] = {"http://user:secret%0a@127.0.0.1:1",
                                    "http://user:secret%00@127.0.0.1:1",
                                    "http://user%0d:secret@127.0.0.1:1",
                                    "http://secret%1b@127.0.0.1:1",
                                    "http://user:secret@127.0.0.1%0a:1",
                                    "http://user:my secret@127.0.0.1:1",
                                    "http://user:my/secret@127.0.0.1:1",
                                    "http://user:1/secret@127.0.0.1:1",
                                    "http://user:1?secret@127.0.0.1:1",
                                    "http://user:1#secret@127.0.0.1:1",
                                    "http://user:1/secret",
                                    "http://user:s@secret@127.0.0.1:1",
                                    "http://user:secret\n@127.0.0.1:1",
                                    "http://user:secret@127.0.0.1:1\n",
                                    "http://user:secret@127.0.0.1:port",
                                    "http://user:secret@127.0.0.1:65536",
                                    "http://user:secret@:1",
                                    "http://user:secret@",
                                    "user:secret://secret@127.0.0.1:1",
                                    "http:/user:secret@127.0.0.1:1",
                                    "http://user:secret@127.0.0.1:1/x",
                                    "http://user:secret"};
  struct mtr_endpoint *endpoint = NULL;
  struct mortar_error err;
  struct net_rig rig;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    net_rig_init(&rig, 1);
    rig.options.proxy = bad[i];
    if (mtr_endpoint_new(&rig.options, NULL, &endpoint, &err) != MORTAR_INVALID)
      fail_msg("%s was taken", bad[i]);
    assert_non_null(strstr(err.message, "percent-encoded"));
    assert_null(strstr(err.message, "secret"));
    assert_null(strstr(err.message, "user:"));
  }
}

/* Escapes, a name only, no port, an address in brackets, a slash at the end. */
static void a_good_proxy_url_is_taken(void **state)
{
  static const char *const good[] = {"http://us%40er:my%20secret%2f@127.0.0.1:1/",
                                     "HTTPS://user@proxy.test",
                                     "127.0.0.1:1",
                                     "user:100%@[::1]:1",
                                     "",
                                     NULL};
  struct mtr_endpoint *endpoint = NULL;
  struct net_rig rig;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof good / sizeof *good; i++) {
    net_rig_init(&rig, 1);
    rig.options.proxy = good[i];
    assert_int_equal(mtr_endpoint_new(&rig.options, NULL, &endpoint, NULL), MORTAR_OK);
    mtr_endpoint_unref(endpoint);
  }
}

/* A literal IPv6 address, in brackets where it goes on the wire and into errors. */
static void an_ipv6_address_is_a_host(void **state)
{
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, 1);
  rig.options.host = "::1";
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, "[::1]:1");
}

static void unreachable_proxy(void **state)
{
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, 443);
  rig.options.host = "warehouse.test";
  rig.options.proxy = "http://nowhere.test:3128";
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT, "resolve proxy");
}

/* A rig whose proxy, with a user and a password, is at that place. */
static void expect_named_proxy(const char *host, int port, int64_t timeout_ms,
                               enum mortar_status status)
{
  struct net_rig rig;
  char url[100], words[100];
  int tls;

  (void)snprintf(url, sizeof url, "http://user:secret@%s:%d/", host, port);
  (void)snprintf(words, sizeof words, "warehouse.test:443: through the proxy %s:%d: ", host, port);
  for (tls = 0; tls < 2; tls++) {
    net_rig_init(&rig, 443);
    rig.options.host = "warehouse.test";
    rig.options.proxy = url;
    rig.options.tls = tls != 0;
    expect_failure(&rig, timeout_ms, NULL, status, words);
    assert_null(strstr(rig.err.message, "user"));
  }
}

/* Dead, unknown, silent in every way. */
static void a_useless_proxy_is_named(void **state)
{
  struct loop_server silent = {.serve = loop_serve_silence, .at_once = true};
  struct full_listener full;

  (void)state;
  expect_named_proxy("127.0.0.1", closed_port(), 5000, MORTAR_CONNECT);
  expect_named_proxy("nowhere.test", 3128, 5000, MORTAR_CONNECT);
  expect_named_proxy("hang.test", 3128, 50, MORTAR_TIMEOUT);
  full_listener_open(&full);
  expect_named_proxy("127.0.0.1", full.port, 50, MORTAR_TIMEOUT);
  full_listener_close(&full);
  loop_server_start(&silent);
  expect_named_proxy("127.0.0.1", silent.port, 50, MORTAR_TIMEOUT);
  loop_server_stop(&silent);
}

/* Only libcurl knows which way it took. */
static void a_way_past_the_proxy_is_not_denied(void **state)
{
  struct net_rig rig;

  (void)state;
  net_rig_init(&rig, closed_port());
  rig.options.proxy = "http://user:secret@nowhere.test:3128";
  rig.options.no_proxy = "127.0.0.1";
  expect_failure(&rig, 5000, NULL, MORTAR_CONNECT,
                 "through the proxy nowhere.test:3128 (unless 'no_proxy' names the server): no ");
}

static void environment_proxies_are_not_used(void **state)
{
  struct loop_server server = {.serve = loop_serve_hello};
  struct net_rig rig;

  (void)state;
  assert_int_equal(setenv("http_proxy", "http://nowhere.test:3128", 1), 0);
  assert_int_equal(setenv("all_proxy", "http://nowhere.test:3128", 1), 0);
  loop_server_start(&server);
  net_rig_init(&rig, server.port);
  net_rig_open(&rig);
  assert_int_equal(net_rig_exchange(&rig, 5000, NULL), MORTAR_OK);
  net_rig_close(&rig);
  loop_server_stop(&server);
  assert_int_equal(unsetenv("http_proxy"), 0);
  assert_int_equal(unsetenv("all_proxy"), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(refused),
                                     cmocka_unit_test(unresolvable),
                                     cmocka_unit_test(refused_options),
                                     cmocka_unit_test(hanging_look_up),
                                     cmocka_unit_test(hanging_connect),
                                     cmocka_unit_test(proxy_refuses),
                                     cmocka_unit_test(proxy_tunnels_plain_http),
                                     cmocka_unit_test(no_proxy_goes_straight),
                                     cmocka_unit_test(other_kinds_of_proxy_are_refused),
                                     cmocka_unit_test(a_bad_proxy_url_is_refused_unseen),
                                     cmocka_unit_test(a_good_proxy_url_is_taken),
                                     cmocka_unit_test(an_ipv6_address_is_a_host),
                                     cmocka_unit_test(unreachable_proxy),
                                     cmocka_unit_test(a_useless_proxy_is_named),
                                     cmocka_unit_test(a_way_past_the_proxy_is_not_denied),
                                     cmocka_unit_test(environment_proxies_are_not_used)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
