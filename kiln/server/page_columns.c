/* Pages of Thrift columns: values in wire form, and a bitmap of the nulls.
 *
 *     TColumn { i32Val { 1: [values], 2: nulls } }      bit i of nulls set: row i is null
 *
 * A null has a filler in its place. The bitmap ends with the byte of the last null and has at least
 * one byte, as recorded warehouses and HiveServer2 send it. */
#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/cell.h"

struct column {
  enum kiln_cell_kind kind;
  uint32_t rows;
  struct mtr_buf values, nulls;
  union {
    struct mtr_TBoolColumn bools;
    struct mtr_TByteColumn bytes;
    struct mtr_TI16Column i16s;
    struct mtr_TI32Column i32s;
    struct mtr_TI64Column i64s;
    struct mtr_TDoubleColumn doubles;
    struct mtr_TStringColumn strings;
    struct mtr_TBinaryColumn binaries;
  } wire;
};

struct columns_page {
  struct kiln_page base;
  struct kiln_cells cells;
  size_t count;
  struct column *columns;
  struct mtr_TColumn *items;
};

static struct columns_page *page_of(struct kiln_page *base)
{
  return (struct columns_page *)(void *)base;
}

/* ---- Rows in ------------------------------------------------------------------------------ */

static void write_value(struct mtr_tw *wr, enum kiln_cell_kind kind, const struct kiln_cell *cell)
{
  switch (kind) {
    case KILN_CELL_BOOL:
    case KILN_CELL_I8:
      mtr_tw_u8(wr, (uint8_t)cell->number);
      break;
    case KILN_CELL_I16:
      mtr_tw_i16(wr, (int16_t)cell->number);
      break;
    case KILN_CELL_I32:
      mtr_tw_i32(wr, (int32_t)cell->number);
      break;
    case KILN_CELL_I64:
      mtr_tw_i64(wr, cell->number);
      break;
    case KILN_CELL_DOUBLE:
      mtr_tw_double(wr, cell->real);
      break;
    case KILN_CELL_TEXT:
    case KILN_CELL_BINARY:
      mtr_tw_string(wr, cell->bytes);
      break;
  }
}

/* Makes the bitmap long enough for bit `row`, with zeros. */
static enum mortar_status extend_nulls(struct mtr_buf *nulls, uint32_t row,
                                       struct mortar_error *err)
{
  size_t size = row / 8 + 1;

  if (size <= nulls->size) return MORTAR_OK;
  MTR_TRY(mtr_buf_reserve(nulls, size - nulls->size, err));
  memset(nulls->data + nulls->size, 0, size - nulls->size);
  nulls->size = size;
  return MORTAR_OK;
}

static enum mortar_status mark_null(struct column *column, struct mortar_error *err)
{
  uint8_t *byte;

  MTR_TRY(extend_nulls(&column->nulls, column->rows, err));
  byte = &column->nulls.data[column->rows / 8];
  *byte = (uint8_t)(*byte | 1u << (column->rows % 8));
  return MORTAR_OK;
}

static enum mortar_status append_to(struct columns_page *page, size_t index, int64_t first,
                                    int64_t count, struct mortar_error *err)
{
  struct column *column = &page->columns[index];
  struct kiln_cell cell;
  struct mtr_tw wr;
  int64_t row;

  mtr_tw_init(&wr, &column->values, err);
  for (row = first; row < first + count; row++) {
    MTR_TRY(kiln_cell_read(&page->cells, (int64_t)index, row, &cell, err));
    write_value(&wr, column->kind, &cell);
    if (cell.null) MTR_TRY(mark_null(column, err));
    column->rows++;
  }
  return mtr_tw_finish(&wr);
}

static enum mortar_status append(struct kiln_page *base, const struct ArrowArray *batch,
                                 int64_t first, int64_t count, struct mortar_error *err)
{
  struct columns_page *page = page_of(base);
  size_t i, before;

  page->cells.batch = batch;
  for (i = 0; i < page->count; i++) {
    before = page->columns[i].values.size;
    MTR_TRY(append_to(page, i, first, count, err));
    base->plain_bytes += (int64_t)(page->columns[i].values.size - before);
  }
  return MORTAR_OK;
}

/* ---- Page out ----------------------------------------------------------------------------- */

/* Fills one member of the union and points the TColumn at it. */
#define USE(member, field, S, wire_type)                                                           \
  do {                                                                                             \
    values.element = (wire_type);                                                                  \
    MTR_SET(&column->wire.member, S, values, values);                                              \
    MTR_SET(&column->wire.member, S, nulls, mtr_buf_span(&column->nulls));                         \
    MTR_SET(out, TColumn, field, &column->wire.member);                                            \
  } while (0)

static void fill(struct column *column, struct mtr_TColumn *out)
{
  struct mtr_thrift_values values = {column->rows, 0, MTR_T_STOP, mtr_buf_span(&column->values)};

  memset(out, 0, sizeof *out);
  memset(&column->wire, 0, sizeof column->wire);
  switch (column->kind) {
    case KILN_CELL_BOOL:
      USE(bools, bool_val, TBoolColumn, MTR_T_BOOL);
      break;
    case KILN_CELL_I8:
      USE(bytes, byte_val, TByteColumn, MTR_T_I8);
      break;
    case KILN_CELL_I16:
      USE(i16s, i16_val, TI16Column, MTR_T_I16);
      break;
    case KILN_CELL_I32:
      USE(i32s, i32_val, TI32Column, MTR_T_I32);
      break;
    case KILN_CELL_I64:
      USE(i64s, i64_val, TI64Column, MTR_T_I64);
      break;
    case KILN_CELL_DOUBLE:
      USE(doubles, double_val, TDoubleColumn, MTR_T_DOUBLE);
      break;
    case KILN_CELL_TEXT:
      USE(strings, string_val, TStringColumn, MTR_T_STRING);
      break;
    case KILN_CELL_BINARY:
      USE(binaries, binary_val, TBinaryColumn, MTR_T_STRING);
      break;
  }
}

static enum mortar_status finish(struct kiln_page *base, struct mtr_TRowSet *out,
                                 struct mortar_error *err)
{
  struct columns_page *page = page_of(base);
  size_t i;

  base->sent_bytes = base->plain_bytes;
  for (i = 0; i < page->count; i++) {
    MTR_TRY(extend_nulls(&page->columns[i].nulls, 0, err));
    fill(&page->columns[i], &page->items[i]);
  }
  MTR_SET_LIST(out, TRowSet, rows, NULL, 0);
  MTR_SET_LIST(out, TRowSet, columns, page->items, page->count);
  return MORTAR_OK;
}

static void reset(struct kiln_page *base)
{
  struct columns_page *page = page_of(base);
  size_t i;

  for (i = 0; i < page->count; i++) {
    page->columns[i].rows = 0;
    mtr_buf_reset(&page->columns[i].values);
    mtr_buf_reset(&page->columns[i].nulls);
  }
}

static void free_page(struct kiln_page *base)
{
  struct columns_page *page = page_of(base);
  size_t i;

  for (i = 0; page->columns && i < page->count; i++) {
    mtr_buf_fini(&page->columns[i].values);
    mtr_buf_fini(&page->columns[i].nulls);
  }
  mtr_free(NULL, page->columns, page->count * sizeof *page->columns);
  mtr_free(NULL, page->items, page->count * sizeof *page->items);
  kiln_cells_fini(&page->cells);
  mtr_free(NULL, page, sizeof *page);
}

static const struct kiln_page_layout layout = {MTR_ROWSET_COLUMNS, append, finish, reset,
                                               free_page};

static void init_columns(struct columns_page *page)
{
  size_t i;

  for (i = 0; i < page->count; i++) {
    page->columns[i].kind = kiln_cell_kind(&page->cells.source.schema->root.children[i]);
    mtr_buf_init(&page->columns[i].values, NULL, "column of a page", KILN_PAGE_HARD_LIMIT);
    mtr_buf_init(&page->columns[i].nulls, NULL, "nulls of a page", KILN_PAGE_HARD_LIMIT);
  }
}

enum mortar_status kiln_page_columns_new(const struct kiln_page_source *source,
                                         struct kiln_page **out, struct mortar_error *err)
{
  struct columns_page *page = mtr_calloc(NULL, 1, sizeof *page);

  *out = NULL;
  if (!page) return mtr_fail_nomem(err, "result page");
  page->base.layout = &layout;
  kiln_cells_init(&page->cells, source);
  page->count = (size_t)source->schema->root.child_count;
  page->columns = mtr_calloc(NULL, page->count, sizeof *page->columns);
  page->items = mtr_calloc(NULL, page->count, sizeof *page->items);
  if (page->count && (!page->columns || !page->items)) {
    free_page(&page->base);
    return mtr_fail_nomem(err, "columns of a page");
  }
  init_columns(page);
  *out = &page->base;
  return MORTAR_OK;
}
