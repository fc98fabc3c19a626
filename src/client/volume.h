/* PUT, GET and REMOVE of files in a volume: what a statement may touch, and the transfer that its
 * answer asks for. */
#ifndef MTR_CLIENT_VOLUME_H
#define MTR_CLIENT_VOLUME_H

#include "client/result.h"

/* A statement's copy of a struct mortar_volume. */
struct mtr_volume {
  struct mortar_volume given; /* folders point into the arena */
  struct mtr_arena arena;
  struct mortar_alloc alloc;
};

MORTAR_MUST_USE enum mortar_status mtr_volume_new(const struct mortar_volume *given,
                                                  const struct mortar_alloc *alloc,
                                                  struct mtr_volume **out,
                                                  struct mortar_error *err);
void mtr_volume_free(struct mtr_volume *volume); /* NULL is fine */

/* Before anything is sent: is there something that a PUT or GET may touch? volume NULL: no. */
MORTAR_MUST_USE enum mortar_status mtr_volume_check(const struct mtr_volume *volume,
                                                    struct mtr_span sql, struct mortar_error *err);

/* Does what the row of result says, and leaves result at its end. volume as above. Errors have the
 * outcome of the transfer: not_sent while the store was not asked. */
MORTAR_MUST_USE enum mortar_status mtr_volume_perform(struct mortar_result *result,
                                                      const struct mtr_volume *volume,
                                                      const struct mtr_wait *wait,
                                                      struct mortar_error *err);

#endif
