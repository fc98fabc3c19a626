/* The fetching methods of Cursor: rows, and tables of Arrow batches. */
#ifndef MORTAR_NATIVE_FETCH_H
#define MORTAR_NATIVE_FETCH_H

#include "python/native/cursor.h"

/* METH_NOARGS */
PyObject *native_fetchone(PyObject *cursor, PyObject *ignored);
PyObject *native_fetchall(PyObject *cursor, PyObject *ignored);
/* METH_FASTCALL | METH_KEYWORDS */
PyObject *native_fetchmany(PyObject *cursor, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
/* METH_O: how many rows, None for all */
PyObject *native_take_arrow(PyObject *cursor, PyObject *size);
/* tp_iternext */
PyObject *native_fetch_next(PyObject *cursor);

#endif
