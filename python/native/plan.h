/* A plan: what a connection keeps for one shape of result: the description, the row type and one
 * column (column.h) for each column. Made once, found again by the shape's id, never changed. */
#ifndef MORTAR_NATIVE_PLAN_H
#define MORTAR_NATIVE_PLAN_H

#include "python/native/column.h"

typedef struct {
  PyObject_HEAD struct native_state *state;
  PyObject *description; /* list of 7-tuples */
  PyTypeObject *row_type;
  int64_t column_count;
  struct column *columns;
  int holds_containers; /* a row of it can be part of a reference cycle */
} PlanObject;

PyTypeObject *native_plan_type_new(PyObject *module);

/* Derives a plan from a result. NULL with an exception. */
PlanObject *native_plan_new(struct native_state *state, const struct mortar_result *result);

/* Rows [first, first + count) of a batch as new references, column by column. -1 with an exception:
 * nothing was made. */
int native_plan_rows(const PlanObject *plan, const struct ArrowArray *batch, int64_t first,
                     Py_ssize_t count, PyObject **rows);

#endif
