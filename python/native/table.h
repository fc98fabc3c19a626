/* Table: Arrow batches that Python owns. It offers the Arrow PyCapsule interface
 * (`__arrow_c_stream__`), so pyarrow, polars, pandas and others take it over without a copy, and
 * needs none of them. */
#ifndef MORTAR_NATIVE_TABLE_H
#define MORTAR_NATIVE_TABLE_H

#include "python/native/state.h"

PyTypeObject *native_table_type_new(PyObject *module);

/* An empty table with the schema of result. */
PyObject *native_table_new(struct native_state *state, const struct mortar_result *result);

/* Adds rows [first, first + count) of batch, which stays usable: both look at the same memory. */
int native_table_add(PyObject *table, struct ArrowArray *batch, int64_t first, int64_t count);

#endif
