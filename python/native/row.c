/* The rules of Row, as users of the drop-in surface know them: names are looked up after the
 * tuple's own attributes, the first of equal names wins, `in` asks for names, and values decide
 * equality, order and hash. Rows made by keyword or from a template live in mortar.sql.types. */
#include "python/native/row.h"

#include "python/native/field.h"

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

/* The place of a name; -1 without an exception: no such name, -2 with one. A comparison may run any
 * code, also code that changes the list. */
static Py_ssize_t place_of(PyObject *fields, PyObject *name)
{
  Py_ssize_t i;

  for (i = 0; i < PyList_GET_SIZE(fields); i++) {
    PyObject *field = Py_NewRef(PyList_GET_ITEM(fields, i));
    int same = PyObject_RichCompareBool(field, name, Py_EQ);
    Py_DECREF(field);
    if (same < 0) return -2;
    if (same) return i;
  }
  return -1;
}

static int is_reserved(PyObject *name)
{
  return PyUnicode_GET_LENGTH(name) >= 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
         PyUnicode_READ_CHAR(name, 1) == '_';
}

/* After the fields and a tuple's own attributes (both are found by the generic way) come names that
 * the class could not take. The first error is kept when there is no such place. */
static PyObject *row_getattro(PyObject *row, PyObject *name)
{
  PyObject *found = PyObject_GenericGetAttr(row, name), *fields;
  PyObject *type, *text, *trace;
  Py_ssize_t i = -1;

  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError) || is_reserved(name)) return found;
  PyErr_Fetch(&type, &text, &trace);
  fields = fields_of(row);
  if (fields) i = place_of(fields, name);
  Py_XDECREF(fields);
  if (i >= 0 && i < PyTuple_GET_SIZE(row)) found = Py_NewRef(PyTuple_GET_ITEM(row, i));
  PyErr_Clear();
  if (!found) {
    PyErr_Restore(type, text, trace);
    return NULL;
  }
  Py_XDECREF(type);
  Py_XDECREF(text);
  Py_XDECREF(trace);
  return found;
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

/* "a=1", or "1" without names. */
static PyObject *repr_part(PyObject *fields, PyObject *row, Py_ssize_t i)
{
  PyObject *value = PyTuple_GET_ITEM(row, i), *name, *part;

  if (!fields) return PyObject_Repr(value);
  name = Py_NewRef(PyList_GET_ITEM(fields, i));
  part = PyUnicode_FromFormat("%S=%R", name, value);
  Py_DECREF(name);
  return part;
}

static PyObject *joined_parts(PyObject *fields, PyObject *row)
{
  PyObject *parts = PyList_New(0), *comma, *joined;
  Py_ssize_t i;

  for (i = 0; parts && i < PyTuple_GET_SIZE(row); i++) {
    PyObject *part;
    if (fields && i >= PyList_GET_SIZE(fields)) break;
    part = repr_part(fields, row, i);
    if (!part || PyList_Append(parts, part) < 0) Py_CLEAR(parts);
    Py_XDECREF(part);
  }
  comma = parts ? PyUnicode_FromString(", ") : NULL;
  joined = comma ? PyUnicode_Join(comma, parts) : NULL;
  Py_XDECREF(comma);
  Py_XDECREF(parts);
  return joined;
}

/* "Row(a=1, b='x')"; a template is "<Row('a', 'b')>". */
static PyObject *row_repr(PyObject *row)
{
  PyObject *fields = fields_of(row), *joined, *text;

  if (!fields) PyErr_Clear();
  joined = joined_parts(fields, row);
  text = joined ? PyUnicode_FromFormat(fields ? "Row(%U)" : "<Row(%U)>", joined) : NULL;
  Py_XDECREF(joined);
  Py_XDECREF(fields);
  return text;
}

/* A named row is pickled as _create_row(names, values), a template as Row(*values). */
static PyObject *row_reduce(PyObject *row, PyObject *Py_UNUSED(ignored))
{
  PyObject *fields = fields_of(row), *types = NULL, *maker = NULL, *values = NULL, *result = NULL;

  if (!fields) PyErr_Clear();
  types = PyImport_ImportModule("mortar.sql.types");
  if (types) maker = PyObject_GetAttrString(types, fields ? "_create_row" : "Row");
  if (maker) values = fields ? PySequence_List(row) : PySequence_Tuple(row);
  if (values && fields)
    result = Py_BuildValue("O(OO)", maker, fields, values);
  else if (values)
    result = Py_BuildValue("OO", maker, values);
  Py_XDECREF(values);
  Py_XDECREF(maker);
  Py_XDECREF(types);
  Py_XDECREF(fields);
  return result;
}

static PyObject *convert_deep(PyObject *value);

static int put_field(PyObject *dict, PyObject *name, PyObject *value, int recursive)
{
  int failed;

  value = recursive ? convert_deep(value) : Py_NewRef(value);
  if (!value) return -1;
  Py_INCREF(name);
  failed = PyDict_SetItem(dict, name, value);
  Py_DECREF(name);
  Py_DECREF(value);
  return failed;
}

static PyObject *as_dict(PyObject *row, int recursive)
{
  PyObject *fields = fields_of(row), *dict = fields ? PyDict_New() : NULL;
  Py_ssize_t i, n = PyTuple_GET_SIZE(row);

  for (i = 0; dict && i < n && i < PyList_GET_SIZE(fields); i++)
    if (put_field(dict, PyList_GET_ITEM(fields, i), PyTuple_GET_ITEM(row, i), recursive) < 0)
      Py_CLEAR(dict);
  Py_XDECREF(fields);
  return dict;
}

static PyObject *deep_list(PyObject *list)
{
  PyObject *copy = PyList_New(0);
  Py_ssize_t i;

  for (i = 0; copy && i < PyList_GET_SIZE(list); i++) {
    PyObject *value = convert_deep(PyList_GET_ITEM(list, i));
    if (!value || PyList_Append(copy, value) < 0) Py_CLEAR(copy);
    Py_XDECREF(value);
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
  if (PyObject_HasAttrString((PyObject *)Py_TYPE(row), "__fields__"))
    return as_dict(row, recursive);
  PyErr_SetString(PyExc_TypeError, "Cannot convert a Row class into dict");
  return NULL;
}

static int row_setattro(PyObject *row, PyObject *name, PyObject *value)
{
  (void)row;
  (void)name;
  (void)value;
  PyErr_SetString(PyExc_RuntimeError, "Row is read-only");
  return -1;
}

/* The tuple's own does not visit the class, which each row holds. */
static int row_traverse(PyObject *row, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(row));
  return PyTuple_Type.tp_traverse(row, visit, arg);
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
    {Py_tp_traverse, row_traverse},
    {Py_mp_subscript, row_subscript},
    {Py_sq_contains, row_contains},
    {0, NULL},
};

static PyType_Spec row_spec = {
    .name = "mortar.sql.types.RowBase",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = row_slots,
};

PyTypeObject *native_row_type_new(PyObject *module)
{
  PyObject *bases = PyTuple_Pack(1, (PyObject *)&PyTuple_Type);
  PyObject *type = bases ? PyType_FromModuleAndSpec(module, &row_spec, bases) : NULL;

  Py_XDECREF(bases);
  return (PyTypeObject *)type;
}

/* Gives the first place of each name a descriptor, unless a tuple has an attribute of that name. */
static int add_fields(struct native_state *state, PyObject *names, PyObject *space)
{
  Py_ssize_t i;

  for (i = 0; i < PyList_GET_SIZE(names); i++) {
    PyObject *name = PyList_GET_ITEM(names, i), *field;
    int failed;
    if (!PyUnicode_Check(name) || is_reserved(name) ||
        PyObject_HasAttr((PyObject *)state->row_type, name) || PyDict_Contains(space, name))
      continue;
    field = native_field_new(state, i);
    failed = !field || PyDict_SetItem(space, name, field) < 0;
    Py_XDECREF(field);
    if (failed) return -1;
  }
  return 0;
}

PyTypeObject *native_row_subtype(struct native_state *state, PyObject *names)
{
  PyObject *space = Py_BuildValue("{s:O,s:(),s:s}", "__fields__", names, "__slots__", "__module__",
                                  "mortar.sql.types");
  PyObject *type = NULL;

  if (space && add_fields(state, names, space) == 0)
    type = PyObject_CallFunction((PyObject *)&PyType_Type, "s(O)O", "Row",
                                 (PyObject *)state->row_type, space);
  Py_XDECREF(space);
  return (PyTypeObject *)type;
}
