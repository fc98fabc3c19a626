/* The methods of Cursor for statements that run while nobody waits. */
#ifndef MORTAR_NATIVE_SUBMIT_H
#define MORTAR_NATIVE_SUBMIT_H

#include "python/native/cursor.h"

/* METH_FASTCALL | METH_KEYWORDS: as execute */
PyObject *native_submit(PyObject *cursor, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames);
/* METH_NOARGS: the name of a CommandState; waits for the last statement's end: the cursor; what
 * names it to the server, or None */
PyObject *native_poll(PyObject *cursor, PyObject *ignored);
PyObject *native_take_result(PyObject *cursor, PyObject *ignored);
PyObject *native_handle(PyObject *cursor, PyObject *ignored);
/* METH_O: such a handle, or None to let go */
PyObject *native_attach(PyObject *cursor, PyObject *handle);

#endif
