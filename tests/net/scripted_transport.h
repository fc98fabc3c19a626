/* A transport without sockets or time: what the peer does is written down before. Also the driver
 * that turns an exchange over it, in virtual time: every wait lasts one millisecond. */
#ifndef MTR_TESTS_SCRIPTED_TRANSPORT_H
#define MTR_TESTS_SCRIPTED_TRANSPORT_H

#include "net/exchange.h"

enum scripted_end {
  SCRIPTED_SILENCE, /* nothing more comes */
  SCRIPTED_CLOSE,
  SCRIPTED_RESET
};

struct scripted {
  struct mtr_transport base;

  /* The script. */
  int connect_waits; /* steps that say AGAIN; -1: all of them */
  bool connect_fails;
  const char *reply;
  size_t reply_size;
  size_t first_piece, piece; /* bytes of the first receive and of the others; 0: all there is */
  bool again_between;        /* an AGAIN before every piece but the first */
  enum scripted_end end;     /* behind the last byte of the reply */
  bool early;                /* the reply is there before the request was read whole */
  size_t login_size;         /* bytes of a login before the request; the reply begins with its */
  size_t answer_size;        /* answer, of so many bytes, and goes on once the request came */
  size_t send_piece;         /* bytes taken by one send; 0: all */
  size_t send_stop;          /* bytes after which the peer takes no more; 0: takes all */
  bool send_fails;           /* at send_stop: a reset instead of AGAIN */
  enum scripted_end idle;    /* what a receive before the request says on an old connection */

  /* What happened. */
  char sent[4096];
  size_t sent_size, reply_at;
  bool paused; /* the AGAIN between two pieces was said */
  int connects, closes;
  size_t request_size; /* set by scripted_run */
};

/* connected: as if it had been used before. */
void scripted_init(struct scripted *s, const char *reply, size_t size, bool connected);

/* Runs the exchange to its end from time 0; interrupt_at: the time of a wake-up, MTR_NEVER. Each
 * want is checked against the transport's state. Returns the time of the end. */
int64_t scripted_run(struct mtr_exchange *exchange, int64_t interrupt_at);

#endif
