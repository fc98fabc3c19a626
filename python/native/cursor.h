/* Cursor: runs statements one after the other and hands out the rows of the last one.
 *
 * One thread at a time: a second one that comes while a call waits gets a ProgrammingError; cancel
 * and close may come from any thread. The object's own fields are read and written with the
 * interpreter's lock held; a call that lets it go claims the cursor first. */
#ifndef MORTAR_NATIVE_CURSOR_H
#define MORTAR_NATIVE_CURSOR_H

#include "python/native/batch_queue.h"
#include "python/native/connection.h"

typedef struct cursor_object {
  PyObject_HEAD ConnectionObject *conn; /* counted */
  struct cursor_object *next, *prev;    /* in the connection's list while open */
  struct mortar_statement *stmt;        /* made when first needed; a closed cursor has none */
  struct mortar_result *result;         /* NULL: no active result */
  PlanObject *plan;                     /* of result */
  struct batch_queue queue;             /* of result */
  PyObject *query_id; /* str, of a statement that failed; else the result knows it */
  long long rowcount, rownumber;
  long long row_limit; /* of the next statements; -1: none */
  Py_ssize_t arraysize, buffer_size;
  int open, busy;
  int submitted;            /* stmt has something that was submitted, or a handle of it */
  int users;                /* calls that use stmt beside the one that claimed the cursor */
  struct native_wait *wait; /* of the statement that runs */
  PyObject *weakrefs;
} CursorObject;

PyTypeObject *native_cursor_type_new(PyObject *module);

/* Ends what the cursor holds; never raises. Waits for the server only when it must be told. A call
 * that another thread is in ends soon, and cleans up behind itself. */
void native_cursor_shut(CursorObject *cur);

/* Makes the cursor this call's until native_cursor_yield. False with an exception: it is closed, or
 * another call is on its way; claim_result: or there is nothing to fetch. */
int native_cursor_claim(CursorObject *cur);
int native_cursor_claim_result(CursorObject *cur);
void native_cursor_yield(CursorObject *cur);

/* Raises what a call that waited has failed with. */
void native_cursor_raise(CursorObject *cur, const struct mortar_error *err);

/* Raises ProgrammingError: what it is called, and what is wrong with it. */
void native_cursor_refuse(CursorObject *cur, const char *name, const char *problem);

/* The UTF-8 text of a str, borrowed, or NULL with an exception that names it; kinds is what it must
 * be: "must be a str". It may hold NULs. */
const char *native_cursor_text(CursorObject *cur, const char *name, const char *kinds,
                               PyObject *given, Py_ssize_t *size);

/* Lets the old result go, has prepare set cur->stmt up and go run it: the cursor, a new reference,
 * or NULL with an exception. Both give -1 when they have raised. */
typedef int native_prepare(CursorObject *cur, void *arg);
typedef int native_go(CursorObject *cur);
PyObject *native_cursor_run(CursorObject *cur, native_prepare *prepare, void *arg, native_go *go);

/* Runs cur->stmt and waits for its end. */
int native_cursor_go(CursorObject *cur);

/* Takes over what a call for a result gave: -1 with an exception, also where a handler raised one
 * meanwhile. */
int native_cursor_adopt(CursorObject *cur, enum mortar_status st, struct mortar_result *result,
                        const struct mortar_error *err);

/* What execute takes; go says what becomes of it. */
PyObject *native_cursor_execute(CursorObject *cur, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames, native_go *go);

/* Lets go of the last statement, with what it has on the server; the interpreter's lock, too. */
void native_cursor_forget(CursorObject *cur);

/* Makes cur->stmt, which cursors that run nothing never need. -1 with an exception. */
int native_cursor_statement(CursorObject *cur);

#endif
