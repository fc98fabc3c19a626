/* The encoder; there is no decoder here. */
#include "codec/base64.h"

#include "base/error.h"

enum mortar_status mtr_base64_encode(struct mtr_span in, struct mtr_buf *out,
                                     struct mortar_error *err)
{
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t i;

  for (i = 0; i < in.size; i += 3) {
    uint32_t v = (uint32_t)in.data[i] << 16;
    char four[4];
    if (i + 1 < in.size) v |= (uint32_t)in.data[i + 1] << 8;
    if (i + 2 < in.size) v |= in.data[i + 2];
    four[0] = alphabet[v >> 18];
    four[1] = alphabet[v >> 12 & 63];
    four[2] = alphabet[v >> 6 & 63];
    four[3] = alphabet[v & 63];
    if (i + 1 >= in.size) four[2] = '=';
    if (i + 2 >= in.size) four[3] = '=';
    MTR_TRY(mtr_buf_append(out, four, sizeof four, err));
  }
  return MORTAR_OK;
}
