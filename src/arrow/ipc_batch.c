/* Reads RecordBatch messages: field nodes and buffers of the flatbuffer become Arrow arrays, each
 * of them checked so that nobody else has to. One pass over the schema, no look-ups by name.
 *
 * Not checked: that text is UTF-8, that values make sense (dates, decimals of a precision). */
#include "arrow/ipc_reader.h"

#include <inttypes.h>

#include "arrow/batch_block.h"
#include "arrow/bits.h"
#include "arrow/format_string.h"
#include "arrow/ipc_head.h"
#include "base/error.h"

enum { NODE_STRUCT = 16, BUFFER_STRUCT = 16, ALIGNMENT = 8 };

/* Columns of nulls and empty structs take no bytes. So many rows of them are believed without: a
 * length alone must not make a consumer loop for hours. Any other column has a bit for each row. */
enum { FREE_ROWS = 1 << 24 };

struct reader {
  const uint8_t *node, *buffer; /* the next structs; their number is the schema's */
  struct mtr_span body;
  int64_t max_length;
  struct mtr_batch_parts parts;
  struct mortar_error *err;
};

/* What empty buffers point to: the C data interface wants an offset even without rows. */
static const int64_t zeros[8];

static enum mortar_status corrupt(struct reader *rd, const char *what)
{
  return mtr_fail(rd->err, MORTAR_CORRUPT, "Arrow batch: %s", what);
}

static void load_pair(const uint8_t *at, int64_t out[2]) { memcpy(out, at, 2 * sizeof *out); }

/* The next buffer, which must hold at least `need` bytes; *size is what it holds. */
static enum mortar_status take_buffer(struct reader *rd, int64_t need, const void **out,
                                      int64_t *size)
{
  int64_t place[2], limit = (int64_t)rd->body.size;

  load_pair(rd->buffer, place);
  rd->buffer += BUFFER_STRUCT;
  *out = zeros;
  *size = place[1];
  if (place[1] < need) return corrupt(rd, "a buffer is too short for its rows");
  if (place[1] == 0) return MORTAR_OK;
  if (place[0] < 0 || place[0] > limit || place[1] > limit - place[0])
    return corrupt(rd, "a buffer lies outside the body");
  if (place[0] % ALIGNMENT) return corrupt(rd, "a buffer is not aligned");
  *out = rd->body.data + place[0];
  return MORTAR_OK;
}

/* The sender's null count only says whether there is a bitmap to read: the bits decide. */
static enum mortar_status take_validity(struct reader *rd, struct ArrowArray *out)
{
  const void *bits;
  int64_t size, need = out->null_count > 0 ? mtr_bits_size(out->length) : 0;

  MTR_TRY(take_buffer(rd, need, &bits, &size));
  out->buffers[0] = NULL;
  if (out->null_count == 0 || out->length == 0 || size == 0) {
    out->null_count = 0;
    return MORTAR_OK;
  }
  if (size < mtr_bits_size(out->length)) return corrupt(rd, "a validity bitmap is too short");
  out->null_count = out->length - mtr_bits_count(bits, 0, out->length);
  if (out->null_count) out->buffers[0] = bits;
  return MORTAR_OK;
}

static enum mortar_status take_values(struct reader *rd, const struct mtr_arrow_field *field,
                                      struct ArrowArray *out)
{
  int64_t size, need;

  if (field->type == MTR_ARROW_BOOL)
    need = mtr_bits_size(out->length);
  else if (__builtin_mul_overflow(out->length, (int64_t)field->byte_width, &need))
    return corrupt(rd, "a length is out of range");
  return take_buffer(rd, need, &out->buffers[1], &size);
}

/* Offsets must not fall. The sign bits are gathered without a branch, so that the loop runs as wide
 * as the processor can: as long as all offsets so far are positive no difference overflows, and
 * once one is not, its own sign is kept. */
static bool rising32(const int32_t *offsets, int64_t count)
{
  uint32_t signs = (uint32_t)offsets[0];
  int64_t i;

  for (i = 0; i < count; i++)
    signs |= (uint32_t)offsets[i + 1] | ((uint32_t)offsets[i + 1] - (uint32_t)offsets[i]);
  return signs >> 31 == 0;
}

static bool rising64(const int64_t *offsets, int64_t count)
{
  uint64_t signs = (uint64_t)offsets[0];
  int64_t i;

  for (i = 0; i < count; i++)
    signs |= (uint64_t)offsets[i + 1] | ((uint64_t)offsets[i + 1] - (uint64_t)offsets[i]);
  return signs >> 63 == 0;
}

/* Takes length + 1 offsets; *end is the last one. Without rows there may be no offsets, or one that
 * points anywhere: a zero of our own takes their place. */
static enum mortar_status take_offsets(struct reader *rd, int width, struct ArrowArray *out,
                                       int64_t *end)
{
  int64_t size, need = out->length ? (out->length + 1) * width : 0;
  bool rising;

  *end = 0;
  MTR_TRY(take_buffer(rd, need, &out->buffers[1], &size));
  if (out->length == 0) {
    out->buffers[1] = zeros;
    return MORTAR_OK;
  }
  if (width == 4) {
    rising = rising32(out->buffers[1], out->length);
    *end = ((const int32_t *)out->buffers[1])[out->length];
  } else {
    rising = rising64(out->buffers[1], out->length);
    *end = ((const int64_t *)out->buffers[1])[out->length];
  }
  return rising ? MORTAR_OK : corrupt(rd, "offsets fall");
}

static enum mortar_status take_bytes(struct reader *rd, int width, struct ArrowArray *out)
{
  int64_t end, size;

  MTR_TRY(take_offsets(rd, width, out, &end));
  MTR_TRY(take_buffer(rd, 0, &out->buffers[2], &size));
  return end <= size ? MORTAR_OK : corrupt(rd, "offsets point behind the bytes");
}

static enum mortar_status take_field(struct reader *rd, const struct mtr_arrow_field *field,
                                     struct ArrowArray *out);

static enum mortar_status take_children(struct reader *rd, const struct mtr_arrow_field *field,
                                        struct ArrowArray *out, int64_t need)
{
  int64_t i;

  for (i = 0; i < field->child_count; i++) {
    MTR_TRY(take_field(rd, &field->children[i], out->children[i]));
    if (out->children[i]->length < need) return corrupt(rd, "a child is shorter than its parent");
  }
  return MORTAR_OK;
}

/* Consumers rely on map entries and keys without nulls, some with an abort. */
static enum mortar_status check_map(struct reader *rd, const struct ArrowArray *map)
{
  const struct ArrowArray *entries = map->children[0];

  if (entries->null_count == 0 && entries->children[0]->null_count == 0) return MORTAR_OK;
  return corrupt(rd, "a map has a null entry or key");
}

static enum mortar_status take_list(struct reader *rd, const struct mtr_arrow_field *field,
                                    int width, struct ArrowArray *out)
{
  int64_t end;

  MTR_TRY(take_offsets(rd, width, out, &end));
  MTR_TRY(take_children(rd, field, out, end));
  return field->type == MTR_ARROW_MAP ? check_map(rd, out) : MORTAR_OK;
}

static enum mortar_status take_nested(struct reader *rd, const struct mtr_arrow_field *field,
                                      struct ArrowArray *out)
{
  int64_t need = out->length;

  if (field->type == MTR_ARROW_FIXED_LIST &&
      __builtin_mul_overflow(need, (int64_t)field->byte_width, &need))
    return corrupt(rd, "a length is out of range");
  return take_children(rd, field, out, need);
}

static enum mortar_status take_node(struct reader *rd, struct ArrowArray *out)
{
  int64_t node[2];

  load_pair(rd->node, node);
  rd->node += NODE_STRUCT;
  if (node[0] < 0 || node[0] > rd->max_length) return corrupt(rd, "a length is out of range");
  if (node[1] < -1 || node[1] > node[0]) return corrupt(rd, "a null count is out of range");
  out->length = node[0];
  out->null_count = node[1];
  return MORTAR_OK;
}

static enum mortar_status take_field(struct reader *rd, const struct mtr_arrow_field *field,
                                     struct ArrowArray *out)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);

  mtr_batch_block_begin(&rd->parts, field, out);
  MTR_TRY(take_node(rd, out));
  if (layout == MTR_LAYOUT_NONE) {
    out->null_count = out->length;
    return MORTAR_OK;
  }
  MTR_TRY(take_validity(rd, out));
  switch (layout) {
    case MTR_LAYOUT_BINARY32:
      return take_bytes(rd, 4, out);
    case MTR_LAYOUT_BINARY64:
      return take_bytes(rd, 8, out);
    case MTR_LAYOUT_LIST32:
      return take_list(rd, field, 4, out);
    case MTR_LAYOUT_LIST64:
      return take_list(rd, field, 8, out);
    case MTR_LAYOUT_CHILDREN:
      return take_nested(rd, field, out);
    default:
      return take_values(rd, field, out);
  }
}

static enum mortar_status take_column(struct reader *rd, const struct mtr_arrow_field *field,
                                      int64_t rows, struct ArrowArray *out)
{
  enum mortar_status st = take_field(rd, field, out);

  if (st == MORTAR_OK && out->length != rows)
    st = mtr_fail(rd->err, MORTAR_CORRUPT, "Arrow batch: %" PRId64 " rows in a batch of %" PRId64,
                  out->length, rows);
  if (st != MORTAR_OK) mtr_field_blame(rd->err, 1, field->name);
  return st;
}

static enum mortar_status take_batch(struct reader *rd, const struct mtr_arrow_schema *schema,
                                     int64_t rows, struct ArrowArray *out)
{
  int64_t i;

  if (rows < 0 || rows > rd->max_length) return corrupt(rd, "the number of rows is out of range");
  mtr_batch_block_begin(&rd->parts, &schema->root, out);
  out->length = rows;
  out->buffers[0] = NULL;
  for (i = 0; i < schema->root.child_count; i++)
    MTR_TRY(take_column(rd, &schema->root.children[i], rows, out->children[i]));
  return MORTAR_OK;
}

/* What the RecordBatch table holds. */
struct table {
  int64_t rows, codec;
  bool compressed;
  struct mtr_span nodes, buffers;
};

static struct mtr_span structs(struct mtr_flat *flat, const struct mtr_flat_table *t, unsigned id,
                               unsigned width)
{
  struct mtr_flat_vector list = mtr_flat_list(flat, t, id, width);

  return mtr_span_of(flat->bytes.data + list.at, list.count * width);
}

static enum mortar_status read_table(const struct mtr_arrow_schema *schema,
                                     const struct mtr_ipc_message *message, struct table *out,
                                     struct mortar_error *err)
{
  struct mtr_ipc_head head;
  struct mtr_flat_table compression;

  MTR_TRY(mtr_ipc_head_read(message->head, &head, err));
  out->rows = mtr_flat_int(&head.flat, &head.header, 0, 8, 0);
  out->nodes = structs(&head.flat, &head.header, 1, NODE_STRUCT);
  out->buffers = structs(&head.flat, &head.header, 2, BUFFER_STRUCT);
  out->compressed = mtr_flat_has(&head.flat, &head.header, 3);
  compression = mtr_flat_child(&head.flat, &head.header, 3);
  out->codec = mtr_flat_int(&head.flat, &compression, 0, 1, 0);
  if (mtr_flat_int(&head.flat, &compression, 1, 1, 0) != 0)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "Arrow bodies compressed as a whole");
  if (head.flat.bad) return mtr_fail(err, MORTAR_CORRUPT, "Arrow batch is malformed");
  if (out->nodes.size / NODE_STRUCT != (size_t)schema->node_count ||
      out->buffers.size / BUFFER_STRUCT != (size_t)schema->buffer_count)
    return mtr_fail(err, MORTAR_CORRUPT,
                    "Arrow batch of %zu nodes and %zu buffers where the schema has %" PRId64
                    " and %" PRId64,
                    out->nodes.size / NODE_STRUCT, out->buffers.size / BUFFER_STRUCT,
                    schema->node_count, schema->buffer_count);
  return MORTAR_OK;
}

int64_t mtr_ipc_buffer_count(const struct mtr_ipc_message *message)
{
  struct mtr_ipc_head head;
  size_t size;

  if (mtr_ipc_head_read(message->head, &head, NULL) != MORTAR_OK) return -1;
  size = structs(&head.flat, &head.header, 2, BUFFER_STRUCT).size;
  return head.flat.bad ? -1 : (int64_t)(size / BUFFER_STRUCT);
}

static enum mortar_status check_message(const struct mtr_ipc_message *message,
                                        struct mortar_error *err)
{
  if (message->kind == MTR_IPC_DICTIONARY)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "Arrow dictionary batches are not supported");
  if (message->kind != MTR_IPC_BATCH)
    return mtr_fail(err, MORTAR_CORRUPT, "the Arrow message is no record batch");
  if (message->body.size && (uintptr_t)message->body.data % ALIGNMENT)
    return mtr_fail(err, MORTAR_CORRUPT, "the Arrow message body is not aligned");
  return MORTAR_OK;
}

static enum mortar_status read_body(const struct mtr_arrow_schema *schema,
                                    const struct table *table, struct mtr_span body,
                                    struct mtr_slab *slab, struct ArrowArray *out,
                                    struct mortar_error *err)
{
  struct reader rd = {
      .node = table->nodes.data, .buffer = table->buffers.data, .body = body, .err = err};
  enum mortar_status st;

  rd.max_length = body.size < INT64_MAX / 128 ? (int64_t)body.size * 8 + FREE_ROWS : INT64_MAX / 16;
  MTR_TRY(mtr_batch_block_new(schema, slab, &rd.parts, err));
  st = take_batch(&rd, schema, table->rows, out);
  if (st == MORTAR_OK) return MORTAR_OK;
  mtr_batch_block_free(rd.parts.block);
  memset(out, 0, sizeof *out);
  return st;
}

enum mortar_status mtr_ipc_read_batch(const struct mtr_arrow_schema *schema,
                                      const struct mtr_ipc_message *message, struct mtr_slab *owner,
                                      struct ArrowArray *out, struct mortar_error *err)
{
  enum mortar_status st;
  struct mtr_slab *decoded = NULL;
  struct table table;

  memset(out, 0, sizeof *out);
  MTR_TRY(check_message(message, err));
  MTR_TRY(read_table(schema, message, &table, err));
  if (!table.compressed) return read_body(schema, &table, message->body, owner, out, err);
  MTR_TRY(mtr_ipc_decompress(message, table.codec, table.buffers, &owner->alloc, &decoded, err));
  table.buffers.data = decoded->buf.data;
  st = read_body(schema, &table, mtr_buf_span(&decoded->buf), decoded, out, err);
  mtr_slab_unref(decoded); /* the batch keeps its own count */
  return st;
}
