/* The module mortar._native: types over the public C API, nothing else. Multi-phase, no global
 * state, so that several interpreters can each have their own. */
#include "python/native/connection.h"
#include "python/native/cursor.h"
#include "python/native/field.h"
#include "python/native/row.h"
#include "python/native/state.h"
#include "python/native/table.h"

/* A name of another module, or with NULL the module itself. -1 with an exception. */
static int borrow(const char *module_name, const char *name, PyObject **out)
{
  PyObject *module = PyImport_ImportModule(module_name);

  *out = module && name ? PyObject_GetAttrString(module, name) : Py_XNewRef(module);
  Py_XDECREF(module);
  return *out ? 0 : -1;
}

static int borrow_utc(PyObject **out)
{
  PyObject *zone_class;

  if (borrow("datetime", "timezone", &zone_class) < 0) return -1;
  *out = PyObject_GetAttrString(zone_class, "utc");
  Py_DECREF(zone_class);
  return *out ? 0 : -1;
}

static int borrow_others(struct native_state *state)
{
  if (borrow("mortar.sql.exc", NULL, &state->exc) < 0 ||
      borrow("mortar.sql._log", NULL, &state->log) < 0 ||
      borrow("mortar.sql._keywords", "in_keywords", &state->in_keywords) < 0 ||
      borrow("decimal", "Decimal", &state->decimal) < 0 ||
      borrow("zoneinfo", "ZoneInfo", &state->zone_info) < 0 || borrow_utc(&state->utc) < 0 ||
      borrow("datetime", "datetime_CAPI", &state->datetime_owner) < 0)
    return -1;
  state->fromutc = PyUnicode_InternFromString("fromutc");
  state->datetime = PyCapsule_GetPointer(state->datetime_owner, "datetime.datetime_CAPI");
  return state->fromutc && state->datetime ? 0 : -1;
}

/* The type goes into the state, too. -1 with an exception. */
static int add_type(PyObject *module, PyTypeObject *type, PyTypeObject **place)
{
  *place = type;
  return type ? PyModule_AddType(module, type) : -1;
}

static int add_types(PyObject *module, struct native_state *state)
{
  state->field_type = native_field_type_new(module);
  state->plan_type = state->field_type ? native_plan_type_new(module) : NULL;
  return state->plan_type && add_type(module, native_row_type_new(module), &state->row_type) == 0 &&
                 add_type(module, native_table_type_new(module), &state->table_type) == 0 &&
                 add_type(module, native_cursor_type_new(module), &state->cursor_type) == 0 &&
                 add_type(module, native_connection_type_new(module), &state->connection_type) == 0
             ? 0
             : -1;
}

/* The types come first: mortar.sql wants them while it is imported, which is here when nobody has
 * done so before. */
static int exec_module(PyObject *module)
{
  struct native_state *state = native_state_of_module(module);

  if (add_types(module, state) < 0 || borrow_others(state) < 0) return -1;
  return PyModule_AddStringConstant(module, "version", mortar_version());
}

static int traverse_module(PyObject *module, visitproc visit, void *arg)
{
  struct native_state *state = native_state_of_module(module);

  Py_VISIT(state->connection_type);
  Py_VISIT(state->cursor_type);
  Py_VISIT(state->row_type);
  Py_VISIT(state->field_type);
  Py_VISIT(state->plan_type);
  Py_VISIT(state->table_type);
  Py_VISIT(state->exc);
  Py_VISIT(state->log);
  Py_VISIT(state->in_keywords);
  Py_VISIT(state->decimal);
  Py_VISIT(state->zone_info);
  Py_VISIT(state->utc);
  Py_VISIT(state->datetime_owner);
  return 0;
}

static int clear_module(PyObject *module)
{
  struct native_state *state = native_state_of_module(module);

  Py_CLEAR(state->connection_type);
  Py_CLEAR(state->cursor_type);
  Py_CLEAR(state->row_type);
  Py_CLEAR(state->field_type);
  Py_CLEAR(state->plan_type);
  Py_CLEAR(state->table_type);
  Py_CLEAR(state->exc);
  Py_CLEAR(state->log);
  Py_CLEAR(state->in_keywords);
  Py_CLEAR(state->decimal);
  Py_CLEAR(state->zone_info);
  Py_CLEAR(state->utc);
  Py_CLEAR(state->fromutc);
  Py_CLEAR(state->datetime_owner);
  state->datetime = NULL;
  return 0;
}

static void free_module(void *module) { (void)clear_module((PyObject *)module); }

/* mortar.sql.types says which class the rows of results derive from. */
static PyObject *set_row_class(PyObject *module, PyObject *type)
{
  struct native_state *state = native_state_of_module(module);

  if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, state->row_type)) {
    PyErr_SetString(PyExc_TypeError, "the row class must derive from RowBase");
    return NULL;
  }
  Py_SETREF(state->row_type, (PyTypeObject *)Py_NewRef(type));
  Py_RETURN_NONE;
}

/* A class for rows made by hand. */
static PyObject *row_class(PyObject *module, PyObject *names)
{
  if (PyList_Check(names))
    return (PyObject *)native_row_subtype(native_state_of_module(module), names);
  PyErr_SetString(PyExc_TypeError, "the names of a row must be a list");
  return NULL;
}

static PyMethodDef module_methods[] = {
    {"_row_class", row_class, METH_O, NULL},
    {"_set_row_class", set_row_class, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, exec_module},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mortar._native",
    .m_doc = "Types over libmortar. Use mortar.sql instead.",
    .m_size = sizeof(struct native_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = traverse_module,
    .m_clear = clear_module,
    .m_free = free_module,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&native_module); }
