/* An endpoint: one host and port with its TLS and proxy settings, shared by everything that talks
 * to it. It owns what is dear: the parsed CA store (a private one for each connection costs
 * 31-40 ms CPU and 870 KB, a shared one 1-1.6 ms and 50 KB), TLS sessions for resumption, and idle
 * connections. Counted; any thread. Its lock is never held across a wait. */
#ifndef MTR_NET_ENDPOINT_H
#define MTR_NET_ENDPOINT_H

#include "base/span.h"
#include "mortar/mortar.h"

/* How requests and replies travel. */
enum mtr_wire {
  MTR_WIRE_HTTP,   /* as POSTs */
  MTR_WIRE_NOSASL, /* Thrift messages as they are, one after the other */
  MTR_WIRE_SASL    /* a login for each connection (SASL PLAIN), then Thrift messages in frames */
};

static inline const char *mtr_wire_name(enum mtr_wire wire)
{
  static const char *const names[] = {"http", "nosasl", "sasl"};

  return names[wire];
}

/* All text is copied; NULL means the default. */
struct mtr_endpoint_options {
  enum mtr_wire wire;
  const char *host; /* a name or an address; IPv6 without brackets */
  int port;         /* 1..65535 */
  bool tls;
  bool verify_peer, verify_host;
  const char *ca_file; /* PEM; NULL: the system's bundle (SSL_CERT_FILE is honoured) */
  const char *client_cert_file,
      *client_key_file; /* PEM; NULL: none; the key may be in the former */
  const char *client_key_password;
  /* "http://[user:password@]host:port"; NULL: none. Always CONNECT, also for plain HTTP. No error
   * shows the user or the password. */
  const char *proxy;
  const char *no_proxy; /* hosts, domains and networks reached without it: "a.test, 10.0.0.0/8" */
  int64_t connect_timeout_ms;  /* of one connect, name look-up and handshakes included; -1: none */
  int64_t idle_ms;             /* an idle connection older than this is not used again */
  size_t max_reply;            /* bytes of a reply body that are accepted */
  const char *user, *password; /* of SASL; NULL: "anonymous" */
};

struct mtr_endpoint;

/* Always a new one. */
MORTAR_MUST_USE enum mortar_status mtr_endpoint_new(const struct mtr_endpoint_options *options,
                                                    const struct mortar_alloc *alloc,
                                                    struct mtr_endpoint **out,
                                                    struct mortar_error *err);

/* A living endpoint with equal options, an equal allocator and equal certificates to trust, or a
 * new one: sessions to one place share its connections. Any thread. endpoint_registry.c. */
MORTAR_MUST_USE enum mortar_status mtr_endpoint_get(const struct mtr_endpoint_options *options,
                                                    const struct mortar_alloc *alloc,
                                                    struct mtr_endpoint **out,
                                                    struct mortar_error *err);
struct mtr_endpoint *mtr_endpoint_ref(struct mtr_endpoint *endpoint);
void mtr_endpoint_unref(struct mtr_endpoint *endpoint); /* NULL is fine */

/* "host:port", for errors. Never NULL. */
const char *mtr_endpoint_name(const struct mtr_endpoint *endpoint);

#endif
