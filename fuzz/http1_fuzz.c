/* Fuzzes the framing of HTTP/1.1 replies: whatever comes, whole and in pieces it must give the same
 * result, and never read outside of what it was given. The first byte says how large the pieces
 * are. Seeds are not needed: the grammar is small. */
#include <stdlib.h>

#include "net/http1.h"

enum { MAX_BODY = 4096, MAX_BUFFER = 1 << 20 };

struct parsed {
  struct mtr_http1 http;
  struct mtr_buf buf;
  enum mortar_status status;
  size_t fed;
};

static void must(bool yes)
{
  if (!yes) abort();
}

static void parse(struct parsed *p, const uint8_t *data, size_t size, size_t piece)
{
  mtr_http1_init(&p->http, MAX_BODY);
  mtr_buf_init(&p->buf, NULL, "reply", MAX_BUFFER);
  p->status = MORTAR_MORE;
  for (p->fed = 0; p->fed < size && p->status == MORTAR_MORE;) {
    size_t n = size - p->fed < piece ? size - p->fed : piece;
    must(mtr_buf_append(&p->buf, data + p->fed, n, NULL) == MORTAR_OK);
    p->fed += n;
    p->status = mtr_http1_feed(&p->http, &p->buf, n, NULL);
    must(mtr_http1_room(&p->http, &p->buf) > 0);
  }
  if (p->status == MORTAR_MORE) p->status = mtr_http1_eof(&p->http, &p->buf, NULL);
}

static void same(struct mtr_span a, struct mtr_span b) { must(mtr_span_equal(a, b)); }

static void compare(const struct parsed *a, const struct parsed *b)
{
  struct mtr_reply ra, rb;

  mtr_http1_reply(&a->http, &a->buf, &ra);
  mtr_http1_reply(&b->http, &b->buf, &rb);
  must(ra.status == rb.status && ra.retry_after_ms == rb.retry_after_ms);
  must(ra.status >= 200 && ra.body.size <= MAX_BODY);
  same(ra.body, rb.body);
  same(ra.content_type, rb.content_type);
  same(ra.server_message, rb.server_message);
  must(mtr_http1_reusable(&a->http) == mtr_http1_reusable(&b->http));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct parsed whole, split;

  if (size < 2 || size > MAX_BUFFER) return 0;
  parse(&whole, data + 1, size - 1, size);
  parse(&split, data + 1, size - 1, (size_t)data[0] + 1);
  if (split.status == MORTAR_OK && split.fed < size - 1)
    /* Whole, the bytes behind the end of the reply are seen. */
    must(whole.status == MORTAR_PROTOCOL);
  else
    must(whole.status == split.status);
  if (whole.status == MORTAR_OK) compare(&whole, &split);
  mtr_buf_fini(&whole.buf);
  mtr_buf_fini(&split.buf);
  return 0;
}
