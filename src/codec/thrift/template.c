/* Templates of calls, see template.h. */
#include "codec/thrift/template.h"

#include "base/error.h"

/* Requests without their text: handles and options. */
enum { TEMPLATE_MAX = 1 << 20 };

enum { NUMBER_SIZE = 4, FIELD_HEAD_SIZE = 3, STOP_SIZE = 1 };

void mtr_message_template_init(struct mtr_message_template *t, const struct mortar_alloc *alloc)
{
  mtr_buf_init(&t->bytes, alloc, "request template", TEMPLATE_MAX);
  t->seqid_at = t->text_at = 0;
}

void mtr_message_template_fini(struct mtr_message_template *t) { mtr_buf_fini(&t->bytes); }

/* How many bytes of the message stand before the text's length: the fields before it are written to
 * find out. */
static enum mortar_status find_text(struct mtr_message_template *t, const char *name,
                                    const struct mtr_struct_info *info, void *body, int bit,
                                    struct mortar_error *err)
{
  struct mtr_struct_head *head = body;
  const uint64_t has = head->has;
  enum mortar_status st;

  head->has = has & ((UINT64_C(1) << bit) - 1);
  st = mtr_message_write(&t->bytes, MTR_MESSAGE_CALL, name, 0, info, body, err);
  head->has = has;
  t->text_at = t->bytes.size - 2 * STOP_SIZE + FIELD_HEAD_SIZE;
  mtr_buf_reset(&t->bytes);
  return st;
}

enum mortar_status mtr_message_template_make(struct mtr_message_template *t, const char *name,
                                             const struct mtr_struct_info *info, void *body,
                                             int bit, struct mortar_error *err)
{
  mtr_buf_reset(&t->bytes);
  MTR_TRY(find_text(t, name, info, body, bit, err));
  MTR_TRY(mtr_message_write(&t->bytes, MTR_MESSAGE_CALL, name, 0, info, body, err));
  t->seqid_at = 2 * NUMBER_SIZE + strlen(name);
  return MORTAR_OK;
}

enum mortar_status mtr_message_template_write(const struct mtr_message_template *t, int32_t seqid,
                                              struct mtr_span text, struct mtr_buf *out,
                                              struct mortar_error *err)
{
  const struct mtr_buf *b = &t->bytes;
  const size_t behind = t->text_at + NUMBER_SIZE;
  uint8_t *at;

  if (text.size > INT32_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "a text of %zu bytes is too long for Thrift", text.size);
  MTR_TRY(mtr_buf_reserve(out, b->size + text.size, err));
  at = out->data + out->size;
  memcpy(at, b->data, t->text_at);
  mtr_put_be32(at + t->seqid_at, (uint32_t)seqid);
  mtr_put_be32(at + t->text_at, (uint32_t)text.size);
  if (text.size) memcpy(at + behind, text.data, text.size);
  memcpy(at + behind + text.size, b->data + behind, b->size - behind);
  out->size += b->size + text.size;
  return MORTAR_OK;
}
