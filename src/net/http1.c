/* Framing of a reply: finds the end of the head, then of the body. http1_head.c reads the head. */
#include "net/http1.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "net/http_date.h"

enum state {
  HEAD,
  LENGTH,      /* `left` bytes of body are missing */
  UNTIL_CLOSE, /* the body ends with the connection */
  CHUNK_SIZE,
  CHUNK_EXTENSION,
  CHUNK_SIZE_LF,
  CHUNK_DATA, /* `left` bytes of chunk are missing */
  CHUNK_DATA_CR,
  CHUNK_DATA_LF,
  TRAILER_START,
  TRAILER_LINE,
  TRAILER_LF,
  TRAILER_END_LF,
  DONE
};

/* A Retry-After further away than ten years is taken for ten years. */
static const uint64_t max_retry_seconds = UINT64_C(10) * 366 * 24 * 3600;

void mtr_http1_init(struct mtr_http1 *http, size_t max_body)
{
  memset(http, 0, sizeof *http);
  http->max_body = max_body;
  http->state = HEAD;
}

/* ---- Head ---------------------------------------------------------------------------------- */

/* Where the head ends, behind its empty line; 0: not yet. Starts where the last search ended. */
static size_t find_head_end(struct mtr_http1 *http, const struct mtr_buf *buf)
{
  size_t at = http->searched > 3 ? http->searched - 3 : 0;

  while (at + 4 <= buf->size) {
    const uint8_t *cr = memchr(buf->data + at, '\r', buf->size - at - 3);
    if (!cr) break;
    at = (size_t)(cr - buf->data) + 1;
    if (memcmp(cr, "\r\n\r\n", 4) == 0) return at + 3;
  }
  http->searched = buf->size;
  return 0;
}

/* An interim reply is dropped; the parser starts again with what stands behind it. */
static enum mortar_status drop_interim(struct mtr_http1 *http, struct mtr_buf *buf, size_t size,
                                       struct mortar_error *err)
{
  const int interim = http->interim + 1;

  if (http->status == 101)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server wants to switch to another protocol (101)");
  if (interim > MTR_HTTP1_MAX_INTERIM)
    return mtr_fail(err, MORTAR_LIMIT, "the server sent more than %d interim replies",
                    (int)MTR_HTTP1_MAX_INTERIM);
  memmove(buf->data, buf->data + size, buf->size - size);
  buf->size -= size;
  mtr_http1_init(http, http->max_body);
  http->interim = interim;
  return MORTAR_OK;
}

static enum mortar_status check_limit(const struct mtr_http1 *http, size_t body,
                                      struct mortar_error *err)
{
  if (body <= http->max_body) return MORTAR_OK;
  return mtr_fail(err, MORTAR_LIMIT, "a reply of %zu bytes crosses the limit of %zu", body,
                  http->max_body);
}

/* The state for the body that the head announces. */
static enum mortar_status start_body(struct mtr_http1 *http, struct mortar_error *err)
{
  if (http->encoded && http->status < 300)
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the reply is compressed (Content-Encoding) though identity was asked for");
  if (http->status == 204 || http->status == 304) {
    http->state = DONE;
  } else if (http->chunked) {
    http->state = CHUNK_SIZE;
  } else if (http->has_length) {
    MTR_TRY(check_limit(http, http->length, err));
    http->left = http->length;
    http->state = http->left ? LENGTH : DONE;
  } else if (http->status < 300) {
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the reply has neither a Content-Length nor chunks: its end can't be seen");
  } else {
    http->state = UNTIL_CLOSE;
    http->close = true;
  }
  return MORTAR_OK;
}

static enum mortar_status feed_head(struct mtr_http1 *http, struct mtr_buf *buf,
                                    struct mortar_error *err)
{
  while (http->state == HEAD) {
    enum mortar_status st = mtr_http1_check_start(buf->data, buf->size, err);
    size_t end;
    if (st != MORTAR_MORE) return st;
    end = find_head_end(http, buf);
    if (end > MTR_HTTP1_MAX_HEAD || (end == 0 && buf->size > MTR_HTTP1_MAX_HEAD))
      return mtr_fail(err, MORTAR_LIMIT, "the head of the reply is longer than %d bytes",
                      (int)MTR_HTTP1_MAX_HEAD);
    if (end == 0) return MORTAR_MORE;
    MTR_TRY(mtr_http1_parse_head(http, buf->data, end, err));
    if (http->status < 200) {
      MTR_TRY(drop_interim(http, buf, end, err));
      continue;
    }
    http->head_size = end;
    MTR_TRY(start_body(http, err));
  }
  return MORTAR_OK;
}

/* ---- Body ---------------------------------------------------------------------------------- */

static enum mortar_status bad_chunk(struct mortar_error *err, const char *where)
{
  return mtr_fail(err, MORTAR_PROTOCOL, "the chunked reply is malformed %s", where);
}

static int hex_digit(uint8_t c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static enum mortar_status chunk_size_byte(struct mtr_http1 *http, uint8_t c,
                                          struct mortar_error *err)
{
  const int digit = hex_digit(c);

  if (digit >= 0) {
    if (++http->chunk_digits > MTR_HTTP1_MAX_CHUNK_DIGITS || http->left > SIZE_MAX >> 6)
      return bad_chunk(err, "in a chunk size: it is too large");
    http->left = http->left * 16 + (size_t)digit;
    return MORTAR_OK;
  }
  if (http->chunk_digits == 0) return bad_chunk(err, "where a chunk size was due");
  if (c == '\r')
    http->state = CHUNK_SIZE_LF;
  else if (c == ';' || c == ' ' || c == '\t')
    http->state = CHUNK_EXTENSION;
  else
    return bad_chunk(err, "in a chunk size");
  return MORTAR_OK;
}

/* Extensions and trailers are skipped, and counted: they are the part without another limit. */
static enum mortar_status skipped_byte(struct mtr_http1 *http, uint8_t c, enum state at_cr,
                                       struct mortar_error *err)
{
  if (c == '\n') return bad_chunk(err, "by a line feed of its own");
  if (++http->overhead > MTR_HTTP1_MAX_HEAD)
    return mtr_fail(err, MORTAR_LIMIT, "chunk extensions and trailers are longer than %d bytes",
                    (int)MTR_HTTP1_MAX_HEAD);
  if (c == '\r') http->state = (int)at_cr;
  return MORTAR_OK;
}

static enum mortar_status expect(struct mtr_http1 *http, uint8_t c, char want, enum state next,
                                 struct mortar_error *err)
{
  if (c != (uint8_t)want) return bad_chunk(err, "at the end of a line or chunk");
  http->state = (int)next;
  return MORTAR_OK;
}

static enum mortar_status chunk_begins(struct mtr_http1 *http, uint8_t c, struct mortar_error *err)
{
  size_t whole;

  MTR_TRY(expect(http, c, '\n', http->left ? CHUNK_DATA : TRAILER_START, err));
  http->chunk_digits = 0;
  if (!http->left) return MORTAR_OK;
  if (http->left > SIZE_MAX - http->body_size) return bad_chunk(err, "in a chunk size");
  whole = http->body_size + http->left;
  return check_limit(http, whole, err);
}

/* One byte of the framing around the chunks. */
static enum mortar_status chunk_byte(struct mtr_http1 *http, uint8_t c, struct mortar_error *err)
{
  switch (http->state) {
    case CHUNK_SIZE:
      return chunk_size_byte(http, c, err);
    case CHUNK_EXTENSION:
      return skipped_byte(http, c, CHUNK_SIZE_LF, err);
    case CHUNK_SIZE_LF:
      return chunk_begins(http, c, err);
    case CHUNK_DATA_CR:
      return expect(http, c, '\r', CHUNK_DATA_LF, err);
    case CHUNK_DATA_LF:
      return expect(http, c, '\n', CHUNK_SIZE, err);
    case TRAILER_START:
      http->state = TRAILER_LINE;
      return skipped_byte(http, c, TRAILER_END_LF, err);
    case TRAILER_LINE:
      return skipped_byte(http, c, TRAILER_LF, err);
    case TRAILER_LF:
      return expect(http, c, '\n', TRAILER_START, err);
    default:
      return expect(http, c, '\n', DONE, err);
  }
}

/* Moves the data of the chunks together, right behind the body so far. */
static enum mortar_status feed_chunks(struct mtr_http1 *http, const uint8_t **pos,
                                      const uint8_t *end, uint8_t *body, struct mortar_error *err)
{
  while (*pos < end && http->state != DONE) {
    if (http->state == CHUNK_DATA) {
      size_t have = (size_t)(end - *pos), n = have < http->left ? have : http->left;
      memmove(body + http->body_size, *pos, n);
      *pos += n;
      http->body_size += n;
      http->left -= n;
      if (!http->left) http->state = CHUNK_DATA_CR;
    } else {
      MTR_TRY(chunk_byte(http, *(*pos)++, err));
    }
  }
  return MORTAR_OK;
}

static void feed_length(struct mtr_http1 *http, const uint8_t **pos, const uint8_t *end)
{
  size_t have = (size_t)(end - *pos), n = have < http->left ? have : http->left;

  http->body_size += n;
  http->left -= n;
  *pos += n;
  if (!http->left) http->state = DONE;
}

static enum mortar_status feed_body(struct mtr_http1 *http, struct mtr_buf *buf, size_t fresh,
                                    struct mortar_error *err)
{
  const uint8_t *end = buf->data + buf->size, *pos = end - fresh;

  if (http->state == UNTIL_CLOSE) {
    http->body_size += fresh;
    MTR_TRY(check_limit(http, http->body_size, err));
    return MORTAR_MORE;
  }
  if (http->state == LENGTH)
    feed_length(http, &pos, end);
  else
    MTR_TRY(feed_chunks(http, &pos, end, buf->data + http->head_size, err));
  if (pos < end)
    return mtr_fail(err, MORTAR_PROTOCOL, "%zu bytes follow the end of the reply",
                    (size_t)(end - pos));
  buf->size = http->head_size + http->body_size;
  return http->state == DONE ? MORTAR_OK : MORTAR_MORE;
}

enum mortar_status mtr_http1_feed(struct mtr_http1 *http, struct mtr_buf *buf, size_t fresh,
                                  struct mortar_error *err)
{
  if (http->state == HEAD) {
    MTR_TRY(feed_head(http, buf, err));
    fresh = buf->size - http->head_size;
  }
  return feed_body(http, buf, fresh, err);
}

enum mortar_status mtr_http1_eof(struct mtr_http1 *http, const struct mtr_buf *buf,
                                 struct mortar_error *err)
{
  if (http->state == UNTIL_CLOSE) {
    http->state = DONE;
    return MORTAR_OK;
  }
  if (buf->size == 0 && http->interim == 0)
    return mtr_fail(err, MORTAR_IO, "the server closed the connection without a reply");
  if (http->state == HEAD)
    return mtr_fail(err, MORTAR_IO, "the server closed the connection inside the reply's head");
  if (http->has_length)
    return mtr_fail(err, MORTAR_IO, "the server closed the connection after %zu of %zu bytes",
                    http->body_size, http->length);
  return mtr_fail(err, MORTAR_IO,
                  "the server closed the connection after %zu bytes of a chunked reply",
                  http->body_size);
}

size_t mtr_http1_room(const struct mtr_http1 *http, const struct mtr_buf *buf)
{
  /* Growing by what is there already doubles the buffer, for bytes that really came. */
  size_t grow = buf->size > MTR_HTTP1_READ_SIZE ? buf->size : MTR_HTTP1_READ_SIZE;

  if (http->state == HEAD) return MTR_HTTP1_READ_SIZE;
  /* One byte more than is due, so that a surplus is seen. */
  if (http->state == LENGTH && (http->left <= MTR_HTTP1_EAGER_BODY || http->left < grow))
    return http->left + 1;
  if (http->state == LENGTH) return grow;
  return MTR_HTTP1_READ_SIZE;
}

/* ---- The complete reply -------------------------------------------------------------------- */

static struct mtr_span piece_span(const struct mtr_buf *buf, struct mtr_http1_piece piece)
{
  return mtr_span_of(buf->data + piece.at, piece.size);
}

static bool all_digits(struct mtr_span text)
{
  size_t i;

  for (i = 0; i < text.size; i++)
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  return text.size > 0;
}

/* Seconds, or a date, which counts from the reply's own Date: the server's clock, not ours. A
 * header that nobody can read still says that there was one: 0. */
static int64_t retry_after_ms(const struct mtr_http1 *http, const struct mtr_buf *buf)
{
  struct mtr_span text = piece_span(buf, http->retry_after);
  uint64_t seconds = max_retry_seconds;
  int64_t then, now;

  if (http->retry_after.at == 0) return -1;
  if (all_digits(text)) {
    (void)mtr_text_u64(text, max_retry_seconds, &seconds);
    return (int64_t)seconds * 1000;
  }
  if (!mtr_http_date(text, &then) || !mtr_http_date(piece_span(buf, http->date), &now)) return 0;
  if (then <= now) return 0;
  if ((uint64_t)(then - now) < seconds) seconds = (uint64_t)(then - now);
  return (int64_t)seconds * 1000;
}

void mtr_http1_reply(const struct mtr_http1 *http, const struct mtr_buf *buf, struct mtr_reply *out)
{
  out->status = http->status;
  out->body = mtr_span_of(buf->data + http->head_size, http->encoded ? 0 : http->body_size);
  out->content_type = piece_span(buf, http->content_type);
  out->server_message = piece_span(buf, http->message);
  out->retry_after_ms = retry_after_ms(http, buf);
}

bool mtr_http1_reusable(const struct mtr_http1 *http)
{
  return http->state == DONE && !http->close && (!http->http10 || http->keep_alive);
}
