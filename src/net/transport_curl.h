/* A connection opened by libcurl (names, proxies, TLS) that carries our own bytes. */
#ifndef MTR_NET_TRANSPORT_CURL_H
#define MTR_NET_TRANSPORT_CURL_H

#include "net/curl_target.h"
#include "net/transport.h"

/* Not connected yet. The target must outlive it. */
MORTAR_MUST_USE enum mortar_status mtr_transport_curl_new(struct mtr_curl_target *target,
                                                          struct mtr_transport **out,
                                                          struct mortar_error *err);

#endif
