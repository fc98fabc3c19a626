/* The command line of kiln-canned. */
#ifndef KILN_CANNED_OPTIONS_H
#define KILN_CANNED_OPTIONS_H

#include "kiln/canned/canned.h"
#include "kiln/server/server.h"

enum { KILN_CANNED_MAX_REPLIES = 64 };

/* --reply PATH=STATUS:TYPE:FILE, taken apart; the texts are the caller's argv, cut in place. */
struct kiln_canned_reply {
  const char *path, *type, *file;
  int status;
  int64_t delay_us; /* --reply-time as it was before the --reply */
};

struct kiln_canned_command {
  struct kiln_options server;
  struct kiln_canned_options canned;
  const char *ready_file;
  struct kiln_canned_reply replies[KILN_CANNED_MAX_REPLIES];
  int reply_count;
  int64_t reply_delay_us; /* for the next --reply */
  bool help, version;
};

/* INVALID says which argument and why. */
MORTAR_MUST_USE enum mortar_status kiln_canned_parse(int argc, char **argv,
                                                     struct kiln_canned_command *out,
                                                     struct mortar_error *err);
const char *kiln_canned_usage(void);

#endif
