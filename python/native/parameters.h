/* What execute() was given as `parameters`, for mortar_statement_bind. */
#ifndef MORTAR_NATIVE_PARAMETERS_H
#define MORTAR_NATIVE_PARAMETERS_H

#include "python/native/connection.h"

/* All zero: none. */
struct native_parameters {
  PyObject *operation, *wire;    /* as mortar.sql.parameters made them; wire owns the texts below */
  struct mortar_parameter *list; /* may be NULL when count is 0 */
  size_t count;
};

/* -1 with an exception; out needs no fini then. */
int native_parameters_init(struct native_parameters *out, ConnectionObject *conn,
                           PyObject *operation, PyObject *parameters);
void native_parameters_fini(struct native_parameters *parameters);

#endif
