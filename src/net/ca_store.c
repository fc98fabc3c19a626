/* Loads trusted certificates into a store of their own. */
#include "net/ca_store.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

static enum mortar_status load_file(X509_STORE *store, const char *file, struct mortar_error *err)
{
  if (X509_STORE_load_file(store, file)) return MORTAR_OK;
  return mtr_fail(err, MORTAR_TLS,
                  "no certificates can be read from %s; set 'tls_ca_file' to a PEM file", file);
}

static bool openssl_has_places(void)
{
  return getenv(X509_get_default_cert_file_env()) || getenv(X509_get_default_cert_dir_env()) ||
         access(X509_get_default_cert_file(), R_OK) == 0 ||
         access(X509_get_default_cert_dir(), R_OK) == 0;
}

static enum mortar_status load(X509_STORE *store, const char *ca_file, const char *fallback_file,
                               struct mortar_error *err)
{
  if (ca_file) return load_file(store, ca_file, err);
  if (!openssl_has_places() && fallback_file) return load_file(store, fallback_file, err);
  if (X509_STORE_set_default_paths(store)) return MORTAR_OK;
  return mtr_fail(err, MORTAR_TLS,
                  "the system's CA certificates can't be read; set 'tls_ca_file' to a PEM file");
}

enum mortar_status mtr_ca_store_new(const char *ca_file, const char *fallback_file,
                                    X509_STORE **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  X509_STORE *store = X509_STORE_new();

  *out = NULL;
  if (!store) return mtr_fail_nomem(err, "CA store");
  /* As libcurl does for its own store: an intermediate certificate in the file is trusted. */
  (void)X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  MTR_GOTO(load(store, ca_file, fallback_file, err));
  *out = store;
  store = NULL;
done:
  X509_STORE_free(store);
  /* What went wrong is in our text; OpenSSL's queue of this thread is left as it was found. */
  ERR_clear_error();
  return st;
}
