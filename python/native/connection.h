/* Connection: a session, the plans of the results it saw, and the cursors that are open on it. */
#ifndef MORTAR_NATIVE_CONNECTION_H
#define MORTAR_NATIVE_CONNECTION_H

#include "python/native/log.h"
#include "python/native/plan.h"

struct cursor_object;

typedef struct {
  PyObject_HEAD struct native_state *state;
  struct mortar_session *session; /* NULL once closed */
  PyObject *session_id;           /* str; stays when the session goes */
  PyObject *cursor_class;
  PyObject *plans; /* shape id -> Plan; bounded */
  struct cursor_object
      *cursors; /* open ones, newest first; not counted: they leave by themselves */
  PyObject *weakrefs;
  uint64_t last_shape; /* of last_plan, which the dict holds */
  PlanObject *last_plan;
  struct native_log *log; /* NULL: nothing is to be logged */
  uint64_t plans_derived; /* how often a shape had none yet */
  uint64_t lock_releases; /* how often a call let the interpreter's lock go */
  long long wait_ms;      /* the longest that a call may wait at a time; -1: the options' limits */
} ConnectionObject;

PyTypeObject *native_connection_type_new(PyObject *module);

/* True when it is open, and opened by this process. */
bool native_connection_is_ours(const ConnectionObject *conn);

/* 0 when calls can be made. -1 with an InterfaceError: `closed` when the connection is, or that it
 * belongs to the parent process. */
int native_connection_check(ConnectionObject *conn, const char *closed);

/* The plan for a result, kept for the next one of its shape. A new reference. */
PlanObject *native_connection_plan(ConnectionObject *conn, const struct mortar_result *result);

#endif
