/* The reader and the writer that every TCLIService struct goes through. The reader trusts nothing:
 * it allocates a list only after its count was compared with the bytes that are left, so memory
 * grows with the input and not with what the input claims. It does not insist on required fields:
 * servers of other makes leave some out, and the caller asks MTR_HAS. */
#include "codec/thrift/codec.h"

#include <string.h>

#include "base/error.h"

static void read_struct(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                        struct mtr_struct_head *out);

/* The first field of this id or a larger one. Peers write by ascending id, so it is seldom far
 * behind f, the one that was expected; the scan from the start is for those that do not. */
static const struct mtr_field_info *find_field(const struct mtr_struct_info *info,
                                               const struct mtr_field_info *f, int16_t id)
{
  if (f->id > id) f = info->fields;
  while (f->id < id)
    f++;
  return f;
}

static void out_of_memory(struct mtr_struct_reader *sr)
{
  sr->nomem = true;
  mtr_tr_bad(&sr->rd, "out of memory");
}

static void read_sub(struct mtr_struct_reader *sr, const struct mtr_field_info *f, void *value)
{
  struct mtr_struct_head *sub = mtr_arena_one(sr->arena, f->sub->size);

  memcpy(value, &sub, sizeof sub);
  if (sub)
    read_struct(sr, f->sub, sub);
  else
    out_of_memory(sr);
}

static void read_items(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                       struct mtr_struct_list *list)
{
  uint8_t *item = list->items;
  size_t i;

  for (i = 0; i < list->count && mtr_tr_ok(&sr->rd); i++, item += info->size)
    read_struct(sr, info, (struct mtr_struct_head *)(void *)item);
}

/* Containers name the types of what they hold; another type there than the table's makes it a field
 * of another type altogether: the three below pass over it and say false. */
static bool read_struct_list(struct mtr_struct_reader *sr, const struct mtr_field_info *f,
                             void *value)
{
  struct mtr_struct_list list = {NULL, 0};
  uint8_t element;
  uint32_t count = mtr_tr_list(&sr->rd, &element);

  if (element != f->element) {
    mtr_tr_skip_values(&sr->rd, element, count, sr->depth);
    return false;
  }
  if (count > 0) list.items = mtr_arena_alloc(sr->arena, count, f->sub->size);
  if (list.items) list.count = count;
  if (list.count < count) out_of_memory(sr);
  memcpy(value, &list, sizeof list);
  read_items(sr, f->sub, &list);
  return true;
}

static bool read_list(struct mtr_struct_reader *sr, const struct mtr_field_info *f, void *value)
{
  struct mtr_thrift_values v = {0};

  v.count = mtr_tr_list(&sr->rd, &v.element);
  v.bytes.data = sr->rd.pos;
  mtr_tr_skip_values(&sr->rd, v.element, v.count, sr->depth);
  v.bytes.size = (size_t)(sr->rd.pos - v.bytes.data);
  if (v.element != f->element) return false;
  memcpy(value, &v, sizeof v);
  return true;
}

static bool read_map(struct mtr_struct_reader *sr, const struct mtr_field_info *f, void *value)
{
  struct mtr_thrift_values v = {0};

  v.count = mtr_tr_map(&sr->rd, &v.key, &v.element);
  v.bytes.data = sr->rd.pos;
  mtr_tr_skip_pairs(&sr->rd, v.key, v.element, v.count, sr->depth);
  v.bytes.size = (size_t)(sr->rd.pos - v.bytes.data);
  if (v.key != MTR_T_STRING || v.element != f->element) return false;
  memcpy(value, &v, sizeof v);
  return true;
}

/* False: a container of something else. */
static bool read_value(struct mtr_struct_reader *sr, const struct mtr_field_info *f, void *value)
{
  struct mtr_tr *rd = &sr->rd;

  switch ((enum mtr_field_kind)f->kind) {
    case MTR_KIND_BOOL:
      *(bool *)value = mtr_tr_u8(rd) != 0;
      break;
    case MTR_KIND_I8:
      *(int8_t *)value = (int8_t)mtr_tr_u8(rd);
      break;
    case MTR_KIND_I16:
      *(int16_t *)value = mtr_tr_i16(rd);
      break;
    case MTR_KIND_I32:
      *(int32_t *)value = mtr_tr_i32(rd);
      break;
    case MTR_KIND_I64:
      *(int64_t *)value = mtr_tr_i64(rd);
      break;
    case MTR_KIND_DOUBLE:
      *(double *)value = mtr_tr_double(rd);
      break;
    case MTR_KIND_STRING:
    case MTR_KIND_BINARY:
      *(struct mtr_span *)value = mtr_tr_string(rd);
      break;
    case MTR_KIND_STRUCT:
      read_sub(sr, f, value);
      break;
    case MTR_KIND_LIST_STRUCT:
      return read_struct_list(sr, f, value);
    case MTR_KIND_LIST:
      return read_list(sr, f, value);
    case MTR_KIND_MAP:
    case MTR_KIND_MAP_STRUCT:
      return read_map(sr, f, value);
  }
  return true;
}

/* A field that comes twice counts as it came last. */
static void read_fields(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                        struct mtr_struct_head *out)
{
  const struct mtr_field_info *f = info->fields;
  uint8_t type;
  int16_t id;

  sr->depth++;
  while (mtr_tr_field(&sr->rd, &type, &id)) {
    if (f->id != id) f = find_field(info, f, id);
    if (f->id != id || f->wire != type) {
      mtr_tr_skip(&sr->rd, type, sr->depth - 1);
    } else if (read_value(sr, f, (uint8_t *)out + f->offset)) {
      out->has |= f->bit;
      f++;
    }
  }
  sr->depth--;
}

/* out is zeroed memory. */
static void read_struct(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                        struct mtr_struct_head *out)
{
  out->wire.data = sr->rd.pos;
  if (sr->depth >= MTR_THRIFT_MAX_DEPTH)
    mtr_tr_bad(&sr->rd, "values nested too deeply");
  else if (info == sr->leave)
    mtr_tr_skip(&sr->rd, MTR_T_STRUCT, sr->depth - 1);
  else
    read_fields(sr, info, out);
  out->wire.size = (size_t)(sr->rd.pos - out->wire.data);
}

void mtr_thrift_read_struct(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                            void *out)
{
  memset(out, 0, info->size);
  read_struct(sr, info, out);
}

enum mortar_status mtr_thrift_decode(struct mtr_span bytes, const struct mtr_struct_info *info,
                                     void *out, struct mtr_arena *arena, struct mortar_error *err)
{
  struct mtr_struct_reader sr = {.arena = arena};

  mtr_tr_init(&sr.rd, bytes);
  mtr_thrift_read_struct(&sr, info, out);
  if (sr.nomem) return mtr_arena_fail(arena, err, info->name);
  if (mtr_tr_left(&sr.rd) > 0) mtr_tr_bad(&sr.rd, "bytes behind the struct");
  return mtr_tr_status(&sr.rd, info->name, err);
}

static void write_list_head(struct mtr_tw *wr, uint8_t element, size_t count)
{
  if (count > INT32_MAX && wr->status == MORTAR_OK)
    wr->status =
        mtr_fail(wr->err, MORTAR_LIMIT, "a list of %zu items is too long for Thrift", count);
  mtr_tw_u8(wr, element);
  mtr_tw_i32(wr, (int32_t)count);
}

static void write_struct_list(struct mtr_tw *wr, const struct mtr_field_info *f, const void *value)
{
  struct mtr_struct_list list;
  size_t i;

  memcpy(&list, value, sizeof list);
  write_list_head(wr, MTR_T_STRUCT, list.count);
  for (i = 0; i < list.count && wr->status == MORTAR_OK; i++)
    mtr_thrift_write_struct(wr, f->sub, (const uint8_t *)list.items + i * f->sub->size);
}

/* The types come from the descriptor: an empty list that a caller left all zero is right, too. */
static void write_values(struct mtr_tw *wr, const struct mtr_field_info *f, const void *value)
{
  const struct mtr_thrift_values *v = value;

  if (f->wire == MTR_T_MAP) mtr_tw_u8(wr, MTR_T_STRING);
  write_list_head(wr, f->element, v->count);
  mtr_tw_raw(wr, v->bytes);
}

static void write_sub(struct mtr_tw *wr, const struct mtr_field_info *f, const void *value)
{
  const void *sub;

  memcpy(&sub, value, sizeof sub);
  mtr_thrift_write_struct(wr, f->sub, sub);
}

static void write_value(struct mtr_tw *wr, const struct mtr_field_info *f, const void *value)
{
  switch ((enum mtr_field_kind)f->kind) {
    case MTR_KIND_BOOL:
      mtr_tw_u8(wr, *(const bool *)value);
      break;
    case MTR_KIND_I8:
      mtr_tw_u8(wr, *(const uint8_t *)value);
      break;
    case MTR_KIND_I16:
      mtr_tw_i16(wr, *(const int16_t *)value);
      break;
    case MTR_KIND_I32:
      mtr_tw_i32(wr, *(const int32_t *)value);
      break;
    case MTR_KIND_I64:
      mtr_tw_i64(wr, *(const int64_t *)value);
      break;
    case MTR_KIND_DOUBLE:
      mtr_tw_double(wr, *(const double *)value);
      break;
    case MTR_KIND_STRING:
    case MTR_KIND_BINARY:
      mtr_tw_string(wr, *(const struct mtr_span *)value);
      break;
    case MTR_KIND_STRUCT:
      write_sub(wr, f, value);
      break;
    case MTR_KIND_LIST_STRUCT:
      write_struct_list(wr, f, value);
      break;
    case MTR_KIND_LIST:
    case MTR_KIND_MAP:
    case MTR_KIND_MAP_STRUCT:
      write_values(wr, f, value);
      break;
  }
}

void mtr_thrift_write_struct(struct mtr_tw *wr, const struct mtr_struct_info *info, const void *in)
{
  const struct mtr_struct_head *head = in;
  const struct mtr_field_info *f = info->fields;
  uint64_t has = head->has;

  MTR_ASSERT(info->field_count == 64 || has >> info->field_count == 0);
  for (; has; has >>= 1, f++) {
    if (!(has & 1)) continue;
    mtr_tw_field(wr, (enum mtr_thrift_type)f->wire, f->id);
    write_value(wr, f, (const uint8_t *)in + f->offset);
  }
  mtr_tw_u8(wr, MTR_T_STOP);
}
