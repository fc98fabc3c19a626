/* Orphans: what callers gave up and the server still has. One background thread of the process
 * waits for the replies that name them, then cancels and closes, so that no caller waits for it.
 *
 * The thread starts with the first orphan and ends after a second without any. It blocks all
 * signals. In the child of a fork the table starts empty: the orphans are the parent's. When the
 * process exits, or the library is unloaded, the thread is stopped and joined within a tenth of a
 * second; what it had not done stays undone, and nothing is freed then. */
#ifndef MTR_CLIENT_ORPHANS_H
#define MTR_CLIENT_ORPHANS_H

#include "client/session.h"

enum mtr_orphan_kind {
  MTR_ORPHAN_OPENING,   /* the channel's lease is pending; the reply names the session */
  MTR_ORPHAN_SESSION,   /* to be closed */
  MTR_ORPHAN_STARTING,  /* the channel's lease is pending; the reply names the operation */
  MTR_ORPHAN_OPERATION, /* to be cancelled and closed */
};

/* Takes the channel (NULL: another one is made), and counts the session. op is for
 * MTR_ORPHAN_OPERATION. False: there is no room, or no thread; the channel is given back then, and
 * a pending reply is lost. */
bool mtr_orphan_add(struct mortar_session *session, struct mtr_channel *channel,
                    enum mtr_orphan_kind kind, const struct mtr_handle *op);

/* For how long the reply of an orphan that is added from now on is awaited. For tests: a minute is
 * right for programs. */
void mtr_orphan_set_budget_ms(int64_t ms);

#endif
