/* What was found: counts, and one printed line for each failure. */
#ifndef MTR_TOOLS_RECORDINGS_REPORT_H
#define MTR_TOOLS_RECORDINGS_REPORT_H

#include "mortar/mortar.h"

struct report {
  const char *file; /* where we are; line counts from 1, 0: the file as a whole */
  size_t line;
  size_t files, exchanges, decoded, failed;
  size_t exceptions, http_errors;   /* of the decoded ones: what they were */
  size_t same, other_form;          /* calls and replies that were written again */
  size_t arrow_batches, arrow_rows; /* inside of Thrift replies */
  size_t column_sets, column_rows;
  size_t arrow_files, file_batches, file_rows;
  size_t json_skipped, body_skipped, empty_skipped; /* exchanges of other kinds */
  bool dump, values;
};

/* Prints "FILE:LINE: text" and counts a failure. Returns false, so that a check can end with it. */
MORTAR_PRINTF(2, 3) bool report_fail(struct report *r, const char *fmt, ...);

/* The summary; its last line is "N exchanges, N decoded, N failed". */
void report_print(const struct report *r);

#endif
