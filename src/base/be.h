/* Numbers as they stand on most wires: the highest byte first. */
#ifndef MTR_BASE_BE_H
#define MTR_BASE_BE_H

#include <stdint.h>

/* Loads, written so that compilers make one load and one byte swap of each. */
static inline uint16_t mtr_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t mtr_be32(const uint8_t *p)
{
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint64_t mtr_be64(const uint8_t *p)
{
  return (uint64_t)mtr_be32(p) << 32 | mtr_be32(p + 4);
}

/* Stores, their counterparts. */
static inline void mtr_put_be16(uint8_t *p, uint16_t v)
{
  p[0] = (uint8_t)(v >> 8);
  p[1] = (uint8_t)v;
}
static inline void mtr_put_be32(uint8_t *p, uint32_t v)
{
  mtr_put_be16(p, (uint16_t)(v >> 16));
  mtr_put_be16(p + 2, (uint16_t)v);
}
static inline void mtr_put_be64(uint8_t *p, uint64_t v)
{
  mtr_put_be32(p, (uint32_t)(v >> 32));
  mtr_put_be32(p + 4, (uint32_t)v);
}

#endif
