/* A connection's log on its way to Python. A line may come on any thread, also on the library's
 * own, and without the interpreter's lock, which is never taken for it: the line waits in a small
 * queue, from which the oldest drop when it is full, until a call of the connection hands it over.
 *
 * The queue is counted: the connection and the session, with its background work, go in any order.
 */
#ifndef MORTAR_NATIVE_LOG_H
#define MORTAR_NATIVE_LOG_H

#include <pthread.h>
#include <stdatomic.h>

#include "python/native/state.h"

enum { NATIVE_LOG_LINES_MAX = 64 }; /* more than that between two calls are not read by anybody */

struct native_log_line {
  enum mortar_log_level level;
  char *text;
};

struct native_log_queue {
  struct native_log_line lines[NATIVE_LOG_LINES_MAX];
  size_t first, count;
  unsigned long long dropped;
  enum mortar_log_level worst_dropped; /* when dropped is not 0 */
};

struct native_log {
  _Atomic int users;
  unsigned wanted; /* bit n: lines of level n */
  _Atomic bool waiting;
  pthread_mutex_t lock; /* guards the queue; nothing is called under it */
  struct native_log_queue queue;
};

/* Asks the loggers what they want. *out is NULL when that is nothing. -1 with an exception. */
int native_log_new(struct native_state *state, struct native_log **out);
void native_log_unref(struct native_log *log); /* NULL is fine; any thread */

/* Lets the sessions of config log here. log may be NULL. */
MORTAR_MUST_USE enum mortar_status native_log_attach(struct native_log *log,
                                                     struct mortar_config *config,
                                                     struct mortar_error *err);

/* The part of native_log_deliver for when there is something. */
int native_log_hand_over(struct native_log *log, struct native_state *state, PyObject *session_id);

/* Gives what waits to Python's loggers, with the interpreter's lock held. An exception that is set
 * stays. A handler's own is reported as unraisable; but one that ends programs, such as
 * KeyboardInterrupt, is set: -1. session_id may be NULL. */
static inline int native_log_deliver(struct native_log *log, struct native_state *state,
                                     PyObject *session_id)
{
  if (!log || !atomic_load_explicit(&log->waiting, memory_order_relaxed)) return 0;
  return native_log_hand_over(log, state, session_id);
}

#endif
