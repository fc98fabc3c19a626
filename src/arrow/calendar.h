/* The proleptic Gregorian calendar: it repeats after 400 years, year 0 is a leap year. For reading
 * and writing dates; knows no zones. */
#ifndef MTR_ARROW_CALENDAR_H
#define MTR_ARROW_CALENDAR_H

#include <stdint.h>

enum {
  MTR_DAYS_TO_1970 = 719528, /* from 0000-01-01 */
  MTR_DAYS_IN_400_YEARS = 146097,
  MTR_SECONDS_IN_DAY = 86400
};

static inline int64_t mtr_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* The day, from 0, on which a year from 0 to 400 begins. */
static inline int64_t mtr_year_begin(int64_t year)
{
  return 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

/* month: 1 to 12. */
static inline int64_t mtr_days_in_month(int64_t year, int64_t month)
{
  static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

  return lengths[month - 1] + (month == 2 ? leap : 0);
}

#endif
