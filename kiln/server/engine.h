/* What turns a statement into rows: a table of functions. The server knows no engine's name.
 *
 * Threads: open_session, close_session and execute are called on worker threads, several at once,
 * but for one session's execute calls the server makes no promise either: an engine locks what it
 * shares. interrupt is called on the loop thread while execute or the stream of that statement
 * runs on a worker. Nothing here may block the loop thread. */
#ifndef KILN_SERVER_ENGINE_H
#define KILN_SERVER_ENGINE_H

#include "mortar/mortar.h"

/* A statement that failed, in the words a warehouse would use. */
struct kiln_error {
  char sqlstate[6];
  char message[4096]; /* "[TABLE_OR_VIEW_NOT_FOUND] ..." */
};

MORTAR_PRINTF(3, 4)
void kiln_fail(struct kiln_error *err, const char *sqlstate, const char *fmt, ...);

/* How a column is called in SQL where its Arrow type does not say: "DECIMAL(10,2)", "VARIANT",
 * "TIMESTAMP_NTZ". The server derives it from the Arrow type when the engine's schema has no field
 * metadata "Spark:DataType:SqlName". */

struct kiln_exchange; /* kiln/server/exchange.h */
struct mtr_TSparkParameter;
struct mtr_thrift_values; /* codec/thrift/binary.h */

struct kiln_statement {
  const struct mortar_metadata *metadata; /* a question about the catalogue: sql is empty */
  const char *sql;                        /* ends with NUL too */
  size_t size;
  const char *catalog, *schema; /* those that the session was opened with; never NULL */
  const struct mtr_TSparkParameter *parameters; /* codec/thrift/tcli.h */
  size_t parameter_count;
  /* For engines that answer with prepared bytes: whether the client can read LZ4 frames, and
   * whether it reads Arrow and asked for direct results. If it did not, prepared bytes are of no
   * use to it: it gets a stream. */
  bool lz4, prepared_ok;
};

struct kiln_answer {
  struct ArrowArrayStream stream; /* release NULL: the statement has no result set (DDL) */
  int64_t rows_affected;          /* -1: not DML */
  bool volume; /* the row is a link to a file, which the client is to move (volume.h) */
  /* A load engine sets prepared instead, if the client takes that: a whole TExecuteStatementResp
   * body struct (Thrift binary, from the first field on to STOP), kept by the engine, sent as it
   * is. The 16 bytes at guid_offset are replaced by the operation's id. */
  const uint8_t *prepared;
  size_t prepared_size, guid_offset;
  int64_t delay_us; /* server time: the reply is held back for so long on a timer, not a thread */
};

struct kiln_engine {
  const char *name; /* for /kiln/stats and the log */
  bool inline_ok;   /* execute never blocks: call it on the loop thread, no worker hop */
  bool metadata_ok; /* execute answers statements with metadata, in JDBC's columns */
  /* Answers every call itself, on the loop thread and at once: there are no sessions and operations
   * of the server's then, and no use for the functions below. NULL: the server's handlers do. */
  void (*answer)(void *engine, struct kiln_exchange *x);
  /* settings is OpenSession's configuration, a map of strings that is empty where there is none;
   * it may have "use:database", which is the schema already. */
  bool (*open_session)(void *engine, const char *catalog, const char *schema,
                       const struct mtr_thrift_values *settings, void **session,
                       struct kiln_error *err);
  void (*close_session)(void *engine, void *session);
  /* statement_ctx is the handle for interrupt and finish; set it before work that takes time. */
  bool (*execute)(void *engine, void *session, const struct kiln_statement *statement,
                  _Atomic(void *) *statement_ctx, struct kiln_answer *answer,
                  struct kiln_error *err);
  /* Seconds that the session grants each of its statements, 0: as many as it needs. On the loop
   * thread, so it may not wait. May be NULL. */
  int64_t (*timeout)(void *engine, void *session);
  void (*interrupt)(void *engine, void *statement_ctx);
  /* Once for every statement_ctx that was set, also when execute failed: after the stream was
   * released, on a worker, never while interrupt runs. May be NULL. */
  void (*finish)(void *engine, void *statement_ctx);
};

#endif
