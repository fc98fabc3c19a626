/* The client against Kiln: both in one process, the faults by Kiln's own script, the proof by its
 * counters. Kiln has the tiny engine, whose statements are slow, fast or long by their words. */
#ifndef MTR_TESTS_TOGETHER_RIG_H
#define MTR_TESTS_TOGETHER_RIG_H

#include "mortar/mortar.h"
#include "tests/kiln/kiln_fault_fixture.h"
#include "tests/support/test.h"

/* An option of a session; a list of them ends with a NULL name. */
struct rig_option {
  const char *name, *value;
};

struct rig {
  struct fixture kiln;              /* its own session is closed: what is open is the client's */
  const struct rig_option *options; /* of its sessions; to be set before rig_open */
  const struct mortar_alloc *alloc; /* the same; NULL: the C library's */
  struct mortar_session *session;   /* NULL until rig_open */
  struct mortar_error err;          /* of the last call */
  int64_t rows;                     /* that rig_run has read */
  char warning[400];                /* the last one logged; see mortar_background_wait */
};

/* A Kiln that says after a millisecond that a statement still runs, so that long ones are polled.
 */
void rig_start(struct rig *rig, const struct rig_option *options);
void rig_start_on(struct rig *rig, const struct rig_option *options,
                  const struct kiln_options *kiln); /* another Kiln, with faults allowed */
void rig_stop(struct rig *rig);                     /* the session too */

enum mortar_status rig_open(struct rig *rig, const struct mortar_call *call);
void rig_close(struct rig *rig); /* fine without a session */

/* Replaces the rules by one, from the format; "": none. */
void rig_fault(struct rig *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a statement of the tiny engine and reads its rows to the end. */
enum mortar_status rig_run(struct rig *rig, const char *sql, const struct mortar_call *call);

/* A time between two attempts of a call: the last one, or so many before it; in ms. */
double rig_gap(struct rig *rig, const char *call, int back);

/* Waits until Kiln has this number of "sessions_open", ...; ten seconds at the most. */
void rig_await(struct rig *rig, const char *name, int64_t value);

#endif
