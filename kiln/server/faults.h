/* The fault script of a server: its rules, in order, and which of them a request meets.
 *
 * Every rule counts the requests that fit it, whether or not it is its turn; of those whose turn it
 * is the first in the list happens. Loop thread only, but for the file that is read at start. */
#ifndef KILN_SERVER_FAULTS_H
#define KILN_SERVER_FAULTS_H

#include "base/buf.h"
#include "base/span.h"
#include "kiln/server/attempts.h"
#include "kiln/server/fault_rule.h"

/* More rules than a person writes; a script that makes them by program splits its test. */
enum { KILN_FAULT_RULES = 1024 };

struct kiln_faults {
  struct kiln_link rules;
  size_t rule_count;
  int64_t last_id;
  struct kiln_link runs; /* requests under the spell of a rule (fault_apply.c) */
  struct kiln_attempts attempts;
};

MORTAR_MUST_USE enum mortar_status kiln_faults_new(struct kiln_faults **out,
                                                   struct mortar_error *err);

/* A script: a list of rules, or {"rules": [...], "replace": true}. Without "replace" the rules come
 * behind those that are there. A bad script changes nothing, and err says where it is bad. */
MORTAR_MUST_USE enum mortar_status kiln_faults_load(struct kiln_faults *faults,
                                                    struct mtr_span script,
                                                    struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status kiln_faults_load_file(struct kiln_faults *faults,
                                                         const char *path,
                                                         struct mortar_error *err);

/* Forgets the rules. What has begun goes on. */
void kiln_faults_clear(struct kiln_faults *faults);

/* The rule that a call, a path or a connection meets now, with a use of its own for the caller;
 * NULL: none. The other is NULL; for a call, text is that of its statement, empty without one. */
struct kiln_fault_rule *kiln_faults_meet(struct kiln_faults *faults, const char *call,
                                         const char *path, struct mtr_span text);

/* Appends the rules and their counters as JSON. */
MORTAR_MUST_USE enum mortar_status kiln_faults_json(const struct kiln_faults *faults,
                                                    struct mtr_buf *out, struct mortar_error *err);

/* No run may be left. NULL is fine. */
void kiln_faults_free(struct kiln_faults *faults);

#endif
