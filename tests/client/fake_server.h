/* A warehouse of a few lines for the client's tests: one thread, HTTP/1.1 over loopback, our own
 * codec. What it answers is set by the fields below; tests of the wire itself use Kiln and the
 * recordings. */
#ifndef MTR_TESTS_FAKE_SERVER_H
#define MTR_TESTS_FAKE_SERVER_H

#include <pthread.h>

#include "arrow/schema.h"
#include "base/buf.h"

enum { FAKE_BATCHES_MAX = 128 };

struct fake_batch {
  int64_t first,
      rows; /* values of column n are first, first + 1, ...; s is "s<n>", null if n % 3 == 0 */
  int64_t declared; /* row count told to the client */
  bool end_marker;  /* an end-of-stream marker stands before the batch, inside its bytes */
  int corrupt_at;   /* byte of the packed batch to change, counted from its end; -1: none */
};

struct fake_server {
  /* Behaviour, to be set while no client is connected. */
  struct fake_batch batches[FAKE_BATCHES_MAX];
  int batch_count, pages; /* the batches are dealt out over the pages */
  bool lz4, checksum, other_schema, no_schema;
  _Atomic int live_polls;               /* so many polls say RUNNING before the statement ends */
  bool ends_canceled;                   /* once CancelOperation was seen, polls say CANCELED */
  const char *sqlstate, *failure;       /* the statement fails with these words */
  int fail_page;                        /* that page (from 1) is an error status; 0: none */
  int http_status;                      /* answer of ExecuteStatement; 0: 200 */
  const char *http_headers, *http_body; /* with it */
  long cut_to;       /* ExecuteStatement's reply body is cut to so many bytes; -1: whole */
  _Atomic bool hang; /* ExecuteStatement is never answered */
  bool exception;    /* ExecuteStatement is answered with an EXCEPTION */

  /* Seen so far. */
  _Atomic int opened, closed, executed, polled, fetched, schemas, canceled, operations_closed;
  _Atomic int connections;
  _Atomic long reply_size; /* of the last ExecuteStatement reply */

  int port, listener;
  pthread_t thread;
  _Atomic bool stop;
  _Atomic int page_next; /* of the one statement that has pages */
};

/* Starts it with one batch of three rows. */
void fake_server_start(struct fake_server *fs);
void fake_server_stop(struct fake_server *fs);

/* count batches of `rows` rows each, numbered through. */
void fake_server_batches(struct fake_server *fs, int count, int64_t rows);

#endif
