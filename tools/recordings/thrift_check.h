/* Decodes one Thrift exchange of a recording: envelope, request and reply struct, row data. */
#ifndef MTR_TOOLS_RECORDINGS_THRIFT_CHECK_H
#define MTR_TOOLS_RECORDINGS_THRIFT_CHECK_H

#include "base/arena.h"
#include "tools/recordings/arrow_check.h"
#include "kiln/recordings/exchange.h"

/* What an operation's batches look like, told by an earlier reply of the same file. */
struct operation {
  struct operation *next;
  struct mtr_span guid, schema;
  bool lz4;
};

struct thrift_check {
  struct report *report;
  struct mtr_lz4 *lz4;
  struct mtr_arena arena;      /* of one exchange */
  struct mtr_arena file_arena; /* of the operations */
  struct operation *operations;
};

void thrift_check_init(struct thrift_check *c, struct report *report, struct mtr_lz4 *lz4);
void thrift_check_fini(struct thrift_check *c);

/* Forgets the operations: another file begins. */
void thrift_check_new_file(struct thrift_check *c);

/* Reports what is wrong with the exchange; true when nothing is. */
bool thrift_check_exchange(struct thrift_check *c, const struct kiln_recorded *x);

#endif
