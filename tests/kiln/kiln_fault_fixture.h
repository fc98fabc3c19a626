/* A server that misbehaves by a script, and what it says of itself. */
#ifndef TESTS_KILN_KILN_FAULT_FIXTURE_H
#define TESTS_KILN_KILN_FAULT_FIXTURE_H

#include <jansson.h>

#include "tests/kiln/kiln_fixture.h"

/* Starts with faults allowed, opens the session, then sets the rules. */
void fault_begin(struct fixture *fx, const struct kiln_engine *engine, const char *rules);

/* One request to Kiln itself on a connection of its own; the answer's status, its JSON in *out
 * unless out is NULL (json_decref). */
int fault_control(struct fixture *fx, const char *method, const char *path, const char *body,
                  json_t **out);

/* Replaces the rules. */
void fault_set(struct fixture *fx, const char *rules);

/* A number of /kiln/stats, or of a rule (counted from 0) in /kiln/faults. */
int64_t fault_stat(struct fixture *fx, const char *name);
int64_t fault_rule(struct fixture *fx, size_t index, const char *name);

/* A number of a statement's text, or of a call, in /kiln/stats; -1: there is none. */
int64_t fault_text(struct fixture *fx, const char *text, const char *name);
int64_t fault_call(struct fixture *fx, const char *call, const char *name);

/* Sends a statement for direct results and reads the answer; false: the connection ended first. */
bool fault_run(struct fixture *fx, const char *sql);

/* A new connection in place of one that has ended. */
void fault_reconnect(struct fixture *fx);

/* How long reading waits. */
void fault_patience(struct wire *wire, int ms);

#endif
