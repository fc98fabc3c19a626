/* What one import of the module owns: its types and what it borrowed from other modules. No C
 * static holds a Python object, so that interpreters stay apart. */
#ifndef MORTAR_NATIVE_STATE_H
#define MORTAR_NATIVE_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mortar/mortar.h"

struct native_state {
  PyTypeObject *connection_type, *cursor_type, *row_type, *field_type, *plan_type, *table_type;
  PyObject *exc;            /* the module mortar.sql.exc */
  PyObject *log;            /* the module mortar.sql._log */
  PyObject *in_keywords;    /* mortar.sql._keywords.in_keywords */
  PyObject *decimal;        /* decimal.Decimal */
  PyObject *zone_info;      /* zoneinfo.ZoneInfo */
  PyObject *utc;            /* datetime.timezone.utc */
  PyObject *fromutc;        /* the name of tzinfo's method */
  PyObject *datetime_owner; /* the capsule behind the next: each interpreter may have another */
  const void *datetime;     /* a PyDateTime_CAPI */
};

struct native_state *native_state_of_type(PyTypeObject *type);
struct native_state *native_state_of_module(PyObject *module);

/* The module definition, for types made while it is executed. */
extern struct PyModuleDef native_module;

#endif
