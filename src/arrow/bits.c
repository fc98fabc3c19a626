/* Counting and moving bits, see bits.h. Plain loops over bytes and words: no processor extensions.
 */
#include "arrow/bits.h"

#include <string.h>

static int64_t count_bytes(const uint8_t *bytes, int64_t size)
{
  int64_t i, total = 0;
  uint64_t word;

  for (i = 0; i + 8 <= size; i += 8) {
    memcpy(&word, bytes + i, sizeof word);
    total += __builtin_popcountll(word);
  }
  for (; i < size; i++)
    total += __builtin_popcount(bytes[i]);
  return total;
}

int64_t mtr_bits_count(const void *bits, int64_t offset, int64_t count)
{
  int64_t total = 0;

  while (count > 0 && offset % 8) {
    total += mtr_bit(bits, offset++);
    count--;
  }
  total += count_bytes((const uint8_t *)bits + offset / 8, count / 8);
  for (offset += count / 8 * 8, count %= 8; count > 0; count--)
    total += mtr_bit(bits, offset++);
  return total;
}

void mtr_bits_copy(uint8_t *out, const void *bits, int64_t offset, int64_t count)
{
  const uint8_t *in = (const uint8_t *)bits + offset / 8;
  int shift = (int)(offset % 8);
  int64_t i, size = mtr_bits_size(count), last = (shift + count - 1) / 8;

  if (count == 0) return;
  for (i = 0; i < size; i++) {
    unsigned pair = in[i] | (i < last ? (unsigned)in[i + 1] << 8 : 0);
    out[i] = (uint8_t)(pair >> shift);
  }
  if (count % 8) out[size - 1] &= (uint8_t)((1u << (count % 8)) - 1);
}

void mtr_bits_put(uint8_t *out, int64_t at, const void *bits, int64_t offset, int64_t count)
{
  for (; count > 0 && at % 8; at++, offset++, count--)
    out[at / 8] |= (uint8_t)((unsigned)mtr_bit(bits, offset) << (at % 8));
  if (count > 0) mtr_bits_copy(out + at / 8, bits, offset, count);
}

void mtr_bits_set(uint8_t *out, int64_t at, int64_t count)
{
  for (; count > 0 && at % 8; at++, count--)
    out[at / 8] |= (uint8_t)(1u << (at % 8));
  if (count <= 0) return;
  memset(out + at / 8, 0xff, (size_t)(count / 8));
  if (count % 8) out[(at + count) / 8] = (uint8_t)((1u << (count % 8)) - 1);
}
