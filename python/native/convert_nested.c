/* Lists, maps and structs. How deep they may go the schema reader has bounded. */
#include "python/native/convert.h"

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

NATIVE_CONVERTER(list)
{
  const int32_t *offsets = array->buffers[1];
  return make_list(col->children, array->children[0], offsets[i], offsets[i + 1] - offsets[i]);
}

NATIVE_CONVERTER(large_list)
{
  const int64_t *offsets = array->buffers[1];
  return make_list(col->children, array->children[0], offsets[i], offsets[i + 1] - offsets[i]);
}

NATIVE_CONVERTER(fixed_list)
{
  return make_list(col->children, array->children[0], i * col->width, col->width);
}

/* A list of (key, value) pairs: order and duplicates are kept. */
NATIVE_CONVERTER(map)
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

NATIVE_CONVERTER(struct)
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
