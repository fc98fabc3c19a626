/* From a mortar_error to an exception of mortar.sql.exc: one switch. */
#ifndef MORTAR_NATIVE_ERRORS_H
#define MORTAR_NATIVE_ERRORS_H

#include "python/native/state.h"

/* Raises; returns NULL, for `return native_raise(...)`. An exception that is already set (by a
 * signal handler during the wait) is kept. */
PyObject *native_raise(struct native_state *state, const struct mortar_error *err);

/* Raises exc.NAME(text). Returns NULL. */
PyObject *native_raise_text(struct native_state *state, const char *name, const char *text);

#endif
