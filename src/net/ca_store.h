/* The certificates that an endpoint trusts, parsed once and shared by its connections: OpenSSL
 * counts and locks an X509_STORE, so any thread may verify with it. */
#ifndef MTR_NET_CA_STORE_H
#define MTR_NET_CA_STORE_H

#include <openssl/x509_vfy.h>

#include "mortar/mortar.h"

/* ca_file: PEM. NULL: what OpenSSL looks at (SSL_CERT_FILE, SSL_CERT_DIR, its built-in places), or
 * fallback_file where those places do not exist, as with an OpenSSL that was built elsewhere;
 * fallback_file may be NULL. Freed with X509_STORE_free. */
MORTAR_MUST_USE enum mortar_status mtr_ca_store_new(const char *ca_file, const char *fallback_file,
                                                    X509_STORE **out, struct mortar_error *err);

#endif
