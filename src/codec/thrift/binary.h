/* Thrift's binary protocol: numbers, strings, field heads, and how to skip what is not known.
 *
 * The reader is a sticky cursor over bytes in memory: a getter that fails spoils it and gives zero,
 * so a caller tests once at the end. Two ways to fail: `more` (the bytes end too early; a longer
 * input may be fine) and `bad` (no longer input can be). The writer appends to a mtr_buf and is
 * sticky too: memory or the buffer's limit is reported by mtr_tw_finish.
 * Source: Apache Thrift, doc/specs/thrift-binary-protocol. Not handled: the compact protocol. */
#ifndef MTR_CODEC_THRIFT_BINARY_H
#define MTR_CODEC_THRIFT_BINARY_H

#include "base/buf.h"
#include "base/span.h"
#include "mortar/mortar.h"

enum mtr_thrift_type {
  MTR_T_STOP = 0,
  MTR_T_BOOL = 2,
  MTR_T_I8 = 3,
  MTR_T_DOUBLE = 4,
  MTR_T_I16 = 6,
  MTR_T_I32 = 8,
  MTR_T_I64 = 10,
  MTR_T_STRING = 11,
  MTR_T_STRUCT = 12,
  MTR_T_MAP = 13,
  MTR_T_SET = 14,
  MTR_T_LIST = 15,
  MTR_T_UUID = 16
};

enum { MTR_THRIFT_MAX_DEPTH = 64 }; /* what Apache's libraries allow */

/* Once spoiled, end is moved to pos: every later getter fails by its bounds check alone, and pos
 * still tells where it happened. */
struct mtr_tr {
  const uint8_t *begin, *pos, *end;
  bool more, bad;
  const char *why; /* a constant text; set with bad */
};

void mtr_tr_init(struct mtr_tr *rd, struct mtr_span bytes);
static inline bool mtr_tr_ok(const struct mtr_tr *rd) { return !rd->more && !rd->bad; }
static inline size_t mtr_tr_left(const struct mtr_tr *rd) { return (size_t)(rd->end - rd->pos); }
void mtr_tr_bad(struct mtr_tr *rd, const char *why); /* the first reason is kept */
void mtr_tr_more(struct mtr_tr *rd);

/* The next n bytes, or NULL when there are fewer: then the reader is spoiled. */
static inline const uint8_t *mtr_tr_take(struct mtr_tr *rd, size_t n)
{
  const uint8_t *p = rd->pos;

  if (mtr_tr_left(rd) < n) {
    mtr_tr_more(rd);
    return NULL;
  }
  rd->pos += n;
  return p;
}

/* Big-endian loads, written so that compilers make one load and one byte swap of each. */
static inline uint16_t mtr_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t mtr_be32(const uint8_t *p)
{
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint64_t mtr_be64(const uint8_t *p)
{
  return (uint64_t)mtr_be32(p) << 32 | mtr_be32(p + 4);
}

static inline uint8_t mtr_tr_u8(struct mtr_tr *rd)
{
  const uint8_t *p = mtr_tr_take(rd, 1);
  return p ? *p : 0;
}
static inline int16_t mtr_tr_i16(struct mtr_tr *rd)
{
  const uint8_t *p = mtr_tr_take(rd, 2);
  return p ? (int16_t)mtr_be16(p) : 0;
}
static inline int32_t mtr_tr_i32(struct mtr_tr *rd)
{
  const uint8_t *p = mtr_tr_take(rd, 4);
  return p ? (int32_t)mtr_be32(p) : 0;
}
static inline int64_t mtr_tr_i64(struct mtr_tr *rd)
{
  const uint8_t *p = mtr_tr_take(rd, 8);
  return p ? (int64_t)mtr_be64(p) : 0;
}
double mtr_tr_double(struct mtr_tr *rd);
struct mtr_span mtr_tr_string(struct mtr_tr *rd); /* into the input, not copied */

/* A field head; false at STOP or when spoiled. */
static inline bool mtr_tr_field(struct mtr_tr *rd, uint8_t *type, int16_t *id)
{
  *type = mtr_tr_u8(rd);
  if (*type == MTR_T_STOP) return false;
  *id = mtr_tr_i16(rd);
  return mtr_tr_ok(rd);
}

/* The head of a list or set; the count is checked against the bytes that are left. */
uint32_t mtr_tr_list(struct mtr_tr *rd, uint8_t *element);
uint32_t mtr_tr_map(struct mtr_tr *rd, uint8_t *key, uint8_t *value);

/* Passes over one value; depth is that of the struct it stands in. */
void mtr_tr_skip(struct mtr_tr *rd, uint8_t type, int depth);

/* Passes over `count` values of one type, in one step where the type has a fixed size. */
void mtr_tr_skip_values(struct mtr_tr *rd, uint8_t type, uint32_t count, int depth);

/* MORTAR_OK, MORTAR_MORE or MORTAR_PROTOCOL with the offset and the reason in the text. */
MORTAR_MUST_USE enum mortar_status mtr_tr_status(const struct mtr_tr *rd, const char *what,
                                                 struct mortar_error *err);

/* Elements as they stand on the wire, checked to be whole. For a map, keys and values alternate. */
struct mtr_thrift_values {
  uint32_t count;
  uint8_t element; /* enum mtr_thrift_type; of a map: of its values */
  uint8_t key;     /* of a map; MTR_T_STOP for lists */
  struct mtr_span bytes;
};

struct mtr_tw {
  struct mtr_buf *buf;
  enum mortar_status status;
  struct mortar_error *err;
};

void mtr_tw_init(struct mtr_tw *wr, struct mtr_buf *buf, struct mortar_error *err);
void mtr_tw_u8(struct mtr_tw *wr, uint8_t v);
void mtr_tw_i16(struct mtr_tw *wr, int16_t v);
void mtr_tw_i32(struct mtr_tw *wr, int32_t v);
void mtr_tw_i64(struct mtr_tw *wr, int64_t v);
void mtr_tw_double(struct mtr_tw *wr, double v);
void mtr_tw_string(struct mtr_tw *wr, struct mtr_span v);
void mtr_tw_raw(struct mtr_tw *wr, struct mtr_span bytes);
void mtr_tw_field(struct mtr_tw *wr, enum mtr_thrift_type type, int16_t id);
MORTAR_MUST_USE enum mortar_status mtr_tw_finish(const struct mtr_tw *wr);

#endif
