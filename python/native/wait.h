/* How a call that may wait lets go of the interpreter and still hears Ctrl-C.
 *
 *     struct native_wait w;
 *     native_wait_begin(&w, &count);             lets the lock go, and counts that
 *     st = mortar_..._execute(..., &w.call, ...);
 *     if (native_wait_end(&w) < 0) ...           takes it again
 *
 * On the main thread the wait looks for signals every 100 ms; when a handler raised, the call ends
 * with INTERRUPTED and the exception is set. On other threads signals are not theirs. */
#ifndef MORTAR_NATIVE_WAIT_H
#define MORTAR_NATIVE_WAIT_H

#include "python/native/state.h"

struct native_wait {
  struct mortar_call call;
  PyThreadState *saved;
  uint64_t *releases;
};

void native_wait_begin(struct native_wait *w, uint64_t *releases);

/* -1: a signal handler raised; so it is also when the call succeeded at the same moment. */
int native_wait_end(struct native_wait *w);

#endif
