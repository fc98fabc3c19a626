/* Cursor: runs statements one after the other and hands out the rows of the last one.
 *
 * One thread at a time: a second one that comes while a call waits gets a ProgrammingError; cancel
 * may come from any thread. */
#ifndef MORTAR_NATIVE_CURSOR_H
#define MORTAR_NATIVE_CURSOR_H

#include "python/native/connection.h"

typedef struct cursor_object {
  PyObject_HEAD ConnectionObject *conn; /* counted */
  struct cursor_object *next, *prev;    /* in the connection's list while open */
  struct mortar_statement *stmt;        /* made when first needed */
  struct mortar_result *result;         /* NULL: no active result */
  PlanObject *plan;                     /* of result */
  struct ArrowArray batch; /* rows [row, length) are not handed out; release NULL: none */
  int64_t row;
  PyObject *query_id; /* str, of a statement that failed; else the result knows it */
  long long rowcount, rownumber;
  Py_ssize_t arraysize;
  int open, busy;
  PyObject *weakrefs;
} CursorObject;

PyTypeObject *native_cursor_type_new(PyObject *module);

/* Ends what the cursor holds; never raises. Waits for the server only when it must be told. */
void native_cursor_shut(CursorObject *cur);

#endif
