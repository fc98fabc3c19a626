/* Small helpers for text. No locale: ASCII rules for letters and digits, UTF-8 for the rest. */
#ifndef MTR_BASE_TEXT_H
#define MTR_BASE_TEXT_H

#include "base/span.h"

/* The largest n <= at at which UTF-8 text may be cut without splitting a character. Looks only at
 * the bytes before at. */
size_t mtr_utf8_cut(const char *text, size_t at);

/* True when the bytes are valid UTF-8 (no overlong forms, no surrogates). */
bool mtr_utf8_valid(struct mtr_span text);

/* Equal but for ASCII case. */
bool mtr_text_same(struct mtr_span a, struct mtr_span b);

/* A decimal number without sign, blanks or rest; false also when it exceeds max. */
bool mtr_text_u64(struct mtr_span text, uint64_t max, uint64_t *out);

/* "8-4-4-4-12" hex of 16 bytes, big-endian, into out[37]. Other sizes: plain hex, cut at 36. */
void mtr_uuid_text(struct mtr_span id, char out[37]);

#endif
