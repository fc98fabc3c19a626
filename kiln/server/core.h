/* What all parts of one running server share. Everything in it belongs to the loop thread, but for
 * the engine's functions, which workers call. */
#ifndef KILN_SERVER_CORE_H
#define KILN_SERVER_CORE_H

#include <event2/event.h>
#include <openssl/ssl.h>

#include "kiln/server/clock.h"
#include "kiln/server/ids.h"
#include "kiln/server/list.h"
#include "kiln/server/pool.h"
#include "kiln/server/server.h"
#include "kiln/server/stats.h"
#include "kiln/server/table.h"

struct kiln_faults;
struct kiln_volumes;

struct kiln_core {
  const struct kiln_engine *engine;
  void *engine_ctx;
  struct kiln_options options; /* defaults filled in; its texts belong to kiln_server */
  int32_t protocol;            /* the newest that is spoken */
  struct event_base *base;
  struct kiln_pool *pool;

  struct kiln_ids ids;
  struct kiln_table sessions, operations;
  size_t session_objects;     /* closed ones too, while a job or an operation still needs them */
  struct kiln_link exchanges; /* all that are not answered yet */
  struct kiln_link idle_exchanges; /* kept for the next request */
  size_t idle_count;
  struct kiln_link canceling; /* operations that a worker still works for after a cancel */
  struct event *nudge;        /* interrupts these again and again */
  bool stopping;
  struct kiln_stats stats;
  SSL_CTX *tls; /* kiln_server's; NULL: without TLS */
  struct kiln_clock clock;
  struct kiln_faults *faults;   /* NULL: not allowed */
  struct kiln_volumes *volumes; /* NULL: none */
};

/* Has the job run: on a worker, or here and now when the engine says that it never blocks. */
void kiln_core_submit(struct kiln_core *core, struct kiln_job *job);

#endif
