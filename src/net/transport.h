/* A byte connection as the exchange sees it: a table of functions that don't block, but for a
 * receive that was told to. The curl one carries real traffic; the scripted one of the tests
 * splits, stalls and breaks at will. */
#ifndef MTR_NET_TRANSPORT_H
#define MTR_NET_TRANSPORT_H

#include "base/span.h"
#include "mortar/mortar.h"

enum mtr_io {
  MTR_IO_DONE,   /* it happened, at least one byte of it */
  MTR_IO_AGAIN,  /* not now: wait for the descriptor */
  MTR_IO_CLOSED, /* the peer closed in order */
  MTR_IO_FAILED  /* err is filled, without the endpoint's name */
};

struct mtr_transport {
  const struct mtr_transport_ops *ops;
  int fd;          /* -1: not connected. Poll it for reading or writing, nothing else. */
  const char *way; /* for errors of connecting: "through the proxy HOST:PORT"; NULL: straight */
  bool bare;       /* the server is spoken to without TLS */
  /* A receive that waits itself saves the poll before it. */
  bool can_wait;    /* set by the transport: recv looks at patient */
  bool patient;     /* the next recv waits for a byte, up to MTR_RECV_WAIT_MS; it clears this */
  bool interrupted; /* a signal ended that wait */
};

enum { MTR_RECV_WAIT_MS = 100 };

struct mtr_transport_ops {
  /* A step of connecting, name look-up and handshakes included; the first one starts. After
   * FAILED, close. */
  enum mtr_io (*connect)(struct mtr_transport *transport, struct mortar_error *err);
  /* While connecting: waits at most timeout_ms (-1: no limit) until another step makes sense or
   * wake_fd (-1: none) is readable. The only function that may wait. True: a signal ended it. */
  bool (*wait_connect)(struct mtr_transport *transport, int timeout_ms, int wake_fd);
  /* While connecting: what is being waited for, "looking up the name". */
  const char *(*stage)(const struct mtr_transport *transport);
  /* *n bytes were taken, 1 or more when DONE. Bytes refused by AGAIN or FAILED have not left in
   * a form that the peer could read. */
  enum mtr_io (*send)(struct mtr_transport *transport, struct mtr_span data, size_t *n,
                      struct mortar_error *err);
  enum mtr_io (*recv)(struct mtr_transport *transport, void *data, size_t size, size_t *n,
                      struct mortar_error *err);
  /* While nothing is due: whether nothing has come, neither bytes nor an end. Such a connection is
   * alive as far as anybody can tell; after false, close. */
  bool (*quiet)(struct mtr_transport *transport);
  /* Back to not connected; connect may be called again. */
  void (*close)(struct mtr_transport *transport);
  /* inherited: in the child of a fork. Closes the descriptor and touches nothing else of the
   * connection, because a clean-up would end the parent's. */
  void (*free)(struct mtr_transport *transport, bool inherited);
};

static inline void mtr_transport_free(struct mtr_transport *transport, bool inherited)
{
  if (transport) transport->ops->free(transport, inherited);
}

#endif
