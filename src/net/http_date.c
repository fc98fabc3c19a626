/* Reads IMF-fixdate. The day's name is not compared with the date: only the number counts. */
#include "net/http_date.h"

#include "base/text.h"

enum { DATE_SIZE = 29, DAYS_TO_1970 = 719468 };

/* Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap
 * day is the last day of a year, in eras of 400 years. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
  int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y % 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970;
}

/* Month 1..12, 0 when it is none. Month names are case sensitive in this form. */
static int64_t month_number(const uint8_t *p)
{
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  int64_t i;

  for (i = 0; i < 12; i++)
    if (memcmp(names + 3 * i, p, 3) == 0) return i + 1;
  return 0;
}

static bool number(struct mtr_span text, size_t at, size_t digits, uint64_t max, int64_t *out)
{
  uint64_t v;

  if (!mtr_text_u64(mtr_span_of(text.data + at, digits), max, &v)) return false;
  *out = (int64_t)v;
  return true;
}

/* The bytes between the numbers: a digit or letter place is '_', the rest must be as shown. */
static bool has_form(struct mtr_span text)
{
  static const char form[] = "___, __ ___ ____ __:__:__ GMT";
  size_t i;

  if (text.size != DATE_SIZE) return false;
  for (i = 0; i < DATE_SIZE; i++)
    if (form[i] != '_' && text.data[i] != (uint8_t)form[i]) return false;
  return true;
}

bool mtr_http_date(struct mtr_span text, int64_t *seconds)
{
  int64_t day, month, year, hour, minute, second;

  if (!has_form(text)) return false;
  month = month_number(text.data + 8);
  /* Second 60 is a leap second. */
  if (!month || !number(text, 5, 2, 31, &day) || !number(text, 12, 4, 9999, &year) ||
      !number(text, 17, 2, 23, &hour) || !number(text, 20, 2, 59, &minute) ||
      !number(text, 23, 2, 60, &second) || day == 0 || year < 1)
    return false;
  *seconds = ((days_from_date(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
  return true;
}
