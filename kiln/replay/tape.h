/* Recorded replies in memory, found by what was asked. Read once; only `used` changes later.
 *
 * What a request asks is its call and those of its fields that are texts, lists of texts or 32-bit
 * numbers: the statement, the filters of a metadata call, the type of GetInfo. Not looked at are
 * handles, parameters, limits and settings. OpenSession has one question for all. */
#ifndef KILN_REPLAY_TAPE_H
#define KILN_REPLAY_TAPE_H

#include "base/arena.h"
#include "kiln/server/exchange.h"

/* A reply, as it stood on the wire. Offsets are 0 where the reply has no such thing. */
struct kiln_taped {
  struct kiln_taped *next;  /* the next answer to the same question, or of the same calls */
  struct kiln_taped *calls; /* about the operation that this reply made, in recorded order */
  const struct kiln_call *call;
  struct mtr_span bytes;
  size_t seqid_at, guid_at, secret_at;
  bool used;
  bool closed; /* the operation, by direct results */
  bool more;   /* rows are left behind those of this reply */
};

struct kiln_question;

struct kiln_tape {
  struct mtr_arena arena;
  struct kiln_question *questions;
  /* passed_over: lines that are no Thrift call with a reply, or about an operation that is not in
   * their file. */
  size_t files, exchanges, statements, passed_over;
};

/* Reads a file, or the .jsonl files in a folder and below it. IO or INVALID with file and line in
 * the text; INVALID, too, when there is no answer at all. fini is due in any case. */
MORTAR_MUST_USE enum mortar_status kiln_tape_read(struct kiln_tape *tape, const char *path,
                                                  struct mortar_error *err);
void kiln_tape_fini(struct kiln_tape *tape);

/* The next answer: the first that was not given yet, or the last. NULL: none was recorded, with the
 * reason in the error then. */
const struct kiln_taped *kiln_tape_answer(struct kiln_tape *tape, const struct kiln_call *call,
                                          void *request, struct kiln_error *err);

#endif
