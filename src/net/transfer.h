/* One request with a file in its body, or in the body of its reply, to a place that the server
 * named by a link. The bytes pass through; memory does not grow with the file.
 *
 * Every transfer has a connection of its own, in libcurl's HTTP: it is no hot path. It knows
 * nothing of the session, so neither its token nor its client certificate reaches that place, and
 * it follows no redirect. The link is a secret: no error shows more of it than host and port. */
#ifndef MTR_NET_TRANSFER_H
#define MTR_NET_TRANSFER_H

#include "base/span.h"
#include "net/endpoint.h"
#include "net/wait.h"

struct mtr_transfer;

/* Reads the link (http or https, a host, no user). `like` has the settings of the session's own
 * endpoint, of which proxy, certificates to trust and checks of them hold here, too; where that one
 * speaks TLS a link without it is refused. What fails here was not sent. */
MORTAR_MUST_USE enum mortar_status mtr_transfer_new(const char *link,
                                                    const struct mtr_endpoint_options *like,
                                                    const struct mortar_alloc *alloc,
                                                    struct mtr_transfer **out,
                                                    struct mortar_error *err);
void mtr_transfer_free(struct mtr_transfer *transfer); /* NULL is fine */

struct mtr_transfer_header {
  const char *name, *value; /* of letters that can't end a line; see mtr_transfer_run */
};

/* Where the bytes come from or go to. Called on the thread of mtr_transfer_run; an error ends the
 * transfer with it. */
struct mtr_transfer_ends {
  /* PUT: at most size bytes into data; *n 0: there are no more. */
  enum mortar_status (*read)(void *ctx, void *data, size_t size, size_t *n,
                             struct mortar_error *err);
  /* GET: takes all of data. Only what a reply with a status of 200 to 299 holds comes here. */
  enum mortar_status (*write)(void *ctx, const void *data, size_t size, struct mortar_error *err);
  void *ctx;
};

enum mtr_transfer_method { MTR_TRANSFER_PUT, MTR_TRANSFER_GET, MTR_TRANSFER_DELETE };

struct mtr_transfer_request {
  enum mtr_transfer_method method;
  const struct mtr_transfer_header *headers; /* Content-Length and its like are left out */
  size_t header_count;
  const char *user_agent;
  int64_t size;     /* of a PUT's body, 0 or more: it has a Content-Length */
  int64_t stall_ms; /* it fails when not a byte has moved for so long */
  struct mtr_transfer_ends ends;
};

enum { MTR_TRANSFER_TEXT_MAX = 512 };

/* Filled also when the transfer fails. */
struct mtr_transfer_reply {
  int status;                       /* 0: no reply came */
  int64_t retry_after_ms;           /* 0: nothing was said of it */
  bool begun;                       /* some of the reply had come */
  bool source_failed;               /* the failure is that of read or write */
  int64_t moved;                    /* bytes that read gave or write took */
  char text[MTR_TRANSFER_TEXT_MAX]; /* the beginning of the body of any other status */
};

/* OK: there is a complete reply, whatever its status: the caller judges it. A file whose length the
 * reply does not tell is refused. Outcomes as of mtr_lease_exchange. */
MORTAR_MUST_USE enum mortar_status mtr_transfer_run(struct mtr_transfer *transfer,
                                                    const struct mtr_transfer_request *request,
                                                    const struct mtr_wait *wait,
                                                    struct mtr_transfer_reply *reply,
                                                    struct mortar_error *err);

/* "host:port", for errors. */
const char *mtr_transfer_place(const struct mtr_transfer *transfer);

#endif
