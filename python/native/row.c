/* The rules of Row, as users of the drop-in surface know them: names are looked up after the
 * tuple's own attributes, the first of equal names wins, `in` asks for names, and values decide
 * equality, order and hash. Rows made by keyword or from a template live in mortar.sql.types. */
#include "python/native/row.h"

static PyObject *fields_of(PyObject *row)
{
  PyObject *fields = PyObject_GetAttrString((PyObject *)Py_TYPE(row), "__fields__");

  if (fields && !PyList_Check(fields)) {
    Py_DECREF(fields);
    PyErr_SetString(PyExc_AttributeError, "this row has no field names");
    return NULL;
  }
  return fields;
}

/* The place of a name; -1 without an exception: no such name, -2 with one. */
static Py_ssize_t place_of(PyObject *fields, PyObject *name)
{
  Py_ssize_t i, n = PyList_GET_SIZE(fields);

  for (i = 0; i < n; i++) {
    int same = PyObject_RichCompareBool(PyList_GET_ITEM(fields, i), name, Py_EQ);
    if (same < 0) return -2;
    if (same) return i;
  }
  return -1;
}

static PyObject *row_getattro(PyObject *row, PyObject *name)
{
  PyObject *found = PyObject_GenericGetAttr(row, name), *fields, *value;
  PyObject *type, *text, *trace;
  Py_ssize_t i;

  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Fetch(&type, &text, &trace);
  fields = fields_of(row);
  i = fields ? place_of(fields, name) : -1;
  Py_XDECREF(fields);
  if (i < 0 || i >= PyTuple_GET_SIZE(row)) {
    PyErr_Clear();
    PyErr_Restore(type, text, trace);
    return NULL;
  }
  Py_XDECREF(type);
  Py_XDECREF(text);
  Py_XDECREF(trace);
  value = PyTuple_GET_ITEM(row, i);
  return Py_NewRef(value);
}

static PyObject *row_subscript(PyObject *row, PyObject *key)
{
  PyObject *fields;
  Py_ssize_t i;

  if (!PyUnicode_Check(key)) return PyTuple_Type.tp_as_mapping->mp_subscript(row, key);
  fields = fields_of(row);
  if (!fields) return NULL;
  i = place_of(fields, key);
  Py_DECREF(fields);
  if (i == -2) return NULL;
  if (i < 0) return PyErr_Format(PyExc_ValueError, "%R is not a field of this row", key);
  if (i >= PyTuple_GET_SIZE(row)) {
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
  }
  return Py_NewRef(PyTuple_GET_ITEM(row, i));
}

static int row_contains(PyObject *row, PyObject *item)
{
  PyObject *fields = fields_of(row);
  Py_ssize_t i;

  if (!fields) {
    PyErr_Clear();
    return PyTuple_Type.tp_as_sequence->sq_contains(row, item);
  }
  i = place_of(fields, item);
  Py_DECREF(fields);
  return i == -2 ? -1 : i >= 0;
}

/* "Row(a=1, b='x')" */
static PyObject *row_repr(PyObject *row)
{
  PyObject *fields = fields_of(row), *parts, *joined = NULL, *comma, *text = NULL;
  Py_ssize_t i, n = PyTuple_GET_SIZE(row);

  if (!fields) return NULL;
  parts = PyList_New(0);
  for (i = 0; parts && i < n && i < PyList_GET_SIZE(fields); i++) {
    PyObject *part =
        PyUnicode_FromFormat("%U=%R", PyList_GET_ITEM(fields, i), PyTuple_GET_ITEM(row, i));
    if (!part || PyList_Append(parts, part) < 0) Py_CLEAR(parts);
    Py_XDECREF(part);
  }
  comma = parts ? PyUnicode_FromString(", ") : NULL;
  joined = comma ? PyUnicode_Join(comma, parts) : NULL;
  text = joined ? PyUnicode_FromFormat("Row(%U)", joined) : NULL;
  Py_XDECREF(joined);
  Py_XDECREF(comma);
  Py_XDECREF(parts);
  Py_DECREF(fields);
  return text;
}

static PyObject *row_reduce(PyObject *row, PyObject *Py_UNUSED(ignored))
{
  PyObject *types = PyImport_ImportModule("mortar.sql.types");
  PyObject *create = types ? PyObject_GetAttrString(types, "_create_row") : NULL;
  PyObject *fields = create ? fields_of(row) : NULL;
  PyObject *values = fields ? PyTuple_GetSlice(row, 0, PyTuple_GET_SIZE(row)) : NULL;
  PyObject *result = NULL, *plain = NULL;

  if (values) plain = PySequence_List(values);
  if (plain) result = Py_BuildValue("O(OO)", create, fields, plain);
  Py_XDECREF(plain);
  Py_XDECREF(values);
  Py_XDECREF(fields);
  Py_XDECREF(create);
  Py_XDECREF(types);
  return result;
}

static PyObject *convert_deep(PyObject *value);

static PyObject *as_dict(PyObject *row, int recursive)
{
  PyObject *fields = fields_of(row), *dict = fields ? PyDict_New() : NULL;
  Py_ssize_t i, n = PyTuple_GET_SIZE(row);

  for (i = 0; dict && i < n && i < PyList_GET_SIZE(fields); i++) {
    PyObject *value = PyTuple_GET_ITEM(row, i);
    value = recursive ? convert_deep(value) : Py_NewRef(value);
    if (!value || PyDict_SetItem(dict, PyList_GET_ITEM(fields, i), value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  Py_XDECREF(fields);
  return dict;
}

static PyObject *deep_list(PyObject *list)
{
  Py_ssize_t i, n = PyList_GET_SIZE(list);
  PyObject *copy = PyList_New(n);

  for (i = 0; copy && i < n; i++) {
    PyObject *value = convert_deep(PyList_GET_ITEM(list, i));
    if (value)
      PyList_SET_ITEM(copy, i, value);
    else
      Py_CLEAR(copy);
  }
  return copy;
}

static PyObject *deep_dict(PyObject *dict)
{
  PyObject *copy = PyDict_New(), *key, *value;
  Py_ssize_t pos = 0;

  while (copy && PyDict_Next(dict, &pos, &key, &value)) {
    PyObject *deep = convert_deep(value);
    if (!deep || PyDict_SetItem(copy, key, deep) < 0) Py_CLEAR(copy);
    Py_XDECREF(deep);
  }
  return copy;
}

/* Rows inside lists and dicts become dicts too. */
static PyObject *convert_deep(PyObject *value)
{
  PyObject *result;

  if (Py_EnterRecursiveCall(" while a row is made a dict")) return NULL;
  if (PyTuple_Check(value) && PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__fields__"))
    result = as_dict(value, 1);
  else if (PyList_Check(value))
    result = deep_list(value);
  else if (PyDict_Check(value))
    result = deep_dict(value);
  else
    result = Py_NewRef(value);
  Py_LeaveRecursiveCall();
  return result;
}

static PyObject *row_as_dict(PyObject *row, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"recursive", NULL};
  int recursive = 0;

  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", names, &recursive)) return NULL;
  return as_dict(row, recursive);
}

static int row_setattro(PyObject *row, PyObject *name, PyObject *value)
{
  (void)row;
  (void)name;
  (void)value;
  PyErr_SetString(PyExc_RuntimeError, "Row is read-only");
  return -1;
}

static PyMethodDef row_methods[] = {
    {"asDict", (PyCFunction)(void (*)(void))row_as_dict, METH_VARARGS | METH_KEYWORDS,
     "asDict(recursive=False)\n--\n\nThe row as a dict of name to value; the last of equal names "
     "wins."},
    {"__reduce__", row_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot row_slots[] = {
    {Py_tp_doc, "One row of a result: a tuple whose places have names."},
    {Py_tp_getattro, row_getattro},
    {Py_tp_setattro, row_setattro},
    {Py_tp_repr, row_repr},
    {Py_tp_methods, row_methods},
    {Py_mp_subscript, row_subscript},
    {Py_sq_contains, row_contains},
    {0, NULL},
};

static PyType_Spec row_spec = {
    .name = "mortar.sql.types.RowBase",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = row_slots,
};

PyTypeObject *native_row_type_new(PyObject *module)
{
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyTuple_Type);
  PyObject *type = bases ? PyType_FromModuleAndSpec(module, &row_spec, bases) : NULL;

  Py_XDECREF(bases);
  return (PyTypeObject *)type;
}

PyTypeObject *native_row_subtype(PyTypeObject *base, PyObject *names)
{
  PyObject *space = Py_BuildValue("{s:O,s:(),s:s}", "__fields__", names, "__slots__", "__module__",
                                  "mortar.sql.types");
  PyObject *type = space ? PyObject_CallFunction((PyObject *)&PyType_Type, "s(O)O", "Row",
                                                 (PyObject *)base, space)
                         : NULL;

  Py_XDECREF(space);
  return (PyTypeObject *)type;
}
