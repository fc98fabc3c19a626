/* Turns statements into plans: a cache in front of a few translator processes.
 *
 * A translator that is slow or dies costs the statement that it worked for, and nobody else waits
 * for it: it is ended and another is started in its place. Any thread. */
#ifndef KILN_ENGINE_TRANSLATE_TRANSLATOR_H
#define KILN_ENGINE_TRANSLATE_TRANSLATOR_H

#include <stdatomic.h>

#include "kiln/engine/translate/plan_cache.h"

struct kiln_translator;

struct kiln_translator_options {
  const char *const *argv; /* the command, ended by NULL; copied */
  int64_t timeout_ms;      /* for one statement of a few bytes; 0: 10 seconds; long ones get more */
};

/* Starts the first processes and does not wait for them. */
MORTAR_MUST_USE enum mortar_status kiln_translator_new(
    const struct kiln_translator_options *options, struct kiln_translator **out,
    struct mortar_error *err);

/* The plan for a statement, a reference for the caller. CANCELED soon after *stop became true. */
MORTAR_MUST_USE enum mortar_status kiln_translator_plan(struct kiln_translator *translator,
                                                        const struct kiln_plan_key *key,
                                                        const atomic_bool *stop,
                                                        struct kiln_plan **out,
                                                        struct mortar_error *err);

/* The plan that loads the sample tables, which may unpack files into that folder first. */
MORTAR_MUST_USE enum mortar_status kiln_translator_samples(struct kiln_translator *translator,
                                                           const char *work_folder,
                                                           const atomic_bool *stop,
                                                           struct kiln_plan **out,
                                                           struct mortar_error *err);

/* No call may be running. NULL is fine. */
void kiln_translator_free(struct kiln_translator *translator);

#endif
