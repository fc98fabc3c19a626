/* What every wait in net is given: until when, and what else may end it. */
#ifndef MTR_NET_WAIT_H
#define MTR_NET_WAIT_H

#include "base/clock.h"
#include "base/wake.h"

struct mtr_wait {
  int64_t deadline;         /* on base/clock.h; MTR_NEVER */
  struct mortar_wake *wake; /* NULL: none */
  int (*tick)(void *ctx);   /* NULL: none; see struct mortar_call */
  void *tick_ctx;
  /* Set by another thread: ends what waits without a request under way. NULL: none. */
  const _Atomic bool *canceled;
};

/* When a wait that begins now calls the tick for the first time; MTR_NEVER without one. */
int64_t mtr_wait_first_tick(const struct mtr_wait *wait, int64_t now);

/* After every poll: calls the tick when it is due, or when a signal interrupted the poll, whose
 * handler may have left something to do. Brings *now up to date then. True: it ends the wait. */
bool mtr_wait_tick(const struct mtr_wait *wait, bool interrupted, int64_t *now, int64_t *tick_at);

#endif
