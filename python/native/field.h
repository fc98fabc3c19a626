/* Field: a descriptor that gets one place of a row; row classes have one for each of their names.
 */
#ifndef MORTAR_NATIVE_FIELD_H
#define MORTAR_NATIVE_FIELD_H

#include "python/native/state.h"

PyTypeObject *native_field_type_new(PyObject *module);

PyObject *native_field_new(struct native_state *state, Py_ssize_t place);

#endif
