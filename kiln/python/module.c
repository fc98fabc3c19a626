/* mortar.kiln._kiln: the native half of Kiln. Holds the server type and the function that starts
 * one; everything that a person reads or types is in the Python package. */
#include "kiln/python/server_type.h"

static int module_exec(PyObject *module)
{
  struct kiln_state *state = PyModule_GetState(module);

  state->error =
      PyErr_NewExceptionWithDoc("mortar.kiln._kiln.Error", "Kiln does not start.", NULL, NULL);
  if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0) return -1;
  state->server_type =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &kiln_server_type_spec, NULL);
  if (!state->server_type) return -1;
  return PyModule_AddType(module, state->server_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
  struct kiln_state *state = PyModule_GetState(module);

  Py_VISIT(state->server_type);
  Py_VISIT(state->error);
  return 0;
}

static int module_clear(PyObject *module)
{
  struct kiln_state *state = PyModule_GetState(module);

  Py_CLEAR(state->server_type);
  Py_CLEAR(state->error);
  return 0;
}

static void module_free(void *module) { (void)module_clear(module); }

static PyMethodDef functions[] = {{"start", (PyCFunction)(void (*)(void))kiln_server_type_start,
                                   METH_VARARGS | METH_KEYWORDS, kiln_server_type_start_doc},
                                  {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mortar.kiln._kiln",
    .m_doc = "The native half of Kiln.",
    .m_size = sizeof(struct kiln_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__kiln(void) { return PyModuleDef_Init(&definition); }
