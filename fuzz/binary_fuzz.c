/* Fuzzes the binary transports: whatever comes, whole and in pieces it must give the same result,
 * and never read outside of what it was given. The first byte says how large the pieces are, and
 * whether there are frames; behind it the bytes are also taken for the answer to a login. */
#include <stdlib.h>

#include "net/binary.h"
#include "net/sasl.h"

enum { MAX_BODY = 4096, MAX_BUFFER = 1 << 20 };

struct parsed {
  struct mtr_binary binary;
  struct mtr_buf buf;
  enum mortar_status status;
  size_t fed;
};

static void must(bool yes)
{
  if (!yes) abort();
}

static void parse(struct parsed *p, bool framed, const uint8_t *data, size_t size, size_t piece)
{
  mtr_binary_init(&p->binary, framed, MAX_BODY);
  mtr_buf_init(&p->buf, NULL, "reply", MAX_BUFFER);
  p->status = MORTAR_MORE;
  for (p->fed = 0; p->fed < size && p->status == MORTAR_MORE;) {
    size_t n = size - p->fed < piece ? size - p->fed : piece;
    must(mtr_buf_append(&p->buf, data + p->fed, n, NULL) == MORTAR_OK);
    p->fed += n;
    p->status = mtr_binary_feed(&p->binary, &p->buf, n, NULL);
    must(mtr_binary_room(&p->binary) <= MAX_BODY + MTR_BINARY_READ_SIZE);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct parsed whole, split;

  if (size < 2 || size > MAX_BUFFER) return 0;
  parse(&whole, data[0] & 1, data + 1, size - 1, size);
  parse(&split, data[0] & 1, data + 1, size - 1, (size_t)(data[0] >> 1) + 1);
  if (whole.status == MORTAR_OK) {
    must(split.status == MORTAR_OK && whole.buf.size <= MAX_BODY);
    must(mtr_span_equal(mtr_buf_span(&whole.buf), mtr_buf_span(&split.buf)));
  }
  if (whole.status == MORTAR_MORE) must(split.status == MORTAR_MORE);
  (void)!mtr_sasl_read_answer(mtr_span_of(data + 1, size - 1), NULL);
  mtr_buf_fini(&whole.buf);
  mtr_buf_fini(&split.buf);
  return 0;
}
