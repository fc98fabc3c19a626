/* The parts of the binary protocol that are too large to be inline: strings, container heads,
 * skipping, and the writer. Refuses negative lengths, unknown types and nesting beyond
 * MTR_THRIFT_MAX_DEPTH; does not look into strings. */
#include "codec/thrift/binary.h"

#include <inttypes.h>

#include "base/error.h"

void mtr_tr_init(struct mtr_tr *rd, struct mtr_span bytes)
{
  /* No arithmetic is ever done on a NULL pointer. */
  static const uint8_t nothing[1];

  memset(rd, 0, sizeof *rd);
  rd->begin = rd->pos = bytes.data ? bytes.data : nothing;
  rd->end = rd->begin + (bytes.data ? bytes.size : 0);
}

void mtr_tr_bad(struct mtr_tr *rd, const char *why)
{
  if (!mtr_tr_ok(rd)) return;
  rd->bad = true;
  rd->why = why;
  rd->end = rd->pos;
}

void mtr_tr_more(struct mtr_tr *rd)
{
  rd->more = !rd->bad;
  rd->end = rd->pos;
}

double mtr_tr_double(struct mtr_tr *rd)
{
  int64_t bits = mtr_tr_i64(rd);
  double v;

  memcpy(&v, &bits, sizeof v);
  return v;
}

/* A length or count: negative numbers are bad. */
static uint32_t read_size(struct mtr_tr *rd, const char *why)
{
  int32_t n = mtr_tr_i32(rd);

  if (n >= 0) return (uint32_t)n;
  rd->pos -= 4; /* the error points at the number */
  mtr_tr_bad(rd, why);
  return 0;
}

struct mtr_span mtr_tr_string(struct mtr_tr *rd)
{
  uint32_t n = read_size(rd, "a string of negative length");
  const uint8_t *p = mtr_tr_take(rd, n);

  return mtr_span_of(p, p ? n : 0);
}

/* The fewest bytes that a value of the type takes; 0: no such type. */
static size_t least_size(uint8_t type)
{
  static const uint8_t sizes[MTR_T_UUID + 1] = {
      [MTR_T_BOOL] = 1, [MTR_T_I8] = 1,  [MTR_T_DOUBLE] = 8, [MTR_T_I16] = 2,
      [MTR_T_I32] = 4,  [MTR_T_I64] = 8, [MTR_T_STRING] = 4, [MTR_T_STRUCT] = 1,
      [MTR_T_MAP] = 6,  [MTR_T_SET] = 5, [MTR_T_LIST] = 5,   [MTR_T_UUID] = 16};

  return type <= MTR_T_UUID ? sizes[type] : 0;
}

static bool has_fixed_size(uint8_t type) { return type <= MTR_T_I64 || type == MTR_T_UUID; }

/* An empty container may name any type: some writers name none there. A spoiled reader has none. */
static uint32_t check_count(struct mtr_tr *rd, uint32_t count, size_t least)
{
  if (count == 0) return 0;
  if (least == 0) {
    mtr_tr_bad(rd, "a container of an unknown type");
    return 0;
  }
  if ((uint64_t)count * least > mtr_tr_left(rd)) {
    mtr_tr_more(rd);
    return 0;
  }
  return count;
}

uint32_t mtr_tr_list(struct mtr_tr *rd, uint8_t *element)
{
  uint32_t count;

  *element = mtr_tr_u8(rd);
  count = read_size(rd, "a list of negative count");
  return check_count(rd, count, least_size(*element));
}

uint32_t mtr_tr_map(struct mtr_tr *rd, uint8_t *key, uint8_t *value)
{
  size_t key_size, value_size;
  uint32_t count;

  *key = mtr_tr_u8(rd);
  *value = mtr_tr_u8(rd);
  count = read_size(rd, "a map of negative count");
  key_size = least_size(*key);
  value_size = least_size(*value);
  return check_count(rd, count, key_size && value_size ? key_size + value_size : 0);
}

static void skip_nested(struct mtr_tr *rd, uint8_t type, int depth);

/* Inline, because all the time that skipping takes goes by here. */
static inline void skip_value(struct mtr_tr *rd, uint8_t type, int depth)
{
  size_t size;

  if (type == MTR_T_STRING)
    (void)mtr_tr_string(rd);
  else if (type >= MTR_T_STRUCT && type <= MTR_T_LIST)
    skip_nested(rd, type, depth + 1);
  else if ((size = least_size(type)) > 0)
    (void)mtr_tr_pass(rd, size);
  else
    mtr_tr_bad(rd, "a field of an unknown type");
}

static void skip_struct(struct mtr_tr *rd, int depth)
{
  uint8_t type;
  int16_t id;

  while (mtr_tr_field(rd, &type, &id))
    skip_value(rd, type, depth);
}

static void skip_list(struct mtr_tr *rd, int depth)
{
  uint8_t element;
  uint32_t count = mtr_tr_list(rd, &element);

  mtr_tr_skip_values(rd, element, count, depth);
}

static void skip_map(struct mtr_tr *rd, int depth)
{
  uint8_t key, value;
  uint32_t count = mtr_tr_map(rd, &key, &value);

  mtr_tr_skip_pairs(rd, key, value, count, depth);
}

/* Structs and containers: what may nest. */
static void skip_nested(struct mtr_tr *rd, uint8_t type, int depth)
{
  if (depth >= MTR_THRIFT_MAX_DEPTH)
    mtr_tr_bad(rd, "values nested too deeply");
  else if (type == MTR_T_STRUCT)
    skip_struct(rd, depth);
  else if (type == MTR_T_MAP)
    skip_map(rd, depth);
  else
    skip_list(rd, depth);
}

void mtr_tr_skip(struct mtr_tr *rd, uint8_t type, int depth) { skip_value(rd, type, depth); }

/* Long lists of text are the common large thing: one walk with nothing else in the loop. */
static void skip_strings(struct mtr_tr *rd, uint32_t count)
{
  for (; count > 0 && mtr_tr_ok(rd); count--)
    (void)mtr_tr_string(rd);
}

void mtr_tr_skip_values(struct mtr_tr *rd, uint8_t type, uint32_t count, int depth)
{
  if (count > 0 && has_fixed_size(type)) {
    /* mtr_tr_list has compared this product with the bytes that are left. */
    (void)mtr_tr_take(rd, count * least_size(type));
    return;
  }
  if (type == MTR_T_STRING) {
    skip_strings(rd, count);
    return;
  }
  for (; count > 0 && mtr_tr_ok(rd); count--)
    skip_value(rd, type, depth);
}

void mtr_tr_skip_pairs(struct mtr_tr *rd, uint8_t key, uint8_t value, uint32_t count, int depth)
{
  for (; count > 0 && mtr_tr_ok(rd); count--) {
    skip_value(rd, key, depth);
    skip_value(rd, value, depth);
  }
}

enum mortar_status mtr_tr_status(const struct mtr_tr *rd, const char *what,
                                 struct mortar_error *err)
{
  size_t at = (size_t)(rd->pos - rd->begin);

  if (rd->bad) return mtr_fail(err, MORTAR_PROTOCOL, "%s: byte %zu: %s", what, at, rd->why);
  if (rd->more) return mtr_fail(err, MORTAR_MORE, "%s: ends too early at byte %zu", what, at);
  return MORTAR_OK;
}

void mtr_tw_init(struct mtr_tw *wr, struct mtr_buf *buf, struct mortar_error *err)
{
  wr->buf = buf;
  wr->status = MORTAR_OK;
  wr->err = err;
}

void mtr_tw_double(struct mtr_tw *wr, double v)
{
  uint64_t bits;

  memcpy(&bits, &v, sizeof bits);
  mtr_tw_i64(wr, (int64_t)bits);
}

void mtr_tw_string(struct mtr_tw *wr, struct mtr_span v)
{
  if (v.size > INT32_MAX) {
    if (wr->status == MORTAR_OK)
      wr->status = mtr_fail(wr->err, MORTAR_LIMIT, "a text of %zu bytes: Thrift allows %" PRId32,
                            v.size, INT32_MAX);
    return;
  }
  mtr_tw_i32(wr, (int32_t)v.size);
  mtr_tw_raw(wr, v);
}

void mtr_tw_raw(struct mtr_tw *wr, struct mtr_span bytes)
{
  uint8_t *p = bytes.size ? mtr_tw_room(wr, bytes.size) : NULL;

  if (p) memcpy(p, bytes.data, bytes.size);
}

enum mortar_status mtr_tw_finish(const struct mtr_tw *wr) { return wr->status; }
