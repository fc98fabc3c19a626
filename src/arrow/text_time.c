/* Dates, times and intervals as SQL text. The proleptic Gregorian calendar for all values; no
 * locale, no time zone data: an instant is shown in UTC. Years have at least four digits, a plus
 * sign beyond 9999 and a minus sign before year 0. */
#include "arrow/calendar.h"
#include "arrow/text_out.h"

static int64_t floor_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

static void put_year(struct mtr_text_out *out, int64_t year)
{
  if (year < 0) mtr_out_char(out, '-');
  if (year > 9999) mtr_out_char(out, '+');
  mtr_out_u64(out, (uint64_t)(year < 0 ? -year : year), 4);
}

void mtr_out_date(struct mtr_text_out *out, int64_t days)
{
  /* Adding after the division: days may be near the ends of its range. */
  int64_t cycle = mtr_floor_div(days, MTR_DAYS_IN_400_YEARS), year, month, day;

  day = floor_mod(days, MTR_DAYS_IN_400_YEARS) + MTR_DAYS_TO_1970;
  cycle += day / MTR_DAYS_IN_400_YEARS;
  day %= MTR_DAYS_IN_400_YEARS;
  year = day * 400 / MTR_DAYS_IN_400_YEARS; /* at most one too many or too few */
  if (mtr_year_begin(year) > day) year--;
  if (mtr_year_begin(year + 1) <= day) year++;
  day -= mtr_year_begin(year);
  for (month = 1; day >= mtr_days_in_month(year, month); month++)
    day -= mtr_days_in_month(year, month);
  put_year(out, cycle * 400 + year);
  mtr_out_char(out, '-');
  mtr_out_u64(out, (uint64_t)month, 2);
  mtr_out_char(out, '-');
  mtr_out_u64(out, (uint64_t)day + 1, 2);
}

static void put_clock(struct mtr_text_out *out, uint64_t seconds)
{
  mtr_out_u64(out, seconds / 3600, 2);
  mtr_out_char(out, ':');
  mtr_out_u64(out, seconds / 60 % 60, 2);
  mtr_out_char(out, ':');
  mtr_out_u64(out, seconds % 60, 2);
}

/* The fraction, without the zeros at its end; nothing when it is zero. */
static void put_fraction(struct mtr_text_out *out, uint64_t part, uint64_t per_second)
{
  int digits = 0;

  if (part == 0) return;
  for (; per_second > 1; per_second /= 10)
    digits++;
  for (; part % 10 == 0; part /= 10)
    digits--;
  mtr_out_char(out, '.');
  mtr_out_u64(out, part, digits);
}

static uint64_t magnitude(int64_t v) { return v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v; }

void mtr_out_time(struct mtr_text_out *out, int64_t value, int64_t per_second)
{
  uint64_t size = magnitude(value), unit = (uint64_t)per_second;

  if (value < 0) mtr_out_char(out, '-');
  put_clock(out, size / unit);
  put_fraction(out, size % unit, unit);
}

static bool is_utc(const char *zone)
{
  static const char *const names[] = {"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00", "-00:00"};
  size_t i;

  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(zone, names[i]) == 0) return true;
  return false;
}

void mtr_out_timestamp(struct mtr_text_out *out, int64_t value, int64_t per_second,
                       const char *zone)
{
  int64_t seconds = mtr_floor_div(value, per_second);

  mtr_out_date(out, mtr_floor_div(seconds, MTR_SECONDS_IN_DAY));
  mtr_out_char(out, ' ');
  put_clock(out, (uint64_t)floor_mod(seconds, MTR_SECONDS_IN_DAY));
  put_fraction(out, (uint64_t)floor_mod(value, per_second), (uint64_t)per_second);
  if (zone && !is_utc(zone)) mtr_out_text(out, "+00:00");
}

void mtr_out_months(struct mtr_text_out *out, int32_t months)
{
  uint64_t size = magnitude(months);

  if (months < 0) mtr_out_char(out, '-');
  mtr_out_u64(out, size / 12, 1);
  mtr_out_char(out, '-');
  mtr_out_u64(out, size % 12, 1);
}

void mtr_out_day_time(struct mtr_text_out *out, int64_t days, int64_t value, int64_t per_second)
{
  int64_t seconds = days * MTR_SECONDS_IN_DAY + mtr_floor_div(value, per_second);
  int64_t part = floor_mod(value, per_second);
  uint64_t size;

  if (seconds < 0) mtr_out_char(out, '-');
  if (seconds < 0 && part) {
    /* -1 second and 0.25 is -0.75: both parts are shown with the one sign. */
    seconds++;
    part = per_second - part;
  }
  size = magnitude(seconds);
  mtr_out_u64(out, size / MTR_SECONDS_IN_DAY, 1);
  mtr_out_char(out, ' ');
  put_clock(out, size % MTR_SECONDS_IN_DAY);
  mtr_out_char(out, '.');
  if (per_second > 1000000)
    mtr_out_u64(out, (uint64_t)part, 9);
  else
    mtr_out_u64(out, (uint64_t)(part * (1000000 / per_second)), 6);
}
