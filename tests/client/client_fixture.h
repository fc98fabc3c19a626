/* A fake server and a session on it. */
#ifndef MTR_TESTS_CLIENT_FIXTURE_H
#define MTR_TESTS_CLIENT_FIXTURE_H

#include "tests/client/fake_server.h"
#include "tests/support/test.h"

struct client {
  struct fake_server fs;
  struct mortar_session *session;
  const char *option, *value; /* another option; NULL: none */
  mortar_log_fn log;          /* NULL: none */
  void *log_ctx;
  enum mortar_log_level log_level;
  struct mortar_error err;
};

/* Opens a session with an option set, besides that of c; alloc may be NULL. */
enum mortar_status client_open(struct client *c, const struct mortar_alloc *alloc,
                               const char *option, const char *value);
void client_start(struct client *c); /* server and session; *c need not be filled */
void client_stop(struct client *c);

/* The same, with the options and the log of *c, of which the rest must be zero. */
void client_start_with(struct client *c);

/* That a batch of the fake server holds the rows from `first` on. */
void client_check_batch(const struct ArrowArray *batch, int64_t first);

/* Reads all rows of a result: checks n against 0, 1, ... and s against the rule of the fake
 * server; *rows counts them, also when it fails half way. */
enum mortar_status client_drain(struct mortar_result *res, int64_t *rows, struct mortar_error *err);

/* Runs a statement and drains it. */
enum mortar_status client_rows(struct client *c, int64_t *rows);

#endif
