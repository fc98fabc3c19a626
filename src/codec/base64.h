/* Base64 (RFC 4648, section 4), to write headers. Decoding is left to tools, which have libraries
 * for it. */
#ifndef MTR_CODEC_BASE64_H
#define MTR_CODEC_BASE64_H

#include "base/buf.h"

/* Appends in as padded base64, without line breaks. */
MORTAR_MUST_USE enum mortar_status mtr_base64_encode(struct mtr_span in, struct mtr_buf *out,
                                                     struct mortar_error *err);

#endif
