/* Guesses what is text in a batch, see text_batch.h, reads it so, and joins what was text, read,
 * and all other columns into a batch of the schema that users see. */
#include "client/thrift/text_batch.h"

#include "arrow/bits.h"
#include "arrow/join.h"
#include "base/error.h"
#include "client/thrift/column_values.h"

/* The values of one batch's columns; a batch is at most 2 GiB, and so is what it is read into. */
#define SCRATCH_MAX ((size_t)8 << 30)

/* Types that may come as text, one bit each. */
enum { DECIMALS = 1, MOMENTS = 2, VOIDS = 4, GUESSES = 8 };

static int kind_of(const struct mtr_arrow_field *field)
{
  switch (field->type) {
    case MTR_ARROW_DECIMAL:
      return DECIMALS;
    case MTR_ARROW_TIMESTAMP:
      return MOMENTS;
    case MTR_ARROW_NULL:
      return VOIDS;
    default:
      return 0;
  }
}

/* The buffers of a batch in which the columns of these kinds are text. */
static int64_t buffers_of(const struct mtr_arrow_schema *schema, int text)
{
  int64_t count = schema->buffer_count, i;

  for (i = 0; i < schema->root.child_count; i++) {
    const struct mtr_arrow_field *field = &schema->root.children[i];
    if (kind_of(field) & text)
      count += mtr_arrow_buffer_count(MTR_ARROW_UTF8) - mtr_arrow_buffer_count(field->type);
  }
  return count;
}

/* 0 as well where nothing fits: the reader says what is wrong. */
static int guess(const struct mtr_arrow_schema *schema, const struct mtr_ipc_message *message)
{
  const int64_t have = mtr_ipc_buffer_count(message);
  int text;

  for (text = 0; text < GUESSES; text++)
    if (buffers_of(schema, text) == have) return text;
  return 0;
}

/* The schema as the batch has it. */
static enum mortar_status make_wire(const struct mtr_arrow_schema *schema, int text,
                                    struct mtr_arena *arena, struct mtr_arrow_schema *out,
                                    struct mortar_error *err)
{
  const size_t n = (size_t)schema->root.child_count;
  size_t i;

  *out = *schema;
  out->buffer_count = buffers_of(schema, text);
  out->root.children = mtr_arena_alloc(arena, n, sizeof *out->root.children);
  if (!out->root.children) return mtr_fail_nomem(err, "schema");
  for (i = 0; i < n; i++) {
    out->root.children[i] = schema->root.children[i];
    if (kind_of(&schema->root.children[i]) & text) out->root.children[i].type = MTR_ARROW_UTF8;
  }
  return MORTAR_OK;
}

static struct mtr_span text_at(const struct ArrowArray *column, int64_t i)
{
  const int32_t *offsets = column->buffers[1];

  return mtr_span_of((const uint8_t *)column->buffers[2] + offsets[i],
                     (size_t)(offsets[i + 1] - offsets[i]));
}

/* Makes out, which is a copy of a text column, one of the field's type, in arena. The reader gave
 * it no offset. */
static enum mortar_status read_column(const struct mtr_arrow_field *field,
                                      const struct ArrowArray *column, struct mtr_arena *arena,
                                      struct ArrowArray *out, struct mortar_error *err)
{
  const size_t width = (size_t)field->byte_width;
  const uint8_t *valid = column->buffers[0];
  uint8_t *values;
  int64_t i;

  out->n_buffers = mtr_arrow_buffer_count(field->type);
  if (out->n_buffers == 0) return MORTAR_OK;
  values = mtr_arena_alloc(arena, (size_t)column->length + 1, width);
  out->buffers = mtr_arena_alloc(arena, 2, sizeof *out->buffers);
  if (!values || !out->buffers) return mtr_fail_nomem(err, "values of a batch");
  out->buffers[0] = valid;
  out->buffers[1] = values;
  for (i = 0; i < column->length; i++) {
    if (valid && !mtr_bit(valid, i)) continue;
    MTR_TRY(mtr_thrift_parse_cell(field, (size_t)i, text_at(column, i), values + (size_t)i * width,
                                  err));
  }
  return MORTAR_OK;
}

/* A view of wire in which the texts are read; nothing of it is owned. */
static enum mortar_status read_columns(const struct mtr_arrow_schema *schema,
                                       const struct ArrowArray *wire, int text,
                                       struct mtr_arena *arena, struct ArrowArray *out,
                                       struct mortar_error *err)
{
  const size_t n = (size_t)wire->n_children;
  struct ArrowArray *columns = mtr_arena_alloc(arena, n, sizeof *columns);
  size_t i;

  *out = *wire;
  out->children = mtr_arena_alloc(arena, n, sizeof(struct ArrowArray *));
  if (!columns || !out->children) return mtr_fail_nomem(err, "columns of a batch");
  for (i = 0; i < n; i++) {
    const struct mtr_arrow_field *field = &schema->root.children[i];
    enum mortar_status st = MORTAR_OK;
    columns[i] = *wire->children[i];
    out->children[i] = &columns[i];
    if (kind_of(field) & text) st = read_column(field, wire->children[i], arena, &columns[i], err);
    if (st == MORTAR_OK) continue;
    mtr_error_prefix(err, "column %zu, '%.64s'", i, field->name);
    return st;
  }
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_read_batch(const struct mtr_arrow_schema *schema,
                                         const struct mtr_ipc_message *message,
                                         struct mtr_slab *owner, struct ArrowArray *out,
                                         struct mortar_error *err)
{
  const int text = guess(schema, message);
  struct ArrowArray wire = {.release = NULL}, view;
  struct mtr_arrow_schema wire_schema;
  struct mtr_arena arena;
  enum mortar_status st;

  if (!text) return mtr_ipc_read_batch(schema, message, owner, out, err);
  memset(out, 0, sizeof *out);
  mtr_arena_init(&arena, &owner->alloc, SCRATCH_MAX);
  MTR_GOTO(make_wire(schema, text, &arena, &wire_schema, err));
  MTR_GOTO(mtr_ipc_read_batch(&wire_schema, message, owner, &wire, err));
  MTR_GOTO(read_columns(schema, &wire, text, &arena, &view, err));
  MTR_GOTO(mtr_arrow_join(schema, &view, 1, &owner->alloc, out, err));
done:
  if (wire.release) wire.release(&wire);
  mtr_arena_fini(&arena);
  return st;
}
