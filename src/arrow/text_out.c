/* The counting text sink, see text_out.h. */
#include "arrow/text_out.h"

#include "base/text.h"

void mtr_out_bytes(struct mtr_text_out *out, const void *bytes, size_t size)
{
  size_t room = out->size < out->capacity ? out->capacity - out->size : 0;
  size_t n = size < room ? size : room;

  if (n) memcpy(out->buf + out->size, bytes, n);
  out->size += size;
}

void mtr_out_char(struct mtr_text_out *out, char c)
{
  if (out->size < out->capacity) out->buf[out->size] = c;
  out->size++;
}

void mtr_out_text(struct mtr_text_out *out, const char *text)
{
  mtr_out_bytes(out, text, strlen(text));
}

void mtr_out_u64(struct mtr_text_out *out, uint64_t v, int min_digits)
{
  char digits[20];
  size_t n = sizeof digits;

  while (v || min_digits > 0) {
    digits[--n] = (char)('0' + v % 10);
    v /= 10;
    min_digits--;
  }
  mtr_out_bytes(out, digits + n, sizeof digits - n);
}

void mtr_out_i64(struct mtr_text_out *out, int64_t v)
{
  if (v < 0) mtr_out_char(out, '-');
  mtr_out_u64(out, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v, 1);
}

static const char hex[] = "0123456789ABCDEF";

void mtr_out_binary(struct mtr_text_out *out, struct mtr_span bytes)
{
  size_t i;

  mtr_out_text(out, "X'");
  for (i = 0; i < bytes.size; i++) {
    mtr_out_char(out, hex[bytes.data[i] >> 4]);
    mtr_out_char(out, hex[bytes.data[i] & 15]);
  }
  mtr_out_char(out, '\'');
}

static void put_control(struct mtr_text_out *out, uint8_t c)
{
  static const char letters[] = "btn\0fr"; /* of the codes 8 to 13; 11 has none */
  char letter = c >= 8 && c <= 13 ? letters[c - 8] : '\0';

  mtr_out_char(out, '\\');
  if (letter) {
    mtr_out_char(out, letter);
    return;
  }
  mtr_out_text(out, "u00");
  mtr_out_char(out, hex[c >> 4]);
  mtr_out_char(out, hex[c & 15]);
}

void mtr_out_json(struct mtr_text_out *out, struct mtr_span text)
{
  size_t i;

  mtr_out_char(out, '"');
  for (i = 0; i < text.size; i++) {
    uint8_t c = text.data[i];
    if (c < 0x20) {
      put_control(out, c);
      continue;
    }
    if (c == '"' || c == '\\') mtr_out_char(out, '\\');
    mtr_out_char(out, (char)c);
  }
  mtr_out_char(out, '"');
}

void mtr_out_end(struct mtr_text_out *out)
{
  if (out->capacity == 0) return;
  if (out->size < out->capacity)
    out->buf[out->size] = '\0';
  else
    out->buf[mtr_utf8_cut(out->buf, out->capacity - 1)] = '\0';
}
