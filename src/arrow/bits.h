/* Bitmaps as Arrow lays them out: bit i is bit i % 8 of byte i / 8. Bits are read at any offset;
 * nothing outside [offset, offset + count) is looked at by the byte. */
#ifndef MTR_ARROW_BITS_H
#define MTR_ARROW_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool mtr_bit(const void *bits, int64_t i)
{
  return ((const uint8_t *)bits)[i / 8] >> (i % 8) & 1;
}

/* Bytes that count bits take; count >= 0. */
static inline int64_t mtr_bits_size(int64_t count) { return count / 8 + (count % 8 != 0); }

/* How many bits of the range are set. */
int64_t mtr_bits_count(const void *bits, int64_t offset, int64_t count);

/* Copies the range to the start of out, whose last byte is filled up with zeros. */
void mtr_bits_copy(uint8_t *out, const void *bits, int64_t offset, int64_t count);

/* Copies the range to bit `at` of out, where zeros are; bits before stay as they are. */
void mtr_bits_put(uint8_t *out, int64_t at, const void *bits, int64_t offset, int64_t count);

/* Sets count bits from `at` on, where zeros are. */
void mtr_bits_set(uint8_t *out, int64_t at, int64_t count);

#endif
