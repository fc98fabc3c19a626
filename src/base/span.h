/* Bytes that belong to somebody else: a pointer and a length. Text in a span has no NUL. */
#ifndef MTR_BASE_SPAN_H
#define MTR_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mtr_span {
  const uint8_t *data; /* may be NULL when size is 0 */
  size_t size;
};

static inline struct mtr_span mtr_span_of(const void *data, size_t size)
{
  struct mtr_span s = {(const uint8_t *)data, size};
  return s;
}

static inline struct mtr_span mtr_span_text(const char *text)
{
  return mtr_span_of(text, text ? strlen(text) : 0);
}

static inline bool mtr_span_equal(struct mtr_span a, struct mtr_span b)
{
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* For printf's "%.*s": never more than a line of text. */
#define MTR_SPAN_ARG(s) (int)((s).size > 512 ? 512 : (s).size), (const char *)(s).data

#endif
