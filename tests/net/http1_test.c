/* The framing of replies. Every reply is fed whole, split at every byte, and byte by byte: the
 * result must be the same. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "net/http1.h"

enum { MAX_BODY = 1000 };

struct parsed {
  struct mtr_http1 http;
  struct mtr_buf buf;
  struct mortar_error err;
  size_t used; /* bytes fed until the end */
};

static void parsed_init(struct parsed *p)
{
  memset(p, 0, sizeof *p);
  mtr_http1_init(&p->http, MAX_BODY);
  mtr_buf_init(&p->buf, NULL, "reply", 1 << 20);
}

static enum mortar_status feed(struct parsed *p, const char *data, size_t n)
{
  p->used += n;
  assert_int_equal(mtr_buf_append(&p->buf, data, n, NULL), MORTAR_OK);
  return mtr_http1_feed(&p->http, &p->buf, n, &p->err);
}

/* Feeds pieces of `step` bytes, the first one of `first`. */
static enum mortar_status feed_split(struct parsed *p, const char *data, size_t size, size_t first,
                                     size_t step)
{
  enum mortar_status st = MORTAR_MORE;
  size_t at = 0, n = first;

  while (at < size && st == MORTAR_MORE) {
    if (n > size - at) n = size - at;
    st = feed(p, data + at, n);
    at += n;
    n = step;
  }
  return st;
}

static void assert_same_span(struct mtr_span a, struct mtr_span b)
{
  assert_int_equal(a.size, b.size);
  if (a.size) assert_memory_equal(a.data, b.data, a.size);
}

static void assert_same_reply(const struct parsed *a, const struct parsed *b)
{
  struct mtr_reply ra, rb;

  mtr_http1_reply(&a->http, &a->buf, &ra);
  mtr_http1_reply(&b->http, &b->buf, &rb);
  assert_int_equal(ra.status, rb.status);
  assert_int_equal(ra.retry_after_ms, rb.retry_after_ms);
  assert_same_span(ra.body, rb.body);
  assert_same_span(ra.content_type, rb.content_type);
  assert_same_span(ra.server_message, rb.server_message);
  assert_int_equal(mtr_http1_reusable(&a->http), mtr_http1_reusable(&b->http));
}

/* Parses text whole into *p, and in every split into something that must be equal. */
static enum mortar_status parse(struct parsed *p, const char *text, size_t size)
{
  enum mortar_status st;
  size_t first;

  parsed_init(p);
  st = feed(p, text, size);
  for (first = 1; first < size; first++) {
    struct parsed q;
    enum mortar_status other;
    parsed_init(&q);
    other = feed_split(&q, text, size, first, first == 1 ? 1 : size);
    assert_int_equal(other, st);
    if (st == MORTAR_OK) assert_same_reply(p, &q);
    mtr_buf_fini(&q.buf);
  }
  return st;
}

/* For a reply that must be complete: checks status and body, and that it is not complete when its
 * last byte is missing, nor good when there is one byte too many. */
static void expect_reply(const char *text, int status, const char *body, struct mtr_reply *out)
{
  static struct parsed p;
  struct parsed cut;
  size_t size = strlen(text);

  mtr_buf_fini(&p.buf);
  assert_int_equal(parse(&p, text, size), MORTAR_OK);
  mtr_http1_reply(&p.http, &p.buf, out);
  assert_int_equal(out->status, status);
  assert_same_span(out->body, mtr_span_text(body));
  for (; size-- > 0;) {
    parsed_init(&cut);
    assert_int_equal(feed(&cut, text, size), MORTAR_MORE);
    assert_int_equal(mtr_http1_eof(&cut.http, &cut.buf, &cut.err), MORTAR_IO);
    mtr_buf_fini(&cut.buf);
  }
  parsed_init(&cut);
  assert_int_equal(mtr_buf_append(&cut.buf, text, strlen(text), NULL), MORTAR_OK);
  assert_int_equal(feed(&cut, "x", 1), MORTAR_PROTOCOL);
  assert_non_null(strstr(cut.err.message, "1 bytes follow"));
  mtr_buf_fini(&cut.buf);
}

static void expect_failure(const char *text, enum mortar_status status, const char *words)
{
  struct parsed p;

  assert_int_equal(parse(&p, text, strlen(text)), status);
  if (!strstr(p.err.message, words)) print_error("%s\n", p.err.message);
  assert_non_null(strstr(p.err.message, words));
  mtr_buf_fini(&p.buf);
}

#define HEAD "HTTP/1.1 200 OK\r\n"

static void whole_replies(void **state)
{
  struct mtr_reply r;

  (void)state;
  expect_reply(HEAD "Content-Length: 5\r\nContent-Type: application/x-thrift\r\n\r\nhello", 200,
               "hello", &r);
  assert_same_span(r.content_type, mtr_span_text("application/x-thrift"));
  assert_int_equal(r.server_message.size, 0);
  assert_int_equal(r.retry_after_ms, -1);
  expect_reply("HTTP/1.1 200\r\ncontent-length:\t0 \r\n\r\n", 200, "", &r);
  expect_reply("HTTP/1.1 204 No Content\r\n\r\n", 204, "", &r);
  expect_reply("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 304, "", &r);
  expect_reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" HEAD
               "Content-Length: 2\r\n\r\nhi",
               200, "hi", &r);
  expect_reply(HEAD "Content-Encoding: identity\r\nContent-Length: 1\r\n\r\n\r", 200, "\r", &r);
}

static void chunked_replies(void **state)
{
  struct mtr_reply r;

  (void)state;
  expect_reply(HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "hello", &r);
  expect_reply(HEAD
               "Transfer-Encoding: Chunked\r\n\r\n"
               "3;a=b\r\nabc\r\n00A \r\n0123456789\r\n1\r\n\n\r\n0;x\r\nT: 1\r\nU: 2\r\n\r\n",
               200, "abc0123456789\n", &r);
  expect_reply(HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", &r);
}

static void error_headers(void **state)
{
  struct mtr_reply r;

  (void)state;
  expect_reply(
      "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 7\r\n"
      "x-databricks-reason-phrase: phrase\r\nX-ThriftServer-Error-Message: thrift\r\n"
      "x-databricks-error-or-redirect-message: gateway\r\n\r\n",
      503, "", &r);
  assert_same_span(r.server_message, mtr_span_text("thrift"));
  assert_int_equal(r.retry_after_ms, 7000);
  expect_reply(
      "HTTP/1.1 400 B\r\nContent-Length: 0\r\n"
      "x-databricks-error-or-redirect-message: gateway\r\n"
      "x-databricks-reason-phrase: phrase\r\nx-thriftserver-error-message:\r\n\r\n",
      400, "", &r);
  assert_same_span(r.server_message, mtr_span_text("gateway"));
  /* The body of a compressed error page is dropped; the status is what counts. */
  expect_reply("HTTP/1.1 502 B\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 502, "",
               &r);
}

static void retry_after_forms(void **state)
{
  static const struct {
    const char *lines;
    int64_t ms;
  } cases[] = {
      {"Retry-After: 0\r\n", 0},
      {"Retry-After: 120\r\n", 120000},
      {"Retry-After: 99999999999999999999\r\n", INT64_C(316224000000)},
      {"Retry-After: soon\r\n", 0},
      {"Retry-After: -5\r\n", 0},
      {"Retry-After:\r\n", 0},
      {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:07 GMT\r\n",
       30000},
      {"Date: Sun, 06 Nov 1994 08:50:00 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 0},
      {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 0},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_reply r;
    char text[300];
    (void)snprintf(text, sizeof text, "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n%s\r\n",
                   cases[i].lines);
    expect_reply(text, 429, "", &r);
    assert_int_equal(r.retry_after_ms, cases[i].ms);
  }
}

static void malformed_heads(void **state)
{
  (void)state;
  expect_failure("HTTP/1.1 20 OK\r\n\r\n", MORTAR_PROTOCOL, "status line");
  expect_failure("HTTP/1.1 099 OK\r\n\r\n", MORTAR_PROTOCOL, "status line");
  expect_failure("HTTP/1.1 200OK\r\n\r\n", MORTAR_PROTOCOL, "status line");
  expect_failure("HTTP/1.2 200 OK\r\n\r\n", MORTAR_PROTOCOL, "status line");
  expect_failure(HEAD "A: 1\r\n B: 2\r\n\r\n", MORTAR_PROTOCOL, "folds");
  expect_failure(HEAD "no colon\r\n\r\n", MORTAR_PROTOCOL, "colon");
  expect_failure(HEAD "A : 1\r\n\r\n", MORTAR_PROTOCOL, "forbidden");
  expect_failure(HEAD ": 1\r\n\r\n", MORTAR_PROTOCOL, "forbidden");
  expect_failure(HEAD "A: 1\n\r\nContent-Length: 0\r\n\r\n", MORTAR_PROTOCOL, "forbidden");
  expect_failure(HEAD "A: 1\rB\r\n\r\n", MORTAR_PROTOCOL, "forbidden");
  expect_failure(HEAD "\r\n", MORTAR_PROTOCOL, "neither");
  expect_failure("HTTP/1.1 101 Switching Protocols\r\n\r\n", MORTAR_PROTOCOL, "101");
  expect_failure(HEAD "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n", MORTAR_PROTOCOL,
                 "compressed");
}

/* RFC 9110: visible characters, blanks, tabs and the bytes above ASCII; wherever they stand, as
 * values are looked at eight bytes at a time. */
static void every_byte_in_a_value(void **state)
{
  static const char text[] = HEAD "A: 0123456789abcdefghi\r\nContent-Length: 0\r\n\r\n";
  const size_t value = sizeof HEAD - 1 + 3;
  char changed[sizeof text];
  size_t at;
  int byte;

  (void)state;
  for (at = 0; at < 19; at++) {
    for (byte = 0; byte < 256; byte++) {
      const bool allowed = (byte >= 0x20 && byte != 0x7F) || byte == '\t';
      struct parsed p;
      memcpy(changed, text, sizeof text);
      changed[value + at] = (char)byte;
      assert_int_equal(parse(&p, changed, sizeof text - 1), allowed ? MORTAR_OK : MORTAR_PROTOCOL);
      mtr_buf_fini(&p.buf);
    }
  }
}

static void malformed_lengths(void **state)
{
  (void)state;
  expect_failure(HEAD "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", MORTAR_PROTOCOL,
                 "more than one");
  expect_failure(HEAD "Content-Length: 1, 1\r\n\r\n", MORTAR_PROTOCOL, "not a number");
  expect_failure(HEAD "Content-Length: -1\r\n\r\n", MORTAR_PROTOCOL, "not a number");
  expect_failure(HEAD "Content-Length:\r\n\r\n", MORTAR_PROTOCOL, "not a number");
  expect_failure(HEAD "Content-Length: 99999999999999999999\r\n\r\n", MORTAR_PROTOCOL,
                 "not a number");
  expect_failure(HEAD "Content-Length: 1001\r\n\r\n", MORTAR_LIMIT,
                 "1001 bytes crosses the limit of 1000");
  expect_failure(HEAD "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", MORTAR_PROTOCOL,
                 "chunked and has");
  expect_failure(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", MORTAR_PROTOCOL, "plain");
  expect_failure(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                 MORTAR_PROTOCOL, "plain");
  expect_failure("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", MORTAR_PROTOCOL,
                 "HTTP/1.0");
}

static void malformed_chunks(void **state)
{
#define CHUNKS HEAD "Transfer-Encoding: chunked\r\n\r\n"
  (void)state;
  expect_failure(CHUNKS "x\r\n", MORTAR_PROTOCOL, "was due");
  expect_failure(CHUNKS "\r\n", MORTAR_PROTOCOL, "was due");
  expect_failure(CHUNKS "5x\r\n", MORTAR_PROTOCOL, "in a chunk size");
  expect_failure(CHUNKS "-5\r\n", MORTAR_PROTOCOL, "was due");
  expect_failure(CHUNKS "5\n", MORTAR_PROTOCOL, "in a chunk size");
  expect_failure(CHUNKS "5\rx", MORTAR_PROTOCOL, "end of a line");
  expect_failure(CHUNKS "2\r\nabX", MORTAR_PROTOCOL, "end of a line");
  expect_failure(CHUNKS "2\r\nab\rX", MORTAR_PROTOCOL, "end of a line");
  expect_failure(CHUNKS "5;\n", MORTAR_PROTOCOL, "line feed");
  expect_failure(CHUNKS "00000000000000001\r\n", MORTAR_PROTOCOL, "too large");
  expect_failure(CHUNKS "FFFFFFFFFFFFFFFF\r\n", MORTAR_PROTOCOL, "too large");
  expect_failure(CHUNKS "3E9\r\n", MORTAR_LIMIT, "1001 bytes crosses the limit of 1000");
  expect_failure(CHUNKS "1\r\nx\r\n3E8\r\n", MORTAR_LIMIT, "1001 bytes");
}

static void things_that_are_no_http(void **state)
{
  static const char frame[] = "\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80";
  struct parsed p;

  (void)state;
  expect_failure("SSH-2.0-OpenSSH_9.2\r\n", MORTAR_PROTOCOL, "does not speak HTTP/1.1");
  expect_failure("<html><body>Sign in</body></html>", MORTAR_PROTOCOL, "its reply begins \"<");
  expect_failure("HTTP/2 200\r\n\r\n", MORTAR_PROTOCOL, "does not speak HTTP/1.1");
  parsed_init(&p);
  assert_int_equal(feed(&p, frame, sizeof frame - 1), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "HTTP/2 only"));
  mtr_buf_fini(&p.buf);
  parsed_init(&p);
  assert_int_equal(feed(&p, "\x15\3\1\0\2\2F", 7), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "TLS"));
  mtr_buf_fini(&p.buf);
}

/* text is `head`, then `line` so many times, then an empty line. */
static void expect_repeated(const char *head, const char *line, int times,
                            enum mortar_status status, const char *words)
{
  struct parsed p;
  enum mortar_status st;
  int i;

  parsed_init(&p);
  st = feed(&p, head, strlen(head));
  for (i = 0; i < times && st == MORTAR_MORE; i++)
    st = feed(&p, line, strlen(line));
  if (st == MORTAR_MORE) st = feed(&p, "\r\n", 2);
  assert_int_equal(st, status);
  if (words) assert_non_null(strstr(p.err.message, words));
  mtr_buf_fini(&p.buf);
}

static void limits(void **state)
{
  static char line[1025];

  (void)state;
  memset(line, 'x', 1024);
  line[1] = ':';
  memcpy(line + 1022, "\r\n", 2);
  expect_repeated(HEAD "Content-Length: 0\r\n", line, 63, MORTAR_OK, NULL);
  expect_repeated(HEAD "Content-Length: 0\r\n", line, 64, MORTAR_LIMIT, "65536 bytes");
  expect_repeated(HEAD "Content-Length: 0\r\n", "A: 1\r\n", MTR_HTTP1_MAX_LINES - 1, MORTAR_OK,
                  NULL);
  expect_repeated(HEAD "Content-Length: 0\r\n", "A: 1\r\n", MTR_HTTP1_MAX_LINES, MORTAR_LIMIT,
                  "200 header lines");
  expect_repeated(CHUNKS "0\r\n", line, 63, MORTAR_OK, NULL);
  expect_repeated(CHUNKS "0\r\n", line, 65, MORTAR_LIMIT, "trailers");
  expect_repeated("", "HTTP/1.1 100 C\r\n\r\n", MTR_HTTP1_MAX_INTERIM + 1, MORTAR_LIMIT, "interim");
}

static void body_until_close(void **state)
{
  struct parsed p;
  struct mtr_reply r;
  char big[MAX_BODY + 1];
  static const char text[] = "HTTP/1.0 502 Bad\r\nContent-Type: text/html\r\n\r\n<p>no";

  (void)state;
  assert_int_equal(parse(&p, text, sizeof text - 1), MORTAR_MORE);
  assert_int_equal(mtr_http1_eof(&p.http, &p.buf, &p.err), MORTAR_OK);
  mtr_http1_reply(&p.http, &p.buf, &r);
  assert_same_span(r.body, mtr_span_text("<p>no"));
  assert_false(mtr_http1_reusable(&p.http));
  mtr_buf_fini(&p.buf);
  parsed_init(&p);
  memset(big, 'x', sizeof big);
  assert_int_equal(feed(&p, "HTTP/1.1 502 B\r\n\r\n", 18), MORTAR_MORE);
  assert_int_equal(feed(&p, big, MAX_BODY), MORTAR_MORE);
  assert_int_equal(feed(&p, big, 1), MORTAR_LIMIT);
  mtr_buf_fini(&p.buf);
}

static bool reusable(const char *head)
{
  struct parsed p;
  bool yes;

  parsed_init(&p);
  assert_int_equal(feed(&p, head, strlen(head)), MORTAR_OK);
  yes = mtr_http1_reusable(&p.http);
  mtr_buf_fini(&p.buf);
  return yes;
}

static void keeping_the_connection(void **state)
{
  (void)state;
  assert_true(reusable(HEAD "Content-Length: 0\r\n\r\n"));
  assert_false(reusable(HEAD "Content-Length: 0\r\nConnection: close\r\n\r\n"));
  assert_false(reusable(HEAD "Content-Length: 0\r\nConnection: foo , CLOSE\r\n\r\n"));
  assert_true(reusable(HEAD "Content-Length: 0\r\nConnection: closed\r\n\r\n"));
  assert_false(reusable("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  assert_true(reusable("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n"));
}

/* A length is believed up to a point only: beyond it room grows with what has come. */
static void room_for_long_bodies(void **state)
{
  static const char long_head[] = HEAD "Content-Length: 2147483648\r\n\r\n";
  struct parsed p;
  char head[100];

  (void)state;
  parsed_init(&p);
  p.http.max_body = SIZE_MAX / 4;
  (void)snprintf(head, sizeof head, HEAD "Content-Length: %d\r\n\r\n", 5000000);
  assert_int_equal(feed(&p, head, strlen(head)), MORTAR_MORE);
  assert_int_equal(mtr_http1_room(&p.http, &p.buf), 5000001);
  mtr_buf_fini(&p.buf);
  parsed_init(&p);
  p.http.max_body = SIZE_MAX / 4;
  assert_int_equal(feed(&p, long_head, strlen(long_head)), MORTAR_MORE);
  assert_int_equal(mtr_http1_room(&p.http, &p.buf), MTR_HTTP1_READ_SIZE);
  p.buf.size = 1 << 20; /* as if a megabyte were there */
  assert_int_equal(mtr_http1_room(&p.http, &p.buf), 1 << 20);
  mtr_buf_fini(&p.buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_replies),           cmocka_unit_test(chunked_replies),
      cmocka_unit_test(error_headers),           cmocka_unit_test(retry_after_forms),
      cmocka_unit_test(malformed_heads),         cmocka_unit_test(every_byte_in_a_value),
      cmocka_unit_test(malformed_lengths),       cmocka_unit_test(malformed_chunks),
      cmocka_unit_test(things_that_are_no_http), cmocka_unit_test(limits),
      cmocka_unit_test(body_until_close),        cmocka_unit_test(keeping_the_connection),
      cmocka_unit_test(room_for_long_bodies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
