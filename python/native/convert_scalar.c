/* Numbers, booleans, text and bytes. */
#include "python/native/convert.h"

#include <math.h>
#include <string.h>

#include "python/native/errors.h"
#include "python/native/memo.h"

static const void *data_of(const struct ArrowArray *array) { return array->buffers[1]; }

NATIVE_CONVERTER(null)
{
  (void)col;
  (void)array;
  (void)i;
  Py_RETURN_NONE;
}

NATIVE_CONVERTER(bool)
{
  const uint8_t *bits = data_of(array);
  (void)col;
  return PyBool_FromLong(bits[i >> 3] >> (i & 7) & 1);
}

#define NUMBER(name, type, make)                                                                   \
  NATIVE_CONVERTER(name)                                                                           \
  {                                                                                                \
    type v;                                                                                        \
    (void)col;                                                                                     \
    memcpy(&v, (const char *)data_of(array) + (size_t)i * sizeof v, sizeof v);                     \
    return make;                                                                                   \
  }
NUMBER(i8, int8_t, PyLong_FromLong(v))
NUMBER(i16, int16_t, PyLong_FromLong(v))
NUMBER(i32, int32_t, PyLong_FromLong(v))
NUMBER(i64, int64_t, PyLong_FromLongLong(v))
NUMBER(u8, uint8_t, PyLong_FromLong(v))
NUMBER(u16, uint16_t, PyLong_FromLong(v))
NUMBER(u32, uint32_t, PyLong_FromUnsignedLong(v))
NUMBER(u64, uint64_t, PyLong_FromUnsignedLongLong(v))
NUMBER(float, float, PyFloat_FromDouble((double)v))
NUMBER(double, double, PyFloat_FromDouble(v))
#undef NUMBER

NATIVE_CONVERTER(half)
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

static struct piece piece_of(const struct ArrowArray *array, int64_t from, int64_t to)
{
  const char *data = array->buffers[2];
  return to > from ? (struct piece){data + from, (Py_ssize_t)(to - from)} : (struct piece){"", 0};
}

static struct piece piece32(const struct ArrowArray *array, int64_t i)
{
  const int32_t *offsets = array->buffers[1];
  return piece_of(array, offsets[i], offsets[i + 1]);
}

static struct piece piece64(const struct ArrowArray *array, int64_t i)
{
  const int64_t *offsets = array->buffers[1];
  return piece_of(array, offsets[i], offsets[i + 1]);
}

static PyObject *decode(const struct column *col, struct piece p)
{
  PyObject *text = PyUnicode_DecodeUTF8(p.data, p.size, NULL);

  if (text || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return text;
  PyErr_Clear();
  return native_raise_text(col->state, "DataError",
                           "a text is not valid UTF-8; fetch it as Arrow or cast it to BINARY");
}

/* Texts of up to seven bytes fit a memo's key together with their length. */
static PyObject *text_of(const struct column *col, struct piece p)
{
  uint64_t key = (uint64_t)p.size << 56;
  PyObject *text;

  if (p.size > 7) return decode(col, p);
  memcpy(&key, p.data, (size_t)p.size);
  text = memo_get(col->memo, key);
  return text ? text : memo_put(col->memo, key, decode(col, p));
}

NATIVE_CONVERTER(utf8) { return text_of(col, piece32(array, i)); }

NATIVE_CONVERTER(large_utf8) { return text_of(col, piece64(array, i)); }

NATIVE_CONVERTER(binary)
{
  struct piece p = piece32(array, i);
  (void)col;
  return PyBytes_FromStringAndSize(p.data, p.size);
}

NATIVE_CONVERTER(large_binary)
{
  struct piece p = piece64(array, i);
  (void)col;
  return PyBytes_FromStringAndSize(p.data, p.size);
}

NATIVE_CONVERTER(fixed_binary)
{
  return PyBytes_FromStringAndSize((const char *)data_of(array) + (size_t)i * (size_t)col->width,
                                   col->width);
}
