/* ASCII and UTF-8 by the byte. No locale, no allocation. */
#include "base/text.h"

/* How long the character with this first byte is; 1 for a byte that is none. */
static size_t announced_length(unsigned char lead)
{
  if (lead >= 0xF0) return 4;
  if (lead >= 0xE0) return 3;
  return lead >= 0xC0 ? 2 : 1;
}

size_t mtr_utf8_cut(const char *text, size_t at)
{
  size_t lead = at;

  do {
    if (lead == 0) return at;
    lead--;
  } while (at - lead < 4 && ((unsigned char)text[lead] & 0xC0) == 0x80);
  return lead + announced_length((unsigned char)text[lead]) > at ? lead : at;
}

/* Bytes of the character that starts at p, 0 when it is not valid. Table 3-7 of Unicode. */
static size_t utf8_char(const uint8_t *p, size_t left)
{
  uint8_t low = 0x80, high = 0xBF;
  size_t n, i;

  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF)
    n = 2;
  else if (p[0] >= 0xE0 && p[0] <= 0xEF)
    n = 3;
  else if (p[0] >= 0xF0 && p[0] <= 0xF4)
    n = 4;
  else
    return 0;
  if (n > left) return 0;
  if (p[0] == 0xE0) low = 0xA0;
  if (p[0] == 0xED) high = 0x9F;
  if (p[0] == 0xF0) low = 0x90;
  if (p[0] == 0xF4) high = 0x8F;
  if (p[1] < low || p[1] > high) return 0;
  for (i = 2; i < n; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return n;
}

bool mtr_utf8_valid(struct mtr_span text)
{
  size_t i = 0;

  while (i < text.size) {
    uint64_t word;
    size_t n;
    if (text.size - i >= 8) {
      memcpy(&word, text.data + i, 8);
      if (!(word & UINT64_C(0x8080808080808080))) {
        i += 8;
        continue;
      }
    }
    n = utf8_char(text.data + i, text.size - i);
    if (!n) return false;
    i += n;
  }
  return true;
}

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c; }

bool mtr_text_same(struct mtr_span a, struct mtr_span b)
{
  size_t i;

  if (a.size != b.size) return false;
  for (i = 0; i < a.size; i++)
    if (a.data[i] != b.data[i] && lower(a.data[i]) != lower(b.data[i])) return false;
  return true;
}

bool mtr_text_u64(struct mtr_span text, uint64_t max, uint64_t *out)
{
  uint64_t v = 0;
  size_t i;

  if (text.size == 0) return false;
  for (i = 0; i < text.size; i++) {
    uint64_t digit = (uint64_t)text.data[i] - '0';
    if (text.data[i] < '0' || digit > 9) return false;
    if (v > (UINT64_MAX - digit) / 10) return false;
    v = v * 10 + digit;
  }
  if (v > max) return false;
  *out = v;
  return true;
}

void mtr_uuid_text(struct mtr_span id, char out[37])
{
  static const char hex[] = "0123456789abcdef";
  size_t i, n = 0;

  for (i = 0; i < id.size && n + 2 <= 36; i++) {
    if (id.size == 16 && (i == 4 || i == 6 || i == 8 || i == 10)) out[n++] = '-';
    out[n++] = hex[id.data[i] >> 4];
    out[n++] = hex[id.data[i] & 15];
  }
  out[n] = '\0';
}
