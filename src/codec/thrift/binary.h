/* Thrift's binary protocol: numbers, strings, field heads, and how to skip what is not known.
 *
 * The reader is a sticky cursor over bytes in memory: a getter that fails spoils it and gives zero,
 * so a caller tests once at the end. Two ways to fail: `more` (the bytes end too early; a longer
 * input may be fine) and `bad` (no longer input can be). The writer appends to a mtr_buf and is
 * sticky too: memory or the buffer's limit is reported by mtr_tw_finish.
 * Source: Apache Thrift, doc/specs/thrift-binary-protocol. Not handled: the compact protocol. */
#ifndef MTR_CODEC_THRIFT_BINARY_H
#define MTR_CODEC_THRIFT_BINARY_H

#include "base/be.h"
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

/* Passes n bytes; false when there are fewer: then the reader is spoiled. */
static inline bool mtr_tr_pass(struct mtr_tr *rd, size_t n)
{
  if (mtr_tr_left(rd) < n) {
    mtr_tr_more(rd);
    return false;
  }
  rd->pos += n;
  return true;
}

/* The next n bytes, or NULL. */
static inline const uint8_t *mtr_tr_take(struct mtr_tr *rd, size_t n)
{
  return mtr_tr_pass(rd, n) ? rd->pos - n : NULL;
}

static inline uint8_t mtr_tr_u8(struct mtr_tr *rd) { return mtr_tr_pass(rd, 1) ? rd->pos[-1] : 0; }
static inline int16_t mtr_tr_i16(struct mtr_tr *rd)
{
  return mtr_tr_pass(rd, 2) ? (int16_t)mtr_be16(rd->pos - 2) : 0;
}
static inline int32_t mtr_tr_i32(struct mtr_tr *rd)
{
  return mtr_tr_pass(rd, 4) ? (int32_t)mtr_be32(rd->pos - 4) : 0;
}
static inline int64_t mtr_tr_i64(struct mtr_tr *rd)
{
  return mtr_tr_pass(rd, 8) ? (int64_t)mtr_be64(rd->pos - 8) : 0;
}
double mtr_tr_double(struct mtr_tr *rd);
struct mtr_span mtr_tr_string(struct mtr_tr *rd); /* into the input, not copied */

/* A field head; false at STOP or when spoiled. Near the end of the input it goes byte by byte. */
static inline bool mtr_tr_field(struct mtr_tr *rd, uint8_t *type, int16_t *id)
{
  const uint8_t *p = rd->pos;

  if (mtr_tr_left(rd) >= 3) {
    *type = p[0];
    *id = (int16_t)mtr_be16(p + 1);
    rd->pos += *type == MTR_T_STOP ? 1 : 3;
    return *type != MTR_T_STOP;
  }
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
void mtr_tr_skip_pairs(struct mtr_tr *rd, uint8_t key, uint8_t value, uint32_t count, int depth);

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

/* Room for n bytes at the buffer's end, already counted; NULL when the writer is spoiled. */
static inline uint8_t *mtr_tw_room(struct mtr_tw *wr, size_t n)
{
  struct mtr_buf *buf = wr->buf;
  uint8_t *p;

  if (n > buf->capacity - buf->size && wr->status == MORTAR_OK)
    wr->status = mtr_buf_reserve(buf, n, wr->err);
  if (wr->status != MORTAR_OK) return NULL;
  p = buf->data + buf->size;
  buf->size += n;
  return p;
}

static inline void mtr_tw_u8(struct mtr_tw *wr, uint8_t v)
{
  uint8_t *p = mtr_tw_room(wr, 1);
  if (p) *p = v;
}
static inline void mtr_tw_i16(struct mtr_tw *wr, int16_t v)
{
  uint8_t *p = mtr_tw_room(wr, 2);
  if (p) mtr_put_be16(p, (uint16_t)v);
}
static inline void mtr_tw_i32(struct mtr_tw *wr, int32_t v)
{
  uint8_t *p = mtr_tw_room(wr, 4);
  if (p) mtr_put_be32(p, (uint32_t)v);
}
static inline void mtr_tw_i64(struct mtr_tw *wr, int64_t v)
{
  uint8_t *p = mtr_tw_room(wr, 8);
  if (p) mtr_put_be64(p, (uint64_t)v);
}
static inline void mtr_tw_field(struct mtr_tw *wr, enum mtr_thrift_type type, int16_t id)
{
  uint8_t *p = mtr_tw_room(wr, 3);
  if (!p) return;
  p[0] = (uint8_t)type;
  mtr_put_be16(p + 1, (uint16_t)id);
}
void mtr_tw_double(struct mtr_tw *wr, double v);
void mtr_tw_string(struct mtr_tw *wr, struct mtr_span v);
void mtr_tw_raw(struct mtr_tw *wr, struct mtr_span bytes);
MORTAR_MUST_USE enum mortar_status mtr_tw_finish(const struct mtr_tw *wr);

#endif
