/* Parsed CA stores, kept for the whole process: sessions that come and go, and endpoints that trust
 * the same file, parse it once. A file that has changed is parsed anew. */
#ifndef MTR_NET_CA_CACHE_H
#define MTR_NET_CA_CACHE_H

#include <openssl/x509_vfy.h>

#include "base/buf.h"

/* The parameters of mtr_ca_store_new. The store is kept, or was there already; a reference to it
 * comes back. Any thread; two that come at once may both parse, and share one result. */
MORTAR_MUST_USE enum mortar_status mtr_ca_cache_get(const char *ca_file, const char *fallback_file,
                                                    X509_STORE **out, struct mortar_error *err);

/* Appends what the store would be made from: the paths, each with device, inode, size and time of
 * change. Equal keys mean equal certificates. */
MORTAR_MUST_USE enum mortar_status mtr_ca_cache_key(const char *ca_file, const char *fallback_file,
                                                    struct mtr_buf *key, struct mortar_error *err);

#endif
