/* Files for PUT and GET: the folders that the connection allows, and streams of Python's in place
 * of files. What a stream's method raises is what execute raises. */
#ifndef MORTAR_NATIVE_VOLUME_H
#define MORTAR_NATIVE_VOLUME_H

#include "python/native/cursor.h"

struct native_volume {
  PyObject *input, *output; /* borrowed; NULL or None: none */
  /* Inside. Positions at which the streams were; -1: they can't go back. */
  Py_ssize_t input_start, output_start;
  CursorObject *cur;
};

/* Tells cur->stmt what its text may touch. A volume with streams must live until the statement has
 * run. -1 with an exception. */
int native_volume_set(struct native_volume *volume, CursorObject *cur);

#endif
