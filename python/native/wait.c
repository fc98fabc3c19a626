/* Lets the interpreter's lock go around a wait and looks for signals meanwhile. */
#include "python/native/wait.h"

/* On the waiting thread, without the lock. Nonzero ends the wait. */
static int look_for_signals(void *ctx)
{
  struct native_wait *w = ctx;
  int raised;

  PyEval_RestoreThread(w->saved);
  raised = PyErr_CheckSignals() < 0;
  ++*w->releases;
  w->saved = PyEval_SaveThread();
  return raised;
}

void native_wait_begin(struct native_wait *w, uint64_t *releases)
{
  /* PyErr_CheckSignals does nothing on other threads, so it does no harm there. */
  w->call = (struct mortar_call){-1, NULL, look_for_signals, w};
  w->releases = releases;
  ++*releases;
  w->saved = PyEval_SaveThread();
}

int native_wait_end(struct native_wait *w)
{
  PyEval_RestoreThread(w->saved);
  return PyErr_Occurred() ? -1 : 0;
}
