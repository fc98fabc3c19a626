/* Makes and frees channels. Who uses one, and when, is the session's business. */
#include "client/channel.h"

#include "base/alloc.h"
#include "base/error.h"

/* Decoded structs of one reply: about 100 bytes a batch and 300 a column. */
enum { REPLY_ARENA_MAX = 256 << 20 };

enum mortar_status mtr_channel_new(struct mtr_endpoint *endpoint, const struct mortar_alloc *alloc,
                                   struct mtr_watch *watch, struct mtr_channel **out,
                                   struct mortar_error *err)
{
  struct mtr_channel *channel = mtr_calloc(alloc, 1, sizeof *channel);
  enum mortar_status st;

  *out = NULL;
  if (!channel) return mtr_fail_nomem(err, "channel");
  channel->alloc = alloc;
  channel->watch = watch;
  mtr_arena_init(&channel->arena, alloc, REPLY_ARENA_MAX);
  st = mtr_lease_new(endpoint, &channel->lease, err);
  if (st == MORTAR_OK)
    *out = channel;
  else
    mtr_channel_free(channel);
  return st;
}

void mtr_channel_free(struct mtr_channel *channel)
{
  if (!channel) return;
  mtr_lz4_free(channel->lz4);
  mtr_arena_fini(&channel->arena);
  mtr_lease_free(channel->lease);
  mtr_free(channel->alloc, channel, sizeof *channel);
}

enum mortar_status mtr_channel_lz4(struct mtr_channel *channel, struct mtr_lz4 **out,
                                   struct mortar_error *err)
{
  if (!channel->lz4) MTR_TRY(mtr_lz4_new(channel->alloc, &channel->lz4, err));
  *out = channel->lz4;
  return MORTAR_OK;
}
