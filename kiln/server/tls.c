/* Makes the TLS context and, when no files are given, a certificate that signs itself.
 * Refuses anything below TLS 1.2, as a warehouse does. */
#include "kiln/server/tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/error.h"

enum { YEAR_SECONDS = 365 * 24 * 3600, HOUR_SECONDS = 3600 };

static enum mortar_status fail_tls(struct mortar_error *err, const char *what)
{
  char text[256] = "no reason given";
  unsigned long code = ERR_get_error();

  if (code) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return mtr_fail(err, MORTAR_TLS, "%s: %s", what, text);
}

static bool add_extension(X509 *cert, int nid, const char *value)
{
  X509V3_CTX ctx;
  X509_EXTENSION *ext;
  bool ok;

  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
  ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  ok = ext && X509_add_ext(cert, ext, -1) == 1;
  X509_EXTENSION_free(ext);
  return ok;
}

/* A random serial number: two certificates of one issuer name must differ in it, or a client that
 * trusts an older one refuses the new one for the wrong reason. */
static bool set_serial(X509 *cert)
{
  unsigned char bytes[8];
  uint64_t serial = 0;
  size_t i;

  if (RAND_bytes(bytes, (int)sizeof bytes) != 1) return false;
  for (i = 0; i < sizeof bytes; i++)
    serial = serial << 8 | bytes[i];
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1;
}

static bool set_names(X509 *cert)
{
  X509_NAME *name = X509_get_subject_name(cert);

  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                    -1, -1, 0) == 1 &&
         X509_set_issuer_name(cert, name) == 1 &&
         add_extension(cert, NID_basic_constraints, "critical,CA:TRUE") &&
         add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
}

/* An hour back, for clocks that differ a little. */
static bool set_dates(X509 *cert)
{
  return X509_gmtime_adj(X509_getm_notBefore(cert), -(long)HOUR_SECONDS) &&
         X509_gmtime_adj(X509_getm_notAfter(cert), (long)YEAR_SECONDS);
}

static X509 *make_certificate(EVP_PKEY *key)
{
  X509 *cert = X509_new();

  if (cert && X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) && set_dates(cert) &&
      X509_set_pubkey(cert, key) == 1 && set_names(cert) && X509_sign(cert, key, EVP_sha256()) > 0)
    return cert;
  X509_free(cert);
  return NULL;
}

static enum mortar_status write_certificate(const char *path, X509 *cert, struct mortar_error *err)
{
  FILE *file = fopen(path, "w");
  bool ok;

  if (!file) return mtr_fail(err, MORTAR_IO, "the certificate file %s can't be written", path);
  ok = PEM_write_X509(file, cert) == 1;
  if (fclose(file) != 0) ok = false;
  return ok ? MORTAR_OK : mtr_fail(err, MORTAR_IO, "writing the certificate file %s failed", path);
}

static enum mortar_status use_made(SSL_CTX *ctx, const char *cert_out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = key ? make_certificate(key) : NULL;

  if (!cert || SSL_CTX_use_certificate(ctx, cert) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1) {
    st = fail_tls(err, "making a certificate");
    goto done;
  }
  if (cert_out) st = write_certificate(cert_out, cert, err);
done:
  X509_free(cert);
  EVP_PKEY_free(key);
  return st;
}

static enum mortar_status use_files(SSL_CTX *ctx, const char *cert_file, const char *key_file,
                                    struct mortar_error *err)
{
  if (!cert_file || !key_file)
    return mtr_fail(err, MORTAR_INVALID, "a certificate file and a key file belong together");
  if (SSL_CTX_use_certificate_chain_file(ctx, cert_file) != 1) return fail_tls(err, cert_file);
  if (SSL_CTX_use_PrivateKey_file(ctx, key_file, SSL_FILETYPE_PEM) != 1)
    return fail_tls(err, key_file);
  return MORTAR_OK;
}

enum mortar_status kiln_tls_context(const char *cert_file, const char *key_file,
                                    const char *cert_out, SSL_CTX **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

  *out = NULL;
  if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
    st = fail_tls(err, "TLS context");
    goto done;
  }
  if (cert_file || key_file)
    MTR_GOTO(use_files(ctx, cert_file, key_file, err));
  else
    MTR_GOTO(use_made(ctx, cert_out, err));
  *out = ctx;
  ctx = NULL;
done:
  SSL_CTX_free(ctx);
  return st;
}

void kiln_tls_counts(SSL_CTX *ctx, uint64_t *handshakes, uint64_t *resumed)
{
  *handshakes = (uint64_t)SSL_CTX_sess_accept_good(ctx);
  *resumed = (uint64_t)SSL_CTX_sess_hits(ctx);
}
