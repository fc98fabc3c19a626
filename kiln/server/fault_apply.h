/* Faults on the way: the places where the server asks whether a rule wants a request, a reply or a
 * connection, and what then happens to them. Loop thread only. All but end and forget are called
 * only where faults are allowed (core->faults is there). */
#ifndef KILN_SERVER_FAULT_APPLY_H
#define KILN_SERVER_FAULT_APPLY_H

#include <event2/bufferevent.h>

#include "kiln/server/exchange.h"
#include "kiln/server/faults.h"

/* A decoded call is about to be handled. true: that is done, or will be. */
bool kiln_fault_on_call(struct kiln_exchange *x);

/* A request that is no Thrift call. true: it has been answered, or answer will be called once the
 * delay is over. */
bool kiln_fault_on_path(struct kiln_core *core, struct evhttp_request *http, const char *path,
                        void (*answer)(void *front, struct evhttp_request *http), void *front);

/* The reply to http is ready, its body in the request's output buffer. true: it has been taken. */
bool kiln_fault_on_reply(struct kiln_core *core, struct evhttp_request *http, int status,
                         const char *type);

/* A request has arrived. true: its connection is to be ended before anything is read; leave it. */
bool kiln_fault_on_request(struct kiln_core *core, struct evhttp_request *http);

/* Whether a connection that was just taken meets a rule; NULL: none. If so, give it a bufferevent
 * that closes on free and hand both over. */
struct kiln_fault_rule *kiln_fault_meet_connection(struct kiln_core *core);
void kiln_fault_on_connection(struct kiln_core *core, struct kiln_fault_rule *rule,
                              struct bufferevent *bev);

/* The server stops: what is held back by a delay goes on at once. */
void kiln_fault_end(struct kiln_core *core);

/* The loop has ended: drops what is still under way; connections are evhttp's. */
void kiln_fault_forget(struct kiln_core *core);

#endif
