/* One file over one connection: what is sent, what is taken, how it ends early, and that no error
 * shows the link. */
#include <stdio.h>

#include "base/error.h"
#include "net/transfer.h"
#include "tests/net/loop_server.h"
#include "tests/net/test_certs.h"
#include "tests/support/test.h"

#define SECRET "signature-that-nobody-shall-see"

/* One transfer against a server that answers with `answer` and closes. */
struct rig {
  struct loop_server server;
  const char *answer;
  size_t answer_size; /* 0: up to NUL */
  char asked[4096];
  long asked_size;
  struct mtr_endpoint_options like;
  struct mtr_transfer *transfer;
  struct mtr_transfer_request request;
  struct mtr_transfer_reply reply;
  struct mtr_wait wait;
  struct mortar_error err;
  int64_t left;  /* that read gives */
  int64_t taken; /* that write got */
  bool refuses;  /* write fails */
};

static void serve(struct loop_server *server, struct loop_conn *conn)
{
  struct rig *rig = server->arg;

  rig->asked_size = loop_conn_request(conn, rig->asked, sizeof rig->asked);
  if (rig->answer)
    (void)loop_conn_send(conn, rig->answer,
                         rig->answer_size ? rig->answer_size : strlen(rig->answer));
}

static enum mortar_status read_some(void *ctx, void *data, size_t size, size_t *n,
                                    struct mortar_error *err)
{
  struct rig *rig = ctx;

  (void)err;
  *n = (int64_t)size < rig->left ? size : (size_t)rig->left;
  memset(data, 'x', *n);
  rig->left -= (int64_t)*n;
  return MORTAR_OK;
}

static enum mortar_status take_some(void *ctx, const void *data, size_t size,
                                    struct mortar_error *err)
{
  struct rig *rig = ctx;

  (void)data;
  rig->taken += (int64_t)size;
  return rig->refuses ? mtr_fail(err, MORTAR_FILE, "the disk is full") : MORTAR_OK;
}

static void rig_start(struct rig *rig, enum mtr_transfer_method method, const char *answer)
{
  char link[200];

  memset(rig, 0, sizeof *rig);
  rig->server.serve = serve;
  rig->server.arg = rig;
  rig->answer = answer;
  loop_server_start(&rig->server);
  rig->like.connect_timeout_ms = 5000;
  rig->wait.deadline = MTR_NEVER;
  rig->request.method = method;
  rig->request.user_agent = "Mortar/test";
  rig->request.stall_ms = 20000;
  rig->request.ends = (struct mtr_transfer_ends){read_some, take_some, rig};
  (void)snprintf(link, sizeof link, "http://127.0.0.1:%d/a/../b%%20c?sig=" SECRET,
                 rig->server.port);
  assert_int_equal(mtr_transfer_new(link, &rig->like, NULL, &rig->transfer, &rig->err), MORTAR_OK);
}

static enum mortar_status rig_run(struct rig *rig)
{
  enum mortar_status st =
      mtr_transfer_run(rig->transfer, &rig->request, &rig->wait, &rig->reply, &rig->err);

  if (st != MORTAR_OK) {
    assert_int_equal(rig->err.status, st);
    assert_null(strstr(rig->err.message, SECRET));
  }
  return st;
}

static void rig_stop(struct rig *rig)
{
  mtr_transfer_free(rig->transfer);
  loop_server_stop(&rig->server);
}

/* ---- What is sent ---------------------------------------------------------------------------- */

static void a_put_says_its_length_and_nothing_of_ours(void **state)
{
  static const struct mtr_transfer_header headers[] = {{"x-store", "a b"},
                                                       {"x-empty", ""},
                                                       {"Content-Length", "7"},
                                                       {"Transfer-Encoding", "chunked"}};
  static const int64_t sizes[] = {0, 1, 300000};
  struct rig rig;
  char line[60];
  size_t i;

  (void)state;
  for (i = 0; i < 3; i++) {
    rig_start(&rig, MTR_TRANSFER_PUT, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok");
    rig.request.headers = headers;
    rig.request.header_count = 4;
    rig.request.size = rig.left = sizes[i];
    assert_int_equal(rig_run(&rig), MORTAR_OK);
    assert_int_equal(rig.reply.status, 201);
    assert_int_equal(rig.reply.moved, sizes[i]);
    loop_server_wait_closed(&rig.server);
    assert_int_equal(rig.asked_size, sizes[i]);
    (void)snprintf(line, sizeof line, "Content-Length: %d\r\n", (int)sizes[i]);
    assert_non_null(strstr(rig.asked, line));
    assert_ptr_equal(strstr(rig.asked, "PUT /a/../b%20c?sig=" SECRET " HTTP/1.1\r\n"), rig.asked);
    assert_non_null(strstr(rig.asked, "\r\nUser-Agent: Mortar/test\r\n"));
    assert_non_null(strstr(rig.asked, "\r\nx-store: a b\r\n"));
    assert_non_null(strstr(rig.asked, "\r\nx-empty:\r\n"));
    assert_null(strstr(rig.asked, "Content-Length: 7"));
    assert_null(strstr(rig.asked, "chunked"));
    assert_null(strstr(rig.asked, "Authorization"));
    rig_stop(&rig);
  }
}

static void a_header_can_begin_no_other(void **state)
{
  static const struct mtr_transfer_header bad[] = {{"a", "b\r\nc: d"}, {"a\n", "b"}, {"a b", "c"},
                                                   {"a:", "b"},        {"", "b"},    {"a", "\x7f"}};
  struct rig rig;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    rig_start(&rig, MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    rig.request.headers = &bad[i];
    rig.request.header_count = 1;
    assert_int_equal(rig_run(&rig), MORTAR_PROTOCOL);
    assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
    assert_int_equal(atomic_load(&rig.server.accepted), 0);
    rig_stop(&rig);
  }
}

/* ---- What comes back ------------------------------------------------------------------------- */

struct reply_case {
  enum mtr_transfer_method method;
  const char *answer;
  enum mortar_status st;
  int status;
  int64_t taken;
  const char *text; /* of the reply, or of the error */
};

static void replies_are_told_apart(void **state)
{
  static const struct reply_case cases[] = {
      {MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", MORTAR_OK, 200, 5,
       ""},
      {MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", MORTAR_OK, 200, 0, ""},
      {MTR_TRANSFER_GET,
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", MORTAR_OK, 200,
       3, ""},
      {MTR_TRANSFER_GET, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", MORTAR_OK, 404,
       0, "none"},
      {MTR_TRANSFER_GET, "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
       MORTAR_OK, 302, 0, ""},
      {MTR_TRANSFER_DELETE, "HTTP/1.1 204 No Content\r\n\r\n", MORTAR_OK, 204, 0, ""},
      {MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\n\r\nhello", MORTAR_PROTOCOL, 0, 0, "how long"},
      {MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", MORTAR_IO, 0, 5, ""},
      {MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
       MORTAR_IO, 0, 3, ""},
      {MTR_TRANSFER_GET, "", MORTAR_IO, 0, 0, ""},
      {MTR_TRANSFER_GET, "SSH-2.0-x\r\n\r\n", MORTAR_PROTOCOL, 0, 0, ""},
  };
  struct rig rig;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig_start(&rig, cases[i].method, cases[i].answer);
    if (rig_run(&rig) != cases[i].st) fail_msg("case %zu: %s", i, rig.err.message);
    if (cases[i].st == MORTAR_OK) {
      assert_int_equal(rig.reply.status, cases[i].status);
      assert_string_equal(rig.reply.text, cases[i].text);
    } else {
      assert_non_null(strstr(rig.err.message, cases[i].text));
      assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_UNKNOWN);
    }
    assert_int_equal(rig.taken, cases[i].taken);
    assert_int_equal(rig.reply.begun, cases[i].answer[0] == 'H');
    rig_stop(&rig);
  }
}

static void the_text_of_an_error_is_bounded(void **state)
{
  static char answer[100200];
  struct rig rig;
  const int head = snprintf(answer, sizeof answer,
                            "HTTP/1.1 500 No\r\nRetry-After: 3\r\nContent-Length: 100000\r\n\r\n");

  (void)state;
  memset(answer + head, 'e', 100000);
  rig_start(&rig, MTR_TRANSFER_GET, answer);
  rig.answer_size = (size_t)head + 100000;
  assert_int_equal(rig_run(&rig), MORTAR_OK);
  assert_int_equal(strlen(rig.reply.text), MTR_TRANSFER_TEXT_MAX - 1);
  assert_int_equal(rig.reply.retry_after_ms, 3000);
  rig_stop(&rig);
}

static void an_error_without_end_is_not_read_to_it(void **state)
{
  static char answer[2000000];
  struct rig rig;
  const int head =
      snprintf(answer, sizeof answer, "HTTP/1.1 500 No\r\nContent-Length: 999999999\r\n\r\n");

  (void)state;
  memset(answer + head, 'e', sizeof answer - (size_t)head);
  rig_start(&rig, MTR_TRANSFER_GET, answer);
  rig.answer_size = sizeof answer;
  assert_int_equal(rig_run(&rig), MORTAR_LIMIT);
  assert_int_equal(rig.taken, 0);
  rig_stop(&rig);
}

/* ---- Through a proxy ------------------------------------------------------------------------- */

/* Takes the CONNECT, and then stands for the store. */
static void serve_as_proxy(struct loop_server *server, struct loop_conn *conn)
{
  char connect[1000];

  (void)loop_conn_request(conn, connect, sizeof connect);
  if (strncmp(connect, "CONNECT store.test:80 ", 22) != 0 || strstr(connect, SECRET)) return;
  if (loop_conn_text(conn, "HTTP/1.1 200 OK\r\n\r\n")) serve(server, conn);
}

static void a_transfer_takes_the_sessions_proxy(void **state)
{
  struct rig rig;
  char proxy[60];

  (void)state;
  rig_start(&rig, MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  rig.server.serve = serve_as_proxy;
  mtr_transfer_free(rig.transfer);
  (void)snprintf(proxy, sizeof proxy, "http://user:pass@127.0.0.1:%d", rig.server.port);
  rig.like.proxy = proxy;
  assert_int_equal(
      mtr_transfer_new("http://store.test/a?sig=" SECRET, &rig.like, NULL, &rig.transfer, &rig.err),
      MORTAR_OK);
  assert_int_equal(rig_run(&rig), MORTAR_OK);
  assert_int_equal(rig.taken, 5);
  loop_server_wait_closed(&rig.server);
  assert_ptr_equal(strstr(rig.asked, "GET /a?sig=" SECRET " HTTP/1.1\r\nHost: store.test\r\n"),
                   rig.asked);
  assert_null(strstr(rig.asked, "Proxy-"));
  rig_stop(&rig);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

static void rig_link_tls(struct rig *rig)
{
  char link[200];

  mtr_transfer_free(rig->transfer);
  (void)snprintf(link, sizeof link, "https://localhost:%d/a?sig=" SECRET, rig->server.port);
  assert_int_equal(mtr_transfer_new(link, &rig->like, NULL, &rig->transfer, &rig->err), MORTAR_OK);
}

/* A store that speaks TLS; client_ca: only to clients that show a certificate. */
static void rig_start_tls(struct rig *rig, const struct test_certs *certs, const char *client_ca)
{
  memset(rig, 0, sizeof *rig);
  rig->server = (struct loop_server){.serve = serve,
                                     .arg = rig,
                                     .cert = certs->cert,
                                     .key = certs->key,
                                     .client_ca = client_ca,
                                     .max_tls = TLS1_2_VERSION};
  rig->answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  loop_server_start(&rig->server);
  rig->like = (struct mtr_endpoint_options){.tls = true,
                                            .verify_peer = true,
                                            .verify_host = true,
                                            .ca_file = certs->ca,
                                            .client_cert_file = certs->cert,
                                            .client_key_file = certs->key,
                                            .connect_timeout_ms = 5000};
  rig->wait.deadline = MTR_NEVER;
  rig->request.method = MTR_TRANSFER_GET;
  rig->request.user_agent = "Mortar/test";
  rig->request.stall_ms = 20000;
  rig->request.ends = (struct mtr_transfer_ends){read_some, take_some, rig};
  rig_link_tls(rig);
}

static void the_store_is_trusted_like_the_server(void **state)
{
  struct test_certs certs;
  struct rig rig;

  (void)state;
  test_certs_make(&certs);
  rig_start_tls(&rig, &certs, NULL);
  if (rig_run(&rig) != MORTAR_OK) fail_msg("%s", rig.err.message);
  assert_int_equal(rig.taken, 5);
  rig_stop(&rig);
  rig_start_tls(&rig, &certs, NULL);
  rig.like.ca_file = NULL; /* the system's, which do not know this one */
  rig_link_tls(&rig);
  assert_int_equal(rig_run(&rig), MORTAR_TLS);
  assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_non_null(strstr(rig.err.message, "'tls_ca_file'"));
  rig_stop(&rig);
  test_certs_remove(&certs);
}

/* The session has one, for its own server. */
static void the_store_is_shown_no_client_certificate(void **state)
{
  struct test_certs certs;
  struct rig rig;

  (void)state;
  test_certs_make(&certs);
  rig_start_tls(&rig, &certs, certs.ca);
  assert_int_not_equal(rig_run(&rig), MORTAR_OK);
  assert_int_equal(rig.taken, 0);
  rig_stop(&rig);
  test_certs_remove(&certs);
}

/* ---- Ends that fail -------------------------------------------------------------------------- */

static void a_source_that_ends_early_is_an_error(void **state)
{
  struct rig rig;

  (void)state;
  rig_start(&rig, MTR_TRANSFER_PUT, NULL);
  rig.request.size = 1000;
  rig.left = 400;
  assert_int_equal(rig_run(&rig), MORTAR_INVALID);
  assert_non_null(strstr(rig.err.message, "400 bytes, where 1000"));
  assert_true(rig.reply.source_failed);
  rig_stop(&rig);
}

static void a_taker_that_fails_ends_the_transfer(void **state)
{
  struct rig rig;

  (void)state;
  rig_start(&rig, MTR_TRANSFER_GET, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  rig.refuses = true;
  assert_int_equal(rig_run(&rig), MORTAR_FILE);
  assert_string_equal(rig.err.message, "the disk is full");
  assert_true(rig.reply.source_failed);
  rig_stop(&rig);
}

/* ---- Ends from outside ----------------------------------------------------------------------- */

static int end_at_once(void *ctx)
{
  (void)ctx;
  return 1;
}

static void what_ends_an_exchange_ends_a_transfer(void **state)
{
  static const _Atomic bool canceled = true;
  struct mortar_wake *wake = NULL;
  const struct mtr_wait waits[] = {
      {.deadline = mtr_deadline_after(mtr_clock_now(), 150)},
      {.deadline = MTR_NEVER, .tick = end_at_once},
      {.deadline = MTR_NEVER, .canceled = &canceled},
      {.deadline = MTR_NEVER}, /* the wake-up */
      {.deadline = MTR_NEVER}, /* the stall */
  };
  static const enum mortar_status want[] = {MORTAR_TIMEOUT, MORTAR_INTERRUPTED, MORTAR_CANCELED,
                                            MORTAR_INTERRUPTED, MORTAR_TIMEOUT};
  struct rig rig;
  size_t i;

  (void)state;
  assert_int_equal(mortar_wake_new(&wake, NULL), MORTAR_OK);
  mortar_wake_signal(wake);
  for (i = 0; i < 5; i++) {
    rig_start(&rig, MTR_TRANSFER_GET, NULL);
    rig.server.serve = loop_serve_silence;
    rig.wait = waits[i];
    if (i == 3) rig.wait.wake = wake;
    if (i == 4) rig.request.stall_ms = 150;
    assert_int_equal(rig_run(&rig), want[i]);
    assert_non_null(strstr(rig.err.message, "127.0.0.1:"));
    rig_stop(&rig);
  }
  mortar_wake_free(wake);
}

/* ---- Links ------------------------------------------------------------------------------------
 */

static void links_that_are_none_are_refused(void **state)
{
  static const char *const links[] = {
      "",
      "/a?sig=" SECRET,
      "ftp://127.0.0.1/a?sig=" SECRET,
      "file:///etc/passwd",
      "http://user:" SECRET "@127.0.0.1/a",
      "http://127.0.0.1:99999/a?sig=" SECRET,
      "http://",
      "http://127.0.0.1/a\r\nb?sig=" SECRET,
  };
  static char endless[20000];
  struct mtr_endpoint_options like = {.host = "h", .port = 1};
  struct mtr_transfer *transfer;
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof links / sizeof *links; i++) {
    if (mtr_transfer_new(links[i], &like, NULL, &transfer, &err) == MORTAR_OK)
      fail_msg("%s", links[i]);
    assert_null(transfer);
    assert_null(strstr(err.message, SECRET));
    assert_int_equal(err.outcome, MORTAR_OUTCOME_NOT_SENT);
  }
  memset(endless, 'a', sizeof endless - 1);
  memcpy(endless, "http://a/", 9);
  assert_int_equal(mtr_transfer_new(endless, &like, NULL, &transfer, &err), MORTAR_LIMIT);
  like.tls = true;
  assert_int_equal(mtr_transfer_new("http://a/", &like, NULL, &transfer, &err), MORTAR_TLS);
}

static void a_store_that_is_not_there_was_sent_nothing(void **state)
{
  struct rig rig;

  (void)state;
  rig_start(&rig, MTR_TRANSFER_PUT, NULL);
  loop_server_stop(&rig.server);
  assert_int_equal(rig_run(&rig), MORTAR_CONNECT);
  assert_int_equal(rig.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  mtr_transfer_free(rig.transfer);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_put_says_its_length_and_nothing_of_ours),
      cmocka_unit_test(a_header_can_begin_no_other),
      cmocka_unit_test(replies_are_told_apart),
      cmocka_unit_test(the_text_of_an_error_is_bounded),
      cmocka_unit_test(an_error_without_end_is_not_read_to_it),
      cmocka_unit_test(a_transfer_takes_the_sessions_proxy),
      cmocka_unit_test(the_store_is_trusted_like_the_server),
      cmocka_unit_test(the_store_is_shown_no_client_certificate),
      cmocka_unit_test(a_source_that_ends_early_is_an_error),
      cmocka_unit_test(a_taker_that_fails_ends_the_transfer),
      cmocka_unit_test(what_ends_an_exchange_ends_a_transfer),
      cmocka_unit_test(links_that_are_none_are_refused),
      cmocka_unit_test(a_store_that_is_not_there_was_sent_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
