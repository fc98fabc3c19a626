/* Writes and reads the lengths of messages and fields. */
#include "kiln/engine/translate/field.h"

#include "base/error.h"

void kiln_field_write_size(uint8_t out[KILN_FIELD_HEAD], uint32_t size)
{
  out[0] = (uint8_t)(size >> 24);
  out[1] = (uint8_t)(size >> 16);
  out[2] = (uint8_t)(size >> 8);
  out[3] = (uint8_t)size;
}

uint32_t kiln_field_read_size(const uint8_t head[KILN_FIELD_HEAD])
{
  return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

enum mortar_status kiln_field_put(struct mtr_buf *buf, struct mtr_span text,
                                  struct mortar_error *err)
{
  uint8_t head[KILN_FIELD_HEAD];

  if (text.size > UINT32_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "a text of %zu bytes is too long for a field", text.size);
  kiln_field_write_size(head, (uint32_t)text.size);
  MTR_TRY(mtr_buf_append(buf, head, sizeof head, err));
  return mtr_buf_append(buf, text.data, text.size, err);
}
