/* One HTTP request that is a Thrift call, from its arrival to its reply. Loop thread only, but for
 * kiln_exchange_encode, which the worker that makes a page calls while the loop leaves the exchange
 * alone.
 *
 * Recycled: a steady state allocates nothing here. Every exchange ends in exactly one of the reply
 * functions, which frees it, perhaps after a delay. */
#ifndef KILN_SERVER_EXCHANGE_H
#define KILN_SERVER_EXCHANGE_H

#include <event2/event_struct.h>
#include <event2/http.h>

#include "codec/thrift/message.h"
#include "kiln/server/core.h"
#include "kiln/server/engine.h"

struct kiln_exchange;

struct kiln_call {
  const char *name;
  enum kiln_call_kind kind;
  const struct mtr_struct_info *request, *reply;
  void (*handle)(struct kiln_exchange *x);
};

struct kiln_operation;

struct kiln_exchange {
  struct kiln_core *core;
  struct kiln_link link; /* core's exchanges or idle ones */
  struct evhttp_request *http;
  struct mtr_span bytes; /* the request's body; http owns it */
  struct mtr_arena arena;
  const struct kiln_call *call;
  int32_t seqid;
  void *request; /* decoded, call->request */
  struct mtr_buf out;
  struct mtr_span tail; /* memory of the engine's, sent behind out, with a STOP after it */
  int64_t delay_us;     /* the reply is held back for so long */

  struct kiln_operation *operation; /* while waiting: whose link list wait_link is in */
  struct kiln_link wait_link;
  void (*resume)(struct kiln_exchange *x, struct kiln_operation *op);
  struct event timer;
  void (*on_timer)(struct kiln_exchange *x);
};

/* NULL when memory ran out. */
struct kiln_exchange *kiln_exchange_new(struct kiln_core *core, struct evhttp_request *http);

/* Reads the body and hands the exchange to the call's handler; bad bytes are answered here. */
void kiln_exchange_dispatch(struct kiln_exchange *x);

/* Calls fn after so many microseconds, unless disarmed. One at a time. */
void kiln_exchange_after(struct kiln_exchange *x, int64_t us, void (*fn)(struct kiln_exchange *x));
void kiln_exchange_disarm(struct kiln_exchange *x);

/* Writes the reply message into out. body is a call->reply. */
MORTAR_MUST_USE enum mortar_status kiln_exchange_encode(struct kiln_exchange *x, const void *body,
                                                        struct mortar_error *err);

/* Sends what was encoded; frees x. */
void kiln_exchange_send(struct kiln_exchange *x);

/* encode and send; what can't be encoded becomes an EXCEPTION. Frees x. */
void kiln_exchange_reply(struct kiln_exchange *x, const void *body);

/* A reply struct with nothing but an error status. Frees x. */
void kiln_exchange_refuse(struct kiln_exchange *x, const struct kiln_error *error);
void kiln_exchange_refuse_with(struct kiln_exchange *x, const struct mortar_error *error);

/* A reply struct with nothing but success. Frees x. */
void kiln_exchange_accept(struct kiln_exchange *x);

/* An EXCEPTION message of TApplicationException's `type`. Frees x. */
void kiln_exchange_exception(struct kiln_exchange *x, const char *name, int32_t type,
                             const char *text);

/* A prepared body of the engine's with guid put in. Frees x. */
void kiln_exchange_prepared(struct kiln_exchange *x, const struct kiln_answer *answer,
                            const uint8_t guid[KILN_ID_SIZE]);

/* Frees x without an answer; the caller answers the request that it gets. */
struct evhttp_request *kiln_exchange_give_up(struct kiln_exchange *x);

/* 503: the server is stopping or has too much to do. Frees x. */
void kiln_exchange_unavailable(struct kiln_exchange *x);

/* Frees the idle ones. */
void kiln_exchange_drain(struct kiln_core *core);

/* The call by its name, NULL when there is none (calls.c). */
const struct kiln_call *kiln_call_find(struct mtr_span name);

#endif
