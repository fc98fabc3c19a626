/* Reads Schema messages into the schema model. Refuses by name what the model has no type for.
 * Numbers of tables, fields and units are those of Schema.fbs. */
#include "arrow/ipc_reader.h"

#include <inttypes.h>

#include "arrow/format_string.h"
#include "arrow/ipc_head.h"
#include "base/error.h"

struct reader {
  struct mtr_flat flat;
  struct mtr_arena *arena;
  int64_t fields; /* read so far */
  size_t budget;  /* see SHARING */
  struct mortar_error *err;
};

/* Flatbuffer tables and texts may be reached by many paths, so that a small message could unfold
 * to a huge schema. Writers do not share them; so many times over is granted. */
enum { SHARING = 16, TABLE_BYTES = 8 };

/* The Type union. The names of those without a type of ours are for the error's text. */
enum {
  TYPE_NULL = 1,
  TYPE_INT,
  TYPE_FLOAT,
  TYPE_BINARY,
  TYPE_UTF8,
  TYPE_BOOL,
  TYPE_DECIMAL,
  TYPE_DATE,
  TYPE_TIME,
  TYPE_TIMESTAMP,
  TYPE_INTERVAL,
  TYPE_LIST,
  TYPE_STRUCT,
  TYPE_UNION,
  TYPE_FIXED_BINARY,
  TYPE_FIXED_LIST,
  TYPE_MAP,
  TYPE_DURATION,
  TYPE_LARGE_BINARY,
  TYPE_LARGE_UTF8,
  TYPE_LARGE_LIST,
  TYPE_RUN_END,
  TYPE_BINARY_VIEW,
  TYPE_UTF8_VIEW,
  TYPE_LIST_VIEW,
  TYPE_LARGE_LIST_VIEW,
  TYPE_COUNT
};

static const char *refused_name(int64_t id, int64_t mode)
{
  switch (id) {
    case TYPE_UNION:
      return mode == 0 ? "sparse union" : "dense union";
    case TYPE_RUN_END:
      return "run-end encoded";
    case TYPE_BINARY_VIEW:
      return "binary view";
    case TYPE_UTF8_VIEW:
      return "utf8 view";
    case TYPE_LIST_VIEW:
      return "list view";
    case TYPE_LARGE_LIST_VIEW:
      return "large list view";
    default:
      return NULL;
  }
}

static enum mortar_status bad_parameter(struct reader *rd, const char *what, int64_t value)
{
  return mtr_fail(rd->err, MORTAR_CORRUPT, "%s %" PRId64 " is not known", what, value);
}

static enum mortar_status read_int(struct reader *rd, const struct mtr_flat_table *t,
                                   struct mtr_arrow_field *out)
{
  int64_t bits = mtr_flat_int(&rd->flat, t, 0, 4, 0);
  bool is_signed = mtr_flat_int(&rd->flat, t, 1, 1, 0) != 0;

  switch (bits) {
    case 8:
      out->type = is_signed ? MTR_ARROW_INT8 : MTR_ARROW_UINT8;
      break;
    case 16:
      out->type = is_signed ? MTR_ARROW_INT16 : MTR_ARROW_UINT16;
      break;
    case 32:
      out->type = is_signed ? MTR_ARROW_INT32 : MTR_ARROW_UINT32;
      break;
    case 64:
      out->type = is_signed ? MTR_ARROW_INT64 : MTR_ARROW_UINT64;
      break;
    default:
      return bad_parameter(rd, "integer width", bits);
  }
  return MORTAR_OK;
}

/* Types that a small number picks: out = first + number, number < count. */
static enum mortar_status read_choice(struct reader *rd, const char *what, int64_t number,
                                      const uint8_t *types, int64_t count,
                                      struct mtr_arrow_field *out)
{
  if (number < 0 || number >= count) return bad_parameter(rd, what, number);
  out->type = (enum mtr_arrow_type)types[number];
  return MORTAR_OK;
}

static enum mortar_status read_float(struct reader *rd, const struct mtr_flat_table *t,
                                     struct mtr_arrow_field *out)
{
  static const uint8_t types[] = {MTR_ARROW_HALF, MTR_ARROW_FLOAT, MTR_ARROW_DOUBLE};

  return read_choice(rd, "floating-point precision", mtr_flat_int(&rd->flat, t, 0, 2, 0), types, 3,
                     out);
}

static enum mortar_status read_date(struct reader *rd, const struct mtr_flat_table *t,
                                    struct mtr_arrow_field *out)
{
  static const uint8_t types[] = {MTR_ARROW_DATE32, MTR_ARROW_DATE64};

  return read_choice(rd, "date unit", mtr_flat_int(&rd->flat, t, 0, 2, 1), types, 2, out);
}

static enum mortar_status read_interval(struct reader *rd, const struct mtr_flat_table *t,
                                        struct mtr_arrow_field *out)
{
  static const uint8_t types[] = {MTR_ARROW_INTERVAL_MONTHS, MTR_ARROW_INTERVAL_DAY_TIME,
                                  MTR_ARROW_INTERVAL_MONTH_DAY_NANO};

  return read_choice(rd, "interval unit", mtr_flat_int(&rd->flat, t, 0, 2, 0), types, 3, out);
}

static enum mortar_status read_unit(struct reader *rd, const struct mtr_flat_table *t,
                                    enum mtr_time_unit absent, struct mtr_arrow_field *out)
{
  int64_t unit = mtr_flat_int(&rd->flat, t, 0, 2, absent);

  if (unit < MTR_UNIT_SECOND || unit > MTR_UNIT_NANO) return bad_parameter(rd, "time unit", unit);
  out->unit = (uint8_t)unit;
  return MORTAR_OK;
}

static enum mortar_status read_time(struct reader *rd, const struct mtr_flat_table *t,
                                    struct mtr_arrow_field *out)
{
  int64_t bits = mtr_flat_int(&rd->flat, t, 1, 4, 32);

  MTR_TRY(read_unit(rd, t, MTR_UNIT_MILLI, out));
  out->type = out->unit <= MTR_UNIT_MILLI ? MTR_ARROW_TIME32 : MTR_ARROW_TIME64;
  if (bits == (out->type == MTR_ARROW_TIME32 ? 32 : 64)) return MORTAR_OK;
  return bad_parameter(rd, "time width", bits);
}

/* Counts bytes of the message as read. */
static enum mortar_status spend(struct reader *rd, size_t n)
{
  if (n > rd->budget)
    return mtr_fail(rd->err, MORTAR_CORRUPT, "Arrow schema unfolds to more than %d times its size",
                    SHARING);
  rd->budget -= n;
  return MORTAR_OK;
}

/* A copy in the arena; *size tells of NULs inside. */
static enum mortar_status copy_text(struct reader *rd, struct mtr_span text, const char **out,
                                    size_t *size)
{
  *size = text.size;
  MTR_TRY(spend(rd, text.size));
  *out = mtr_arena_text(rd->arena, text.data, text.size);
  return *out ? MORTAR_OK : mtr_schema_nomem(rd->arena, rd->err);
}

static enum mortar_status read_timestamp(struct reader *rd, const struct mtr_flat_table *t,
                                         struct mtr_arrow_field *out)
{
  struct mtr_span zone = mtr_flat_text(&rd->flat, t, 1);
  size_t size;

  out->type = MTR_ARROW_TIMESTAMP;
  MTR_TRY(read_unit(rd, t, MTR_UNIT_SECOND, out));
  return zone.size ? copy_text(rd, zone, &out->timezone, &size) : MORTAR_OK;
}

static enum mortar_status read_decimal(struct reader *rd, const struct mtr_flat_table *t,
                                       struct mtr_arrow_field *out)
{
  int64_t bits = mtr_flat_int(&rd->flat, t, 2, 4, 128);

  if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
    return bad_parameter(rd, "decimal width", bits);
  out->type = MTR_ARROW_DECIMAL;
  out->precision = (int32_t)mtr_flat_int(&rd->flat, t, 0, 4, 0);
  out->scale = (int32_t)mtr_flat_int(&rd->flat, t, 1, 4, 0);
  out->byte_width = (int32_t)(bits / 8);
  return MORTAR_OK;
}

static enum mortar_status read_plain(enum mtr_arrow_type type, struct mtr_arrow_field *out)
{
  out->type = type;
  return MORTAR_OK;
}

static enum mortar_status read_sized(struct reader *rd, const struct mtr_flat_table *t,
                                     enum mtr_arrow_type type, struct mtr_arrow_field *out)
{
  out->type = type;
  out->byte_width = (int32_t)mtr_flat_int(&rd->flat, t, 0, 4, 0);
  return MORTAR_OK;
}

static enum mortar_status read_type(struct reader *rd, int64_t id, const struct mtr_flat_table *t,
                                    struct mtr_arrow_field *out)
{
  const char *name;

  switch (id) {
    case TYPE_NULL:
      return read_plain(MTR_ARROW_NULL, out);
    case TYPE_INT:
      return read_int(rd, t, out);
    case TYPE_FLOAT:
      return read_float(rd, t, out);
    case TYPE_BINARY:
      return read_plain(MTR_ARROW_BINARY, out);
    case TYPE_UTF8:
      return read_plain(MTR_ARROW_UTF8, out);
    case TYPE_BOOL:
      return read_plain(MTR_ARROW_BOOL, out);
    case TYPE_DECIMAL:
      return read_decimal(rd, t, out);
    case TYPE_DATE:
      return read_date(rd, t, out);
    case TYPE_TIME:
      return read_time(rd, t, out);
    case TYPE_TIMESTAMP:
      return read_timestamp(rd, t, out);
    case TYPE_INTERVAL:
      return read_interval(rd, t, out);
    case TYPE_LIST:
      return read_plain(MTR_ARROW_LIST, out);
    case TYPE_STRUCT:
      return read_plain(MTR_ARROW_STRUCT, out);
    case TYPE_FIXED_BINARY:
      return read_sized(rd, t, MTR_ARROW_FIXED_BINARY, out);
    case TYPE_FIXED_LIST:
      return read_sized(rd, t, MTR_ARROW_FIXED_LIST, out);
    case TYPE_MAP:
      out->keys_sorted = mtr_flat_int(&rd->flat, t, 0, 1, 0) != 0;
      return read_plain(MTR_ARROW_MAP, out);
    case TYPE_DURATION:
      out->type = MTR_ARROW_DURATION;
      return read_unit(rd, t, MTR_UNIT_MILLI, out);
    case TYPE_LARGE_BINARY:
      return read_plain(MTR_ARROW_LARGE_BINARY, out);
    case TYPE_LARGE_UTF8:
      return read_plain(MTR_ARROW_LARGE_UTF8, out);
    case TYPE_LARGE_LIST:
      return read_plain(MTR_ARROW_LARGE_LIST, out);
    default:
      break;
  }
  name = refused_name(id, mtr_flat_int(&rd->flat, t, 0, 2, 0));
  if (!name) return bad_parameter(rd, "Arrow type", id);
  return mtr_fail(rd->err, MORTAR_UNSUPPORTED, "Arrow type %s is not supported", name);
}

static enum mortar_status read_metadata(struct reader *rd, const struct mtr_flat_table *t,
                                        unsigned id, struct mtr_arrow_field *out)
{
  struct mtr_flat_vector list = mtr_flat_list(&rd->flat, t, id, 4);
  size_t i;

  if (list.count == 0) return MORTAR_OK;
  MTR_TRY(spend(rd, list.count * TABLE_BYTES));
  out->metadata = mtr_arena_alloc(rd->arena, list.count, sizeof *out->metadata);
  if (!out->metadata) return mtr_schema_nomem(rd->arena, rd->err);
  for (i = 0; i < list.count; i++) {
    struct mtr_flat_table pair = mtr_flat_item(&rd->flat, list, i);
    struct mtr_arrow_metadata *to = &out->metadata[i];
    MTR_TRY(copy_text(rd, mtr_flat_text(&rd->flat, &pair, 0), &to->key, &to->key_size));
    MTR_TRY(copy_text(rd, mtr_flat_text(&rd->flat, &pair, 1), &to->value, &to->value_size));
  }
  out->metadata_count = (int64_t)list.count;
  return MORTAR_OK;
}

static enum mortar_status read_field(struct reader *rd, const struct mtr_flat_table *t, int depth,
                                     struct mtr_arrow_field *out);

static enum mortar_status read_children(struct reader *rd, const struct mtr_flat_table *t,
                                        unsigned id, int depth, struct mtr_arrow_field *out)
{
  struct mtr_flat_vector list = mtr_flat_list(&rd->flat, t, id, 4);
  size_t i;

  if (list.count == 0) return MORTAR_OK;
  MTR_TRY(spend(rd, list.count * TABLE_BYTES));
  rd->fields += (int64_t)list.count;
  if (depth >= MTR_SCHEMA_MAX_DEPTH || rd->fields > MTR_SCHEMA_MAX_FIELDS)
    return mtr_fail(rd->err, MORTAR_LIMIT, "schema of more than %d levels or %d fields",
                    MTR_SCHEMA_MAX_DEPTH, MTR_SCHEMA_MAX_FIELDS);
  out->children = mtr_arena_alloc(rd->arena, list.count, sizeof *out->children);
  if (!out->children) return mtr_schema_nomem(rd->arena, rd->err);
  out->child_count = (int64_t)list.count;
  for (i = 0; i < list.count; i++) {
    struct mtr_flat_table child = mtr_flat_item(&rd->flat, list, i);
    MTR_TRY(read_field(rd, &child, depth + 1, &out->children[i]));
  }
  return MORTAR_OK;
}

/* What makes a field complete once its table was read. */
static enum mortar_status finish_field(struct reader *rd, struct mtr_arrow_field *out)
{
  if (rd->flat.bad) return mtr_fail(rd->err, MORTAR_CORRUPT, "Arrow schema is malformed");
  MTR_TRY(mtr_field_check(out, rd->err));
  out->format = mtr_format_make(out, rd->arena);
  return out->format ? MORTAR_OK : mtr_schema_nomem(rd->arena, rd->err);
}

static enum mortar_status read_parts(struct reader *rd, const struct mtr_flat_table *t, int depth,
                                     struct mtr_arrow_field *out)
{
  struct mtr_flat_table type = mtr_flat_child(&rd->flat, t, 3);

  if (rd->flat.bad) return mtr_fail(rd->err, MORTAR_CORRUPT, "Arrow schema is malformed");
  out->nullable = mtr_flat_int(&rd->flat, t, 1, 1, 0) != 0;
  if (mtr_flat_has(&rd->flat, t, 4))
    return mtr_fail(rd->err, MORTAR_UNSUPPORTED, "dictionary-encoded columns are not supported");
  MTR_TRY(read_type(rd, mtr_flat_int(&rd->flat, t, 2, 1, 0), &type, out));
  MTR_TRY(read_children(rd, t, 5, depth, out));
  MTR_TRY(read_metadata(rd, t, 6, out));
  return finish_field(rd, out);
}

static enum mortar_status read_field(struct reader *rd, const struct mtr_flat_table *t, int depth,
                                     struct mtr_arrow_field *out)
{
  enum mortar_status st;
  size_t size;

  MTR_TRY(copy_text(rd, mtr_flat_text(&rd->flat, t, 0), &out->name, &size));
  st = read_parts(rd, t, depth, out);
  if (st != MORTAR_OK) mtr_field_blame(rd->err, depth, out->name);
  return st;
}

static enum mortar_status read_root(struct reader *rd, const struct mtr_flat_table *t,
                                    struct mtr_arrow_schema *out)
{
  out->root.name = "";
  out->root.type = MTR_ARROW_STRUCT;
  if (mtr_flat_int(&rd->flat, t, 0, 2, 0) != 0)
    return mtr_fail(rd->err, MORTAR_UNSUPPORTED, "big-endian Arrow streams are not supported");
  MTR_TRY(read_children(rd, t, 1, 0, &out->root));
  MTR_TRY(read_metadata(rd, t, 2, &out->root));
  MTR_TRY(finish_field(rd, &out->root));
  out->metadata = out->root.metadata;
  out->metadata_count = out->root.metadata_count;
  mtr_schema_count(out);
  return MORTAR_OK;
}

enum mortar_status mtr_ipc_read_schema(struct mtr_span stream, struct mtr_arena *arena,
                                       struct mtr_arrow_schema *out, struct mortar_error *err)
{
  struct mtr_ipc_message message;
  struct mtr_ipc_head head;
  struct reader rd = {.arena = arena, .err = err};
  enum mortar_status st = mtr_ipc_next(stream, &message, err);

  memset(out, 0, sizeof *out);
  if (st == MORTAR_MORE)
    return mtr_fail(err, MORTAR_CORRUPT, "Arrow schema message is cut off after %zu bytes",
                    stream.size);
  if (st != MORTAR_OK) return st;
  if (message.kind != MTR_IPC_SCHEMA)
    return mtr_fail(err, MORTAR_CORRUPT, "the Arrow stream does not begin with a schema");
  MTR_TRY(mtr_ipc_head_read(message.head, &head, err));
  rd.flat = head.flat;
  rd.budget = message.head.size * SHARING;
  return read_root(&rd, &head.header, out);
}
