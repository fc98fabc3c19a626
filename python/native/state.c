/* Finds the module's state from where only a type or the module is at hand. */
#include "python/native/state.h"

struct native_state *native_state_of_module(PyObject *module) { return PyModule_GetState(module); }

/* For subclasses too: the first class of the MRO that this module made knows it. */
struct native_state *native_state_of_type(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030B0000
  PyObject *module = PyType_GetModuleByDef(type, &native_module);
  return module ? PyModule_GetState(module) : NULL;
#else
  PyObject *mro = type->tp_mro;
  Py_ssize_t i;

  for (i = 0; i < PyTuple_GET_SIZE(mro); i++) {
    PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
    PyObject *module;
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    module = ((PyHeapTypeObject *)base)->ht_module;
    if (module && PyModule_GetDef(module) == &native_module) return PyModule_GetState(module);
  }
  PyErr_SetString(PyExc_TypeError, "this type is not one of mortar._native");
  return NULL;
#endif
}
