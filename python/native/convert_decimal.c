/* DECIMAL as decimal.Decimal, by way of its text: the decimal module offers C nothing else. What
 * fits 64 bits, nearly all there is, has a short way and a memo. */
#include "python/native/convert.h"

#include <string.h>

#include "python/native/memo.h"

enum {
  WORDS_MAX = 8,
  TEXT_MAX = 96 /* 78 digits of 256 bits, or 77 with leading zeros; sign, point */
};

/* Divides words (least first) by 10^9, gives the rest. */
static uint32_t divide(uint32_t *words, int n)
{
  uint64_t rest = 0;
  int i;

  for (i = n - 1; i >= 0; i--) {
    uint64_t v = rest << 32 | words[i];
    words[i] = (uint32_t)(v / 1000000000u);
    rest = v % 1000000000u;
  }
  return (uint32_t)rest;
}

static int is_zero(const uint32_t *words, int n)
{
  while (n > 0)
    if (words[--n]) return 0;
  return 1;
}

/* Writes digits backwards, ending at end; returns the first. At least scale + 1 of them. */
static char *write_wide(uint32_t *words, int n, int scale, char *end)
{
  char *p = end;
  int written = 0;

  while (!is_zero(words, n) || written <= scale) {
    uint32_t nine = divide(words, n);
    int k;
    for (k = 0; k < 9; k++) {
      if (is_zero(words, n) && nine == 0 && written > scale) break;
      *--p = (char)('0' + nine % 10);
      nine /= 10;
      if (++written == scale) *--p = '.';
    }
  }
  return p;
}

static char *write_narrow(uint64_t v, int scale, char *end)
{
  char *p = end;
  int written = 0;

  while (v != 0 || written <= scale) {
    *--p = (char)('0' + v % 10);
    v /= 10;
    if (++written == scale) *--p = '.';
  }
  return p;
}

/* The Decimal of digits in [p, end), with room for a sign before p. */
static PyObject *from_digits(const struct column *col, int negative, char *p, const char *end)
{
  PyObject *text, *value;

  if (negative) *--p = '-';
  text = PyUnicode_DecodeASCII(p, end - p, NULL);
  if (text && col->scale < 0) Py_SETREF(text, PyUnicode_FromFormat("%UE+%d", text, -col->scale));
  value = text ? PyObject_CallOneArg(col->state->decimal, text) : NULL;
  Py_XDECREF(text);
  return value;
}

static PyObject *from_narrow(const struct column *col, int64_t v)
{
  char text[TEXT_MAX], *end = text + sizeof text;
  uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  PyObject *value = memo_get(col->memo, (uint64_t)v);

  if (value) return value;
  value = from_digits(col, v < 0, write_narrow(size, col->scale > 0 ? col->scale : 0, end), end);
  return memo_put(col->memo, (uint64_t)v, value);
}

static PyObject *from_wide(const struct column *col, uint32_t *words, int n)
{
  char text[TEXT_MAX], *end = text + sizeof text;
  int negative = words[n - 1] >> 31 != 0, k;
  uint64_t carry = 1;

  for (k = 0; negative && k < n; k++) {
    carry += (uint32_t)~words[k];
    words[k] = (uint32_t)carry;
    carry >>= 32;
  }
  return from_digits(col, negative, write_wide(words, n, col->scale > 0 ? col->scale : 0, end),
                     end);
}

NATIVE_CONVERTER(decimal)
{
  const char *data = (const char *)array->buffers[1] + (size_t)i * (size_t)col->width;
  uint32_t words[WORDS_MAX];
  int64_t parts[2];

  if (col->width == 4) {
    int32_t v;
    memcpy(&v, data, sizeof v);
    return from_narrow(col, v);
  }
  memcpy(parts, data, col->width == 8 ? 8 : sizeof parts);
  if (col->width == 8 || (col->width == 16 && parts[1] == (parts[0] < 0 ? -1 : 0)))
    return from_narrow(col, parts[0]);
  memcpy(words, data, (size_t)col->width);
  return from_wide(col, words, col->width / 4);
}
