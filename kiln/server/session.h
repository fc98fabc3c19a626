/* A session: an engine's session, its namespace and its operations. Loop thread only.
 *
 * Closing takes it out of the table at once; the engine's part is closed by a job when the last
 * operation is gone, and only then is it freed. */
#ifndef KILN_SERVER_SESSION_H
#define KILN_SERVER_SESSION_H

#include "kiln/server/exchange.h"

struct kiln_session {
  struct kiln_job job; /* opens, later closes the engine's session */
  struct kiln_core *core;
  struct kiln_entry entry;
  char *catalog, *schema;
  void *engine_session;
  bool has_engine_session, closed;
  int32_t protocol;
  int64_t last_used;           /* of core's clock, when that is watched */
  struct kiln_link operations; /* open ones */
  size_t users;                /* operations that are not freed, and the opening job */
  struct kiln_exchange *opener;
  struct kiln_error error;
};

/* Whether its protocol is this one, or a later one. */
static inline bool kiln_session_knows(const struct kiln_session *session, int32_t version)
{
  return session->protocol >= version;
}

void kiln_session_on_open(struct kiln_exchange *x);  /* handler of OpenSession */
void kiln_session_on_close(struct kiln_exchange *x); /* handler of CloseSession */

/* NULL unless the handle names an open session. One that was idle for too long is closed here. */
struct kiln_session *kiln_session_find(struct kiln_core *core,
                                       const struct mtr_TSessionHandle *handle);

/* Answers that there is no such session. Frees x. */
void kiln_session_refuse(struct kiln_exchange *x, const struct mtr_TSessionHandle *handle);

/* Closes it and its operations. */
void kiln_session_close(struct kiln_session *session);

/* Notes that it is in use now. */
void kiln_session_touch(struct kiln_session *session);

/* Idle for longer than it may be, and nothing runs in it. */
bool kiln_session_expired(const struct kiln_session *session);

/* An operation that is gone says so. */
void kiln_session_leave(struct kiln_session *session);

#endif
