/* The server side of TLS: a context with a certificate, from files or made on the spot.
 *
 * The certificate that is made is for localhost, 127.0.0.1 and ::1, signs itself, lasts a year and
 * has an EC key (P-256), which OpenSSL makes in under a millisecond. It protects nobody: it is for
 * clients under test, which are told to trust it. */
#ifndef KILN_SERVER_TLS_H
#define KILN_SERVER_TLS_H

#include <openssl/ssl.h>

#include "mortar/mortar.h"

/* cert_file and key_file: both or none. cert_out: where to write the made certificate, or NULL.
 * The caller frees *out with SSL_CTX_free. */
MORTAR_MUST_USE enum mortar_status kiln_tls_context(const char *cert_file, const char *key_file,
                                                    const char *cert_out, SSL_CTX **out,
                                                    struct mortar_error *err);

/* Handshakes that were completed, and those of them that resumed an earlier session. */
void kiln_tls_counts(SSL_CTX *ctx, uint64_t *handshakes, uint64_t *resumed);

#endif
