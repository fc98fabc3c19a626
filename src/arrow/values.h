/* Single values in arrays of the C data interface. i counts with the array's offset; nothing is
 * checked against the array's length. */
#ifndef MTR_ARROW_VALUES_H
#define MTR_ARROW_VALUES_H

#include <string.h>

#include "arrow/bits.h"
#include "mortar/mortar.h"

/* An array without buffers is of type null. */
static inline bool mtr_value_is_null(const struct ArrowArray *array, int64_t i)
{
  if (array->n_buffers == 0) return true;
  return array->null_count != 0 && array->buffers[0] && !mtr_bit(array->buffers[0], i);
}

/* A little-endian signed integer of 1 to 8 bytes, aligned or not. */
static inline int64_t mtr_value_signed(const uint8_t *at, int width)
{
  int64_t v = 0;
  int drop = 64 - 8 * width;

  memcpy(&v, at, (size_t)width);
  return (int64_t)((uint64_t)v << drop) >> drop;
}

#endif
