/* What a translator made of one statement: DuckDB statements and what to do around them, or a
 * refusal. Immutable and counted, since the cache and running statements share it. */
#ifndef KILN_ENGINE_TRANSLATE_PLAN_H
#define KILN_ENGINE_TRANSLATE_PLAN_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/span.h"
#include "mortar/mortar.h"

enum kiln_answer_kind {
  KILN_ANSWER_NONE,   /* no result set */
  KILN_ANSWER_ROWS,   /* the rows of the last statement */
  KILN_ANSWER_INSERT, /* counts of changed rows; several statements run in one transaction */
  KILN_ANSWER_CHANGE,
  KILN_ANSWER_MERGE /* the rows of the last statement say what was done to each row */
};

struct kiln_plan {
  atomic_int refs;
  struct mtr_arena arena; /* holds every text below */
  bool refused;
  const char *sqlstate, *message; /* of a refusal */
  enum kiln_answer_kind answer;
  const char *use_catalog, *use_schema; /* the session's names from now on; NULL: as they were */
  bool samples;                         /* the sample tables have to be there first */
  bool own;                             /* and the session's own schema */
  bool times;      /* the session grants its statements other seconds from now on */
  int64_t timeout; /* these */
  bool valued; /* names of columns show values of parameters: not for others of the same types */
  size_t count;
  const char **statements;
  size_t size; /* bytes held, for the cache's limit */
};

/* Decodes the body of a translator's message. PROTOCOL when it is malformed. */
MORTAR_MUST_USE enum mortar_status kiln_plan_decode(struct mtr_span body, struct kiln_plan **out,
                                                    struct mortar_error *err);
struct kiln_plan *kiln_plan_ref(struct kiln_plan *plan);
void kiln_plan_unref(struct kiln_plan *plan); /* NULL is fine */

#endif
