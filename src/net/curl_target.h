/* What every curl connection to one endpoint shares: address, proxy, TLS settings, the CA store
 * and the TLS sessions for resumption. Immutable once made but for what libcurl keeps in the share,
 * which has its locks. */
#ifndef MTR_NET_CURL_TARGET_H
#define MTR_NET_CURL_TARGET_H

#include <curl/curl.h>
#include <openssl/x509_vfy.h>
#include <pthread.h>

#include "base/buf.h"
#include "net/endpoint.h"

struct mtr_curl_target {
  const struct mortar_alloc *alloc;
  char *url;      /* "https://host:port/" */
  char *proxy;    /* "" for none: libcurl would take one from the environment for NULL */
  char *way;      /* "through the proxy HOST:PORT", for errors; NULL without a proxy */
  char *no_proxy; /* never NULL, for the same reason */
  char *client_cert, *client_key, *client_key_password; /* NULL: none */
  bool tls, verify_peer, verify_host;
  bool plain;           /* the socket carries our bytes as they are, once connected */
  X509_STORE *ca_store; /* NULL unless tls and verify_peer */
  CURLSH *share;
  pthread_mutex_t locks[CURL_LOCK_DATA_LAST];
  bool locks_ready;
};

MORTAR_MUST_USE enum mortar_status mtr_curl_target_new(const struct mtr_endpoint_options *options,
                                                       const struct mortar_alloc *alloc,
                                                       struct mtr_curl_target **out,
                                                       struct mortar_error *err);

/* Appends what the target would be made from: equal keys, equal targets. */
MORTAR_MUST_USE enum mortar_status mtr_curl_target_key(const struct mtr_endpoint_options *options,
                                                       struct mtr_buf *key,
                                                       struct mortar_error *err);

/* inherited: this process is a fork of the one that made it; the share and the store are left
 * alone then, because another thread of the parent may have held their locks. */
void mtr_curl_target_free(struct mtr_curl_target *target, bool inherited);

#endif
