/* Writes RecordBatch messages: the head with room for its nodes and buffers, then the body, whose
 * places are put into the head as they become known. Slices become arrays that start at zero. The
 * arrays are trusted; only the range of rows is checked. */
#include "arrow/ipc_writer.h"

#include <inttypes.h>

#include "arrow/bits.h"
#include "arrow/flatbuf_writer.h"
#include "base/error.h"

enum { V5 = 4, HEADER_BATCH = 3, PAIR = 16, ALIGNMENT = 8 };

struct writer {
  struct mtr_buf *out;
  size_t node, buffer; /* the next pairs to fill in the head */
  size_t body;         /* where the body begins */
  struct mortar_error *err;
};

/* Rows [first, first + rows) of an array, its own offset included. */
struct range {
  int64_t first, rows;
};

static void put_pair(struct writer *w, size_t *at, int64_t a, int64_t b)
{
  memcpy(w->out->data + *at, &a, sizeof a);
  memcpy(w->out->data + *at + sizeof a, &b, sizeof b);
  *at += PAIR;
}

/* Makes room for a buffer of size bytes, padded, and notes its place. The room is the caller's to
 * fill; it stays valid until the next one. */
static enum mortar_status open_buffer(struct writer *w, int64_t size, uint8_t **out)
{
  size_t padded = ((size_t)size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

  MTR_TRY(mtr_buf_reserve(w->out, padded, w->err));
  put_pair(w, &w->buffer, (int64_t)(w->out->size - w->body), size);
  *out = w->out->data + w->out->size;
  if (padded) memset(*out + size, 0, padded - (size_t)size);
  w->out->size += padded;
  return MORTAR_OK;
}

static enum mortar_status put_bytes(struct writer *w, const void *bytes, int64_t size)
{
  uint8_t *to;

  MTR_TRY(open_buffer(w, size, &to));
  if (size) memcpy(to, bytes, (size_t)size);
  return MORTAR_OK;
}

static enum mortar_status put_bits(struct writer *w, const void *bits, struct range r)
{
  uint8_t *to;

  MTR_TRY(open_buffer(w, mtr_bits_size(r.rows), &to));
  if (r.rows) mtr_bits_copy(to, bits, r.first, r.rows);
  return MORTAR_OK;
}

static int64_t count_nulls(const struct ArrowArray *array, struct range r)
{
  if (array->n_buffers == 0) return r.rows;
  if (array->null_count == 0 || !array->buffers[0]) return 0;
  return r.rows - mtr_bits_count(array->buffers[0], r.first, r.rows);
}

/* The node and, where the type has one, the validity: empty when nothing is null. */
static enum mortar_status put_node(struct writer *w, const struct ArrowArray *array, struct range r)
{
  int64_t nulls = count_nulls(array, r);

  put_pair(w, &w->node, r.rows, nulls);
  if (array->n_buffers == 0) return MORTAR_OK;
  return nulls ? put_bits(w, array->buffers[0], r) : put_bytes(w, NULL, 0);
}

/* Offsets as if the first were zero; *span is what they cover in the child or the bytes. An array
 * without rows may have no offsets at all. */
static enum mortar_status put_offsets32(struct writer *w, const int32_t *offsets, struct range r,
                                        struct range *span)
{
  int32_t base = r.rows ? offsets[r.first] : 0, value;
  uint8_t *to;
  int64_t i;

  MTR_TRY(open_buffer(w, (r.rows + 1) * 4, &to));
  for (i = 0; i <= r.rows; i++) {
    value = r.rows ? offsets[r.first + i] - base : 0;
    memcpy(to + 4 * i, &value, sizeof value);
  }
  span->first = base;
  span->rows = r.rows ? offsets[r.first + r.rows] - base : 0;
  return MORTAR_OK;
}

static enum mortar_status put_offsets64(struct writer *w, const int64_t *offsets, struct range r,
                                        struct range *span)
{
  int64_t base = r.rows ? offsets[r.first] : 0, value, i;
  uint8_t *to;

  MTR_TRY(open_buffer(w, (r.rows + 1) * 8, &to));
  for (i = 0; i <= r.rows; i++) {
    value = r.rows ? offsets[r.first + i] - base : 0;
    memcpy(to + 8 * i, &value, sizeof value);
  }
  span->first = base;
  span->rows = r.rows ? offsets[r.first + r.rows] - base : 0;
  return MORTAR_OK;
}

static enum mortar_status put_fixed(struct writer *w, const struct mtr_arrow_field *field,
                                    const struct ArrowArray *array, struct range r)
{
  const uint8_t *values = array->buffers[1];

  return put_bytes(w, r.rows ? values + r.first * field->byte_width : NULL,
                   r.rows * field->byte_width);
}

static enum mortar_status put_text(struct writer *w, const struct ArrowArray *array,
                                   struct range span)
{
  const uint8_t *bytes = array->buffers[2];

  return put_bytes(w, span.rows ? bytes + span.first : NULL, span.rows);
}

static enum mortar_status put_array(struct writer *w, const struct mtr_arrow_field *field,
                                    const struct ArrowArray *array, struct range r);

static enum mortar_status put_children(struct writer *w, const struct mtr_arrow_field *field,
                                       const struct ArrowArray *array, struct range r)
{
  int64_t i;

  if (field->type == MTR_ARROW_FIXED_LIST) {
    r.first *= field->byte_width;
    r.rows *= field->byte_width;
  }
  for (i = 0; i < field->child_count; i++)
    MTR_TRY(put_array(w, &field->children[i], array->children[i], r));
  return MORTAR_OK;
}

/* r counts from the array's own offset, as a parent sees it. */
static enum mortar_status put_array(struct writer *w, const struct mtr_arrow_field *field,
                                    const struct ArrowArray *array, struct range r)
{
  struct range span;

  r.first += array->offset;
  MTR_TRY(put_node(w, array, r));
  switch (mtr_arrow_layout_of(field->type)) {
    case MTR_LAYOUT_NONE:
      return MORTAR_OK;
    case MTR_LAYOUT_BITS:
      return put_bits(w, array->buffers[1], r);
    case MTR_LAYOUT_FIXED:
      return put_fixed(w, field, array, r);
    case MTR_LAYOUT_BINARY32:
      MTR_TRY(put_offsets32(w, array->buffers[1], r, &span));
      return put_text(w, array, span);
    case MTR_LAYOUT_BINARY64:
      MTR_TRY(put_offsets64(w, array->buffers[1], r, &span));
      return put_text(w, array, span);
    case MTR_LAYOUT_LIST32:
      MTR_TRY(put_offsets32(w, array->buffers[1], r, &span));
      return put_array(w, field->children, array->children[0], span);
    case MTR_LAYOUT_LIST64:
      MTR_TRY(put_offsets64(w, array->buffers[1], r, &span));
      return put_array(w, field->children, array->children[0], span);
    case MTR_LAYOUT_CHILDREN:
      break;
  }
  return put_children(w, field, array, r);
}

/* The head, nodes and buffers still zero; *body_size is where the size of the body goes. */
static enum mortar_status put_head(struct writer *w, const struct mtr_arrow_schema *schema,
                                   int64_t rows, size_t *body_size)
{
  struct mtr_flat_slot message[4] = {{2, V5, 0}, {1, HEADER_BATCH, 0}, {4, 0, 0}, {8, 0, 0}};
  struct mtr_flat_slot batch[3] = {{8, rows, 0}, {4, 0, 0}, {4, 0, 0}};
  struct mtr_flat_writer flat;

  MTR_TRY(mtr_flat_begin(&flat, w->out, w->err));
  MTR_TRY(mtr_flat_put_table(&flat, flat.begin, message, 4));
  MTR_TRY(mtr_flat_put_table(&flat, message[2].at, batch, 3));
  MTR_TRY(mtr_flat_put_vector(&flat, batch[1].at, (size_t)schema->node_count, PAIR, &w->node));
  MTR_TRY(mtr_flat_put_vector(&flat, batch[2].at, (size_t)schema->buffer_count, PAIR, &w->buffer));
  MTR_TRY(mtr_flat_end(&flat));
  *body_size = message[3].at;
  w->body = w->out->size;
  return MORTAR_OK;
}

static enum mortar_status put_batch(struct writer *w, const struct mtr_arrow_schema *schema,
                                    const struct ArrowArray *batch, struct range r)
{
  size_t body_size;
  int64_t size;

  MTR_TRY(put_head(w, schema, r.rows, &body_size));
  r.first += batch->offset;
  MTR_TRY(put_children(w, &schema->root, batch, r));
  size = (int64_t)(w->out->size - w->body);
  memcpy(w->out->data + body_size, &size, sizeof size);
  return MORTAR_OK;
}

enum mortar_status mtr_ipc_write_batch(const struct mtr_arrow_schema *schema,
                                       const struct ArrowArray *batch, int64_t first, int64_t rows,
                                       struct mtr_buf *out, struct mortar_error *err)
{
  struct writer w = {.out = out, .err = err};
  struct range r = {first, rows};
  size_t size = out->size;
  enum mortar_status st;

  if (first < 0 || rows < 0 || first > batch->length || rows > batch->length - first)
    return mtr_fail(err, MORTAR_INVALID,
                    "rows %" PRId64 " to %" PRId64 " of a batch that has %" PRId64, first,
                    first + rows, batch->length);
  if (batch->n_children != schema->root.child_count)
    return mtr_fail(err, MORTAR_INVALID,
                    "batch of %" PRId64 " columns where the schema has %" PRId64, batch->n_children,
                    schema->root.child_count);
  st = put_batch(&w, schema, batch, r);
  if (st != MORTAR_OK) out->size = size;
  return st;
}
