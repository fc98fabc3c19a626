/* What the server answers to PUT, GET and REMOVE: one row that says what the client has to do. */
#ifndef MTR_CLIENT_VOLUME_ROW_H
#define MTR_CLIENT_VOLUME_ROW_H

#include "base/arena.h"
#include "client/result.h"
#include "net/transfer.h"

/* Everything lives in the arena. */
struct mtr_volume_row {
  const char *operation;  /* "PUT" */
  const char *link;       /* a secret */
  const char *local_file; /* NULL: none */
  const struct mtr_transfer_header *headers;
  size_t header_count;
};

/* Takes the row out of the result, which is at its end then. */
MORTAR_MUST_USE enum mortar_status mtr_volume_row_take(struct mortar_result *result,
                                                       const struct mtr_wait *wait,
                                                       struct mtr_arena *arena,
                                                       struct mtr_volume_row *out,
                                                       struct mortar_error *err);

/* Puts *** for what of the link's query, or of the headers, stands in the error: a store may send
 * back what it was sent, and whoever has the signature has the file. */
void mtr_volume_row_hide(const struct mtr_volume_row *row, struct mortar_error *err);

/* The headers in a JSON object of texts, also in one pair of brackets; nothing, null and an empty
 * one are none. PROTOCOL: it is anything else. */
MORTAR_MUST_USE enum mortar_status mtr_volume_headers(struct mtr_span json, struct mtr_arena *arena,
                                                      struct mtr_volume_row *out,
                                                      struct mortar_error *err);

#endif
