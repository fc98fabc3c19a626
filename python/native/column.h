/* A column: how one field of an Arrow schema becomes Python objects. */
#ifndef MORTAR_NATIVE_COLUMN_H
#define MORTAR_NATIVE_COLUMN_H

#include "python/native/state.h"

struct column;

/* One value as a new object, or NULL with an exception. i counts from the beginning of the array's
 * buffers; the caller has looked at nulls. */
typedef PyObject *(*convert_fn)(const struct column *col, const struct ArrowArray *array,
                                int64_t i);

struct column {
  convert_fn convert;
  struct native_state *state;
  struct memo *memo; /* NULL: values are not remembered */
  PyObject *zone;    /* tzinfo of a timestamp; NULL: naive */
  PyObject *names;   /* of a struct's children: a tuple of str */
  PyObject *problem; /* str: why values of this column can't be made */
  int64_t units;     /* of a time type: units in a second; 1 for others */
  int width;         /* bytes of a decimal or a fixed binary; items of a fixed list */
  int scale;         /* of a decimal */
  int zone_is_utc;
  int64_t child_count;
  struct column *children;
};

/* Fills col for a field of the schema. A field that Python has no value for is no failure: its
 * values raise NotSupportedError when they are made, so that Arrow stays a way out. -1 with an
 * exception. */
int native_column_init(struct column *col, struct native_state *state,
                       const struct ArrowSchema *field);
void native_column_fini(struct column *col);

/* A value with its null check. i counts from the array's own offset. */
static inline PyObject *native_convert(const struct column *col, const struct ArrowArray *array,
                                       int64_t i)
{
  const uint8_t *valid = array->n_buffers > 0 ? array->buffers[0] : NULL;
  int64_t at = i + array->offset;

  if (valid && array->null_count != 0 && !(valid[at >> 3] >> (at & 7) & 1)) Py_RETURN_NONE;
  return col->convert(col, array, at);
}

#endif
