/* The inside of mortar_statement, for the two ways to run one: to wait for it (statement.c), or to
 * submit it and come back later (submit.c). */
#ifndef MTR_CLIENT_STATEMENT_H
#define MTR_CLIENT_STATEMENT_H

#include <pthread.h>

#include "client/parameters.h"
#include "client/session.h"
#include "client/volume.h"

/* What became of a statement that was submitted. */
enum mtr_submitted_phase {
  MTR_SUBMITTED_NOTHING = 0,
  MTR_SUBMITTED_LIVE,     /* as far as is known */
  MTR_SUBMITTED_FINISHED, /* its result was not asked for yet */
  MTR_SUBMITTED_TAKEN,    /* the operation is the result's */
  MTR_SUBMITTED_FAILED    /* failure is what every further call says */
};

enum { MTR_HANDLE_TEXT_MAX = 4 * MTR_HANDLE_PART_MAX + 16 };

struct mtr_submitted {
  enum mtr_submitted_phase phase;
  bool borrowed; /* somebody else's: it is not ended with this statement */
  struct mtr_answer answer;
  struct mortar_error failure;
  char query_id[37], handle[MTR_HANDLE_TEXT_MAX];
};

struct mortar_statement {
  struct mortar_session *session;   /* counted */
  struct mtr_buf sql;               /* of a metadata call: in words, for the log */
  struct mtr_parameters parameters; /* of this text */
  struct mtr_volume *volume;        /* the same; NULL: none was set */
  bool is_volume;                   /* the text is a PUT, GET or REMOVE */
  struct mtr_arena filters;
  struct mortar_metadata metadata; /* its texts are in filters */
  struct mtr_run run;              /* but for the text */
  struct mortar_alloc alloc;
  /* From where on a cancel counts: a caller has set the text and is on its way to execute it. */
  _Atomic bool armed;
  _Atomic bool cancel_asked;
  pthread_mutex_t lock;        /* guards operation; never held across a wait */
  struct mtr_handle operation; /* that cancel is for, once the server named it */
  struct mtr_submitted submitted;
};

/* Sends the statement; unless run.submit is set, waits for its end. What fails is cleaned up;
 * otherwise the channel is the caller's. wait is made by it and outlives the answer. */
MORTAR_MUST_USE enum mortar_status mtr_statement_begin(
    struct mortar_statement *stmt, const struct mortar_call *call, struct mtr_session_wait *wait,
    struct mtr_channel **channel, struct mtr_answer *answer, struct mortar_error *err);

/* Makes the result of an answer that is no longer live, and moves the file if it is a link to one.
 * Takes the channel. */
MORTAR_MUST_USE enum mortar_status mtr_statement_take(
    struct mortar_statement *stmt, struct mtr_channel *channel, const struct mtr_wait *wait,
    struct mtr_answer *answer, struct mortar_result **out, struct mortar_error *err);

/* Asks until it has ended. Servers hold the question open, so the pauses can grow. */
MORTAR_MUST_USE enum mortar_status mtr_statement_wait_for_end(struct mortar_session *session,
                                                              struct mtr_channel *channel,
                                                              const struct mtr_wait *wait,
                                                              struct mtr_answer *answer,
                                                              struct mortar_error *err);

/* The statement was sent: whatever the server answered to a later question about it, also that it
 * knows nothing of it, it may have run. */
void mtr_statement_asking_failed(struct mortar_error *err);

/* On its way to be executed; and there no more, or not by us: a cancel is for operation from then
 * on, NULL for none. */
void mtr_statement_arm(struct mortar_statement *stmt);
void mtr_statement_disarm(struct mortar_statement *stmt, const struct mtr_handle *operation);

/* Ends what was submitted, here and on the server. */
void mtr_submitted_drop(struct mortar_statement *stmt);

static inline void mtr_statement_forget(struct mortar_statement *stmt)
{
  if (stmt->submitted.phase) mtr_submitted_drop(stmt);
}

#endif
