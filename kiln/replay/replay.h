/* The engine `replay`: answers calls as they were recorded, with session and operation ids of its
 * own. It runs no statement and makes no page: every reply has its recorded bytes but for sequence
 * id and handle. What was not recorded is refused by name. docs/kiln.md says which answer is
 * chosen. */
#ifndef KILN_REPLAY_REPLAY_H
#define KILN_REPLAY_REPLAY_H

#include "kiln/server/engine.h"

struct kiln_replay;

struct kiln_replay_counts {
  size_t files, exchanges, statements; /* different texts */
  size_t passed_over;                  /* lines that nothing is answered from */
};

extern const struct kiln_engine kiln_replay_engine; /* its context is a struct kiln_replay */

/* path: a .jsonl file, or a folder of them. IO or INVALID names file and line. */
MORTAR_MUST_USE enum mortar_status kiln_replay_new(const char *path, struct kiln_replay **out,
                                                   struct mortar_error *err);
void kiln_replay_free(struct kiln_replay *replay);

struct kiln_replay_counts kiln_replay_count(const struct kiln_replay *replay);

#endif
