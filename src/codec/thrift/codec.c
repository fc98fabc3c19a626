/* The reader and the writer that every TCLIService struct goes through. The reader trusts nothing:
 * it allocates a list only after its count was compared with the bytes that are left, so memory
 * grows with the input and not with what the input claims. It does not insist on required fields:
 * servers of other makes leave some out, and the caller asks MTR_HAS. */
#include "codec/thrift/codec.h"

#include <string.h>

#include "base/error.h"

struct decode {
  struct mtr_tr *rd;
  struct mtr_arena *arena;
  bool *nomem;
};

static void read_fields(const struct decode *d, const struct mtr_struct_info *info, uint8_t *out,
                        int depth);

static uint8_t wire_type(uint8_t kind)
{
  static const uint8_t types[] = {
      [MTR_KIND_BOOL] = MTR_T_BOOL,     [MTR_KIND_I8] = MTR_T_I8,
      [MTR_KIND_I16] = MTR_T_I16,       [MTR_KIND_I32] = MTR_T_I32,
      [MTR_KIND_I64] = MTR_T_I64,       [MTR_KIND_DOUBLE] = MTR_T_DOUBLE,
      [MTR_KIND_STRING] = MTR_T_STRING, [MTR_KIND_BINARY] = MTR_T_STRING,
      [MTR_KIND_STRUCT] = MTR_T_STRUCT, [MTR_KIND_LIST_STRUCT] = MTR_T_LIST,
      [MTR_KIND_LIST] = MTR_T_LIST,     [MTR_KIND_MAP] = MTR_T_MAP,
      [MTR_KIND_MAP_STRUCT] = MTR_T_MAP};

  return types[kind];
}

/* Peers write fields by ascending id, so the wanted one is at *next or not far behind it; the scan
 * from the start is for those that do not. Structs have at most 16 fields. */
static const struct mtr_field_info *find_field(const struct mtr_struct_info *info, int16_t id,
                                               unsigned *next)
{
  const struct mtr_field_info *f = info->fields;
  unsigned i = *next < info->field_count && f[*next].id <= id ? *next : 0;

  while (i < info->field_count && f[i].id < id)
    i++;
  if (i == info->field_count || f[i].id != id) return NULL;
  *next = i + 1;
  return &f[i];
}

/* Containers name the types of what they hold first; another type there makes it another type
 * altogether. At the end of the input the reader itself will ask for more. */
static bool wire_fits(const struct mtr_tr *rd, const struct mtr_field_info *f, uint8_t type)
{
  if (type != wire_type(f->kind)) return false;
  if (type == MTR_T_LIST) return mtr_tr_left(rd) < 1 || rd->pos[0] == f->element;
  if (type == MTR_T_MAP)
    return mtr_tr_left(rd) < 2 || (rd->pos[0] == MTR_T_STRING && rd->pos[1] == f->element);
  return true;
}

static void *arena_take(const struct decode *d, size_t count, size_t size)
{
  void *p = mtr_arena_alloc(d->arena, count, size);

  if (p) return p;
  *d->nomem = true;
  mtr_tr_bad(d->rd, "out of memory");
  return NULL;
}

static void read_sub(const struct decode *d, const struct mtr_field_info *f, void *value, int depth)
{
  void *sub = arena_take(d, 1, f->sub->size);

  if (sub) read_fields(d, f->sub, sub, depth + 1);
  memcpy(value, &sub, sizeof sub);
}

static void read_struct_list(const struct decode *d, const struct mtr_field_info *f, void *value,
                             int depth)
{
  struct mtr_struct_list list = {NULL, 0};
  uint8_t element;
  uint32_t i, count = mtr_tr_list(d->rd, &element);

  if (count > 0) list.items = arena_take(d, count, f->sub->size);
  if (list.items) list.count = count;
  for (i = 0; i < list.count && mtr_tr_ok(d->rd); i++)
    read_fields(d, f->sub, (uint8_t *)list.items + (size_t)i * f->sub->size, depth + 1);
  memcpy(value, &list, sizeof list);
}

static void read_list(struct mtr_tr *rd, void *value, int depth)
{
  struct mtr_thrift_values v = {0};

  v.count = mtr_tr_list(rd, &v.element);
  v.bytes.data = rd->pos;
  mtr_tr_skip_values(rd, v.element, v.count, depth + 1);
  v.bytes.size = (size_t)(rd->pos - v.bytes.data);
  memcpy(value, &v, sizeof v);
}

static void read_map(struct mtr_tr *rd, void *value, int depth)
{
  struct mtr_thrift_values v = {0};
  uint32_t i;

  v.count = mtr_tr_map(rd, &v.key, &v.element);
  v.bytes.data = rd->pos;
  for (i = 0; i < v.count && mtr_tr_ok(rd); i++) {
    (void)mtr_tr_string(rd);
    mtr_tr_skip(rd, v.element, depth + 1);
  }
  v.bytes.size = (size_t)(rd->pos - v.bytes.data);
  memcpy(value, &v, sizeof v);
}

static void read_container(const struct decode *d, const struct mtr_field_info *f, void *value,
                           int depth)
{
  if (f->kind == MTR_KIND_STRUCT)
    read_sub(d, f, value, depth);
  else if (f->kind == MTR_KIND_LIST_STRUCT)
    read_struct_list(d, f, value, depth);
  else if (f->kind == MTR_KIND_LIST)
    read_list(d->rd, value, depth);
  else
    read_map(d->rd, value, depth);
}

static void read_value(const struct decode *d, const struct mtr_field_info *f, void *value,
                       int depth)
{
  switch ((enum mtr_field_kind)f->kind) {
    case MTR_KIND_BOOL:
      *(bool *)value = mtr_tr_u8(d->rd) != 0;
      break;
    case MTR_KIND_I8:
      *(int8_t *)value = (int8_t)mtr_tr_u8(d->rd);
      break;
    case MTR_KIND_I16:
      *(int16_t *)value = mtr_tr_i16(d->rd);
      break;
    case MTR_KIND_I32:
      *(int32_t *)value = mtr_tr_i32(d->rd);
      break;
    case MTR_KIND_I64:
      *(int64_t *)value = mtr_tr_i64(d->rd);
      break;
    case MTR_KIND_DOUBLE:
      *(double *)value = mtr_tr_double(d->rd);
      break;
    case MTR_KIND_STRING:
    case MTR_KIND_BINARY:
      *(struct mtr_span *)value = mtr_tr_string(d->rd);
      break;
    case MTR_KIND_STRUCT:
    case MTR_KIND_LIST_STRUCT:
    case MTR_KIND_LIST:
    case MTR_KIND_MAP:
    case MTR_KIND_MAP_STRUCT:
      read_container(d, f, value, depth);
      break;
  }
}

/* out is zeroed memory. A field that comes twice counts as it came last. */
static void read_fields(const struct decode *d, const struct mtr_struct_info *info, uint8_t *out,
                        int depth)
{
  uint64_t has = 0;
  unsigned next = 0;
  uint8_t type;
  int16_t id;

  if (depth >= MTR_THRIFT_MAX_DEPTH) mtr_tr_bad(d->rd, "values nested too deeply");
  while (mtr_tr_field(d->rd, &type, &id)) {
    const struct mtr_field_info *f = find_field(info, id, &next);
    if (f && wire_fits(d->rd, f, type)) {
      read_value(d, f, out + f->offset, depth);
      has |= UINT64_C(1) << (f - info->fields);
    } else {
      mtr_tr_skip(d->rd, type, depth);
    }
  }
  memcpy(out, &has, sizeof has);
}

void mtr_thrift_read_struct(struct mtr_tr *rd, const struct mtr_struct_info *info, void *out,
                            struct mtr_arena *arena, int depth, bool *nomem)
{
  struct decode d = {rd, arena, nomem};

  memset(out, 0, info->size);
  read_fields(&d, info, out, depth);
}

enum mortar_status mtr_thrift_decode(struct mtr_span bytes, const struct mtr_struct_info *info,
                                     void *out, struct mtr_arena *arena, struct mortar_error *err)
{
  struct mtr_tr rd;
  bool nomem = false;

  mtr_tr_init(&rd, bytes);
  mtr_thrift_read_struct(&rd, info, out, arena, 0, &nomem);
  if (nomem) return mtr_fail_nomem(err, info->name);
  if (mtr_tr_left(&rd) > 0) mtr_tr_bad(&rd, "bytes behind the struct");
  return mtr_tr_status(&rd, info->name, err);
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

  if (wire_type(f->kind) == MTR_T_MAP) mtr_tw_u8(wr, MTR_T_STRING);
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
  const uint8_t *base = in;
  uint64_t has;
  unsigned i;

  memcpy(&has, base, sizeof has);
  for (i = 0; i < info->field_count; i++) {
    const struct mtr_field_info *f = &info->fields[i];
    if (!(has >> i & 1)) continue;
    mtr_tw_field(wr, (enum mtr_thrift_type)wire_type(f->kind), f->id);
    write_value(wr, f, base + f->offset);
  }
  mtr_tw_u8(wr, MTR_T_STOP);
}
