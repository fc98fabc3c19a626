/* Chooses the converter of a column by its Arrow format. The converters are in convert_*.c. */
#include "python/native/column.h"

#include <stdio.h>
#include <string.h>

#include "python/native/convert.h"
#include "python/native/errors.h"
#include "python/native/memo.h"

static const struct {
  const char *format;
  convert_fn convert;
} plain_formats[] = {
    {"n", native_from_null},     {"b", native_from_bool},         {"c", native_from_i8},
    {"C", native_from_u8},       {"s", native_from_i16},          {"S", native_from_u16},
    {"i", native_from_i32},      {"I", native_from_u32},          {"l", native_from_i64},
    {"L", native_from_u64},      {"e", native_from_half},         {"f", native_from_float},
    {"g", native_from_double},   {"u", native_from_utf8},         {"U", native_from_large_utf8},
    {"z", native_from_binary},   {"Z", native_from_large_binary}, {"tdD", native_from_date32},
    {"tdm", native_from_date64}, {"tiM", native_from_months},     {"tiD", native_from_day_time},
    {"+l", native_from_list},    {"+L", native_from_large_list},  {"+s", native_from_struct},
    {"+m", native_from_map},
};

static convert_fn plain_converter(const char *format)
{
  size_t i;

  for (i = 0; i < sizeof plain_formats / sizeof *plain_formats; i++)
    if (strcmp(format, plain_formats[i].format) == 0) return plain_formats[i].convert;
  return NULL;
}

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

/* "d:10,2" or "d:10,2,256" */
static convert_fn parse_decimal(struct column *col, const char *format)
{
  int precision, bits = 128, n = sscanf(format, "d:%d,%d,%d", &precision, &col->scale, &bits);

  if (n < 2 || (bits != 32 && bits != 64 && bits != 128 && bits != 256)) return NULL;
  if (col->scale > NATIVE_DECIMAL_SCALE_MAX || col->scale < -NATIVE_DECIMAL_SCALE_MAX) return NULL;
  col->width = bits / 8;
  return native_from_decimal;
}

/* "tsu:Europe/Oslo". A zone that this machine does not know is a problem of the values alone. */
static convert_fn parse_timestamp(struct column *col, const char *format)
{
  const char *zone = format + 4;

  col->units = units_of(format[2]);
  if (!*zone) return native_from_timestamp;
  col->zone = native_zone(col->state, zone);
  if (!col->zone) return NULL;
  col->zone_is_utc = col->zone == col->state->utc;
  return native_from_timestamp;
}

static convert_fn parse_time(struct column *col, const char *format)
{
  col->units = units_of(format[2]);
  if (format[1] == 'D') return native_from_duration;
  return col->units <= 1000 ? native_from_time32 : native_from_time64;
}

/* Formats with parameters. NULL: there is no converter; an exception may say why. */
static convert_fn parametric_converter(struct column *col, const char *format)
{
  if (strncmp(format, "d:", 2) == 0) return parse_decimal(col, format);
  if (strncmp(format, "ts", 2) == 0 && format[2] && format[3] == ':')
    return parse_timestamp(col, format);
  if ((strncmp(format, "tt", 2) == 0 || strncmp(format, "tD", 2) == 0) && format[2])
    return parse_time(col, format);
  if (sscanf(format, "w:%d", &col->width) == 1 && col->width >= 0) return native_from_fixed_binary;
  if (sscanf(format, "+w:%d", &col->width) == 1 && col->width >= 0) return native_from_fixed_list;
  return NULL;
}

static PyObject *from_problem(const struct column *col, const struct ArrowArray *array, int64_t i)
{
  const char *text = PyUnicode_AsUTF8(col->problem);

  (void)array;
  (void)i;
  return text ? native_raise_text(col->state, "NotSupportedError", text) : NULL;
}

/* No converter was found: keeps what to say when a value is asked for. */
static int set_problem(struct column *col, const struct ArrowSchema *field)
{
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return -1;
  PyErr_Clear();
  col->convert = from_problem;
  col->problem = PyUnicode_FromFormat(
      "column '%.80s' has the Arrow format '%.80s', for which Python has no value here; fetch it "
      "as "
      "Arrow or cast it to STRING",
      field->name ? field->name : "", field->format);
  return col->problem ? 0 : -1;
}

static int has_memo(convert_fn convert)
{
  return convert == native_from_decimal || convert == native_from_date32 ||
         convert == native_from_date64 || convert == native_from_utf8 ||
         convert == native_from_large_utf8;
}

static int init_memo(struct column *col)
{
  if (!has_memo(col->convert)) return 0;
  col->memo = PyMem_Calloc(1, sizeof *col->memo);
  if (col->memo) return 0;
  PyErr_NoMemory();
  return -1;
}

static int init_child(struct column *col, int64_t i, const struct ArrowSchema *field)
{
  const char *name = field->name ? field->name : "";
  PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");

  if (!text) return -1;
  PyTuple_SET_ITEM(col->names, i, text);
  return native_column_init(&col->children[i], col->state, field);
}

static int init_children(struct column *col, const struct ArrowSchema *field)
{
  int64_t i;

  if (field->n_children == 0) return 0;
  col->children = PyMem_Calloc((size_t)field->n_children, sizeof *col->children);
  if (!col->children) {
    PyErr_NoMemory();
    return -1;
  }
  col->child_count = field->n_children;
  col->names = PyTuple_New((Py_ssize_t)field->n_children);
  if (!col->names) return -1;
  for (i = 0; i < field->n_children; i++)
    if (init_child(col, i, field->children[i]) < 0) return -1;
  return 0;
}

int native_column_init(struct column *col, struct native_state *state,
                       const struct ArrowSchema *field)
{
  memset(col, 0, sizeof *col);
  col->state = state;
  col->units = 1;
  col->convert = plain_converter(field->format);
  if (!col->convert) col->convert = parametric_converter(col, field->format);
  if (!col->convert && set_problem(col, field) < 0) return -1;
  if (init_memo(col) < 0) return -1;
  return init_children(col, field);
}

static void memo_free(struct memo *memo)
{
  size_t i;

  for (i = 0; memo && i < sizeof memo->entries / sizeof *memo->entries; i++)
    Py_XDECREF(memo->entries[i].value);
  PyMem_Free(memo);
}

void native_column_fini(struct column *col)
{
  int64_t i;

  for (i = 0; col->children && i < col->child_count; i++)
    native_column_fini(&col->children[i]);
  PyMem_Free(col->children);
  memo_free(col->memo);
  Py_CLEAR(col->names);
  Py_CLEAR(col->zone);
  Py_CLEAR(col->problem);
  col->children = NULL;
  col->memo = NULL;
}
