/* Any TCLIService struct as JSON, for people, tests and tools. Fields that are not in the table are
 * not shown, since the reader has skipped them. Values JSON has no numbers for (NaN, infinities)
 * are shown as text. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/text.h"
#include "codec/thrift/codec.h"

/* Structs inside of maps stay on the wire until somebody asks; the dump decodes them one by one in
 * an arena of its own. 16 MB: such values are a few numbers and short texts. */
enum { ARENA_MAX = 16 << 20 };

/* Sticky like the writer: one test at the end. */
struct dump {
  struct mtr_buf *out;
  enum mortar_status st;
  struct mortar_error *err;
};

static void dump_struct(struct dump *d, const struct mtr_struct_info *info, const uint8_t *in);
static void dump_wire(struct dump *d, struct mtr_tr *rd, uint8_t type);

static void put(struct dump *d, const char *text)
{
  if (d->st == MORTAR_OK) d->st = mtr_buf_append(d->out, text, strlen(text), d->err);
}

static void put_i64(struct dump *d, int64_t v)
{
  if (d->st == MORTAR_OK) d->st = mtr_buf_printf(d->out, d->err, "%" PRId64, v);
}

/* Seventeen digits bring every double back. */
static void put_double(struct dump *d, double v)
{
  if (isnan(v))
    put(d, "\"NaN\"");
  else if (isinf(v))
    put(d, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  else if (d->st == MORTAR_OK)
    d->st = mtr_buf_printf(d->out, d->err, "%.17g", v);
}

static void put_escaped(struct dump *d, uint8_t c)
{
  if (c == '"')
    put(d, "\\\"");
  else if (c == '\\')
    put(d, "\\\\");
  else if (d->st == MORTAR_OK)
    d->st = mtr_buf_printf(d->out, d->err, "\\u%04x", c);
}

static void put_text(struct dump *d, struct mtr_span text)
{
  size_t i, from = 0;

  for (i = 0; i < text.size && d->st == MORTAR_OK; i++) {
    uint8_t c = text.data[i];
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    d->st = mtr_buf_append(d->out, text.data + from, i - from, d->err);
    put_escaped(d, c);
    from = i + 1;
  }
  if (text.size > from && d->st == MORTAR_OK)
    d->st = mtr_buf_append(d->out, text.data + from, text.size - from, d->err);
}

static void put_hex(struct dump *d, struct mtr_span bytes)
{
  static const char digits[] = "0123456789abcdef";
  size_t i;

  put(d, "hex:");
  if (d->st == MORTAR_OK) d->st = mtr_buf_reserve(d->out, bytes.size * 2, d->err);
  for (i = 0; i < bytes.size && d->st == MORTAR_OK; i++) {
    d->out->data[d->out->size++] = (uint8_t)digits[bytes.data[i] >> 4];
    d->out->data[d->out->size++] = (uint8_t)digits[bytes.data[i] & 15];
  }
}

static void put_string(struct dump *d, struct mtr_span text, bool is_text)
{
  put(d, "\"");
  if (is_text)
    put_text(d, text);
  else
    put_hex(d, text);
  put(d, "\"");
}

static void dump_wire_list(struct dump *d, struct mtr_tr *rd)
{
  uint8_t element;
  uint32_t i, count = mtr_tr_list(rd, &element);

  put(d, "[");
  for (i = 0; i < count && d->st == MORTAR_OK; i++) {
    if (i) put(d, ",");
    dump_wire(d, rd, element);
  }
  put(d, "]");
}

/* Inside of lists of lists anything may stand; what the interface has there is text. */
static void dump_wire_other(struct dump *d, struct mtr_tr *rd, uint8_t type)
{
  const uint8_t *from = rd->pos;

  mtr_tr_skip(rd, type, 0);
  put_string(d, mtr_span_of(from, (size_t)(rd->pos - from)), false);
}

static void dump_wire_string(struct dump *d, struct mtr_span text)
{
  put_string(d, text, mtr_utf8_valid(text));
}

/* One value as it stands on the wire. The reader has checked it to be whole, and its depth. */
static void dump_wire(struct dump *d, struct mtr_tr *rd, uint8_t type)
{
  if (type == MTR_T_BOOL)
    put(d, mtr_tr_u8(rd) ? "true" : "false");
  else if (type == MTR_T_I8)
    put_i64(d, (int8_t)mtr_tr_u8(rd));
  else if (type == MTR_T_I16)
    put_i64(d, mtr_tr_i16(rd));
  else if (type == MTR_T_I32)
    put_i64(d, mtr_tr_i32(rd));
  else if (type == MTR_T_I64)
    put_i64(d, mtr_tr_i64(rd));
  else if (type == MTR_T_DOUBLE)
    put_double(d, mtr_tr_double(rd));
  else if (type == MTR_T_STRING)
    dump_wire_string(d, mtr_tr_string(rd));
  else if (type == MTR_T_LIST)
    dump_wire_list(d, rd);
  else
    dump_wire_other(d, rd, type);
}

static void dump_list(struct dump *d, const struct mtr_field_info *f,
                      const struct mtr_thrift_values *v)
{
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, v->bytes);
  put(d, "[");
  for (i = 0; i < v->count && d->st == MORTAR_OK; i++) {
    if (i) put(d, ",");
    dump_wire(d, &rd, f->element);
  }
  put(d, "]");
}

static void dump_map_struct_value(struct dump *d, struct mtr_tr *rd,
                                  const struct mtr_struct_info *info)
{
  struct mtr_arena arena;
  struct mtr_struct_reader sr = {.rd = *rd, .arena = &arena};
  void *value;

  mtr_arena_init(&arena, d->out->alloc, ARENA_MAX);
  value = mtr_arena_alloc(&arena, 1, info->size);
  if (value) mtr_thrift_read_struct(&sr, info, value);
  *rd = sr.rd;
  if (value && !sr.nomem)
    dump_struct(d, info, value);
  else if (d->st == MORTAR_OK)
    d->st = mtr_fail_nomem(d->err, info->name);
  mtr_arena_fini(&arena);
}

static void dump_map(struct dump *d, const struct mtr_field_info *f,
                     const struct mtr_thrift_values *v)
{
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, v->bytes);
  put(d, "{");
  for (i = 0; i < v->count && d->st == MORTAR_OK; i++) {
    if (i) put(d, ",");
    dump_wire_string(d, mtr_tr_string(&rd));
    put(d, ":");
    if (f->sub)
      dump_map_struct_value(d, &rd, f->sub);
    else
      dump_wire(d, &rd, f->element);
  }
  put(d, "}");
}

static void dump_struct_list(struct dump *d, const struct mtr_field_info *f, const void *value)
{
  struct mtr_struct_list list;
  size_t i;

  memcpy(&list, value, sizeof list);
  put(d, "[");
  for (i = 0; i < list.count && d->st == MORTAR_OK; i++) {
    if (i) put(d, ",");
    dump_struct(d, f->sub, (const uint8_t *)list.items + i * f->sub->size);
  }
  put(d, "]");
}

static void dump_sub(struct dump *d, const struct mtr_field_info *f, const void *value)
{
  const void *sub;

  memcpy(&sub, value, sizeof sub);
  dump_struct(d, f->sub, sub);
}

static void dump_value(struct dump *d, const struct mtr_field_info *f, const void *value)
{
  switch ((enum mtr_field_kind)f->kind) {
    case MTR_KIND_BOOL:
      put(d, *(const bool *)value ? "true" : "false");
      break;
    case MTR_KIND_I8:
      put_i64(d, *(const int8_t *)value);
      break;
    case MTR_KIND_I16:
      put_i64(d, *(const int16_t *)value);
      break;
    case MTR_KIND_I32:
      put_i64(d, *(const int32_t *)value);
      break;
    case MTR_KIND_I64:
      put_i64(d, *(const int64_t *)value);
      break;
    case MTR_KIND_DOUBLE:
      put_double(d, *(const double *)value);
      break;
    case MTR_KIND_STRING:
      dump_wire_string(d, *(const struct mtr_span *)value);
      break;
    case MTR_KIND_BINARY:
      put_string(d, *(const struct mtr_span *)value, false);
      break;
    case MTR_KIND_STRUCT:
      dump_sub(d, f, value);
      break;
    case MTR_KIND_LIST_STRUCT:
      dump_struct_list(d, f, value);
      break;
    case MTR_KIND_LIST:
      dump_list(d, f, value);
      break;
    case MTR_KIND_MAP:
    case MTR_KIND_MAP_STRUCT:
      dump_map(d, f, value);
      break;
  }
}

static void dump_struct(struct dump *d, const struct mtr_struct_info *info, const uint8_t *in)
{
  const char *separator = "\"";
  uint64_t has;
  unsigned i;

  memcpy(&has, in, sizeof has);
  put(d, "{");
  for (i = 0; i < info->field_count; i++) {
    if (!(has >> i & 1)) continue;
    put(d, separator);
    put(d, info->fields[i].name);
    put(d, "\":");
    dump_value(d, &info->fields[i], in + info->fields[i].offset);
    separator = ",\"";
  }
  put(d, "}");
}

enum mortar_status mtr_thrift_dump(const struct mtr_struct_info *info, const void *in,
                                   struct mtr_buf *out, struct mortar_error *err)
{
  struct dump d = {out, MORTAR_OK, err};

  dump_struct(&d, info, in);
  return d.st;
}
