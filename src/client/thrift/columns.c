/* Thrift columns as an Arrow batch, see columns.h. One slab per page, measured before it is filled:
 *
 *     [validity][values] [validity][offsets][text] ...    of each column, 64-byte aligned
 *
 * A column without nulls has no validity. */
#include "client/thrift/columns.h"

#include "arrow/batch_block.h"
#include "arrow/bits.h"
#include "base/error.h"

/* One page in Arrow's form: a reply, see max_reply_bytes, and what aligning adds. */
#define SLAB_MAX ((size_t)8 << 30)

/* ---- Taking -------------------------------------------------------------------------------- */

/* The one member of the union; false: there is none that we know. */
static bool pick(const struct mtr_TColumn *column, struct mtr_thrift_column *out)
{
#define MEMBER(name)                                                                               \
  if (column->name) {                                                                              \
    out->values = column->name->values;                                                            \
    out->nulls = column->name->nulls;                                                              \
    return true;                                                                                   \
  }
  MEMBER(string_val)
  MEMBER(i32_val)
  MEMBER(i64_val)
  MEMBER(double_val)
  MEMBER(bool_val)
  MEMBER(binary_val)
  MEMBER(i16_val)
  MEMBER(byte_val)
#undef MEMBER
  return false;
}

static enum mortar_status build(const struct mtr_page *page, const struct mtr_arrow_schema *schema,
                                const struct mortar_alloc *alloc, struct ArrowArray *out,
                                struct mortar_error *err)
{
  return mtr_thrift_build_columns(page->own, schema, alloc, out, err);
}

enum mortar_status mtr_thrift_take_columns(const struct mtr_TRowSet *set, struct mtr_arena *arena,
                                           struct mtr_page *page, struct mortar_error *err)
{
  const size_t count = set->columns.count;
  struct mtr_thrift_columns *columns =
      mtr_arena_alloc(arena, 1, sizeof *columns + count * sizeof *columns->items);
  size_t i;

  if (!columns) return mtr_fail_nomem(err, "list of columns");
  columns->count = count;
  for (i = 0; i < count; i++) {
    if (!pick(&set->columns.items[i], &columns->items[i]))
      return mtr_fail(err, MORTAR_PROTOCOL, "column %zu of the page has no values", i);
    if (i == 0) columns->rows = columns->items[i].values.count;
    if (columns->items[i].values.count != columns->rows)
      return mtr_fail(err, MORTAR_PROTOCOL,
                      "column %zu of the page has %u values, column 0 has %zu", i,
                      columns->items[i].values.count, columns->rows);
  }
  page->own = columns;
  page->own_rows = (int64_t)columns->rows;
  page->build = build;
  return MORTAR_OK;
}

/* ---- Measuring ----------------------------------------------------------------------------- */

static size_t bits_size(size_t rows) { return (size_t)mtr_bits_size((int64_t)rows); }

static size_t offsets_size(size_t rows) { return (rows + 1) * sizeof(int32_t); }

static size_t size_of(const struct mtr_thrift_column *column, const struct mtr_arrow_field *field)
{
  const size_t rows = column->values.count, validity = mtr_slab_align(bits_size(rows));

  switch (mtr_arrow_layout_of(field->type)) {
    case MTR_LAYOUT_NONE:
      return 0;
    case MTR_LAYOUT_BITS:
      return validity + mtr_slab_align(bits_size(rows));
    case MTR_LAYOUT_BINARY32:
      return validity + mtr_slab_align(offsets_size(rows)) +
             mtr_slab_align(mtr_thrift_text_size(column));
    default:
      return validity + mtr_slab_align(rows * (size_t)field->byte_width);
  }
}

static enum mortar_status check(const struct mtr_thrift_columns *columns,
                                const struct mtr_arrow_schema *schema, size_t *size,
                                struct mortar_error *err)
{
  size_t i;

  *size = 0;
  if (columns->count != (size_t)schema->root.child_count)
    return mtr_fail(err, MORTAR_PROTOCOL, "a page of %zu columns where the schema has %lld",
                    columns->count, (long long)schema->root.child_count);
  for (i = 0; i < columns->count; i++) {
    const struct mtr_arrow_field *field = &schema->root.children[i];
    const struct mtr_thrift_column *column = &columns->items[i];
    if (!mtr_thrift_column_fits(column, field))
      return mtr_fail(
          err, MORTAR_PROTOCOL,
          "column %zu, '%.64s', comes as Thrift type %d, which is not that of its schema", i,
          field->name, column->values.element);
    if (mtr_arrow_layout_of(field->type) == MTR_LAYOUT_BINARY32 &&
        mtr_thrift_text_size(column) > INT32_MAX)
      return mtr_fail(
          err, MORTAR_LIMIT,
          "column %zu, '%.64s', has %zu bytes in one page; set page_rows to get smaller "
          "pages",
          i, field->name, mtr_thrift_text_size(column));
    *size += size_of(column, field);
  }
  return MORTAR_OK;
}

/* ---- Filling ------------------------------------------------------------------------------- */

/* The next size bytes of the room that was measured; the gap behind them is zeroed. */
static uint8_t *take(uint8_t **room, size_t size)
{
  uint8_t *at = *room;

  memset(at + size, 0, mtr_slab_align(size) - size);
  *room += mtr_slab_align(size);
  return at;
}

/* Bits that are not told are of rows that are not null. */
static void fill_validity(const struct mtr_thrift_column *column, uint8_t **room,
                          struct ArrowArray *out)
{
  const int64_t rows = (int64_t)column->values.count, told = (int64_t)column->nulls.size * 8;
  uint8_t *bits;
  size_t i;

  out->null_count = mtr_bits_count(column->nulls.data, 0, told < rows ? told : rows);
  if (out->null_count == 0) return;
  bits = take(room, bits_size(column->values.count));
  for (i = 0; i < bits_size(column->values.count); i++)
    bits[i] = i < column->nulls.size ? (uint8_t)~column->nulls.data[i] : 0xff;
  out->buffers[0] = bits;
}

static enum mortar_status fill(const struct mtr_thrift_column *column,
                               const struct mtr_arrow_field *field, uint8_t **room,
                               struct ArrowArray *out, struct mortar_error *err)
{
  const enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);
  const size_t rows = column->values.count;
  uint8_t *values, *text;

  out->length = (int64_t)rows;
  if (layout == MTR_LAYOUT_NONE) {
    out->null_count = (int64_t)rows;
    return MORTAR_OK;
  }
  out->buffers[0] = NULL;
  fill_validity(column, room, out);
  if (layout == MTR_LAYOUT_BINARY32) {
    values = take(room, offsets_size(rows));
    text = take(room, mtr_thrift_text_size(column));
    out->buffers[1] = values;
    out->buffers[2] = text;
    mtr_thrift_fill_text(column, values, text);
    return MORTAR_OK;
  }
  values =
      take(room, layout == MTR_LAYOUT_BITS ? bits_size(rows) : rows * (size_t)field->byte_width);
  out->buffers[1] = values;
  return mtr_thrift_fill_values(column, field, values, err);
}

static enum mortar_status fill_all(const struct mtr_thrift_columns *columns,
                                   const struct mtr_arrow_schema *schema, uint8_t *room,
                                   struct mtr_batch_parts *parts, struct ArrowArray *out,
                                   struct mortar_error *err)
{
  size_t i;

  mtr_batch_block_begin(parts, &schema->root, out);
  out->length = (int64_t)columns->rows;
  out->buffers[0] = NULL;
  for (i = 0; i < columns->count; i++) {
    const struct mtr_arrow_field *field = &schema->root.children[i];
    enum mortar_status st;
    mtr_batch_block_begin(parts, field, out->children[i]);
    st = fill(&columns->items[i], field, &room, out->children[i], err);
    if (st == MORTAR_OK) continue;
    mtr_error_prefix(err, "column %zu, '%.64s'", i, field->name);
    return st;
  }
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_build_columns(const struct mtr_thrift_columns *columns,
                                            const struct mtr_arrow_schema *schema,
                                            const struct mortar_alloc *alloc,
                                            struct ArrowArray *out, struct mortar_error *err)
{
  struct mtr_batch_parts parts = {.block = NULL};
  struct mtr_slab *slab = NULL;
  enum mortar_status st;
  size_t size;

  out->release = NULL;
  MTR_GOTO(check(columns, schema, &size, err));
  MTR_GOTO(mtr_slab_new(alloc, SLAB_MAX, &slab, err));
  MTR_GOTO(mtr_buf_reserve(&slab->buf, size, err));
  slab->buf.size = size;
  MTR_GOTO(mtr_batch_block_new(schema, slab, &parts, err));
  MTR_GOTO(fill_all(columns, schema, slab->buf.data, &parts, out, err));
  parts.block = NULL; /* out's now */
done:
  if (st != MORTAR_OK) out->release = NULL;
  mtr_batch_block_free(parts.block);
  mtr_slab_unref(slab);
  return st;
}
