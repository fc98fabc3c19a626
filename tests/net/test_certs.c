/* Certificates for tests, made with the openssl command in a folder of their own. */
#include "tests/net/test_certs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 2))) static void run(const char *fmt, ...)
{
  char command[1024];
  va_list args;

  va_start(args, fmt);
  (void)vsnprintf(command, sizeof command, fmt, args);
  va_end(args);
  if (system(command) == 0) return;
  (void)fprintf(stderr, "failed: %s\n", command);
  abort();
}

static void sign(const struct test_certs *certs, const char *name, const char *alt,
                 const char *cert, const char *key)
{
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-CA %s -CAkey %s/ca.key -subj /CN=%s -addext basicConstraints=critical,CA:FALSE "
      "-addext subjectAltName=%s -out %s -keyout %s 2>%s/log",
      certs->ca, certs->dir, name, alt, cert, key, certs->dir);
}

void test_certs_make(struct test_certs *certs)
{
  (void)snprintf(certs->dir, sizeof certs->dir, "/tmp/mortar-certs-XXXXXX");
  if (!mkdtemp(certs->dir)) abort();
  (void)snprintf(certs->ca, sizeof certs->ca, "%s/ca.pem", certs->dir);
  (void)snprintf(certs->cert, sizeof certs->cert, "%s/cert.pem", certs->dir);
  (void)snprintf(certs->key, sizeof certs->key, "%s/cert.key", certs->dir);
  (void)snprintf(certs->locked_key, sizeof certs->locked_key, "%s/locked.key", certs->dir);
  (void)snprintf(certs->other, sizeof certs->other, "%s/other.pem", certs->dir);
  (void)snprintf(certs->other_key, sizeof certs->other_key, "%s/other.key", certs->dir);
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
      "-subj '/CN=Mortar test CA' -out %s -keyout %s/ca.key 2>%s/log",
      certs->ca, certs->dir, certs->dir);
  sign(certs, "localhost", "DNS:localhost,IP:127.0.0.1", certs->cert, certs->key);
  run("openssl pkey -in %s -aes256 -passout 'pass:open sesame' -out %s", certs->key,
      certs->locked_key);
  sign(certs, "another.test", "DNS:another.test", certs->other, certs->other_key);
}

void test_certs_remove(const struct test_certs *certs) { run("rm -r %s", certs->dir); }

struct test_certs group_certs;

int group_certs_make(void **state)
{
  (void)state;
  test_certs_make(&group_certs);
  return 0;
}

int group_certs_remove(void **state)
{
  (void)state;
  test_certs_remove(&group_certs);
  return 0;
}
