/* The Server type: a running Kiln with its DuckDB engine. */
#ifndef KILN_PYTHON_SERVER_TYPE_H
#define KILN_PYTHON_SERVER_TYPE_H

#include "kiln/python/state.h"

extern PyType_Spec kiln_server_type_spec;

/* The module's function start(**options): starts a server and returns it. */
PyObject *kiln_server_type_start(PyObject *module, PyObject *args, PyObject *kwargs);
extern const char kiln_server_type_start_doc[];

#endif
