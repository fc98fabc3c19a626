/* What leases need from an endpoint, inside net only. */
#ifndef MTR_NET_ENDPOINT_INTERNAL_H
#define MTR_NET_ENDPOINT_INTERNAL_H

#include "net/endpoint.h"
#include "net/endpoint_registry.h"
#include "net/transport.h"

/* One more reference, unless the last one is gone. For whoever holds the memory but no reference.
 */
bool mtr_endpoint_ref_alive(struct mtr_endpoint *endpoint);
struct mtr_registered *mtr_endpoint_registered(struct mtr_endpoint *endpoint);

/* STATE when this process is a fork of the one that made the endpoint. */
MORTAR_MUST_USE enum mortar_status mtr_endpoint_check_process(const struct mtr_endpoint *endpoint,
                                                              struct mortar_error *err);
bool mtr_endpoint_inherited(const struct mtr_endpoint *endpoint);

/* A connection: an idle one that is young enough, or a new one that is not connected yet. */
MORTAR_MUST_USE enum mortar_status mtr_endpoint_take(struct mtr_endpoint *endpoint, int64_t now,
                                                     struct mtr_transport **out,
                                                     struct mortar_error *err);

/* Takes the connection over: kept when it is connected, young and there is room, freed otherwise.
 * since: when it was last used. NULL is fine. */
void mtr_endpoint_give(struct mtr_endpoint *endpoint, struct mtr_transport *transport,
                       int64_t since);

/* True when a connection last used then is too old at now. */
bool mtr_endpoint_too_old(const struct mtr_endpoint *endpoint, int64_t since, int64_t now);

const struct mortar_alloc *mtr_endpoint_alloc(const struct mtr_endpoint *endpoint);
const char *mtr_endpoint_host_header(const struct mtr_endpoint *endpoint);
int64_t mtr_endpoint_connect_timeout_ms(const struct mtr_endpoint *endpoint);
size_t mtr_endpoint_max_reply(const struct mtr_endpoint *endpoint);
enum mtr_wire mtr_endpoint_wire(const struct mtr_endpoint *endpoint);

/* What a new connection says before its first request; empty: nothing. */
struct mtr_span mtr_endpoint_login(const struct mtr_endpoint *endpoint);

#endif
