/* A channel: a lease and what one exchange needs beside it, used by one call at a time. What the
 * codec decodes from a reply points into the channel and is valid until its next exchange. */
#ifndef MTR_CLIENT_CHANNEL_H
#define MTR_CLIENT_CHANNEL_H

#include "base/arena.h"
#include "client/log.h"
#include "codec/lz4/lz4_frame.h"
#include "net/lease.h"

/* Counted when a wait before another attempt begins, so that who waits can be seen to. */
struct mtr_retry_counters {
  _Atomic uint64_t retries, wait_ms;
};

/* What the calls over a channel report to; the session's. */
struct mtr_watch {
  struct mtr_log log;
  struct mtr_retry_counters counters;
};

struct mtr_channel {
  struct mtr_channel *next; /* in the session's list of idle ones */
  const struct mortar_alloc *alloc;
  struct mtr_watch *watch;
  struct mtr_lease *lease;
  struct mtr_arena arena;         /* structs of the last reply */
  struct mtr_lz4 *lz4;            /* made when first needed */
  int32_t seqid;                  /* of the last message sent over it */
  const void *call;               /* what it was, for the backend: a pending reply answers it */
  struct mtr_lease_stats counted; /* what the session has already added up */
  uint64_t batches_decoded;       /* of its replies, which the session has not added up yet */
};

/* watch must outlive the channel. */
MORTAR_MUST_USE enum mortar_status mtr_channel_new(struct mtr_endpoint *endpoint,
                                                   const struct mortar_alloc *alloc,
                                                   struct mtr_watch *watch,
                                                   struct mtr_channel **out,
                                                   struct mortar_error *err);
void mtr_channel_free(struct mtr_channel *channel); /* NULL is fine */

MORTAR_MUST_USE enum mortar_status mtr_channel_lz4(struct mtr_channel *channel,
                                                   struct mtr_lz4 **out, struct mortar_error *err);

#endif
