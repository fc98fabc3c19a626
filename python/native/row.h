/* Row: a tuple whose places have names. Each shape has a subclass of its own that holds the names
 * (`__fields__`), so that a row costs what a tuple costs. */
#ifndef MORTAR_NATIVE_ROW_H
#define MORTAR_NATIVE_ROW_H

#include "python/native/state.h"

/* Makes the base class mortar.sql.types.Row. */
PyTypeObject *native_row_type_new(PyObject *module);

/* A subclass of state->row_type whose rows have these names (a list of str). */
PyTypeObject *native_row_subtype(struct native_state *state, PyObject *names);

/* A row of a subclass with n empty places, to be filled with PyTuple_SET_ITEM at once. */
static inline PyObject *native_row_alloc(PyTypeObject *type, Py_ssize_t n)
{
  return type->tp_alloc(type, n);
}

#endif
