/* Reads cells that come as text, see text_in.h. Accepts one spelling of each value. */
#include "arrow/text_in.h"

#include <string.h>

#include "arrow/calendar.h"

enum {
  DIGITS_AT_ONCE = 9, /* the most that fit 32 bits */
  LIMBS = MTR_DECIMAL_SIZE / 4,
  MICRO_DIGITS = 6,
  MICROS_IN_SECOND = 1000000,
  YEAR_DIGITS_MAX = 7
};

/* What is left of a text. Every function below moves pos on success only. */
struct text_in {
  const char *pos, *end;
};

static struct text_in begin(struct mtr_span text)
{
  struct text_in in = {text.size ? (const char *)text.data : "", NULL};

  in.end = in.pos + text.size;
  return in;
}

static bool is_digit(const struct text_in *in)
{
  return in->pos < in->end && *in->pos >= '0' && *in->pos <= '9';
}

static bool take(struct text_in *in, char c)
{
  if (in->pos == in->end || *in->pos != c) return false;
  in->pos++;
  return true;
}

static bool take_sign(struct text_in *in)
{
  const bool negative = take(in, '-');

  if (!negative) (void)take(in, '+');
  return negative;
}

/* From 1 to `most` digits as a number. */
static bool take_number(struct text_in *in, int most, int64_t *out)
{
  int n;

  *out = 0;
  for (n = 0; n < most && is_digit(in); n++)
    *out = *out * 10 + (*in->pos++ - '0');
  return n > 0;
}

/* Digits behind a point: the first `keep` as a number of exactly so many digits, the others must be
 * zeros. */
static bool take_fraction(struct text_in *in, int keep, int64_t *out)
{
  int n;

  *out = 0;
  if (!is_digit(in)) return false;
  for (n = 0; n < keep; n++)
    *out = *out * 10 + (is_digit(in) ? *in->pos++ - '0' : 0);
  while (take(in, '0'))
    continue;
  return !is_digit(in);
}

/* ---- Decimals ------------------------------------------------------------------------------ */

/* A number of 128 bits, the lowest 32 first. */
struct wide {
  uint32_t limbs[LIMBS];
};

static void multiply_add(struct wide *w, uint32_t factor, uint32_t add)
{
  uint64_t carry = add;
  int i;

  for (i = 0; i < LIMBS; i++) {
    carry += (uint64_t)w->limbs[i] * factor;
    w->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

static void negate(struct wide *w)
{
  uint64_t carry = 1;
  int i;

  for (i = 0; i < LIMBS; i++) {
    carry += (uint32_t)~w->limbs[i];
    w->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

/* At most MTR_DECIMAL_MAX_PRECISION digits, so nothing overflows. */
static struct wide number_of(const char *digits, int count)
{
  struct wide w = {{0}};
  int i, n;

  for (i = 0; i < count; i += n) {
    uint32_t chunk = 0, factor = 1;
    for (n = 0; n < DIGITS_AT_ONCE && i + n < count; n++) {
      chunk = chunk * 10 + (uint32_t)(digits[i + n] - '0');
      factor *= 10;
    }
    multiply_add(&w, factor, chunk);
  }
  return w;
}

/* The digits with the point taken out and the scale filled up; their number, or -1. */
static int take_digits(struct text_in *in, int precision, int scale,
                       char digits[MTR_DECIMAL_MAX_PRECISION])
{
  int count = 0, behind = 0;

  if (!is_digit(in)) return -1;
  while (take(in, '0'))
    continue;
  while (is_digit(in)) {
    if (count == precision - scale) return -1;
    digits[count++] = *in->pos++;
  }
  if (take(in, '.')) {
    if (!is_digit(in)) return -1;
    for (; behind < scale && is_digit(in); behind++)
      digits[count++] = *in->pos++;
    while (take(in, '0'))
      continue;
  }
  for (; behind < scale; behind++)
    digits[count++] = '0';
  return in->pos == in->end ? count : -1;
}

bool mtr_in_decimal(struct mtr_span text, int precision, int scale, uint8_t out[MTR_DECIMAL_SIZE])
{
  struct text_in in = begin(text);
  const bool negative = take_sign(&in);
  char digits[MTR_DECIMAL_MAX_PRECISION];
  const int count = take_digits(&in, precision, scale, digits);
  struct wide w;

  if (count < 0) return false;
  w = number_of(digits, count);
  if (negative) negate(&w);
  memcpy(out, w.limbs, MTR_DECIMAL_SIZE);
  return true;
}

/* ---- Dates and times ----------------------------------------------------------------------- */

static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
  const int64_t cycle = mtr_floor_div(year, 400), of = year - cycle * 400;
  int64_t m;

  for (m = 1; m < month; m++)
    day += mtr_days_in_month(of, m);
  return cycle * MTR_DAYS_IN_400_YEARS + mtr_year_begin(of) + day - 1 - MTR_DAYS_TO_1970;
}

static bool take_date(struct text_in *in, int64_t *days)
{
  const bool negative = take_sign(in);
  int64_t year, month, day;

  if (!take_number(in, YEAR_DIGITS_MAX, &year) || !take(in, '-') || !take_number(in, 2, &month) ||
      !take(in, '-') || !take_number(in, 2, &day))
    return false;
  if (negative) year = -year;
  if (month < 1 || month > 12 || day < 1 || day > mtr_days_in_month(year, month)) return false;
  *days = days_of(year, month, day);
  return true;
}

bool mtr_in_date(struct mtr_span text, int32_t *days)
{
  struct text_in in = begin(text);
  int64_t all;

  if (!take_date(&in, &all) || in.pos != in.end || all < INT32_MIN || all > INT32_MAX) return false;
  *days = (int32_t)all;
  return true;
}

static bool take_clock(struct text_in *in, int64_t *seconds)
{
  int64_t h, m, s;

  if (!take_number(in, 2, &h) || !take(in, ':') || !take_number(in, 2, &m) || !take(in, ':') ||
      !take_number(in, 2, &s) || h > 23 || m > 59 || s > 59)
    return false;
  *seconds = (h * 60 + m) * 60 + s;
  return true;
}

bool mtr_in_timestamp(struct mtr_span text, int64_t *micros)
{
  enum { DAYS_MAX = 106751990 }; /* of 64 bits of microseconds, and a day less */
  struct text_in in = begin(text);
  int64_t days, seconds, fraction = 0;

  if (!take_date(&in, &days) || !(take(&in, ' ') || take(&in, 'T')) || !take_clock(&in, &seconds))
    return false;
  if (take(&in, '.') && !take_fraction(&in, MICRO_DIGITS, &fraction)) return false;
  if (in.pos != in.end || days > DAYS_MAX || days < -DAYS_MAX) return false;
  *micros = (days * MTR_SECONDS_IN_DAY + seconds) * MICROS_IN_SECOND + fraction;
  return true;
}
