/* One statement or metadata call on the server: from its request to CloseOperation.
 *
 *     RUNNING -> FINISHED | ERROR | CANCELED | TIMEDOUT      closed: out of the table, freed when
 *                FINISHED -> ERROR | CANCELED | TIMEDOUT      idle
 *
 * At most one job works for an operation at a time (busy): the run, a page, or the clean-up. The
 * loop changes state; a job reads what was fixed before it was submitted, fills rows, answer and
 * error, and calls the engine. The engine's handle is under ctx_lock, so that an interrupt never
 * meets a handle that is being finished. */
#ifndef KILN_SERVER_OPERATION_H
#define KILN_SERVER_OPERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "kiln/server/exchange.h"
#include "kiln/server/rows.h"
#include "kiln/server/session.h"
#include "kiln/server/volume.h"

struct kiln_operation {
  struct kiln_job job;
  struct kiln_core *core;
  struct kiln_session *session;
  struct kiln_entry entry;
  struct kiln_link in_session, in_canceling, waiters;

  struct mtr_arena arena;                     /* the request and the statement's text */
  const struct mtr_TExecuteStatementReq *req; /* of a metadata call: how it is to be answered */
  struct kiln_statement statement;
  struct kiln_volume_origin origin; /* with volumes only */

  int32_t layout;        /* of its rows: MTR_ROWSET_... */
  int32_t state;         /* MTR_OPERATION_... */
  struct event deadline; /* of the statement's queryTimeout, or its session's timeout */
  int64_t timeout;       /* in seconds; 0: none */
  bool busy, closed, waking, run_ok, answered;
  struct kiln_answer answer;
  struct kiln_rows *rows; /* after a run that went well */
  struct kiln_error error;
  int64_t next_row;  /* of the next page */
  int64_t last_used; /* of core's clock, when that is watched */

  pthread_mutex_t ctx_lock;
  _Atomic(void *) ctx;
  _Atomic bool canceled, entered; /* entered: a worker has taken it, and the engine sees it */

  struct kiln_exchange *reader; /* whom the page is for */
  int64_t max_rows, max_bytes;  /* of that page */
  bool page_ok, page_more;
};

/* What an engine that never blocks has said before there was an operation. */
struct kiln_outcome {
  bool ok;
  struct kiln_answer answer; /* when ok */
  struct kiln_error error;   /* when not */
  void *ctx;
};

/* The state as a client is told it: a statement that waits for a worker is pending. */
int32_t kiln_operation_shown(const struct kiln_operation *op);

/* Makes an operation of the request, of which it keeps a copy. */
MORTAR_MUST_USE enum mortar_status kiln_operation_new(struct kiln_session *session,
                                                      const struct kiln_exchange *x,
                                                      struct kiln_operation **out,
                                                      struct mortar_error *err);

/* What the engine is told of a request; texts live in arena and in the request's bytes. */
MORTAR_MUST_USE bool kiln_operation_describe(const struct kiln_session *session,
                                             const struct mtr_TExecuteStatementReq *req,
                                             struct mtr_arena *arena, struct kiln_statement *out);

/* Runs the statement, or takes over what is known of it already. Exchanges that shall hear of it
 * wait before this is called. */
void kiln_operation_start(struct kiln_operation *op, const struct kiln_outcome *known);

/* resume is called once: when the state changes, or after wait_ms (negative: never). */
void kiln_operation_wait(struct kiln_operation *op, struct kiln_exchange *x, int64_t wait_ms,
                         void (*resume)(struct kiln_exchange *x, struct kiln_operation *op));

/* Makes the next page and replies with it. The operation is FINISHED and not busy. */
void kiln_operation_page(struct kiln_operation *op, struct kiln_exchange *x, int64_t max_rows,
                         int64_t max_bytes);

/* NULL unless the handle names an open operation. One that was idle for too long, or whose session
 * was, is closed here. */
struct kiln_operation *kiln_operation_find(struct kiln_core *core,
                                           const struct mtr_TOperationHandle *handle);

/* Answers that there is no such operation. Frees x. */
void kiln_operation_refuse(struct kiln_exchange *x, const struct mtr_TOperationHandle *handle);

/* Runs, or makes a page. */
bool kiln_operation_at_work(const struct kiln_operation *op);

/* Idle for longer than it may be. */
bool kiln_operation_expired(const struct kiln_operation *op);

/* What to say about one that has ended otherwise than FINISHED. */
void kiln_operation_failure(const struct kiln_operation *op, struct kiln_error *out);

/* An operation that has ended is left alone. */
void kiln_operation_cancel(struct kiln_operation *op);

/* Cancels what runs, takes it out of the table; it is freed when its job has ended. */
void kiln_operation_close(struct kiln_operation *op);

/* Interrupts all that should have stopped. Called by core's timer. */
void kiln_operation_nudge(struct kiln_core *core);

#endif
