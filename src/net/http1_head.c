/* The head of a reply: status line and header lines. Keeps the places of the headers that somebody
 * asks for; values are not decoded or judged any further here. */
#include <ctype.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "net/http1.h"

/* One head being read: the bytes and where their values go. */
struct head {
  struct mtr_http1 *http;
  const uint8_t *base;
  struct mortar_error *err;
};

static struct mtr_span trim(struct mtr_span s)
{
  while (s.size && (s.data[0] == ' ' || s.data[0] == '\t'))
    s = mtr_span_of(s.data + 1, s.size - 1);
  while (s.size && (s.data[s.size - 1] == ' ' || s.data[s.size - 1] == '\t'))
    s.size--;
  return s;
}

static bool is(struct mtr_span value, const char *text)
{
  return mtr_text_same(value, mtr_span_text(text));
}

static struct mtr_http1_piece piece_of(const struct head *h, struct mtr_span value)
{
  struct mtr_http1_piece piece = {(size_t)(value.data - h->base), value.size};
  return piece;
}

/* ---- What is done with each header -------------------------------------------------------- */

static enum mortar_status on_length(struct head *h, struct mtr_span value)
{
  uint64_t n;

  if (h->http->has_length)
    return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply has more than one Content-Length");
  if (!mtr_text_u64(value, SIZE_MAX / 2, &n))
    return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply's Content-Length is not a number: %.*s",
                    MTR_SPAN_ARG(mtr_span_of(value.data, value.size > 40 ? 40 : value.size)));
  h->http->has_length = true;
  h->http->length = (size_t)n;
  return MORTAR_OK;
}

static enum mortar_status on_transfer(struct head *h, struct mtr_span value)
{
  if (h->http->chunked || !is(value, "chunked"))
    return mtr_fail(h->err, MORTAR_PROTOCOL,
                    "the reply's Transfer-Encoding is not one plain \"chunked\": %.*s",
                    MTR_SPAN_ARG(mtr_span_of(value.data, value.size > 40 ? 40 : value.size)));
  h->http->chunked = true;
  return MORTAR_OK;
}

/* A list of words; only two of them mean something here. */
static enum mortar_status on_connection(struct head *h, struct mtr_span value)
{
  while (value.size) {
    const uint8_t *comma = memchr(value.data, ',', value.size);
    size_t n = comma ? (size_t)(comma - value.data) : value.size, step = comma ? n + 1 : n;
    struct mtr_span word = trim(mtr_span_of(value.data, n));
    if (is(word, "close")) h->http->close = true;
    if (is(word, "keep-alive")) h->http->keep_alive = true;
    value = mtr_span_of(value.data + step, value.size - step);
  }
  return MORTAR_OK;
}

static enum mortar_status on_encoding(struct head *h, struct mtr_span value)
{
  if (value.size && !is(value, "identity")) h->http->encoded = true;
  return MORTAR_OK;
}

static enum mortar_status on_type(struct head *h, struct mtr_span value)
{
  h->http->content_type = piece_of(h, value);
  return MORTAR_OK;
}

static enum mortar_status on_retry_after(struct head *h, struct mtr_span value)
{
  h->http->retry_after = piece_of(h, value);
  return MORTAR_OK;
}

static enum mortar_status on_date(struct head *h, struct mtr_span value)
{
  h->http->date = piece_of(h, value);
  return MORTAR_OK;
}

/* The Thrift front end knows most about an error, then the gateway; the reason phrase is a word. */
static enum mortar_status keep_message(struct head *h, struct mtr_span value, int rank)
{
  if (value.size && rank > h->http->message_rank) {
    h->http->message = piece_of(h, value);
    h->http->message_rank = rank;
  }
  return MORTAR_OK;
}

static enum mortar_status on_thrift_message(struct head *h, struct mtr_span value)
{
  return keep_message(h, value, 3);
}

static enum mortar_status on_gateway_message(struct head *h, struct mtr_span value)
{
  return keep_message(h, value, 2);
}

static enum mortar_status on_reason_phrase(struct head *h, struct mtr_span value)
{
  return keep_message(h, value, 1);
}

/* The length and the first letter tell nearly all names apart before they are compared. */
#define NAME(text) text, sizeof text - 1
static const struct {
  const char *name;
  size_t size;
  enum mortar_status (*on)(struct head *h, struct mtr_span value);
} headers[] = {
    {NAME("content-length"), on_length},
    {NAME("transfer-encoding"), on_transfer},
    {NAME("connection"), on_connection},
    {NAME("content-encoding"), on_encoding},
    {NAME("content-type"), on_type},
    {NAME("retry-after"), on_retry_after},
    {NAME("date"), on_date},
    {NAME("x-thriftserver-error-message"), on_thrift_message},
    {NAME("x-databricks-error-or-redirect-message"), on_gateway_message},
    {NAME("x-databricks-reason-phrase"), on_reason_phrase},
};
#undef NAME

static enum mortar_status handle(struct head *h, struct mtr_span name, struct mtr_span value)
{
  size_t i;

  for (i = 0; i < sizeof headers / sizeof *headers; i++) {
    const char *known = headers[i].name;
    if (name.size == headers[i].size && (name.data[0] | 0x20) == known[0] && is(name, known))
      return headers[i].on(h, value);
  }
  return MORTAR_OK;
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* What a byte may be part of: V a value, T a name (a token of RFC 9110) or a value. */
enum { V = 1, T = 3, IN_VALUE = 1, IN_NAME = 2 };

#define V8 V, V, V, V, V, V, V, V
/* clang-format off */
static const uint8_t classes[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, V, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    V, T, V, T, T, T, T, T, V, V, T, T, V, T, T, V,
    T, T, T, T, T, T, T, T, T, T, V, V, V, V, V, V,
    V, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T,
    T, T, T, T, T, T, T, T, T, T, T, V, V, V, T, T,
    T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T,
    T, T, T, T, T, T, T, T, T, T, T, V, T, V, T, 0,
    V8, V8, V8, V8, V8, V8, V8, V8,
    V8, V8, V8, V8, V8, V8, V8, V8,
};
/* clang-format on */
#undef V8

static bool is_all(struct mtr_span text, uint8_t class)
{
  size_t i;

  for (i = 0; i < text.size; i++)
    if (!(classes[text.data[i]] & class)) return false;
  return true;
}

/* Whether all eight bytes are letters, signs and blanks, the usual case of a value. May say false
 * of others that are fine. */
static bool is_plain_word(const uint8_t *p)
{
  const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
  uint64_t word;

  memcpy(&word, p, sizeof word);
  /* A byte below 0x20 borrows in the first, 0x7F carries in the second, and others are above. */
  return (((word - ones * 0x20) | (word + ones) | word) & tops) == 0;
}

static bool is_value(struct mtr_span text)
{
  while (text.size >= 8 && is_plain_word(text.data))
    text = mtr_span_of(text.data + 8, text.size - 8);
  return is_all(text, IN_VALUE);
}

static enum mortar_status parse_header(struct head *h, struct mtr_span line)
{
  const uint8_t *colon = memchr(line.data, ':', line.size);
  struct mtr_span name, value;

  if (line.data[0] == ' ' || line.data[0] == '\t')
    return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply folds a header over two lines");
  if (!colon) return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply has a header without a colon");
  name = mtr_span_of(line.data, (size_t)(colon - line.data));
  value = trim(mtr_span_of(colon + 1, line.size - name.size - 1));
  if (!name.size || !is_all(name, IN_NAME) || !is_value(value))
    return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply has a header with forbidden characters");
  return handle(h, name, value);
}

/* "HTTP/1.1 200 OK"; the reason and the blank before it may be missing. */
static enum mortar_status parse_status_line(struct head *h, struct mtr_span line)
{
  uint64_t status = 0;
  const bool good = line.size >= 12 && memcmp(line.data, "HTTP/1.", 7) == 0 &&
                    (line.data[7] == '0' || line.data[7] == '1') && line.data[8] == ' ' &&
                    mtr_text_u64(mtr_span_of(line.data + 9, 3), 999, &status) && status >= 100 &&
                    (line.size == 12 || line.data[12] == ' ');

  if (!good || !is_value(line))
    return mtr_fail(h->err, MORTAR_PROTOCOL, "the reply's status line is malformed");
  h->http->http10 = line.data[7] == '0';
  h->http->status = (int)status;
  return MORTAR_OK;
}

/* The line at *pos without its CR LF; the head ends with an empty line, so there always is one. */
static struct mtr_span next_line(const uint8_t **pos, const uint8_t *end)
{
  const uint8_t *start = *pos, *cr = memchr(start, '\r', (size_t)(end - start));

  while (cr && end - cr >= 2 && cr[1] != '\n')
    cr = memchr(cr + 1, '\r', (size_t)(end - cr) - 1);
  if (!cr || end - cr < 2) cr = end;
  *pos = cr < end ? cr + 2 : end;
  return mtr_span_of(start, (size_t)(cr - start));
}

enum mortar_status mtr_http1_parse_head(struct mtr_http1 *http, const uint8_t *head, size_t size,
                                        struct mortar_error *err)
{
  struct head h = {http, head, err};
  const uint8_t *pos = head, *end = head + size;
  struct mtr_span line = next_line(&pos, end);
  int lines;

  MTR_TRY(parse_status_line(&h, line));
  for (lines = 0; (line = next_line(&pos, end)).size; lines++) {
    if (lines == MTR_HTTP1_MAX_LINES)
      return mtr_fail(err, MORTAR_LIMIT, "the reply has more than %d header lines",
                      (int)MTR_HTTP1_MAX_LINES);
    MTR_TRY(parse_header(&h, line));
  }
  if (http->chunked && (http->has_length || http->http10))
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the reply is chunked and has a Content-Length, or is HTTP/1.0");
  return MORTAR_OK;
}

/* ---- Things that are no HTTP/1 ------------------------------------------------------------- */

/* An HTTP/2 server greets with a SETTINGS frame on stream 0: length, type 4, flags, stream. */
static bool is_http2_greeting(const uint8_t *p, size_t size)
{
  return size >= 9 && p[0] == 0 && p[3] == 4 && (p[5] | p[6] | p[7] | p[8]) == 0;
}

/* A TLS alert record, the answer to a plain request on a TLS port. */
static bool is_tls_record(const uint8_t *p, size_t size)
{
  return size >= 3 && p[0] == 0x15 && p[1] == 3;
}

enum mortar_status mtr_http1_check_start(const uint8_t *data, size_t size, struct mortar_error *err)
{
  static const char start[] = "HTTP/1.";
  char shown[33];
  size_t i, n = size < sizeof start - 1 ? size : sizeof start - 1;

  if (n == 0 || memcmp(data, start, n) == 0) return MORTAR_MORE;
  if (is_http2_greeting(data, size))
    return mtr_fail(err, MORTAR_PROTOCOL, "the server speaks HTTP/2 only; HTTP/1.1 is needed");
  if (is_tls_record(data, size))
    return mtr_fail(err, MORTAR_PROTOCOL, "the server speaks TLS on this port; use https");
  for (i = 0; i < size && i < sizeof shown - 1; i++)
    shown[i] = isprint(data[i]) && data[i] < 0x7F ? (char)data[i] : '.';
  shown[i] = '\0';
  return mtr_fail(err, MORTAR_PROTOCOL,
                  "the server does not speak HTTP/1.1: its reply begins \"%s\"", shown);
}
