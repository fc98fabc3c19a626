/* One value of an Arrow array as a Python object: a converter for each format of the C data
 * interface that mortar_result can give. Nulls are looked at by native_convert, before. */
#include "python/native/plan.h"

#include <datetime.h>
#include <math.h>
#include <string.h>

#include "python/native/errors.h"

static const void *data_of(const struct ArrowArray *array) { return array->buffers[1]; }

PyObject *native_convert(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const uint8_t *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
  int64_t at = i + array->offset;

  if (valid && array->null_count != 0 && !(valid[at >> 3] >> (at & 7) & 1)) Py_RETURN_NONE;
  return col->convert(col, array, at);
}

static PyObject *from_null(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  (void)col;
  (void)array;
  (void)i;
  Py_RETURN_NONE;
}

static PyObject *from_bool(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const uint8_t *bits = data_of(array);
  (void)col;
  return PyBool_FromLong(bits[i >> 3] >> (i & 7) & 1);
}

/* Numbers lie aligned: the C data interface and mortar's own batches see to it. */
#define NUMBER(name, type, make)                                                                   \
  static PyObject *name(const struct column *col, const struct ArrowArray *array, int64_t i)       \
  {                                                                                                \
    type v;                                                                                        \
    (void)col;                                                                                     \
    memcpy(&v, (const char *)data_of(array) + (size_t)i * sizeof v, sizeof v);                     \
    return make;                                                                                   \
  }
NUMBER(from_i8, int8_t, PyLong_FromLong(v))
NUMBER(from_i16, int16_t, PyLong_FromLong(v))
NUMBER(from_i32, int32_t, PyLong_FromLong(v))
NUMBER(from_i64, int64_t, PyLong_FromLongLong(v))
NUMBER(from_u8, uint8_t, PyLong_FromLong(v))
NUMBER(from_u16, uint16_t, PyLong_FromLong(v))
NUMBER(from_u32, uint32_t, PyLong_FromUnsignedLong(v))
NUMBER(from_u64, uint64_t, PyLong_FromUnsignedLongLong(v))
NUMBER(from_float, float, PyFloat_FromDouble((double)v))
NUMBER(from_double, double, PyFloat_FromDouble(v))
#undef NUMBER

static PyObject *from_half(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  uint16_t v;
  int exponent;
  double d;

  (void)col;
  memcpy(&v, (const char *)data_of(array) + (size_t)i * sizeof v, sizeof v);
  exponent = v >> 10 & 31;
  if (exponent == 31)
    d = v & 1023 ? Py_NAN : Py_HUGE_VAL;
  else
    d = ldexp(exponent ? (v & 1023) + 1024 : v & 1023, exponent ? exponent - 25 : -24);
  return PyFloat_FromDouble(v >> 15 ? -d : d);
}

/* ---- Text and bytes ---- */

struct piece {
  const char *data;
  Py_ssize_t size;
};

static struct piece piece32(const struct ArrowArray *array, int64_t i)
{
  const int32_t *offsets = array->buffers[1];
  struct piece p = {(const char *)array->buffers[2] + offsets[i], offsets[i + 1] - offsets[i]};
  if (p.size == 0) p.data = "";
  return p;
}

static struct piece piece64(const struct ArrowArray *array, int64_t i)
{
  const int64_t *offsets = array->buffers[1];
  struct piece p = {(const char *)array->buffers[2] + offsets[i],
                    (Py_ssize_t)(offsets[i + 1] - offsets[i])};
  if (p.size == 0) p.data = "";
  return p;
}

static PyObject *from_utf8(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  struct piece p = piece32(array, i);
  (void)col;
  return PyUnicode_DecodeUTF8(p.data, p.size, NULL);
}

static PyObject *from_large_utf8(const struct column *col, const struct ArrowArray *array,
                                 int64_t i)
{
  struct piece p = piece64(array, i);
  (void)col;
  return PyUnicode_DecodeUTF8(p.data, p.size, NULL);
}

static PyObject *from_binary(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  struct piece p = piece32(array, i);
  (void)col;
  return PyBytes_FromStringAndSize(p.data, p.size);
}

static PyObject *from_large_binary(const struct column *col, const struct ArrowArray *array,
                                   int64_t i)
{
  struct piece p = piece64(array, i);
  (void)col;
  return PyBytes_FromStringAndSize(p.data, p.size);
}

static PyObject *from_fixed_binary(const struct column *col, const struct ArrowArray *array,
                                   int64_t i)
{
  return PyBytes_FromStringAndSize((const char *)data_of(array) + (size_t)i * (size_t)col->width,
                                   col->width);
}

/* ---- Decimals: digits of a two's complement number, then Decimal(text) ---- */

enum { DECIMAL_WORDS_MAX = 8, DECIMAL_DIGITS_MAX = 80 };

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
static char *write_digits(uint32_t *words, int n, int scale, char *end)
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

static PyObject *from_decimal(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  char text[DECIMAL_DIGITS_MAX + 64], *end = text + sizeof text, *p;
  uint32_t words[DECIMAL_WORDS_MAX];
  int n = col->width / 4, negative, k;
  uint64_t carry = 1;
  PyObject *digits, *value;

  memcpy(words, (const char *)data_of(array) + (size_t)i * (size_t)col->width, (size_t)col->width);
  negative = words[n - 1] >> 31 != 0;
  for (k = 0; negative && k < n; k++) {
    carry += (uint32_t)~words[k];
    words[k] = (uint32_t)carry;
    carry >>= 32;
  }
  p = write_digits(words, n, col->scale > 0 ? col->scale : 0, end);
  if (negative) *--p = '-';
  digits = PyUnicode_FromStringAndSize(p, end - p);
  if (digits && col->scale < 0)
    Py_SETREF(digits, PyUnicode_FromFormat("%UE+%d", digits, -col->scale));
  value = digits ? PyObject_CallOneArg(col->state->decimal, digits) : NULL;
  Py_XDECREF(digits);
  return value;
}

/* ---- Dates and times ---- */

struct civil {
  int64_t year;
  int month, day;
};

/* Days since 1970-01-01 as a date of the proleptic Gregorian calendar. Years are counted from
 * March, in eras of 400 years, so that the leap day is the last of its year. */
static struct civil civil_of(int64_t days)
{
  struct civil c;
  int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
  int64_t doe = z - era * 146097;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

  c.day = (int)(doy - (153 * mp + 2) / 5 + 1);
  c.month = (int)(mp < 10 ? mp + 3 : mp - 9);
  c.year = yoe + era * 400 + (c.month <= 2);
  return c;
}

static int in_python_range(const struct column *col, const struct civil *c)
{
  if (c->year >= 1 && c->year <= 9999) return 1;
  (void)native_raise_text(col->state, "DataError",
                          "the year of a date or timestamp is out of Python's range 1 to 9999; "
                          "fetch it as Arrow or cast it to STRING");
  return 0;
}

/* A day number that civil_of can take without overflow. */
static int sane_days(const struct column *col, int64_t days)
{
  static const struct civil far = {100000, 1, 1};
  if (days > -100000000 && days < 100000000) return 1;
  return in_python_range(col, &far);
}

static PyObject *make_date(const struct column *col, int64_t days)
{
  struct civil c;

  if (!sane_days(col, days)) return NULL;
  c = civil_of(days);
  if (!in_python_range(col, &c)) return NULL;
  return PyDate_FromDate((int)c.year, c.month, c.day);
}

static PyObject *from_date32(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  return make_date(col, ((const int32_t *)data_of(array))[i]);
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static PyObject *from_date64(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  return make_date(col, floor_div(((const int64_t *)data_of(array))[i], 86400000));
}

/* A count of units since the epoch as days, seconds of the day and microseconds; what is finer is
 * cut, as datetime has no place for it. */
static PyObject *from_timestamp(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  int64_t v = ((const int64_t *)data_of(array))[i];
  int64_t seconds = floor_div(v, col->units), part = v - seconds * col->units;
  int64_t days = floor_div(seconds, 86400);
  int second = (int)(seconds - days * 86400);
  int micro = (int)(col->units <= 1000000 ? part * (1000000 / col->units) : part / 1000);
  struct civil c;
  PyObject *moment, *local;

  if (!sane_days(col, days)) return NULL;
  c = civil_of(days);
  if (!in_python_range(col, &c)) return NULL;
  moment = PyDateTimeAPI->DateTime_FromDateAndTime(
      (int)c.year, c.month, c.day, second / 3600, second / 60 % 60, second % 60, micro,
      col->zone ? col->zone : Py_None, PyDateTimeAPI->DateTimeType);
  if (!moment || !col->zone || col->zone_is_utc) return moment;
  local = PyObject_CallMethod(col->zone, "fromutc", "O", moment);
  Py_DECREF(moment);
  return local;
}

static PyObject *make_time(int64_t v, int64_t units)
{
  int64_t seconds = v / units, part = v % units;
  int micro = (int)(units <= 1000000 ? part * (1000000 / units) : part / 1000);

  return PyDateTimeAPI->Time_FromTime((int)(seconds / 3600 % 24), (int)(seconds / 60 % 60),
                                      (int)(seconds % 60), micro, Py_None, PyDateTimeAPI->TimeType);
}

static PyObject *from_time32(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  int32_t v = ((const int32_t *)data_of(array))[i];
  return make_time(v < 0 ? 0 : v, col->units);
}

static PyObject *from_time64(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  int64_t v = ((const int64_t *)data_of(array))[i];
  return make_time(v < 0 ? 0 : v, col->units);
}

/* Intervals are text, as the servers write them. */
static PyObject *from_months(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  int64_t v = ((const int32_t *)data_of(array))[i], months = v < 0 ? -v : v;
  (void)col;
  return PyUnicode_FromFormat("%s%lld-%lld", v < 0 ? "-" : "", (long long)(months / 12),
                              (long long)(months % 12));
}

static PyObject *day_time_text(int negative, uint64_t seconds, uint64_t nanos)
{
  char text[80];

  PyOS_snprintf(text, sizeof text, "%s%llu %02llu:%02llu:%02llu.%09llu", negative ? "-" : "",
                (unsigned long long)(seconds / 86400), (unsigned long long)(seconds / 3600 % 24),
                (unsigned long long)(seconds / 60 % 60), (unsigned long long)(seconds % 60),
                (unsigned long long)nanos);
  return PyUnicode_FromString(text);
}

static PyObject *from_duration(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  int64_t v = ((const int64_t *)data_of(array))[i];
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, units = (uint64_t)col->units;

  return day_time_text(v < 0, u / units, u % units * (1000000000u / units));
}

static PyObject *from_day_time(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const int32_t *pair = (const int32_t *)data_of(array) + 2 * i;
  int64_t ms = (int64_t)pair[0] * 86400000 + pair[1];
  uint64_t u = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;

  (void)col;
  return day_time_text(ms < 0, u / 1000, u % 1000 * 1000000);
}

/* ---- Nested ---- */

static PyObject *make_list(const struct column *item, const struct ArrowArray *values,
                           int64_t first, int64_t count)
{
  PyObject *list = PyList_New((Py_ssize_t)count);
  int64_t k;

  for (k = 0; list && k < count; k++) {
    PyObject *value = native_convert(item, values, first + k);
    if (value)
      PyList_SET_ITEM(list, k, value);
    else
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *from_list(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const int32_t *offsets = array->buffers[1];
  return make_list(col->children, array->children[0], offsets[i], offsets[i + 1] - offsets[i]);
}

static PyObject *from_large_list(const struct column *col, const struct ArrowArray *array,
                                 int64_t i)
{
  const int64_t *offsets = array->buffers[1];
  return make_list(col->children, array->children[0], offsets[i], offsets[i + 1] - offsets[i]);
}

static PyObject *from_fixed_list(const struct column *col, const struct ArrowArray *array,
                                 int64_t i)
{
  return make_list(col->children, array->children[0], i * col->width, col->width);
}

/* A list of (key, value) pairs: order and duplicates are kept. */
static PyObject *from_map(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const int32_t *offsets = array->buffers[1];
  const struct ArrowArray *entries = array->children[0];
  const struct column *pair = col->children;
  int64_t first = offsets[i] + entries->offset, count = offsets[i + 1] - offsets[i], k;
  PyObject *list = PyList_New((Py_ssize_t)count);

  for (k = 0; list && k < count; k++) {
    PyObject *key = native_convert(&pair->children[0], entries->children[0], first + k);
    PyObject *value =
        key ? native_convert(&pair->children[1], entries->children[1], first + k) : NULL;
    PyObject *entry = value ? PyTuple_Pack(2, key, value) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(value);
    if (entry)
      PyList_SET_ITEM(list, k, entry);
    else
      Py_CLEAR(list);
  }
  return list;
}

static PyObject *from_struct(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  PyObject *dict = PyDict_New();
  int64_t k;

  for (k = 0; dict && k < col->child_count; k++) {
    PyObject *value = native_convert(&col->children[k], array->children[k], i);
    if (!value || PyDict_SetItem(dict, PyTuple_GET_ITEM(col->names, k), value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

/* ---- Choosing ---- */

static const struct {
  const char *format;
  convert_fn convert;
} plain_formats[] = {
    {"n", from_null},         {"b", from_bool},     {"c", from_i8},          {"C", from_u8},
    {"s", from_i16},          {"S", from_u16},      {"i", from_i32},         {"I", from_u32},
    {"l", from_i64},          {"L", from_u64},      {"e", from_half},        {"f", from_float},
    {"g", from_double},       {"u", from_utf8},     {"U", from_large_utf8},  {"z", from_binary},
    {"Z", from_large_binary}, {"tdD", from_date32}, {"tdm", from_date64},    {"tiM", from_months},
    {"tiD", from_day_time},   {"+l", from_list},    {"+L", from_large_list}, {"+s", from_struct},
    {"+m", from_map},
};

static int64_t units_of(char c)
{
  switch (c) {
    case 's':
      return 1;
    case 'm':
      return 1000;
    case 'u':
      return 1000000;
    default:
      return 1000000000;
  }
}

/* The tzinfo of a zone name: UTC is the standard library's own; others come from zoneinfo. */
static int set_zone(struct column *col, const char *name)
{
  static const char *const utc[] = {"UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT"};
  size_t i;

  if (!*name) return 0;
  for (i = 0; i < sizeof utc / sizeof *utc; i++)
    if (strcmp(name, utc[i]) == 0) {
      col->zone = Py_NewRef(col->state->utc);
      col->zone_is_utc = 1;
      return 0;
    }
  if (*name == '+' || *name == '-') {
    int hours = 0, minutes = 0;
    if (sscanf(name + 1, "%2d:%2d", &hours, &minutes) == 2) {
      int seconds = (hours * 60 + minutes) * 60;
      PyObject *delta = PyDelta_FromDSU(0, *name == '-' ? -seconds : seconds, 0);
      col->zone = delta ? PyTimeZone_FromOffset(delta) : NULL;
      Py_XDECREF(delta);
      return col->zone ? 0 : -1;
    }
  }
  col->zone = PyObject_CallFunction(col->state->zone_info, "s", name);
  return col->zone ? 0 : -1;
}

static int init_decimal(struct column *col, const char *format)
{
  int precision, scale, bits = 128, n = sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits);

  if (n < 2 || (bits != 32 && bits != 64 && bits != 128 && bits != 256)) return 0;
  col->convert = from_decimal;
  col->scale = scale;
  col->width = bits / 8;
  return 1;
}

/* Formats with parameters. 1: found, 0: unknown, -1: an exception. */
static int init_parametric(struct column *col, const char *format)
{
  if (format[0] == 'd' && format[1] == ':') return init_decimal(col, format);
  if (strncmp(format, "ts", 2) == 0 && format[2] && format[3] == ':') {
    col->convert = from_timestamp;
    col->units = units_of(format[2]);
    return set_zone(col, format + 4) < 0 ? -1 : 1;
  }
  if (strncmp(format, "tt", 2) == 0 && format[2]) {
    col->units = units_of(format[2]);
    col->convert = col->units <= 1000 ? from_time32 : from_time64;
    return 1;
  }
  if (strncmp(format, "tD", 2) == 0 && format[2]) {
    col->convert = from_duration;
    col->units = units_of(format[2]);
    return 1;
  }
  if (sscanf(format, "w:%d", &col->width) == 1)
    col->convert = from_fixed_binary;
  else if (sscanf(format, "+w:%d", &col->width) == 1)
    col->convert = from_fixed_list;
  return col->convert != NULL;
}

static int init_children(struct column *col, const struct ArrowSchema *field)
{
  int64_t i;

  if (field->n_children == 0) {
    col->names = PyTuple_New(0);
    return col->names ? 0 : -1;
  }
  col->children = PyMem_Calloc((size_t)field->n_children, sizeof *col->children);
  col->names = PyTuple_New((Py_ssize_t)field->n_children);
  if (!col->children || !col->names) {
    PyErr_NoMemory();
    return -1;
  }
  col->child_count = field->n_children;
  for (i = 0; i < field->n_children; i++) {
    const char *name = field->children[i]->name ? field->children[i]->name : "";
    PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
    if (!text) return -1;
    PyTuple_SET_ITEM(col->names, i, text);
    if (native_column_init(&col->children[i], col->state, field->children[i]) < 0) return -1;
  }
  return 0;
}

int native_column_init(struct column *col, struct native_state *state,
                       const struct ArrowSchema *field)
{
  size_t i;
  int found;

  if (!PyDateTimeAPI) {
    PyDateTime_IMPORT;
    if (!PyDateTimeAPI) return -1;
  }
  memset(col, 0, sizeof *col);
  col->state = state;
  col->units = 1;
  for (i = 0; i < sizeof plain_formats / sizeof *plain_formats; i++)
    if (strcmp(field->format, plain_formats[i].format) == 0)
      col->convert = plain_formats[i].convert;
  found = col->convert ? 1 : init_parametric(col, field->format);
  if (found < 0) return -1;
  if (!found) {
    char text[200];
    PyOS_snprintf(text, sizeof text,
                  "column '%.80s' has the Arrow format '%.40s', for which Python has no value; "
                  "fetch it as Arrow",
                  field->name ? field->name : "", field->format);
    (void)native_raise_text(state, "NotSupportedError", text);
    return -1;
  }
  return init_children(col, field);
}

void native_column_fini(struct column *col)
{
  int64_t i;

  for (i = 0; col->children && i < col->child_count; i++)
    native_column_fini(&col->children[i]);
  PyMem_Free(col->children);
  Py_CLEAR(col->names);
  Py_CLEAR(col->zone);
  col->children = NULL;
}
