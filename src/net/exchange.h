/* One exchange as a step machine: connect if need be, send, receive, done. It never blocks and
 * never reads a clock; a driver waits for what a step wants and tells the next one the time.
 *
 *     start -> [probe] -> [connect -> [login]] -> send -> receive -> done
 *
 * An old connection is probed first: it is alive if and only if it is quiet. A dead one is
 * replaced and nobody is told, because nothing has been sent. Nothing is ever sent twice. */
#ifndef MTR_NET_EXCHANGE_H
#define MTR_NET_EXCHANGE_H

#include "base/clock.h"
#include "net/binary.h"
#include "net/http1.h"
#include "net/transport.h"

enum mtr_want {
  MTR_WANT_CONNECT, /* the transport's wait_connect */
  MTR_WANT_READ,    /* the descriptor readable */
  MTR_WANT_WRITE,   /* the descriptor writable, or readable: the peer may answer early */
  MTR_WANT_TIMER,   /* nothing: step again at once, after a look at the clock and the wake-up. A
                       long reply that never runs dry does this, so that it can be ended. */
  MTR_WANT_NOTHING  /* done: see status */
};

struct mtr_exchange {
  /* Filled by the caller before start; the rest is zero. */
  struct mtr_transport *transport;
  struct mtr_span out[2];     /* the request: head and body, or both in the first */
  struct mtr_span login;      /* SASL: said on a new connection, before the request; else empty */
  struct mtr_buf *reply;      /* reset by start; holds head and body afterwards */
  struct mtr_binary *binary;  /* how the reply is framed, initialised; NULL: HTTP */
  size_t max_body;            /* bytes of reply body that are accepted */
  int64_t connect_timeout_ms; /* -1: none */
  int64_t deadline;           /* of it all; MTR_NEVER */
  bool keep;                  /* see pending */
  struct mtr_lease_stats *stats;
  struct mortar_error *err; /* not NULL */

  /* Read when done. */
  enum mortar_status status;
  bool reusable;    /* the connection may carry another exchange; it is closed otherwise */
  int64_t finished; /* the time of the last step */
  bool pending;     /* with keep: it failed for want of time or patience after the request had left
                       whole. The connection stays open, and mtr_exchange_resume goes on. */

  /* Inside. */
  int phase;
  size_t sent, login_sent;
  bool fresh; /* connected by this exchange */
  int64_t started, connect_limit;
  struct mtr_http1 http;
};

void mtr_exchange_start(struct mtr_exchange *exchange, int64_t now);

/* Goes on as far as it can. After MTR_WANT_NOTHING: no more steps. */
enum mtr_want mtr_exchange_step(struct mtr_exchange *exchange, int64_t now);

/* The time at which the next step is due at the latest. */
int64_t mtr_exchange_limit(const struct mtr_exchange *exchange);

/* Ends it with INTERRUPTED. Not when it is done. */
void mtr_exchange_interrupt(struct mtr_exchange *exchange, int64_t now);

/* Goes on with one that is pending, until another deadline. Its err may be replaced before. */
void mtr_exchange_resume(struct mtr_exchange *exchange, int64_t deadline, int64_t now);

#endif
