/* Worker threads for what may take time: an engine's calls and the making of result pages.
 *
 * A job is a member of the object that it works on; the pool allocates nothing for it. run is
 * called on a worker; done afterwards on the thread that calls kiln_pool_collect, which is the
 * loop's. submit and collect belong to that thread. */
#ifndef KILN_SERVER_POOL_H
#define KILN_SERVER_POOL_H

#include <stddef.h>

#include "mortar/mortar.h"

struct kiln_job {
  void (*run)(struct kiln_job *job);
  void (*done)(struct kiln_job *job);
  struct kiln_job *next;
};

struct kiln_pool;

MORTAR_MUST_USE enum mortar_status kiln_pool_new(int workers, struct kiln_pool **out,
                                                 struct mortar_error *err);

/* Never refuses: clean-up must always go through. Callers ask kiln_pool_full before they start
 * something new for a client. */
void kiln_pool_submit(struct kiln_pool *pool, struct kiln_job *job);
bool kiln_pool_full(struct kiln_pool *pool);

/* Readable when a job has ended. */
int kiln_pool_fd(const struct kiln_pool *pool);
void kiln_pool_collect(struct kiln_pool *pool);

/* Jobs submitted and not collected yet. */
size_t kiln_pool_busy(const struct kiln_pool *pool);

/* Joins the workers; no job may be left. NULL is fine. */
void kiln_pool_free(struct kiln_pool *pool);

#endif
