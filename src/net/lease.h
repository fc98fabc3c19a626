/* A lease: one connection to an endpoint and the buffers of its exchanges, used by one exchange at
 * a time. It connects when first used and again when the server has closed; it holds no session
 * state, so any exchange may go over any lease.
 *
 * The caller writes the request body into mtr_lease_body, then calls mtr_lease_exchange:
 *
 *     struct mtr_buf *body = mtr_lease_body(lease);      empty, room for the head before it
 *     ... append ...
 *     st = mtr_lease_exchange(lease, &request, &wait, &reply, err);
 *
 * Errors name the endpoint and carry the outcome: NOT_SENT while no byte left, UNKNOWN afterwards;
 * a complete reply is MORTAR_OK whatever its HTTP status: the caller judges it. */
#ifndef MTR_NET_LEASE_H
#define MTR_NET_LEASE_H

#include "base/buf.h"
#include "net/endpoint.h"
#include "net/wait.h"

/* A POST; over a binary wire the body alone is sent. The head is kept by the lease and written anew
 * only when these pointers' contents change, so use the same strings for every exchange of a
 * session. */
struct mtr_request {
  const char *path; /* begins with '/' */
  /* Complete lines, each ended by CR LF; Host, Content-Length, Connection and Accept-Encoding are
   * the lease's. Refused (INVALID) when a stray CR, LF or NUL is inside. */
  const char *headers;
  /* Given up by deadline, wake-up or tick while the reply is awaited, the exchange stays pending:
   * mtr_lease_resume may still fetch the reply. */
  bool keep;
};

struct mtr_reply {
  int status;                     /* 200, 401, ...; 0 over a binary wire, where all is well */
  struct mtr_span body;           /* contiguous, decoded from chunks; in the lease's reply buffer */
  struct mtr_span content_type;   /* empty when the header is absent; valid like body */
  struct mtr_span server_message; /* the best of x-thriftserver-error-message, x-databricks-error-
                                     or-redirect-message, x-databricks-reason-phrase */
  int64_t retry_after_ms;         /* -1: no such header; 0 also when it says nothing usable */
  bool begun;                     /* of a failed exchange: some of the reply's bytes had come */
};

struct mtr_lease;

MORTAR_MUST_USE enum mortar_status mtr_lease_new(struct mtr_endpoint *endpoint,
                                                 struct mtr_lease **out, struct mortar_error *err);

/* Gives a live connection back to the endpoint's idle ones, closes any other. NULL is fine. */
void mtr_lease_free(struct mtr_lease *lease);

/* The request body's buffer, empty. Valid until the next call with this lease. An exchange leaves
 * the bytes as they are: another mtr_lease_exchange without this call sends them again. */
struct mtr_buf *mtr_lease_body(struct mtr_lease *lease);

/* One exchange. reply points into the lease: valid until its next exchange, trim or free. */
MORTAR_MUST_USE enum mortar_status mtr_lease_exchange(struct mtr_lease *lease,
                                                      const struct mtr_request *request,
                                                      const struct mtr_wait *wait,
                                                      struct mtr_reply *reply,
                                                      struct mortar_error *err);

/* True while an exchange with `keep` is unfinished. Another exchange, trim or free abandons it and
 * closes the connection. */
bool mtr_lease_pending(const struct mtr_lease *lease);

/* The descriptor to poll for reading while an exchange is pending; -1 otherwise. */
int mtr_lease_fd(const struct mtr_lease *lease);

/* Goes on with the pending exchange; like mtr_lease_exchange, and it may be pending again. A
 * deadline that has passed takes what has arrived and waits for nothing. */
MORTAR_MUST_USE enum mortar_status mtr_lease_resume(struct mtr_lease *lease,
                                                    const struct mtr_wait *wait,
                                                    struct mtr_reply *reply,
                                                    struct mortar_error *err);

/* Gives the memory of unusually large buffers back. */
void mtr_lease_trim(struct mtr_lease *lease);

/* Counters for tests and mortar's statistics. waits counts polls, and receives that wait in their
 * place; reads the receives for a reply, those too; probes the looks whether an old connection is
 * alive, which are in no other counter; stale the connections replaced before anything was sent on
 * them. */
struct mtr_lease_stats {
  uint64_t connects, exchanges, probes, writes, waits, reads, stale;
};
void mtr_lease_stats(const struct mtr_lease *lease, struct mtr_lease_stats *out);

#endif
