/* Steps over a message, one head at a time. */
#include "net/thrift_end.h"

#include "base/be.h"
#include "base/error.h"

/* Types of the protocol that have a head. */
enum { STOP = 0, STRING = 11, STRUCT = 12, MAP = 13, SET = 14, LIST = 15, TYPES = 17 };

enum {
  FIELD_HEAD = 3,  /* type, id */
  NAME_AT = 8,     /* version and the name's length stand before it */
  SEQUENCE = 4,    /* the number behind the name */
  MAX_NAME = 1024, /* the longest call has 21 letters */
  SASL_BAD = 3,    /* how a server of SASL begins an answer to who speaks none */
  SASL_ERROR = 4
};

/* Sizes of types that have always the same. */
static const uint8_t fixed_sizes[TYPES] = {
    [2] = 1, [3] = 1, [4] = 8, [6] = 2, [8] = 4, [10] = 8, [16] = 16};

void mtr_thrift_end_init(struct mtr_thrift_end *end, size_t max)
{
  end->max = max;
  end->pos = 0;
  end->begun = false;
  end->depth = 0;
}

static enum mortar_status bad(const struct mtr_thrift_end *end, const char *why,
                              struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_PROTOCOL, "the reply is no Thrift at byte %zu: %s", end->pos, why);
}

/* Passes over n bytes, which may be still to come. */
static enum mortar_status pass(struct mtr_thrift_end *end, uint64_t n, struct mortar_error *err)
{
  if (n > end->max - end->pos)
    return mtr_fail(err, MORTAR_LIMIT, "a reply of at least %llu bytes crosses the limit of %zu",
                    (unsigned long long)(end->pos + n), end->max);
  end->pos += (size_t)n;
  return MORTAR_OK;
}

static bool is_type(uint8_t type)
{
  return type < TYPES && (fixed_sizes[type] || (type >= STRING && type <= LIST));
}

/* Bytes before the contents of a value. */
static size_t head_size(uint8_t type)
{
  if (type == STRING) return 4;
  if (type == MAP) return 6;
  return type == LIST || type == SET ? 5 : 0;
}

static enum mortar_status enter(struct mtr_thrift_end *end, struct mtr_thrift_level level,
                                struct mortar_error *err)
{
  if (end->depth == MTR_THRIFT_END_LEVELS) return bad(end, "values nested too deeply", err);
  end->levels[end->depth++] = level;
  return MORTAR_OK;
}

/* A container of so many pairs, or of so many values where both types are one. An empty one may
 * name any type. */
static enum mortar_status enter_values(struct mtr_thrift_end *end, uint8_t first, uint8_t second,
                                       uint32_t count, bool pairs, struct mortar_error *err)
{
  const struct mtr_thrift_level level = {false, {first, second}, (uint64_t)count << pairs};

  if (count > INT32_MAX) return bad(end, "a container of negative count", err);
  if (count == 0) return MORTAR_OK;
  if (!is_type(first) || !is_type(second)) return bad(end, "a container of an unknown type", err);
  if (fixed_sizes[first] && fixed_sizes[second])
    return pass(end, (uint64_t)count * (fixed_sizes[first] + (pairs ? fixed_sizes[second] : 0u)),
                err);
  return enter(end, level, err);
}

/* A value whose head is at p, and passed already. */
static enum mortar_status value(struct mtr_thrift_end *end, uint8_t type, const uint8_t *p,
                                struct mortar_error *err)
{
  switch (type) {
    case STRING:
      if (p[0] & 0x80) return bad(end, "a text of negative length", err);
      return pass(end, mtr_be32(p), err);
    case STRUCT:
      return enter(end, (struct mtr_thrift_level){.fields = true}, err);
    case MAP:
      return enter_values(end, p[0], p[1], mtr_be32(p + 2), true, err);
    case SET:
    case LIST:
      return enter_values(end, p[0], p[0], mtr_be32(p + 1), false, err);
    default:
      return pass(end, fixed_sizes[type], err);
  }
}

/* One head, or the end of a level. MORE changes nothing. */
static enum mortar_status step(struct mtr_thrift_end *end, const uint8_t *data, size_t size,
                               struct mortar_error *err)
{
  struct mtr_thrift_level *level = &end->levels[end->depth - 1];
  const size_t left = end->pos < size ? size - end->pos : 0,
               before = level->fields ? FIELD_HEAD : 0;
  const uint8_t *p = data + (left ? end->pos : 0);
  uint8_t type;

  if (level->fields && !left) return MORTAR_MORE;
  type = level->fields ? p[0] : level->types[level->left & 1];
  if (level->fields ? type == STOP : level->left == 0) {
    end->depth--;
    return pass(end, level->fields, err);
  }
  if (!is_type(type)) return bad(end, "a value of an unknown type", err);
  if (left < before + head_size(type)) return MORTAR_MORE;
  MTR_TRY(pass(end, before + head_size(type), err));
  if (!level->fields) level->left--;
  return value(end, type, p + before, err);
}

/* What a peer that speaks something else is likely to be. */
static enum mortar_status foreign(uint8_t first, struct mortar_error *err)
{
  const char *what = "";

  if (first == SASL_BAD || first == SASL_ERROR)
    what = ": the server wants a login; set 'transport' to sasl";
  if (first == 'H') what = " but HTTP: set 'transport' to http";
  if (first == 0x15) what = " but TLS: set 'tls' to true";
  return mtr_fail(err, MORTAR_PROTOCOL, "the reply is no Thrift message%s", what);
}

/* Version 1 in the first two bytes, and the name. */
static enum mortar_status begin(struct mtr_thrift_end *end, const uint8_t *data, size_t size,
                                struct mortar_error *err)
{
  uint32_t name;

  if (size > 0 && data[0] != 0x80) return foreign(data[0], err);
  if (size < NAME_AT) return MORTAR_MORE;
  if (data[1] != 1) return bad(end, "another version of the protocol", err);
  name = mtr_be32(data + 4);
  if (name > MAX_NAME) return bad(end, "a name too long for a call", err);
  MTR_TRY(pass(end, NAME_AT + name + SEQUENCE, err));
  end->begun = true;
  return enter(end, (struct mtr_thrift_level){.fields = true}, err);
}

enum mortar_status mtr_thrift_end_find(struct mtr_thrift_end *end, const uint8_t *data, size_t size,
                                       struct mortar_error *err)
{
  if (!end->begun) MTR_TRY(begin(end, data, size, err));
  while (end->depth)
    MTR_TRY(step(end, data, size, err));
  return MORTAR_OK;
}
