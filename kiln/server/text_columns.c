/* Writes columns as text for clients that know no better, see text_columns.h. */
#include "kiln/server/text_columns.h"

#include "base/error.h"

/* What such a protocol has a value for, as a client knows it from the table schema alone. */
static bool is_written(const struct mtr_arrow_field *field)
{
  switch (field->type) {
    case MTR_ARROW_NULL:
    case MTR_ARROW_UTF8:
    case MTR_ARROW_DATE32:
    case MTR_ARROW_TIMESTAMP:
      return false;
    default:
      return kiln_cell_kind(field) == KILN_CELL_TEXT;
  }
}

static int64_t nodes_of(const struct mtr_arrow_field *field, int64_t *buffers)
{
  int64_t nodes = 1, i;

  *buffers += mtr_arrow_buffer_count(field->type);
  for (i = 0; i < field->child_count; i++)
    nodes += nodes_of(&field->children[i], buffers);
  return nodes;
}

static enum mortar_status make_wire(struct kiln_text_columns *t, struct mortar_error *err)
{
  const struct mtr_arrow_field *root = &t->cells.source.schema->root;
  struct mtr_arrow_field *fields =
      mtr_arena_alloc(&t->arena, (size_t)root->child_count + 1, sizeof *fields);
  int64_t i;

  if (!fields) return mtr_fail_nomem(err, "schema");
  t->wire = *t->cells.source.schema;
  t->wire.root.children = fields;
  t->wire.node_count = t->wire.buffer_count = 0;
  for (i = 0; i < root->child_count; i++) {
    fields[i] = root->children[i];
    if (is_written(&fields[i])) {
      fields[i].type = MTR_ARROW_UTF8;
      fields[i].format = "u";
      fields[i].child_count = 0;
    }
    t->wire.node_count += nodes_of(&fields[i], &t->wire.buffer_count);
  }
  return MORTAR_OK;
}

enum mortar_status kiln_text_columns_init(struct kiln_text_columns *t,
                                          const struct kiln_page_source *source,
                                          struct mortar_error *err)
{
  kiln_cells_init(&t->cells, source);
  mtr_arena_init(&t->arena, NULL, KILN_PAGE_HARD_LIMIT);
  mtr_arena_init(&t->batch_arena, NULL, KILN_PAGE_HARD_LIMIT);
  return make_wire(t, err);
}

void kiln_text_columns_fini(struct kiln_text_columns *t)
{
  kiln_cells_fini(&t->cells);
  mtr_arena_fini(&t->arena);
  mtr_arena_fini(&t->batch_arena);
}

/* A text column in the making. */
struct written {
  uint8_t *valid;
  int32_t *offsets;
  const void **buffers;
};

static bool make_room(struct mtr_arena *arena, int64_t count, struct written *w)
{
  w->valid = mtr_arena_alloc(arena, (size_t)count / 8 + 1, 1);
  w->offsets = mtr_arena_alloc(arena, (size_t)count + 1, sizeof *w->offsets);
  w->buffers = mtr_arena_alloc(arena, 3, sizeof *w->buffers);
  return w->valid && w->offsets && w->buffers;
}

static enum mortar_status write_column(struct kiln_text_columns *t, int64_t column, int64_t first,
                                       int64_t count, struct ArrowArray *out,
                                       struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_cell cell;
  struct written w;
  struct mtr_buf text;
  int64_t i;

  mtr_buf_init(&text, NULL, "text of a column", INT32_MAX);
  if (!make_room(&t->batch_arena, count, &w)) MTR_GOTO(mtr_fail_nomem(err, "text of a column"));
  for (i = 0; i < count; i++) {
    MTR_GOTO(kiln_cell_read(&t->cells, column, first + i, &cell, err));
    if (cell.bytes.size) MTR_GOTO(mtr_buf_append(&text, cell.bytes.data, cell.bytes.size, err));
    if (!cell.null) w.valid[i / 8] = (uint8_t)(w.valid[i / 8] | 1u << i % 8);
    w.offsets[i + 1] = (int32_t)text.size;
  }
  w.buffers[0] = w.valid;
  w.buffers[1] = w.offsets;
  w.buffers[2] = mtr_arena_text(&t->batch_arena, text.data, text.size);
  if (!w.buffers[2]) MTR_GOTO(mtr_fail_nomem(err, "text of a column"));
  *out =
      (struct ArrowArray){.length = count, .null_count = -1, .n_buffers = 3, .buffers = w.buffers};
done:
  mtr_buf_fini(&text);
  return st;
}

/* The same rows of a column that stays. */
static void cut_column(const struct ArrowArray *batch, int64_t column, int64_t first, int64_t count,
                       struct ArrowArray *out)
{
  *out = *batch->children[column];
  out->offset += batch->offset + first;
  out->length = count;
  if (out->null_count > 0) out->null_count = -1;
}

enum mortar_status kiln_text_columns_view(struct kiln_text_columns *t,
                                          const struct ArrowArray *batch, int64_t first,
                                          int64_t count, struct ArrowArray *out,
                                          struct mortar_error *err)
{
  const struct mtr_arrow_field *root = &t->cells.source.schema->root;
  struct ArrowArray *columns;
  int64_t i;

  mtr_arena_reset(&t->batch_arena);
  t->cells.batch = batch;
  *out = *batch;
  out->offset = 0;
  out->length = count;
  columns = mtr_arena_alloc(&t->batch_arena, (size_t)root->child_count + 1, sizeof *columns);
  out->children =
      mtr_arena_alloc(&t->batch_arena, (size_t)root->child_count + 1, sizeof(struct ArrowArray *));
  if (!columns || !out->children) return mtr_fail_nomem(err, "columns of a batch");
  for (i = 0; i < root->child_count; i++) {
    out->children[i] = &columns[i];
    if (is_written(&root->children[i]))
      MTR_TRY(write_column(t, i, first, count, &columns[i], err));
    else
      cut_column(batch, i, first, count, &columns[i]);
  }
  return MORTAR_OK;
}
