/* Random identifiers, drawn in runs. Refuses to give an id when OpenSSL has no randomness. */
#include "kiln/server/ids.h"

#include <openssl/rand.h>
#include <string.h>

bool kiln_ids_secret(struct kiln_ids *ids, uint8_t out[KILN_ID_SIZE])
{
  if (ids->left < KILN_ID_SIZE) {
    if (RAND_bytes(ids->bytes, (int)sizeof ids->bytes) != 1) return false;
    ids->left = sizeof ids->bytes;
  }
  ids->left -= KILN_ID_SIZE;
  memcpy(out, ids->bytes + ids->left, KILN_ID_SIZE);
  return true;
}

bool kiln_ids_uuid(struct kiln_ids *ids, uint8_t out[KILN_ID_SIZE])
{
  if (!kiln_ids_secret(ids, out)) return false;
  out[6] = (uint8_t)((out[6] & 0x0F) | 0x40); /* version 4 */
  out[8] = (uint8_t)((out[8] & 0x3F) | 0x80); /* the variant of RFC 4122 */
  return true;
}
