/* Writes and checks the head of a POST. */
#include "net/request_head.h"

#include "base/error.h"
#include "base/text.h"

static const char method[] = "POST ";

void mtr_request_head_init(struct mtr_request_head *head, const struct mortar_alloc *alloc)
{
  memset(head, 0, sizeof *head);
  mtr_buf_init(&head->text, alloc, "request head", MTR_MAX_REQUEST_HEAD);
}

void mtr_request_head_fini(struct mtr_request_head *head)
{
  mtr_buf_fini(&head->text);
  head->path_size = head->headers_at = head->headers_size = 0;
}

static enum mortar_status check_path(const char *path, struct mortar_error *err)
{
  const char *p;

  if (path[0] != '/') return mtr_fail(err, MORTAR_INVALID, "the HTTP path must begin with '/'");
  for (p = path; *p; p++)
    if ((unsigned char)*p <= ' ' || *p == 0x7F)
      return mtr_fail(err, MORTAR_INVALID, "the HTTP path has a blank or control character in it");
  return MORTAR_OK;
}

/* Headers that are the lease's: a second one would change where the request ends. */
static bool is_ours(struct mtr_span name)
{
  static const char *const ours[] = {"host",       "content-length",    "connection",
                                     "keep-alive", "transfer-encoding", "accept-encoding"};
  size_t i;

  for (i = 0; i < sizeof ours / sizeof *ours; i++)
    if (mtr_text_same(name, mtr_span_text(ours[i]))) return true;
  return false;
}

/* One "Name: value" without its CR LF. */
static enum mortar_status check_line(const char *line, size_t size, struct mortar_error *err)
{
  const char *colon = memchr(line, ':', size);
  size_t i, name = colon ? (size_t)(colon - line) : 0;

  if (name == 0) return mtr_fail(err, MORTAR_INVALID, "an HTTP header has no name");
  for (i = 0; i < size; i++) {
    unsigned char c = (unsigned char)line[i];
    if (c == 0x7F || (c < ' ' && c != '\t') || (i < name && c == ' '))
      return mtr_fail(err, MORTAR_INVALID, "the HTTP header %zu bytes long has a %s in its %s",
                      size, c == ' ' ? "blank" : "control character", i < name ? "name" : "value");
  }
  if (is_ours(mtr_span_of(line, name)))
    return mtr_fail(err, MORTAR_INVALID, "the HTTP header %.*s can't be set", (int)name, line);
  return MORTAR_OK;
}

static enum mortar_status check_headers(const char *headers, struct mortar_error *err)
{
  const char *line = headers;

  while (*line) {
    const char *end = strstr(line, "\r\n");
    if (!end) return mtr_fail(err, MORTAR_INVALID, "the last HTTP header has no line end");
    MTR_TRY(check_line(line, (size_t)(end - line), err));
    line = end + 2;
  }
  return MORTAR_OK;
}

static bool same(const struct mtr_request_head *head, size_t at, size_t size, const char *text)
{
  return strlen(text) == size && memcmp(head->text.data + at, text, size) == 0;
}

static enum mortar_status write_head(struct mtr_request_head *head, const char *host,
                                     const char *path, const char *headers,
                                     struct mortar_error *err)
{
  struct mtr_buf *text = &head->text;

  mtr_buf_reset(text);
  MTR_TRY(check_path(path, err));
  MTR_TRY(check_headers(headers, err));
  MTR_TRY(mtr_buf_printf(text, err, "%s%s HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: identity\r\n",
                         method, path, host));
  head->path_size = strlen(path);
  head->headers_at = text->size;
  head->headers_size = strlen(headers);
  MTR_TRY(mtr_buf_append(text, headers, head->headers_size, err));
  return mtr_buf_append(text, "Content-Length: ", 16, err);
}

enum mortar_status mtr_request_head_set(struct mtr_request_head *head, const char *host,
                                        const char *path, const char *headers,
                                        struct mortar_error *err)
{
  enum mortar_status st;

  if (head->text.size && same(head, sizeof method - 1, head->path_size, path) &&
      same(head, head->headers_at, head->headers_size, headers))
    return MORTAR_OK;
  st = write_head(head, host, path, headers, err);
  /* Half a head must not pass for the whole one the next time. */
  if (st != MORTAR_OK) mtr_buf_reset(&head->text);
  return st;
}

size_t mtr_request_head_rest(size_t body_size, char out[MTR_LENGTH_LINE])
{
  char digits[MTR_LENGTH_LINE - 4];
  size_t n = 0, i = sizeof digits;

  do {
    digits[--i] = (char)('0' + body_size % 10);
    body_size /= 10;
  } while (body_size);
  for (; i < sizeof digits; i++)
    out[n++] = digits[i];
  memcpy(out + n, "\r\n\r\n", 4);
  return n + 4;
}
