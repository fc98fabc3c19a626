/* A plan: what a connection keeps for one shape of result: the description, the row type and one
 * converter for each column. Made once, found again by the shape's id, never changed. */
#ifndef MORTAR_NATIVE_PLAN_H
#define MORTAR_NATIVE_PLAN_H

#include "python/native/state.h"

struct column;

/* One value as a new object, or NULL with an exception. i counts from the array's own offset; the
 * caller has looked at nulls. */
typedef PyObject *(*convert_fn)(const struct column *col, const struct ArrowArray *array,
                                int64_t i);

struct column {
  convert_fn convert;
  struct native_state *state;
  PyObject *zone;  /* tzinfo of a timestamp; NULL: naive */
  PyObject *names; /* of a struct's children: a tuple of str */
  int64_t units;   /* of a time type: units in a second; 1 for others */
  int width;       /* bytes of a decimal or a fixed binary; items of a fixed list */
  int scale;       /* of a decimal */
  int zone_is_utc;
  int64_t child_count;
  struct column *children;
};

typedef struct {
  PyObject_HEAD struct native_state *state;
  PyObject *description; /* list of 7-tuples */
  PyTypeObject *row_type;
  int64_t column_count;
  struct column *columns;
} PlanObject;

PyTypeObject *native_plan_type_new(PyObject *module);

/* Derives a plan from a result. NULL with an exception: NotSupportedError names the column. */
PlanObject *native_plan_new(struct native_state *state, const struct mortar_result *result);

/* Row i of a batch. */
PyObject *native_plan_row(const PlanObject *plan, const struct ArrowArray *batch, int64_t i);

/* Fills col for a field of the schema (convert.c). -1 with an exception. */
int native_column_init(struct column *col, struct native_state *state,
                       const struct ArrowSchema *field);
void native_column_fini(struct column *col);

/* A value with its null check. */
PyObject *native_convert(const struct column *col, const struct ArrowArray *array, int64_t i);

#endif
