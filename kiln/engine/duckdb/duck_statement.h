/* One running statement: a DuckDB connection of its own, from connecting to the last batch.
 *
 * A connection holds one streaming result at a time, so statements share none. All calls but
 * interrupt come from one thread at a time. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_STATEMENT_H
#define KILN_ENGINE_DUCKDB_DUCK_STATEMENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "kiln/engine/duckdb/duck_api.h"
#include "kiln/server/engine.h"

struct duck_statement {
  const struct duck_api *api;
  pthread_mutex_t lock; /* held while con is made, closed or interrupted */
  duck_handle con;
  atomic_bool stop; /* interrupted, or about to be */
  struct duck_result result;
  duck_handle arrow_options;
  bool open;       /* result and arrow_options are there */
  int64_t changed; /* rows that the open result's statement changed; -1: of another kind */
  struct ArrowArray
      ahead;    /* the first batch of the open result; release NULL: handed out, or none */
  bool started; /* ahead was handed out */
  const struct kiln_statement *source; /* whose parameters are bound; NULL: none */
  struct kiln_error error;             /* of the stream */
};

/* NULL when memory ran out. */
struct duck_statement *duck_statement_new(const struct duck_api *api);
void duck_statement_free(struct duck_statement *stmt); /* NULL is fine */

/* Opens the connection with these current names; fails when there is no such schema. own: the
 * number of the session's own schema, which is looked at first; 0: it has none. */
bool duck_statement_connect(struct duck_statement *stmt, duck_handle db, const char *catalog,
                            const char *schema, uint64_t own, struct kiln_error *err);

/* Runs SQL of DuckDB's up to its first rows and leaves the result open; the result before it is
 * dropped. convert: the columns are cast to types that a warehouse has. */
bool duck_statement_run(struct duck_statement *stmt, const char *sql, bool convert,
                        struct kiln_error *err);

/* The next batch of the open result; out->release NULL at the end. */
bool duck_statement_next(struct duck_statement *stmt, struct ArrowArray *out,
                         struct kiln_error *err);

/* Hands the open result out as a stream. Its release closes the result and the connection; the
 * statement itself must live until then. */
void duck_statement_stream(struct duck_statement *stmt, struct ArrowArrayStream *out);

/* Drops the result and closes the connection. */
void duck_statement_close(struct duck_statement *stmt);

/* Any thread, as long as the statement lives. Not forgotten when nothing runs yet. */
void duck_statement_interrupt(struct duck_statement *stmt);

#endif
