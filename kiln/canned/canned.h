/* The engine `canned`: replies that were made once, when the program started, chosen by the
 * statement's text. It never blocks, so the server asks it on the loop thread. */
#ifndef KILN_CANNED_CANNED_H
#define KILN_CANNED_CANNED_H

#include "kiln/server/engine.h"

struct kiln_canned_options {
  int64_t rows, batches;  /* of "SELECT * FROM rows_<rows>" */
  bool checksum;          /* LZ4 frames with checksums */
  int64_t server_time_us; /* every reply is held back for so long */
};

/* Limits of the options: a reply is held in memory, twice, and has to fit into one page of rows. */
enum { KILN_CANNED_MAX_ROWS = 1000000, KILN_CANNED_MAX_BATCHES = 100000 };

struct kiln_canned;

extern const struct kiln_engine kiln_canned_engine; /* its context is a struct kiln_canned */

MORTAR_MUST_USE enum mortar_status kiln_canned_new(const struct kiln_canned_options *options,
                                                   struct kiln_canned **out,
                                                   struct mortar_error *err);
void kiln_canned_free(struct kiln_canned *canned);

#endif
