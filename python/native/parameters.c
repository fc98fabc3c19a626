/* Asks mortar.sql.parameters what values and texts are meant, and points at its strings. The module
 * is imported by the first statement that has parameters. */
#include "python/native/parameters.h"

#include "python/native/errors.h"

static void free_list(struct mortar_parameter *list, size_t count)
{
  size_t i;

  for (i = 0; list && i < count; i++)
    free_list((struct mortar_parameter *)list[i].arguments, list[i].argument_count);
  PyMem_Free(list);
}

static int read_list(PyObject *wire, struct mortar_parameter **list, size_t *count);

/* A tuple of name, type, value and arguments. */
static int read_one(PyObject *tuple, struct mortar_parameter *out)
{
  struct mortar_parameter *arguments = NULL;
  PyObject *inner;
  Py_ssize_t size;

  if (!PyArg_ParseTuple(tuple, "zsz#O", &out->name, &out->type, &out->value, &size, &inner))
    return -1;
  out->value_size = (size_t)size;
  if (inner == Py_None) return 0;
  if (read_list(inner, &arguments, &out->argument_count) < 0) return -1;
  out->arguments = arguments;
  return 0;
}

/* wire is a list or a tuple. */
static int read_list(PyObject *wire, struct mortar_parameter **list, size_t *count)
{
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(wire);
  struct mortar_parameter *items = PyMem_Calloc((size_t)size, sizeof *items);
  Py_ssize_t i;

  if (!items) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < size; i++) {
    if (read_one(PySequence_Fast_GET_ITEM(wire, i), &items[i]) == 0) continue;
    free_list(items, (size_t)size);
    return -1;
  }
  *list = items;
  *count = (size_t)size;
  return 0;
}

static PyObject *prepare(PyObject *connection, PyObject *operation, PyObject *parameters)
{
  PyObject *module = PyImport_ImportModule("mortar.sql.parameters"), *prepared;

  if (!module) return NULL;
  prepared = PyObject_CallMethod(module, "prepare", "OOO", connection, operation, parameters);
  Py_DECREF(module);
  return prepared;
}

int native_parameters_init(struct native_parameters *out, ConnectionObject *conn,
                           PyObject *operation, PyObject *parameters)
{
  PyObject *prepared = prepare((PyObject *)conn, operation, parameters);

  memset(out, 0, sizeof *out);
  if (!prepared) return -1;
  if (PyArg_ParseTuple(prepared, "OO!", &out->operation, &PyList_Type, &out->wire)) {
    Py_INCREF(out->operation);
    Py_INCREF(out->wire);
  }
  Py_DECREF(prepared);
  if (out->wire && read_list(out->wire, &out->list, &out->count) == 0) return 0;
  native_parameters_fini(out);
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
  PyErr_Clear(); /* of a text that is no text for C or UTF-8 */
  (void)native_raise_text(conn->state, "ProgrammingError",
                          "a parameter holds half a surrogate pair, which UTF-8 can't express, or "
                          "its name or type the character NUL");
  return -1;
}

void native_parameters_fini(struct native_parameters *parameters)
{
  free_list(parameters->list, parameters->count);
  Py_CLEAR(parameters->wire);
  Py_CLEAR(parameters->operation);
  memset(parameters, 0, sizeof *parameters);
}
