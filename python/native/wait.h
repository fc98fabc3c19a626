/* How a call that may wait lets go of the interpreter and still hears Ctrl-C.
 *
 *     struct native_wait w;
 *     native_wait_begin(&w, conn, NULL);         lets the lock go, and counts that
 *     st = mortar_..._execute(..., &w.call, ...);
 *     if (native_wait_end(&w) < 0) ...           takes it again
 *
 * On the main thread the wait looks for signals every 100 ms; when a handler raised, the call ends
 * with INTERRUPTED and the exception is set. On other threads signals are not theirs. It ends so,
 * without an exception, when another thread has closed what is waited for. What the connection has
 * to log is handed to Python meanwhile and at the end. */
#ifndef MORTAR_NATIVE_WAIT_H
#define MORTAR_NATIVE_WAIT_H

#include "python/native/connection.h"

struct native_wait {
  struct mortar_call call;
  PyThreadState *saved;
  ConnectionObject *conn;
  const int *open;
};

/* open: of the cursor that waits; NULL: it is none. */
void native_wait_begin(struct native_wait *w, ConnectionObject *conn, const int *open);

/* -1: a signal handler raised, or a log handler something that ends programs; so it is also when
 * the call succeeded at the same moment. */
int native_wait_end(struct native_wait *w);

#endif
