/* One rule of a fault script: which request, and what happens to it. Read from JSON once; its
 * texts belong to the JSON, which it keeps. */
#ifndef KILN_SERVER_FAULT_RULE_H
#define KILN_SERVER_FAULT_RULE_H

#include <jansson.h>

#include "kiln/server/list.h"
#include "mortar/mortar.h"

enum { KILN_FAULT_NTH = 64, KILN_FAULT_EDITS = 16 };

/* One change to the body of a reply: a byte is flipped, or a 4-byte number gets something added. */
struct kiln_fault_edit {
  bool flips;
  const char *place; /* see fault_place.h; NULL: offset counts within the body */
  int64_t offset;    /* negative: from the end, -1 being the last byte */
  int64_t add;
};

struct kiln_fault_rule {
  struct kiln_link link; /* in the list of rules, or in none once it is cleared */
  json_t *json;
  size_t users; /* the list, and requests that are under its spell */
  int64_t id;

  /* Which. Exactly one of call and path. */
  const char *call; /* "ExecuteStatement", "*", "connect" */
  const char *path; /* "/telemetry", "*" */
  const char *text; /* that the statement contains; NULL: any */
  bool every;
  int64_t nth[KILN_FAULT_NTH];
  size_t nth_count;
  int64_t seen, hits, missed; /* missed: hits whose change found nothing to change */

  /* What. */
  bool before; /* instead of executing; else to the reply of what was executed */
  int64_t delay_before_ms, delay_after_ms;
  const char *lose; /* "session" or "operation": closed before the call is looked at */
  int64_t status;   /* 0: as it is */
  json_t *headers;  /* an object of texts and numbers; NULL: none */
  const char *body; /* replaces the body; NULL: kept, or empty when status is set */
  const json_t *error, *exception;
  int64_t content_length_add;
  struct kiln_fault_edit edits[KILN_FAULT_EDITS];
  size_t edit_count;
  int64_t cut; /* bytes of the body that are sent; negative: all */
  bool reset, hang;
  int64_t trickle_bytes, trickle_ms; /* bytes 0: all at once */
  int64_t close_after_ms;            /* negative: not closed */
};

/* INVALID names the field. Takes a reference of json. */
MORTAR_MUST_USE enum mortar_status kiln_fault_rule_new(json_t *json, struct kiln_fault_rule **out,
                                                       struct mortar_error *err);

/* Whether the request that was just counted in `seen` is one of those that are meant. */
bool kiln_fault_rule_due(const struct kiln_fault_rule *rule);

/* How many times it can still happen; negative: without end. */
int64_t kiln_fault_rule_left(const struct kiln_fault_rule *rule);

/* Gives one use back; frees with the last. NULL is fine. */
void kiln_fault_rule_unref(struct kiln_fault_rule *rule);

#endif
