/* A link is good for one operation on one path until it expires: HMAC-SHA256 with a key that this
 * process has drawn. */
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kiln/server/volume.h"

enum { SIGNATURE_SIZE = 65, SIGNED_MAX = 4 * KILN_VOLUME_PATH_MAX, EXTRA = 512 };

enum mortar_status kiln_volumes_new(const char *folder, struct kiln_volumes **out,
                                    struct mortar_error *err)
{
  struct kiln_volumes *volumes = mtr_calloc(NULL, 1, sizeof *volumes);

  *out = NULL;
  if (!volumes) return mtr_fail_nomem(err, "volumes");
  volumes->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (volumes->folder >= 0 && RAND_bytes(volumes->key, (int)sizeof volumes->key) == 1) {
    *out = volumes;
    return MORTAR_OK;
  }
  kiln_volumes_free(volumes);
  return mtr_fail(err, MORTAR_INVALID, "%s is no folder for volumes", folder);
}

void kiln_volumes_free(struct kiln_volumes *volumes)
{
  if (!volumes) return;
  if (volumes->folder >= 0) (void)close(volumes->folder);
  OPENSSL_cleanse(volumes->key, sizeof volumes->key);
  mtr_free(NULL, volumes, sizeof *volumes);
}

static bool sign(const struct kiln_volumes *volumes, const char *operation, const char *path,
                 const char *expires, char out[SIGNATURE_SIZE])
{
  unsigned char text[SIGNED_MAX], mac[EVP_MAX_MD_SIZE];
  const int size = snprintf((char *)text, sizeof text, "%s\n%s\n%s", operation, path, expires);
  unsigned int n = 0, i;

  if (size < 0 || (size_t)size >= sizeof text) return false;
  if (!HMAC(EVP_sha256(), volumes->key, (int)sizeof volumes->key, text, (size_t)size, mac, &n))
    return false;
  for (i = 0; i < n && 2 * i + 2 < SIGNATURE_SIZE; i++)
    (void)snprintf(out + 2 * i, 3, "%02x", mac[i]);
  return true;
}

/* Everything but the letters that need no escape; slashes stay. */
static char *encode(const char *path, struct mtr_arena *arena)
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  char *text = mtr_arena_alloc(arena, strlen(path) * 3 + 1, 1), *to = text;

  for (; text && *path; path++) {
    if (strchr(plain, *path))
      *to++ = *path;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned char)*path);
  }
  return text;
}

const char *kiln_volume_link(const struct kiln_volumes *volumes,
                             const struct kiln_volume_origin *origin, const char *operation,
                             const char *path, struct mtr_arena *arena)
{
  const char *encoded = encode(path, arena);
  char expires[24], signature[SIGNATURE_SIZE] = "";
  size_t room;
  char *link;

  (void)snprintf(expires, sizeof expires, "%lld",
                 (long long)(origin->now_ms + KILN_VOLUME_LINK_MS));
  if (!encoded || !sign(volumes, operation, encoded, expires, signature)) return NULL;
  room = strlen(origin->host) + strlen(encoded) + EXTRA;
  link = mtr_arena_alloc(arena, room, 1);
  if (!link) return NULL;
  (void)snprintf(link, room, "%s://%s%s?X-Kiln-Operation=%s&X-Kiln-Expires=%s&X-Kiln-Signature=%s",
                 origin->scheme, origin->host, encoded, operation, expires, signature);
  return link;
}

enum kiln_volume_verdict kiln_volume_check(const struct kiln_volumes *volumes,
                                           const char *operation, const char *encoded_path,
                                           const char *expires, const char *signature,
                                           int64_t now_ms)
{
  char own[SIGNATURE_SIZE] = "";
  uint64_t until;

  if (!operation || !expires || !signature) return KILN_VOLUME_FORGED;
  if (!sign(volumes, operation, encoded_path, expires, own) ||
      strlen(signature) != SIGNATURE_SIZE - 1 ||
      CRYPTO_memcmp(own, signature, SIGNATURE_SIZE - 1) != 0)
    return KILN_VOLUME_FORGED;
  if (!mtr_text_u64(mtr_span_text(expires), INT64_MAX, &until) || now_ms > (int64_t)until)
    return KILN_VOLUME_EXPIRED;
  return KILN_VOLUME_FINE;
}
