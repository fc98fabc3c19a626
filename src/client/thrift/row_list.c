/* Thrift rows as Thrift columns, see row_list.h. Column by column the cells are written into one
 * buffer as a newer server would have sent them, and their nulls into another:
 *
 *     values  [column 0][column 1] ...          nulls  [bits of column 0][bits of column 1] ...
 *
 * Twice the work of columns, for servers of 2013 and before. */
#include "client/thrift/row_list.h"

#include "base/alloc.h"
#include "base/error.h"
#include "client/thrift/columns.h"

/* The values of one page, which came in one reply: see max_reply_bytes. */
#define VALUES_MAX ((size_t)4 << 30)

struct turned {
  const struct mtr_TRowSet *set;
  struct mtr_thrift_columns *columns;
  struct mtr_buf values, nulls;
  size_t null_size; /* of one column */
};

static enum mortar_status check_rows(const struct mtr_TRowSet *set,
                                     const struct mtr_arrow_schema *schema,
                                     struct mortar_error *err)
{
  size_t i;

  for (i = 0; i < set->rows.count; i++)
    if (set->rows.items[i].col_vals.count != (size_t)schema->root.child_count)
      return mtr_fail(err, MORTAR_PROTOCOL,
                      "row %zu of the page has %zu values where the schema has %lld columns", i,
                      set->rows.items[i].col_vals.count, (long long)schema->root.child_count);
  return MORTAR_OK;
}

static void put_filler(struct mtr_tw *wr, uint8_t wire)
{
  static const uint8_t sizes[] = {
      [MTR_T_BOOL] = 1, [MTR_T_I8] = 1,     [MTR_T_I16] = 2,   [MTR_T_I32] = 4,
      [MTR_T_I64] = 8,  [MTR_T_DOUBLE] = 8, [MTR_T_STRING] = 4 /* its length */};
  uint8_t *room = mtr_tw_room(wr, sizes[wire]);

  if (room) memset(room, 0, sizes[wire]);
}

#define MEMBER(name, S, is, put, cast)                                                             \
  if (cell->name && MTR_HAS(cell->name, S, value)) {                                               \
    put(wr, cast cell->name->value);                                                               \
    return wire == (is);                                                                           \
  }

/* Writes what a column of that wire type has for the cell; false: the cell is of another type. A
 * null is a union without a member, or a member without a value. */
static bool put_cell(struct mtr_tw *wr, const struct mtr_TColumnValue *cell, uint8_t wire,
                     bool *null)
{
  *null = false;
  MEMBER(string_val, TStringValue, MTR_T_STRING, mtr_tw_string, )
  MEMBER(i32_val, TI32Value, MTR_T_I32, mtr_tw_i32, )
  MEMBER(i64_val, TI64Value, MTR_T_I64, mtr_tw_i64, )
  MEMBER(double_val, TDoubleValue, MTR_T_DOUBLE, mtr_tw_double, )
  MEMBER(bool_val, TBoolValue, MTR_T_BOOL, mtr_tw_u8, )
  MEMBER(i16_val, TI16Value, MTR_T_I16, mtr_tw_i16, )
  MEMBER(byte_val, TByteValue, MTR_T_I8, mtr_tw_u8, (uint8_t))
  *null = true;
  put_filler(wr, wire);
  return true;
}

/* Writes column i, whose values and nulls are not yet pointed to: the buffers may still move. */
static enum mortar_status turn_column(struct turned *t, const struct mtr_arrow_field *field,
                                      size_t i, struct mortar_error *err)
{
  const uint8_t wire = mtr_thrift_wire_of(field);
  struct mtr_thrift_column *column = &t->columns->items[i];
  const size_t rows = t->set->rows.count, begin = t->values.size;
  uint8_t *nulls = t->nulls.data + i * t->null_size;
  struct mtr_tw wr;
  size_t row;
  bool null;

  mtr_tw_init(&wr, &t->values, err);
  for (row = 0; row < rows; row++) {
    if (!put_cell(&wr, &t->set->rows.items[row].col_vals.items[i], wire, &null))
      return mtr_fail(err, MORTAR_PROTOCOL,
                      "row %zu of the page: column %zu, '%.64s', is not of its schema's type", row,
                      i, field->name);
    if (null) nulls[row / 8] |= (uint8_t)(1u << row % 8);
  }
  column->values.count = (uint32_t)rows;
  column->values.element = wire;
  column->values.bytes.size = t->values.size - begin;
  column->nulls = mtr_span_of(nulls, t->null_size);
  return mtr_tw_finish(&wr);
}

static enum mortar_status turn(struct turned *t, const struct mtr_arrow_schema *schema,
                               struct mortar_error *err)
{
  const size_t null_sizes = (size_t)schema->root.child_count * (t->set->rows.count / 8 + 1);
  size_t i, at = 0;

  t->columns->count = (size_t)schema->root.child_count;
  t->columns->rows = t->set->rows.count;
  t->null_size = t->set->rows.count / 8 + 1;
  /* A byte more, so that neither is nothing. */
  MTR_TRY(mtr_buf_reserve(&t->values, 1, err));
  MTR_TRY(mtr_buf_reserve(&t->nulls, null_sizes + 1, err));
  memset(t->nulls.data, 0, null_sizes + 1);
  for (i = 0; i < t->columns->count; i++)
    MTR_TRY(turn_column(t, &schema->root.children[i], i, err));
  for (i = 0; i < t->columns->count; i++) {
    t->columns->items[i].values.bytes.data = t->values.data + at;
    at += t->columns->items[i].values.bytes.size;
  }
  return MORTAR_OK;
}

static enum mortar_status build(const struct mtr_page *page, const struct mtr_arrow_schema *schema,
                                const struct mortar_alloc *alloc, struct ArrowArray *out,
                                struct mortar_error *err)
{
  struct turned t = {.set = page->own};
  const size_t size =
      sizeof *t.columns + (size_t)schema->root.child_count * sizeof *t.columns->items;
  enum mortar_status st;

  out->release = NULL;
  mtr_buf_init(&t.values, alloc, "values of a page", VALUES_MAX);
  mtr_buf_init(&t.nulls, alloc, "nulls of a page", VALUES_MAX);
  MTR_GOTO(check_rows(t.set, schema, err));
  t.columns = mtr_calloc(alloc, 1, size);
  if (!t.columns) MTR_GOTO(mtr_fail_nomem(err, "list of columns"));
  MTR_GOTO(turn(&t, schema, err));
  MTR_GOTO(mtr_thrift_build_columns(t.columns, schema, alloc, out, err));
done:
  mtr_free(alloc, t.columns, size);
  mtr_buf_fini(&t.values);
  mtr_buf_fini(&t.nulls);
  return st;
}

void mtr_thrift_take_row_list(const struct mtr_TRowSet *set, struct mtr_page *page)
{
  page->own = set;
  page->own_rows = (int64_t)set->rows.count;
  page->build = build;
}
