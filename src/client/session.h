/* The inside of mortar_session: counted, so that open results keep what they need of a session
 * whose handle was freed. One lock guards the list of idle channels; it is never held across a
 * wait. */
#ifndef MTR_CLIENT_SESSION_H
#define MTR_CLIENT_SESSION_H

#include <pthread.h>

#include "client/backend.h"
#include "client/shape.h"

struct mortar_session {
  struct mortar_alloc alloc;
  _Atomic int64_t count; /* the handle and every statement and unfinished result */
  _Atomic bool closed;
  struct mtr_options options;
  struct mtr_endpoint *endpoint;
  const struct mtr_backend *backend;
  struct mtr_backend_session *bs;
  char id[37];
  struct mtr_shape_cache shapes;
  pthread_mutex_t lock;
  struct mtr_channel *idle;
  size_t idle_count;
  struct mtr_channel *anchor;   /* binary wires: the connection that the session lives by */
  uint64_t generation;          /* of the process that opened it: a child of a fork keeps off */
  _Atomic int64_t silent_until; /* the server let a farewell time out: see farewell_ms */
  _Atomic uint64_t statements;
  /* What the last statement and result left, for the next ones: no allocation in the steady state.
   */
  struct mortar_statement *_Atomic spare_statement;
  struct mortar_result *_Atomic spare_result;
  struct mtr_watch watch;
  struct mtr_lease_stats exchanges; /* summed up when channels come back; under the lock */
  uint64_t batches_decoded;         /* the same */
  _Atomic uint64_t batches_joined;  /* by then the channel may be back */
};

/* OK when the session is open and this process is the one that opened it. */
MORTAR_MUST_USE enum mortar_status mtr_session_usable(const struct mortar_session *session,
                                                      struct mortar_error *err);

/* How its server is reached. The texts are the session's, or the environment's. */
void mtr_session_endpoint_options(const struct mortar_session *session,
                                  struct mtr_endpoint_options *out);

/* Free memory that is no longer a statement's or a result's; NULL is fine. In statement.c,
 * result.c. */
void mtr_statement_destroy(struct mortar_statement *spare);
void mtr_result_destroy(struct mortar_result *spare);

struct mortar_session *mtr_session_ref(struct mortar_session *session);
void mtr_session_unref(struct mortar_session *session); /* NULL is fine; sends nothing */

/* A channel for one call, idle or new; give it back when the reply is no longer needed. */
MORTAR_MUST_USE enum mortar_status mtr_session_take(struct mortar_session *session,
                                                    struct mtr_channel **out,
                                                    struct mortar_error *err);
void mtr_session_give(struct mortar_session *session, struct mtr_channel *channel);

/* How long a call may wait, by what the caller said; and no longer than the session is open, which
 * its tick looks at. */
struct mtr_session_wait {
  struct mtr_wait wait;
  const struct mortar_session *session;
  int (*tick)(void *ctx); /* the caller's */
  void *tick_ctx;
  bool
      ended; /* it has said so, and is not asked again: an answer that came first changes nothing */
};

void mtr_session_wait_init(struct mtr_session_wait *w, const struct mortar_session *session,
                           const struct mortar_call *call);

/* Puts the ids into an error that a call of this session made, and says so if the session was
 * closed meanwhile. op may be NULL. Returns st. */
enum mortar_status mtr_session_failed(const struct mortar_session *session,
                                      const struct mtr_handle *op, enum mortar_status st,
                                      struct mortar_error *err);

/* True for failures that are the caller's will: it shall not wait for cleaning up, either. */
bool mtr_session_gave_up(enum mortar_status st);

/* Sends CloseOperation, and CancelOperation before it when cancel is set, within grace_ms and
 * within what a call may wait, if there is one: for cleaning up, so failures are not reported. What
 * takes longer is left to the background thread. */
void mtr_session_drop_operation(struct mortar_session *session, const struct mtr_handle *op,
                                bool cancel, int64_t grace_ms, const struct mtr_wait *within);

#endif
