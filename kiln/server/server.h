/* The Kiln server: Thrift over HTTP and HTTPS in front of an engine. One loop thread (evhttp) and
 * a few workers; needs no Python. Listens on loopback unless told otherwise. */
#ifndef KILN_SERVER_SERVER_H
#define KILN_SERVER_SERVER_H

#include "kiln/server/engine.h"

struct kiln_options {
  const char *address; /* NULL: "127.0.0.1" */
  int port;            /* 0: a free one */
  bool tls;            /* HTTPS; a self-signed certificate for localhost and 127.0.0.1 is made
                          when no files are given */
  const char *cert_file, *key_file; /* PEM */
  const char *cert_out;    /* where to write the certificate that was made, NULL: nowhere */
  int workers;             /* 0: 8 */
  int64_t batch_rows;      /* rows of one Arrow batch; 0: 4096 */
  int64_t page_batches;    /* Arrow batches of one page at most; 0: no such limit */
  int64_t max_inline_rows; /* rows of one page; 0: what the request asks for */
  bool precise;            /* times to the microsecond, not to some milliseconds; it costs a system
                              call for each exchange. With faults always. */
  bool checksum;           /* LZ4 frames with checksums */
  bool columns;            /* Thrift columns also for clients that ask for Arrow */
  const char *protocol;    /* the newest protocol version that is spoken, see protocol.h; NULL: the
                              newest there is */
  int64_t direct_wait_ms;  /* how long a reply with direct results waits for the statement before
                              it says that it still runs; 0: 5000 */
  const char *token;       /* NULL: any or none; else other bearer tokens get a 403 */
  /* A session or an operation that is not used for longer is closed; 0: never. */
  int64_t session_idle_ms, operation_idle_ms;
  bool faults;             /* whether /kiln/faults and /kiln/clock are there; off: 404 */
  const char *faults_file; /* a fault script to start with (docs/kiln-faults.md); implies faults.
                              Read once, at start. */
  const char *volumes; /* a folder in which the files of volumes are kept; NULL: there are none */
};

struct kiln_server;

/* Binds, starts the threads and returns; engine and engine_ctx must outlive the server. */
MORTAR_MUST_USE enum mortar_status kiln_server_start(const struct kiln_options *options,
                                                     const struct kiln_engine *engine,
                                                     void *engine_ctx, struct kiln_server **out,
                                                     struct mortar_error *err);
int kiln_server_port(const struct kiln_server *server);

/* Answers GET or POST on exactly this path with these bytes, whatever the method; for pointing
 * other clients at it. body is kept, not copied. Before or after start, from the thread that
 * started it. */
MORTAR_MUST_USE enum mortar_status kiln_server_route(struct kiln_server *server, const char *path,
                                                     int status, const char *content_type,
                                                     const void *body, size_t size,
                                                     int64_t delay_us, struct mortar_error *err);

/* Stops taking requests, ends running statements, joins the threads, frees. NULL is fine. */
void kiln_server_stop(struct kiln_server *server);

#endif
