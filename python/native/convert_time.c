/* Dates, times, timestamps and intervals. The objects are made by the datetime module that belongs
 * to the interpreter (state->datetime), not by the one that a C static would point to. */
#include "python/native/convert.h"

#include <datetime.h>
#include <string.h>

#include "python/native/errors.h"
#include "python/native/memo.h"

enum { SECONDS_OF_DAY = 86400 };

struct civil {
  int64_t year;
  int month, day;
};

static const PyDateTime_CAPI *api_of(const struct native_state *state) { return state->datetime; }

static int32_t i32_at(const struct ArrowArray *array, int64_t i)
{
  return ((const int32_t *)array->buffers[1])[i];
}

static int64_t i64_at(const struct ArrowArray *array, int64_t i)
{
  return ((const int64_t *)array->buffers[1])[i];
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Days since 1970-01-01 as a date of the proleptic Gregorian calendar. Years are counted from
 * March, in eras of 400 years, so that the leap day is the last of its year. */
static struct civil civil_of(int64_t days)
{
  struct civil c;
  int64_t z = days + 719468, era = floor_div(z, 146097);
  int64_t doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

  c.day = (int)(doy - (153 * mp + 2) / 5 + 1);
  c.month = (int)(mp < 10 ? mp + 3 : mp - 9);
  c.year = yoe + era * 400 + (c.month <= 2);
  return c;
}

static PyObject *raise_out_of_range(const struct column *col)
{
  return native_raise_text(col->state, "DataError",
                           "the year of a date or timestamp is out of Python's range 1 to 9999; "
                           "fetch it as Arrow or cast it to STRING");
}

/* The date of a day that Python has; 0 with an exception for others. */
static int day_in_range(const struct column *col, int64_t days, struct civil *out)
{
  enum { FIRST = -719162, LAST = 2932896 }; /* 0001-01-01 and 9999-12-31 */

  if (days >= FIRST && days <= LAST) {
    *out = civil_of(days);
    return 1;
  }
  (void)raise_out_of_range(col);
  return 0;
}

static PyObject *make_date(const struct column *col, int64_t days)
{
  const PyDateTime_CAPI *api = api_of(col->state);
  PyObject *date = memo_get(col->memo, (uint64_t)days);
  struct civil c;

  if (date) return date;
  if (!day_in_range(col, days, &c)) return NULL;
  date = api->Date_FromDate((int)c.year, c.month, c.day, api->DateType);
  return memo_put(col->memo, (uint64_t)days, date);
}

NATIVE_CONVERTER(date32) { return make_date(col, i32_at(array, i)); }

NATIVE_CONVERTER(date64)
{
  return make_date(col, floor_div(i64_at(array, i), SECONDS_OF_DAY * 1000));
}

/* A fraction of a second as microseconds; what is finer is cut, as Python has no place for it. */
static int micros_of(int64_t part, int64_t units)
{
  return (int)(units <= 1000000 ? part * (1000000 / units) : part / (units / 1000000));
}

static PyObject *to_zone(const struct column *col, PyObject *moment)
{
  PyObject *local;

  if (!moment || !col->zone || col->zone_is_utc) return moment;
  local = PyObject_CallMethodOneArg(col->zone, col->state->fromutc, moment);
  Py_DECREF(moment);
  if (local || !PyErr_ExceptionMatches(PyExc_OverflowError)) return local;
  PyErr_Clear(); /* the first or last hours of all time, in a zone to the west or the east */
  return raise_out_of_range(col);
}

NATIVE_CONVERTER(timestamp)
{
  const PyDateTime_CAPI *api = api_of(col->state);
  int64_t v = i64_at(array, i);
  int64_t seconds = floor_div(v, col->units), part = v - seconds * col->units;
  int64_t days = floor_div(seconds, SECONDS_OF_DAY);
  int s = (int)(seconds - days * SECONDS_OF_DAY);
  struct civil c;

  if (!day_in_range(col, days, &c)) return NULL;
  return to_zone(
      col, api->DateTime_FromDateAndTime((int)c.year, c.month, c.day, s / 3600, s / 60 % 60, s % 60,
                                         micros_of(part, col->units),
                                         col->zone ? col->zone : Py_None, api->DateTimeType));
}

static PyObject *make_time(const struct column *col, int64_t v)
{
  const PyDateTime_CAPI *api = api_of(col->state);
  int64_t seconds = v / col->units;

  if (v < 0 || seconds >= SECONDS_OF_DAY)
    return native_raise_text(col->state, "DataError", "a time of day is out of its range");
  return api->Time_FromTime((int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60),
                            micros_of(v % col->units, col->units), Py_None, api->TimeType);
}

NATIVE_CONVERTER(time32) { return make_time(col, i32_at(array, i)); }

NATIVE_CONVERTER(time64) { return make_time(col, i64_at(array, i)); }

/* ---- Intervals are text, as the servers write them ---- */

NATIVE_CONVERTER(months)
{
  int64_t v = i32_at(array, i), months = v < 0 ? -v : v;
  (void)col;
  return PyUnicode_FromFormat("%s%lld-%lld", v < 0 ? "-" : "", (long long)(months / 12),
                              (long long)(months % 12));
}

static PyObject *day_time_text(int negative, uint64_t seconds, uint64_t nanos)
{
  char text[80];

  PyOS_snprintf(text, sizeof text, "%s%llu %02llu:%02llu:%02llu.%09llu", negative ? "-" : "",
                (unsigned long long)(seconds / SECONDS_OF_DAY),
                (unsigned long long)(seconds / 3600 % 24), (unsigned long long)(seconds / 60 % 60),
                (unsigned long long)(seconds % 60), (unsigned long long)nanos);
  return PyUnicode_FromString(text);
}

NATIVE_CONVERTER(duration)
{
  int64_t v = i64_at(array, i);
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, units = (uint64_t)col->units;

  return day_time_text(v < 0, u / units, u % units * (1000000000u / units));
}

NATIVE_CONVERTER(day_time)
{
  const int32_t *pair = (const int32_t *)array->buffers[1] + 2 * i;
  int64_t ms = (int64_t)pair[0] * (SECONDS_OF_DAY * 1000) + pair[1];
  uint64_t u = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;

  (void)col;
  return day_time_text(ms < 0, u / 1000, u % 1000 * 1000000);
}

/* ---- Zones ---- */

static PyObject *fixed_offset(struct native_state *state, const char *name)
{
  const PyDateTime_CAPI *api = api_of(state);
  int hours = (name[1] - '0') * 10 + name[2] - '0', minutes = (name[4] - '0') * 10 + name[5] - '0';
  int seconds = (hours * 60 + minutes) * 60;
  PyObject *delta =
      api->Delta_FromDelta(0, *name == '-' ? -seconds : seconds, 0, 1, api->DeltaType);
  PyObject *zone = delta ? api->TimeZone_FromTimeZone(delta, NULL) : NULL;

  Py_XDECREF(delta);
  return zone;
}

/* "+05:30" */
static int is_offset(const char *name)
{
  size_t i;

  if (strlen(name) != 6 || (*name != '+' && *name != '-') || name[3] != ':') return 0;
  for (i = 1; i < 6; i++)
    if (i != 3 && !Py_ISDIGIT(name[i])) return 0;
  return 1;
}

PyObject *native_zone(struct native_state *state, const char *name)
{
  static const char *const utc[] = {"UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT"};
  size_t i;

  for (i = 0; i < sizeof utc / sizeof *utc; i++)
    if (strcmp(name, utc[i]) == 0) return Py_NewRef(state->utc);
  if (is_offset(name)) return fixed_offset(state, name);
  return PyObject_CallFunction(state->zone_info, "s", name);
}
