/* Pages of rows, for Hive's protocols before version 6:
 *
 *     TRow { 1: [ TColumnValue { i32Val { 1: value } }, ... ] }     value absent: null
 *
 * Bytes go as text there, since that protocol has no binary value. Slow and wide in memory; nothing
 * newer than 2013 asks for it. */
#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/cell.h"

/* One value with the struct that it is wrapped in. */
union wrapped {
  struct mtr_TBoolValue bools;
  struct mtr_TByteValue bytes;
  struct mtr_TI16Value i16s;
  struct mtr_TI32Value i32s;
  struct mtr_TI64Value i64s;
  struct mtr_TDoubleValue doubles;
  struct mtr_TStringValue strings;
};

struct rows_page {
  struct kiln_page base;
  struct kiln_cells cells;
  struct mtr_arena arena; /* values of the page */
  struct mtr_buf rows;    /* struct mtr_TRow */
};

static struct rows_page *page_of(struct kiln_page *base)
{
  return (struct rows_page *)(void *)base;
}

/* Sets the member of the union that the column has, and its value unless it is null. */
#define USE(member, field, S, data)                                                                \
  do {                                                                                             \
    if (!cell->null) MTR_SET(&wire->member, S, value, (data));                                     \
    MTR_SET(out, TColumnValue, field, &wire->member);                                              \
  } while (0)

static void wrap(enum kiln_cell_kind kind, const struct kiln_cell *cell, union wrapped *wire,
                 struct mtr_TColumnValue *out)
{
  switch (kind) {
    case KILN_CELL_BOOL:
      USE(bools, bool_val, TBoolValue, cell->number != 0);
      break;
    case KILN_CELL_I8:
      USE(bytes, byte_val, TByteValue, (int8_t)cell->number);
      break;
    case KILN_CELL_I16:
      USE(i16s, i16_val, TI16Value, (int16_t)cell->number);
      break;
    case KILN_CELL_I32:
      USE(i32s, i32_val, TI32Value, (int32_t)cell->number);
      break;
    case KILN_CELL_I64:
      USE(i64s, i64_val, TI64Value, cell->number);
      break;
    case KILN_CELL_DOUBLE:
      USE(doubles, double_val, TDoubleValue, cell->real);
      break;
    case KILN_CELL_TEXT:
    case KILN_CELL_BINARY:
      USE(strings, string_val, TStringValue, cell->bytes);
      break;
  }
}

/* The text of a cell lives until the next one only, so it is copied. */
static enum mortar_status put_cell(struct rows_page *page, size_t column, int64_t row,
                                   union wrapped *wire, struct mtr_TColumnValue *out,
                                   struct mortar_error *err)
{
  const struct mtr_arrow_field *field = &page->cells.source.schema->root.children[column];
  struct kiln_cell cell;

  MTR_TRY(kiln_cell_read(&page->cells, (int64_t)column, row, &cell, err));
  if (cell.bytes.size) {
    const char *copy = mtr_arena_text(&page->arena, cell.bytes.data, cell.bytes.size);
    if (!copy) return mtr_fail_nomem(err, "text of a row");
    cell.bytes.data = (const uint8_t *)copy;
    page->base.plain_bytes += (int64_t)cell.bytes.size;
  }
  wrap(kiln_cell_kind(field), &cell, wire, out);
  return MORTAR_OK;
}

static enum mortar_status put_row(struct rows_page *page, int64_t row, struct mortar_error *err)
{
  size_t count = (size_t)page->cells.source.schema->root.child_count, i;
  struct mtr_TColumnValue *values = mtr_arena_alloc(&page->arena, count, sizeof *values);
  union wrapped *wires = mtr_arena_alloc(&page->arena, count, sizeof *wires);
  struct mtr_TRow item = {0};

  if (!values || !wires) return mtr_fail_nomem(err, "row");
  for (i = 0; i < count; i++)
    MTR_TRY(put_cell(page, i, row, &wires[i], &values[i], err));
  MTR_SET_LIST(&item, TRow, col_vals, values, count);
  page->base.plain_bytes += (int64_t)(count * (sizeof *values + sizeof *wires));
  return mtr_buf_append(&page->rows, &item, sizeof item, err);
}

static enum mortar_status append(struct kiln_page *base, const struct ArrowArray *batch,
                                 int64_t first, int64_t count, struct mortar_error *err)
{
  struct rows_page *page = page_of(base);
  int64_t row;

  page->cells.batch = batch;
  for (row = first; row < first + count; row++)
    MTR_TRY(put_row(page, row, err));
  return MORTAR_OK;
}

static enum mortar_status finish(struct kiln_page *base, struct mtr_TRowSet *out,
                                 struct mortar_error *err)
{
  struct rows_page *page = page_of(base);
  struct mtr_TRow *items = (struct mtr_TRow *)(void *)page->rows.data;

  (void)err;
  base->sent_bytes = base->plain_bytes;
  MTR_SET_LIST(out, TRowSet, rows, items, page->rows.size / sizeof *items);
  return MORTAR_OK;
}

static void reset(struct kiln_page *base)
{
  struct rows_page *page = page_of(base);

  mtr_arena_reset(&page->arena);
  mtr_buf_reset(&page->rows);
}

static void free_page(struct kiln_page *base)
{
  struct rows_page *page = page_of(base);

  mtr_buf_fini(&page->rows);
  mtr_arena_fini(&page->arena);
  kiln_cells_fini(&page->cells);
  mtr_free(NULL, page, sizeof *page);
}

static const struct kiln_page_layout layout = {MTR_ROWSET_ROWS, append, finish, reset, free_page};

enum mortar_status kiln_page_rows_new(const struct kiln_page_source *source, struct kiln_page **out,
                                      struct mortar_error *err)
{
  struct rows_page *page = mtr_calloc(NULL, 1, sizeof *page);

  *out = NULL;
  if (!page) return mtr_fail_nomem(err, "result page");
  page->base.layout = &layout;
  kiln_cells_init(&page->cells, source);
  mtr_arena_init(&page->arena, NULL, KILN_PAGE_HARD_LIMIT);
  mtr_buf_init(&page->rows, NULL, "rows of a page", KILN_PAGE_HARD_LIMIT);
  *out = &page->base;
  return MORTAR_OK;
}
