/* What one instance of the module owns. No C static holds a Python object. */
#ifndef KILN_PYTHON_STATE_H
#define KILN_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct kiln_state {
  PyTypeObject *server_type;
  PyObject *error; /* mortar.kiln._kiln.Error */
};

#endif
