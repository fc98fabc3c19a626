/* Numbers as text, in the form that Spark gives them: the shortest digits that read back as the
 * same number, plain from 0.001 up to 10 million, else with an exponent (1.0E20); NaN, Infinity.
 * The locale has no say: digits are taken from the C library's text, the point is ours. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/text_out.h"

enum { MAX_DIGITS = 17 };

/* digits[0].digits[1]... times ten to the exponent */
struct decimal_digits {
  char digits[MAX_DIGITS + 1];
  int count, exponent;
};

/* Takes "d.ddde+xx" apart, whatever stands for the point. */
static void split(const char *text, struct decimal_digits *out)
{
  out->count = 0;
  for (; *text && *text != 'e'; text++)
    if (*text >= '0' && *text <= '9' && out->count < MAX_DIGITS) out->digits[out->count++] = *text;
  out->exponent = *text ? (int)strtol(text + 1, NULL, 10) : 0;
  while (out->count > 1 && out->digits[out->count - 1] == '0')
    out->count--;
}

/* The digits first up to digit number end; zeros where there are none. */
static void put_digits(struct mtr_text_out *out, const struct decimal_digits *d, int first, int end)
{
  for (; first < end; first++)
    mtr_out_char(out, first < d->count ? d->digits[first] : '0');
}

static void put_plain(struct mtr_text_out *out, const struct decimal_digits *d)
{
  int whole = d->exponent + 1, i;

  if (whole > 0) {
    put_digits(out, d, 0, whole);
    mtr_out_char(out, '.');
    put_digits(out, d, whole, d->count > whole ? d->count : whole + 1);
    return;
  }
  mtr_out_text(out, "0.");
  for (i = whole; i < 0; i++)
    mtr_out_char(out, '0');
  put_digits(out, d, 0, d->count);
}

static void put_exponent(struct mtr_text_out *out, const struct decimal_digits *d)
{
  put_digits(out, d, 0, 1);
  mtr_out_char(out, '.');
  put_digits(out, d, 1, d->count > 1 ? d->count : 2);
  mtr_out_char(out, 'E');
  mtr_out_i64(out, d->exponent);
}

static bool put_special(struct mtr_text_out *out, double v)
{
  if (isnan(v)) {
    mtr_out_text(out, "NaN");
    return true;
  }
  if (signbit(v)) mtr_out_char(out, '-');
  if (isinf(v)) mtr_out_text(out, "Infinity");
  if (v == 0) mtr_out_text(out, "0.0");
  return isinf(v) || v == 0;
}

static void put_text(struct mtr_text_out *out, const char *text)
{
  struct decimal_digits d;

  split(text, &d);
  if (d.exponent >= -3 && d.exponent < 7)
    put_plain(out, &d);
  else
    put_exponent(out, &d);
}

void mtr_out_double(struct mtr_text_out *out, double v)
{
  char text[40];
  int digits;

  if (put_special(out, v)) return;
  v = fabs(v);
  for (digits = 15; digits <= 17; digits++) {
    (void)snprintf(text, sizeof text, "%.*e", digits - 1, v);
    if (strtod(text, NULL) == v) break;
  }
  put_text(out, text);
}

void mtr_out_float(struct mtr_text_out *out, float v)
{
  char text[40];
  int digits;

  if (put_special(out, (double)v)) return;
  v = fabsf(v);
  for (digits = 6; digits <= 9; digits++) {
    (void)snprintf(text, sizeof text, "%.*e", digits - 1, (double)v);
    if (strtof(text, NULL) == v) break;
  }
  put_text(out, text);
}

float mtr_half_to_float(uint16_t half)
{
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023, sign = half >> 15, bits;
  float v;

  if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
  /* The same number with the wider exponent, whose middle is 127 for 15; infinity stays that. */
  bits = sign << 31 | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* A number of up to 256 bits as 32-bit limbs, lowest first. */
struct wide {
  uint32_t limbs[8];
};

/* Reads the absolute value; true when the number is negative. */
static bool load_wide(struct wide *out, const uint8_t *value, int width)
{
  bool negative = value[width - 1] >> 7;
  uint64_t carry = negative;
  int i;

  memset(out, negative ? 0xFF : 0, sizeof *out);
  memcpy(out->limbs, value, (size_t)width);
  for (i = 0; negative && i < 8; i++) {
    carry += (uint32_t)~out->limbs[i];
    out->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return negative;
}

/* Divides in place and gives the remainder. */
static uint32_t divide_wide(struct wide *n, uint32_t by)
{
  uint64_t rest = 0;
  int i;

  for (i = 7; i >= 0; i--) {
    rest = rest << 32 | n->limbs[i];
    n->limbs[i] = (uint32_t)(rest / by);
    rest %= by;
  }
  return (uint32_t)rest;
}

static bool wide_is_zero(const struct wide *n)
{
  uint32_t any = 0;
  int i;

  for (i = 0; i < 8; i++)
    any |= n->limbs[i];
  return any == 0;
}

/* The digits of n, at least one, at the end of a buffer of size bytes; gives where they begin. */
static size_t wide_digits(struct wide *n, char *digits, size_t size)
{
  size_t at = size;
  int i;

  while (!wide_is_zero(n)) {
    uint32_t nine = divide_wide(n, 1000000000);
    for (i = 0; i < 9; i++, nine /= 10)
      digits[--at] = (char)('0' + nine % 10);
  }
  while (at < size && digits[at] == '0')
    at++;
  if (at == size) digits[--at] = '0';
  return at;
}

static void put_zeros(struct mtr_text_out *out, int64_t count)
{
  for (; count > 0; count--)
    mtr_out_char(out, '0');
}

void mtr_out_decimal(struct mtr_text_out *out, const uint8_t *value, int width, int32_t scale)
{
  /* Zeros are spelled out this far; a warehouse's scale is 0 to 38. Beyond, and for a negative
   * one, an exponent is written, since a scale may be any int32. 256 bits have 78 digits. */
  enum { SPELLED = 100, ROOM = 96 };
  char digits[ROOM];
  struct wide number;
  size_t at, count, whole;

  if (load_wide(&number, value, width)) mtr_out_char(out, '-');
  at = wide_digits(&number, digits, sizeof digits);
  count = sizeof digits - at;
  if (scale <= 0 || scale > SPELLED) {
    mtr_out_bytes(out, digits + at, count);
    if (scale == 0) return;
    mtr_out_char(out, 'E');
    mtr_out_i64(out, -(int64_t)scale);
    return;
  }
  whole = count > (size_t)scale ? count - (size_t)scale : 0;
  mtr_out_bytes(out, digits + at, whole);
  if (whole == 0) mtr_out_char(out, '0');
  mtr_out_char(out, '.');
  put_zeros(out, (int64_t)scale - (int64_t)(count - whole));
  mtr_out_bytes(out, digits + at + whole, count - whole);
}
