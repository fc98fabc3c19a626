/* Judges an Authorization header. Keeps nothing of it and never puts it into a text. */
#include "kiln/server/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/span.h"
#include "base/text.h"

/* A longer basic header than this is no password that anybody typed. */
enum { MAX_BASIC = 4096 };

static bool same_secret(const char *token, const void *given, size_t size)
{
  return strlen(token) == size && CRYPTO_memcmp(token, given, size) == 0;
}

/* What follows the scheme's name and its blanks, NULL when the header is of another scheme. */
static const char *after_scheme(const char *header, const char *scheme)
{
  size_t n = strlen(scheme);

  if (strlen(header) <= n || header[n] != ' ') return NULL;
  if (!mtr_text_same(mtr_span_of(header, n), mtr_span_text(scheme))) return NULL;
  for (header += n; *header == ' ';)
    header++;
  return header;
}

static bool basic_matches(const char *token, const char *base64)
{
  unsigned char plain[MAX_BASIC];
  const unsigned char *colon;
  size_t size = strlen(base64), padding = 0;
  int n;

  if (size == 0 || size > MAX_BASIC || size % 4 != 0) return false;
  while (padding < 2 && base64[size - 1 - padding] == '=')
    padding++;
  n = EVP_DecodeBlock(plain, (const unsigned char *)base64, (int)size);
  if (n < 3) return false;
  n -= (int)padding; /* OpenSSL counts the padding as zero bytes */
  colon = memchr(plain, ':', (size_t)n);
  return colon && same_secret(token, colon + 1, (size_t)(plain + n - colon - 1));
}

int kiln_auth_check(const char *token, const char *header)
{
  const char *rest;

  if (!token) return 0;
  if (!header) return 401;
  rest = after_scheme(header, "Bearer");
  if (rest) return same_secret(token, rest, strlen(rest)) ? 0 : 403;
  rest = after_scheme(header, "Basic");
  if (rest) return basic_matches(token, rest) ? 0 : 403;
  return 401;
}
