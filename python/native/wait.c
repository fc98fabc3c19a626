/* Lets the interpreter's lock go around a wait; looks for signals and logs meanwhile. */
#include "python/native/wait.h"

static int log_lines(ConnectionObject *conn)
{
  return native_log_deliver(conn->log, conn->state, conn->session_id);
}

/* On the waiting thread, without the lock. Nonzero ends the wait. */
static int look_around(void *ctx)
{
  struct native_wait *w = ctx;
  int ended;

  PyEval_RestoreThread(w->saved);
  ended = PyErr_CheckSignals() < 0 || log_lines(w->conn) < 0 || (w->open && !*w->open);
  w->conn->lock_releases++;
  w->saved = PyEval_SaveThread();
  return ended;
}

void native_wait_begin(struct native_wait *w, ConnectionObject *conn, const int *open)
{
  /* PyErr_CheckSignals does nothing on other threads, so it does no harm there. */
  w->call = (struct mortar_call){conn->wait_ms, NULL, look_around, w};
  w->conn = conn;
  w->open = open;
  conn->lock_releases++;
  w->saved = PyEval_SaveThread();
}

int native_wait_end(struct native_wait *w)
{
  PyEval_RestoreThread(w->saved);
  (void)log_lines(w->conn);
  return PyErr_Occurred() ? -1 : 0;
}
