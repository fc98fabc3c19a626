/* Random identifiers: version-4 UUIDs for handles, and their secrets. One thread at a time.
 * Bytes come from OpenSSL's generator in runs, since one call for each id costs more than the id.
 */
#ifndef KILN_SERVER_IDS_H
#define KILN_SERVER_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "mortar/mortar.h"

enum { KILN_ID_SIZE = 16 };

struct kiln_ids {
  uint8_t bytes[2048];
  size_t left;
};

/* Both are false when the generator gives nothing. */
MORTAR_MUST_USE bool kiln_ids_uuid(struct kiln_ids *ids, uint8_t out[KILN_ID_SIZE]);
MORTAR_MUST_USE bool kiln_ids_secret(struct kiln_ids *ids, uint8_t out[KILN_ID_SIZE]);

#endif
