/* The unit of the messages to and from translators: a text behind its length, which is four bytes,
 * most significant first. */
#ifndef KILN_ENGINE_TRANSLATE_FIELD_H
#define KILN_ENGINE_TRANSLATE_FIELD_H

#include "base/buf.h"

enum { KILN_FIELD_HEAD = 4 };

void kiln_field_write_size(uint8_t out[KILN_FIELD_HEAD], uint32_t size);
uint32_t kiln_field_read_size(const uint8_t head[KILN_FIELD_HEAD]);

/* Appends one field. */
MORTAR_MUST_USE enum mortar_status kiln_field_put(struct mtr_buf *buf, struct mtr_span text,
                                                  struct mortar_error *err);

#endif
