/* Cursor's way to the metadata calls. */
#ifndef MORTAR_NATIVE_METADATA_H
#define MORTAR_NATIVE_METADATA_H

#include "python/native/cursor.h"

/* _metadata(kind, catalog, schema, table, column, table_types): names are str or None, types a
 * sequence of str or None; kind is the name of the Python method, which says what the server is
 * asked. Returns self. */
PyObject *native_metadata(PyObject *op, PyObject *args);

#endif
