/* How a call that may wait lets go of the interpreter and still hears Ctrl-C.
 *
 *     struct native_wait w;
 *     native_wait_begin(&w);                     lets the lock go
 *     st = mortar_..._execute(..., &w.call, ...);
 *     native_wait_end(&w);                       takes it again
 *
 * On the main thread the wait looks for signals every 100 ms; when a handler raised, the call ends
 * with INTERRUPTED and the exception is set. On other threads signals are not theirs. */
#ifndef MORTAR_NATIVE_WAIT_H
#define MORTAR_NATIVE_WAIT_H

#include "python/native/state.h"

struct native_wait {
  struct mortar_call call;
  PyThreadState *saved;
};

void native_wait_begin(struct native_wait *w);
void native_wait_end(struct native_wait *w);

#endif
