/* A CALL that is written once and sent many times with another number and another text in it. What
 * else is in its struct stays the same. */
#ifndef MTR_CODEC_THRIFT_TEMPLATE_H
#define MTR_CODEC_THRIFT_TEMPLATE_H

#include "codec/thrift/message.h"

struct mtr_message_template {
  struct mtr_buf bytes;     /* the message with number 0 and an empty text; empty: not made */
  size_t seqid_at, text_at; /* where the number and the text's length are, 4 bytes each */
};

void mtr_message_template_init(struct mtr_message_template *t, const struct mortar_alloc *alloc);
void mtr_message_template_fini(struct mtr_message_template *t);

/* body is a struct of type info whose STRING field number `bit` (as in `has`) is set to an empty
 * text. Its `has` is changed and put back meanwhile. May be made again. */
MORTAR_MUST_USE enum mortar_status mtr_message_template_make(struct mtr_message_template *t,
                                                             const char *name,
                                                             const struct mtr_struct_info *info,
                                                             void *body, int bit,
                                                             struct mortar_error *err);

/* Appends the message; on failure out is as before. */
MORTAR_MUST_USE enum mortar_status mtr_message_template_write(const struct mtr_message_template *t,
                                                              int32_t seqid, struct mtr_span text,
                                                              struct mtr_buf *out,
                                                              struct mortar_error *err);

#endif
