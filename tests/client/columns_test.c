/* Thrift columns and rows as Arrow batches: every type, every shape of the nulls, and the refusals.
 * What the cells hold is judged by their text. */
#include <stdio.h>

#include "arrow/ipc_writer.h"
#include "client/thrift/columns.h"
#include "client/thrift/row_list.h"
#include "client/thrift/table_schema.h"
#include "client/thrift/text_batch.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { ROWS_MAX = 65, BYTES_MAX = 1 << 20, TEXT_MAX = 64 };

/* ---- One column of each type: what is sent for row i, and what it reads as ------------------ */

static void put_bool(struct mtr_tw *wr, int i) { mtr_tw_u8(wr, (uint8_t)(i % 2)); }
static void put_i8(struct mtr_tw *wr, int i) { mtr_tw_u8(wr, (uint8_t)(i - 3)); }
static void put_i16(struct mtr_tw *wr, int i) { mtr_tw_i16(wr, (int16_t)(i * 500 - 3)); }
static void put_i32(struct mtr_tw *wr, int i) { mtr_tw_i32(wr, i * 30000000 - 3); }
static void put_i64(struct mtr_tw *wr, int i) { mtr_tw_i64(wr, INT64_C(-9000000000000000) + i); }
static void put_double(struct mtr_tw *wr, int i) { mtr_tw_double(wr, i / 4.0); }

static void text_bool(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%s", i % 2 ? "true" : "false");
}
static void text_i8(char *t, int i) { (void)snprintf(t, TEXT_MAX, "%d", i - 3); }
static void text_i16(char *t, int i) { (void)snprintf(t, TEXT_MAX, "%d", i * 500 - 3); }
static void text_i32(char *t, int i) { (void)snprintf(t, TEXT_MAX, "%d", i * 30000000 - 3); }
static void text_i64(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%lld", -9000000000000000LL + i);
}
static void text_double(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, i % 4 ? "%g" : "%.1f", i / 4.0);
}
static void text_string(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%.*s", i % 7, "h\xc3\xa9llo w");
}
static void text_decimal(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%s%d.%02d", i % 3 ? "-" : "", i + 1, i);
}
static void text_date(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%04d-02-%02d", 1900 + i * 4, 1 + i % 28);
}
static void text_timestamp(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "1969-12-31 23:59:%02d.%05d1", i % 60, i);
}
static void text_void(char *t, int i) { (void)i, (void)snprintf(t, TEXT_MAX, "NULL"); }
static void text_interval(char *t, int i)
{
  (void)snprintf(t, TEXT_MAX, "%d 02:03:04.000000000", i);
}
static void text_map(char *t, int i) { (void)snprintf(t, TEXT_MAX, "{\"k\":%d}", i); }

/* The text of a cell shows binary as hex. */
static void text_binary(char *t, int i) { (void)snprintf(t, TEXT_MAX, "X'%02X00'", i); }
static void put_binary(struct mtr_tw *wr, int i)
{
  const uint8_t two[] = {(uint8_t)i, 0};

  mtr_tw_string(wr, mtr_span_of(two, sizeof two));
}

struct kind {
  int32_t type; /* TTypeId */
  uint8_t wire;
  void (*put)(struct mtr_tw *wr, int i); /* NULL: the text */
  void (*text)(char *text, int i);
};

static const struct kind kinds[] = {
    {MTR_TYPE_BOOLEAN, MTR_T_BOOL, put_bool, text_bool},
    {MTR_TYPE_TINYINT, MTR_T_I8, put_i8, text_i8},
    {MTR_TYPE_SMALLINT, MTR_T_I16, put_i16, text_i16},
    {MTR_TYPE_INT, MTR_T_I32, put_i32, text_i32},
    {MTR_TYPE_BIGINT, MTR_T_I64, put_i64, text_i64},
    {MTR_TYPE_FLOAT, MTR_T_DOUBLE, put_double, text_double},
    {MTR_TYPE_DOUBLE, MTR_T_DOUBLE, put_double, text_double},
    {MTR_TYPE_STRING, MTR_T_STRING, NULL, text_string},
    {MTR_TYPE_BINARY, MTR_T_STRING, put_binary, text_binary},
    {MTR_TYPE_DECIMAL, MTR_T_STRING, NULL, text_decimal},
    {MTR_TYPE_DATE, MTR_T_STRING, NULL, text_date},
    {MTR_TYPE_TIMESTAMP, MTR_T_STRING, NULL, text_timestamp},
    {MTR_TYPE_VARCHAR, MTR_T_STRING, NULL, text_string},
    {MTR_TYPE_CHAR, MTR_T_STRING, NULL, text_string},
    {MTR_TYPE_INTERVAL_YEAR_MONTH, MTR_T_STRING, NULL, text_interval},
    {MTR_TYPE_INTERVAL_DAY_TIME, MTR_T_STRING, NULL, text_interval},
    {MTR_TYPE_ARRAY, MTR_T_STRING, NULL, text_map},
    {MTR_TYPE_MAP, MTR_T_STRING, NULL, text_map},
    {MTR_TYPE_STRUCT, MTR_T_STRING, NULL, text_map},
    /* Two, so that the buffers of a batch tell which types are text in it. */
    {MTR_TYPE_DECIMAL, MTR_T_STRING, NULL, text_decimal},
    {MTR_TYPE_NULL, MTR_T_STRING, NULL, text_void}, /* null in every row, whatever is told */
    {MTR_TYPE_NULL, MTR_T_STRING, NULL, text_void},
    {99, MTR_T_STRING, NULL, text_string}, /* of a server younger than we are */
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- A page ------------------------------------------------------------------------------- */

struct page {
  struct mtr_buf bytes[KINDS], schema_bytes;
  struct mtr_TColumn columns[KINDS];
  union {
    struct mtr_TBoolColumn b;
    struct mtr_TByteColumn i8;
    struct mtr_TI16Column i16;
    struct mtr_TI32Column i32;
    struct mtr_TI64Column i64;
    struct mtr_TDoubleColumn f64;
    struct mtr_TStringColumn text;
    struct mtr_TBinaryColumn binary;
  } members[KINDS];
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct mtr_TRowSet set;
  struct mtr_page page;
  struct ArrowArray batch;
  struct mortar_error err;
};

static void make_qualifiers(struct mtr_TTypeQualifiers *q, struct mtr_buf *bytes)
{
  static const char *const names[] = {"precision", "scale"};
  struct mtr_thrift_values map = {2, MTR_T_STRUCT, MTR_T_STRING, {NULL, 0}};
  struct mtr_tw wr;
  int i;

  mtr_tw_init(&wr, bytes, NULL);
  for (i = 0; i < 2; i++) {
    struct mtr_TTypeQualifierValue value = {0};
    MTR_SET(&value, TTypeQualifierValue, i32_value, i == 0 ? 10 : 2);
    mtr_tw_string(&wr, mtr_span_text(names[i]));
    mtr_thrift_write_struct(&wr, &mtr_TTypeQualifierValue_info, &value);
  }
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  map.bytes = mtr_buf_span(bytes);
  MTR_SET(q, TTypeQualifiers, qualifiers, map);
}

static void make_schema(struct page *p)
{
  struct mtr_TTableSchema table = {0}, left = {0};
  struct mtr_TColumnDesc columns[KINDS];
  struct mtr_TTypeDesc descs[KINDS];
  struct mtr_TTypeEntry entries[KINDS];
  struct mtr_TPrimitiveTypeEntry types[KINDS];
  struct mtr_TTypeQualifiers qualifiers = {0};
  struct mtr_span message;
  struct mtr_buf bytes;
  struct mtr_tw wr;
  int i;

  memset(columns, 0, sizeof columns);
  memset(descs, 0, sizeof descs);
  memset(entries, 0, sizeof entries);
  memset(types, 0, sizeof types);
  mtr_buf_init(&bytes, NULL, "qualifiers", BYTES_MAX);
  make_qualifiers(&qualifiers, &bytes);
  for (i = 0; i < KINDS; i++) {
    MTR_SET(&types[i], TPrimitiveTypeEntry, type, kinds[i].type);
    if (kinds[i].type == MTR_TYPE_DECIMAL)
      MTR_SET(&types[i], TPrimitiveTypeEntry, type_qualifiers, &qualifiers);
    MTR_SET(&entries[i], TTypeEntry, primitive_entry, &types[i]);
    MTR_SET_LIST(&descs[i], TTypeDesc, types, &entries[i], 1);
    MTR_SET(&columns[i], TColumnDesc, column_name, mtr_span_text("c"));
    MTR_SET(&columns[i], TColumnDesc, type_desc, &descs[i]);
    MTR_SET(&columns[i], TColumnDesc, position, i + 1);
  }
  MTR_SET_LIST(&table, TTableSchema, columns, columns, KINDS);
  mtr_buf_reset(&p->schema_bytes);
  mtr_tw_init(&wr, &p->schema_bytes, NULL);
  mtr_thrift_write_struct(&wr, &mtr_TTableSchema_info, &table);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  left.wire = mtr_buf_span(&p->schema_bytes);
  assert_int_equal(mtr_thrift_table_schema(&left, &p->arena, &message, &p->err), MORTAR_OK);
  assert_int_equal(mtr_ipc_read_schema(message, &p->arena, &p->schema, &p->err), MORTAR_OK);
  mtr_buf_fini(&bytes);
}

static void page_init(struct page *p)
{
  int i;

  memset(p, 0, sizeof *p);
  for (i = 0; i < KINDS; i++)
    mtr_buf_init(&p->bytes[i], NULL, "values", BYTES_MAX);
  mtr_buf_init(&p->schema_bytes, NULL, "schema", BYTES_MAX);
  mtr_arena_init(&p->arena, NULL, BYTES_MAX);
  make_schema(p);
}

static void page_fini(struct page *p)
{
  int i;

  if (p->batch.release) p->batch.release(&p->batch);
  for (i = 0; i < KINDS; i++)
    mtr_buf_fini(&p->bytes[i]);
  mtr_buf_fini(&p->schema_bytes);
  mtr_arena_fini(&p->arena);
}

static void put_text(struct mtr_tw *wr, const struct kind *kind, int i)
{
  char text[TEXT_MAX];

  kind->text(text, i);
  mtr_tw_string(wr, mtr_span_text(text));
}

static struct mtr_thrift_values values_of(struct page *p, int k, int rows)
{
  struct mtr_thrift_values values = {(uint32_t)rows, kinds[k].wire, MTR_T_STOP, {NULL, 0}};
  struct mtr_tw wr;
  int i;

  mtr_buf_reset(&p->bytes[k]);
  mtr_tw_init(&wr, &p->bytes[k], NULL);
  for (i = 0; i < rows; i++)
    if (kinds[k].put)
      kinds[k].put(&wr, i);
    else
      put_text(&wr, &kinds[k], i);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  values.bytes = mtr_buf_span(&p->bytes[k]);
  return values;
}

#define SET_MEMBER(p, k, S, slot, name)                                                            \
  do {                                                                                             \
    MTR_SET(&(p)->members[k].slot, S, values, values);                                             \
    MTR_SET(&(p)->members[k].slot, S, nulls, nulls);                                               \
    MTR_SET(&(p)->columns[k], TColumn, name, &(p)->members[k].slot);                               \
  } while (0)

static void set_column(struct page *p, int k, int rows, struct mtr_span nulls)
{
  const struct mtr_thrift_values values = values_of(p, k, rows);

  memset(&p->columns[k], 0, sizeof p->columns[k]);
  memset(&p->members[k], 0, sizeof p->members[k]);
  switch (kinds[k].wire) {
    case MTR_T_BOOL:
      SET_MEMBER(p, k, TBoolColumn, b, bool_val);
      break;
    case MTR_T_I8:
      SET_MEMBER(p, k, TByteColumn, i8, byte_val);
      break;
    case MTR_T_I16:
      SET_MEMBER(p, k, TI16Column, i16, i16_val);
      break;
    case MTR_T_I32:
      SET_MEMBER(p, k, TI32Column, i32, i32_val);
      break;
    case MTR_T_I64:
      SET_MEMBER(p, k, TI64Column, i64, i64_val);
      break;
    case MTR_T_DOUBLE:
      SET_MEMBER(p, k, TDoubleColumn, f64, double_val);
      break;
    default:
      if (kinds[k].type == MTR_TYPE_BINARY)
        SET_MEMBER(p, k, TBinaryColumn, binary, binary_val);
      else
        SET_MEMBER(p, k, TStringColumn, text, string_val);
  }
}

static void fill_page(struct page *p, int rows, struct mtr_span nulls)
{
  int k;

  for (k = 0; k < KINDS; k++)
    set_column(p, k, rows, nulls);
  MTR_SET_LIST(&p->set, TRowSet, columns, p->columns, KINDS);
}

/* ---- The same values in rows ---- */

#define SET_CELL(p, cell, S, name, v)                                                              \
  do {                                                                                             \
    struct mtr_##S *wrapped = mtr_arena_alloc(&(p)->arena, 1, sizeof *wrapped);                    \
    if (!null) MTR_SET(wrapped, S, value, v);                                                      \
    MTR_SET(cell, TColumnValue, name, wrapped);                                                    \
  } while (0)

/* Takes the next value of a column off its bytes, and wraps it. */
static void set_cell(struct page *p, struct mtr_tr *rd, uint8_t wire, bool null,
                     struct mtr_TColumnValue *cell)
{
  switch (wire) {
    case MTR_T_BOOL:
      SET_CELL(p, cell, TBoolValue, bool_val, mtr_tr_u8(rd) != 0);
      break;
    case MTR_T_I8:
      SET_CELL(p, cell, TByteValue, byte_val, (int8_t)mtr_tr_u8(rd));
      break;
    case MTR_T_I16:
      SET_CELL(p, cell, TI16Value, i16_val, mtr_tr_i16(rd));
      break;
    case MTR_T_I32:
      SET_CELL(p, cell, TI32Value, i32_val, mtr_tr_i32(rd));
      break;
    case MTR_T_I64:
      SET_CELL(p, cell, TI64Value, i64_val, mtr_tr_i64(rd));
      break;
    case MTR_T_DOUBLE:
      SET_CELL(p, cell, TDoubleValue, double_val, mtr_tr_double(rd));
      break;
    default:
      SET_CELL(p, cell, TStringValue, string_val, mtr_tr_string(rd));
  }
}

/* Binary is text there. A null lacks its value (style 0), or the whole member of the union. */
static void fill_rows(struct page *p, int rows, bool (*null)(int, int), int style)
{
  struct mtr_TRow *list = mtr_arena_alloc(&p->arena, (size_t)rows, sizeof *list);
  int k, i;

  memset(&p->set, 0, sizeof p->set);
  for (i = 0; i < rows; i++)
    MTR_SET_LIST(&list[i], TRow, col_vals,
                 mtr_arena_alloc(&p->arena, KINDS, sizeof(struct mtr_TColumnValue)), KINDS);
  for (k = 0; k < KINDS; k++) {
    struct mtr_tr rd;
    mtr_tr_init(&rd, values_of(p, k, rows).bytes);
    for (i = 0; i < rows; i++) {
      const bool none = null(i, rows) || kinds[k].type == MTR_TYPE_NULL;
      struct mtr_TColumnValue *cell = &list[i].col_vals.items[k];
      set_cell(p, &rd, kinds[k].wire, false, cell);
      if (!none) continue;
      memset(cell, 0, sizeof *cell);
      if (style == 0) set_cell(p, &rd, kinds[k].wire, true, cell);
    }
    assert_true(mtr_tr_ok(&rd));
  }
  MTR_SET_LIST(&p->set, TRowSet, rows, list, (size_t)rows);
  memset(&p->page, 0, sizeof p->page);
  mtr_thrift_take_row_list(&p->set, &p->page);
}

static enum mortar_status take(struct page *p)
{
  memset(&p->page, 0, sizeof p->page);
  return mtr_thrift_take_columns(&p->set, &p->arena, &p->page, &p->err);
}

static enum mortar_status build(struct page *p, const struct mortar_alloc *alloc)
{
  if (p->batch.release) p->batch.release(&p->batch);
  p->batch.release = NULL;
  return p->page.build(&p->page, &p->schema, alloc, &p->batch, &p->err);
}

/* ---- Tests -------------------------------------------------------------------------------- */

/* Which rows are null. */
static bool null_all(int i, int rows) { return (void)i, (void)rows, true; }
static bool null_none(int i, int rows) { return (void)i, (void)rows, false; }
static bool null_odd(int i, int rows) { return (void)rows, i % 2 == 1; }
static bool null_first(int i, int rows) { return (void)rows, i == 0; }
static bool null_last(int i, int rows) { return i == rows - 1; }
static bool (*const patterns[])(int i, int rows) = {null_all, null_none, null_odd, null_first,
                                                    null_last};

/* A bitmap of the pattern, as long as the last null needs it (what Spark sends), whole, or longer.
 */
static struct mtr_span bitmap(uint8_t bits[32], bool (*null)(int, int), int rows, int style)
{
  size_t size = 0;
  int i;

  memset(bits, 0, 32);
  for (i = 0; i < rows; i++)
    if (null(i, rows)) {
      bits[i / 8] |= (uint8_t)(1 << i % 8);
      size = (size_t)i / 8 + 1;
    }
  if (style == 1) size = (size_t)(rows + 7) / 8;
  if (style == 2) size = 32;
  if (style == 2 && rows % 8) bits[rows / 8] |= (uint8_t)(0xff << rows % 8); /* of no row */
  return mtr_span_of(bits, size);
}

static void check_batch(struct page *p, bool (*null)(int, int), int rows)
{
  struct ArrowSchema schema;
  char want[TEXT_MAX], have[TEXT_MAX];
  size_t size;
  int k, i;

  assert_int_equal(mtr_arrow_schema_export(&p->schema, NULL, &schema, &p->err), MORTAR_OK);
  assert_int_equal(p->batch.length, rows);
  for (k = 0; k < KINDS; k++) {
    int64_t nulls = 0;
    for (i = 0; i < rows; i++) {
      nulls += null(i, rows) || kinds[k].type == MTR_TYPE_NULL;
      kinds[k].text(want, i);
      if (null(i, rows)) (void)snprintf(want, TEXT_MAX, "NULL");
      assert_int_equal(
          mortar_format_cell(&schema, &p->batch, k, i, have, sizeof have, &size, &p->err),
          MORTAR_OK);
      if (strcmp(want, have) != 0) fail_msg("column %d row %d: %s, not %s", k, i, have, want);
    }
    assert_int_equal(p->batch.children[k]->length, rows);
    assert_int_equal(p->batch.children[k]->null_count, nulls);
  }
  schema.release(&schema);
}

/* Makes a page, reads its batch and checks that: of every pattern and length, in so many ways. */
static void every_page(int ways, void (*make_and_read)(struct page *p, int rows,
                                                       bool (*null)(int i, int rows), int way))
{
  static const int lengths[] = {1, 8, 9, ROWS_MAX};
  struct page p;
  size_t l, n;
  int way;

  page_init(&p);
  for (l = 0; l < 4; l++)
    for (n = 0; n < sizeof patterns / sizeof *patterns; n++)
      for (way = 0; way < ways; way++) {
        make_and_read(&p, lengths[l], patterns[n], way);
        check_batch(&p, patterns[n], lengths[l]);
        p.batch.release(&p.batch);
        p.batch.release = NULL;
        mtr_arena_reset(&p.arena);
        make_schema(&p);
      }
  page_fini(&p);
}

static void read_columns(struct page *p, int rows, bool (*null)(int i, int rows), int style)
{
  uint8_t bits[32];

  fill_page(p, rows, bitmap(bits, null, rows, style));
  assert_int_equal(take(p), MORTAR_OK);
  assert_int_equal(p->page.own_rows, rows);
  assert_int_equal(build(p, NULL), MORTAR_OK);
}

static void every_type_with_every_bitmap(void **state)
{
  (void)state;
  every_page(3, read_columns);
}

static void read_rows(struct page *p, int rows, bool (*null)(int i, int rows), int style)
{
  fill_rows(p, rows, null, style);
  assert_int_equal(p->page.own_rows, rows);
  assert_int_equal(build(p, NULL), MORTAR_OK);
}

static void every_type_in_rows(void **state)
{
  (void)state;
  every_page(2, read_rows);
}

static void rows_that_disagree_are_refused(void **state)
{
  struct page p;

  (void)state;
  page_init(&p);
  fill_rows(&p, 9, null_odd, 0);
  p.set.rows.items[7].col_vals.count--;
  assert_int_equal(build(&p, NULL), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "row 7 of the page has 22 values where the schema has 23"));

  fill_rows(&p, 9, null_none, 0);
  p.set.rows.items[8].col_vals.items[3] = p.set.rows.items[8].col_vals.items[4];
  assert_int_equal(build(&p, NULL), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "row 8 of the page: column 3, 'c'"));
  assert_null(p.batch.release);
  page_fini(&p);
}

/* ---- Batches without a schema ---- */

static bool is_text(const struct mtr_arrow_field *field, int mask)
{
  return (field->type == MTR_ARROW_DECIMAL && mask & 1) ||
         (field->type == MTR_ARROW_TIMESTAMP && mask & 2) ||
         (field->type == MTR_ARROW_NULL && mask & 4);
}

/* Puts the page into slab as a record batch in which the types of the mask are text. */
static void write_text_batch(struct page *p, int mask, struct mtr_slab *slab)
{
  struct mtr_arrow_field fields[KINDS];
  struct mtr_arrow_schema wire = p->schema;
  int k;

  for (k = 0; k < KINDS; k++) {
    fields[k] = p->schema.root.children[k];
    if (!is_text(&fields[k], mask)) continue;
    wire.buffer_count += 3 - mtr_arrow_buffer_count(fields[k].type);
    fields[k].type = MTR_ARROW_UTF8;
  }
  wire.root.children = fields;
  if (p->batch.release) p->batch.release(&p->batch);
  assert_int_equal(p->page.build(&p->page, &wire, NULL, &p->batch, &p->err), MORTAR_OK);
  assert_int_equal(mtr_ipc_write_batch(&wire, &p->batch, 0, p->batch.length, &slab->buf, &p->err),
                   MORTAR_OK);
  p->batch.release(&p->batch);
  p->batch.release = NULL;
}

static enum mortar_status read_text_batch(struct page *p, struct mtr_slab *slab)
{
  struct mtr_ipc_message message;

  assert_int_equal(mtr_ipc_next(mtr_buf_span(&slab->buf), &message, &p->err), MORTAR_OK);
  return mtr_thrift_read_batch(&p->schema, &message, slab, &p->batch, &p->err);
}

static void read_untold(struct page *p, int rows, bool (*null)(int i, int rows), int mask)
{
  struct mtr_slab *slab;
  uint8_t bits[32];

  assert_int_equal(mtr_slab_new(NULL, BYTES_MAX, &slab, &p->err), MORTAR_OK);
  fill_page(p, rows, bitmap(bits, null, rows, 0));
  assert_int_equal(take(p), MORTAR_OK);
  write_text_batch(p, mask, slab);
  assert_int_equal(read_text_batch(p, slab), MORTAR_OK);
  mtr_slab_unref(slab);
}

/* Servers before Databricks' V5: the batch itself shows what in it is text. */
static void batches_whose_schema_is_not_told(void **state)
{
  (void)state;
  every_page(8, read_untold);
}

static void text_batches_fail_cleanly(void **state)
{
  struct failing_alloc fa;
  struct mtr_slab *slab;
  struct page p;

  (void)state;
  page_init(&p);
  fill_page(&p, 9, mtr_span_of(NULL, 0));
  p.bytes[9].data[4] = 'x'; /* the first letter of the first decimal */
  assert_int_equal(take(&p), MORTAR_OK);
  assert_int_equal(mtr_slab_new(NULL, BYTES_MAX, &slab, &p.err), MORTAR_OK);
  write_text_batch(&p, 1, slab);
  assert_int_equal(read_text_batch(&p, slab), MORTAR_UNSUPPORTED);
  assert_non_null(strstr(p.err.message, "column 9, 'c'"));
  assert_non_null(strstr(p.err.message, "row 0 of the page"));
  assert_null(p.batch.release);
  mtr_slab_unref(slab);

  fill_page(&p, 9, mtr_span_of(NULL, 0));
  assert_int_equal(take(&p), MORTAR_OK);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st = mtr_slab_new(&fa.alloc, BYTES_MAX, &slab, &p.err);
    if (st == MORTAR_OK) st = mtr_buf_reserve(&slab->buf, 1 << 16, &p.err);
    if (st == MORTAR_OK) {
      write_text_batch(&p, 7, slab);
      st = read_text_batch(&p, slab);
    }
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (p.batch.release) p.batch.release(&p.batch);
    p.batch.release = NULL;
    mtr_slab_unref(slab);
  }
  page_fini(&p);
}

static void build_and_release(struct page *p, struct failing_alloc *fa)
{
  const enum mortar_status st = build(p, &fa->alloc);

  assert_int_equal(st, fa->failed ? MORTAR_NOMEM : MORTAR_OK);
  if (p->batch.release) p->batch.release(&p->batch);
  p->batch.release = NULL;
}

/* Memory that runs out leaves nothing behind; a column may outlive its batch. */
static void memory(void **state)
{
  struct failing_alloc fa;
  struct ArrowArray column;
  struct page p;

  (void)state;
  page_init(&p);
  fill_rows(&p, 9, null_odd, 0);
  MTR_EVERY_ALLOC_FAILS(fa) build_and_release(&p, &fa);
  fill_page(&p, 9, mtr_span_of(NULL, 0));
  assert_int_equal(take(&p), MORTAR_OK);
  MTR_EVERY_ALLOC_FAILS(fa) build_and_release(&p, &fa);
  assert_int_equal(build(&p, NULL), MORTAR_OK);
  column = *p.batch.children[7];
  p.batch.children[7]->release = NULL;
  p.batch.release(&p.batch);
  assert_int_equal(column.length, 9);
  column.release(&column);
  p.batch.release = NULL;
  page_fini(&p);
}

static void columns_that_disagree_are_refused(void **state)
{
  const struct mtr_span none = {NULL, 0};
  struct page p;

  (void)state;
  page_init(&p);
  fill_page(&p, 9, none);
  set_column(&p, 3, 8, none);
  assert_int_equal(take(&p), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "column 3 of the page has 8 values, column 0 has 9"));

  fill_page(&p, 9, none);
  memset(&p.columns[5], 0, sizeof p.columns[5]);
  assert_int_equal(take(&p), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "column 5 of the page has no values"));

  fill_page(&p, 9, none);
  p.columns[4] = p.columns[3];
  assert_int_equal(take(&p), MORTAR_OK);
  assert_int_equal(build(&p, NULL), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "column 4, 'c', comes as Thrift type 8"));

  fill_page(&p, 9, none);
  p.set.columns.count--;
  assert_int_equal(take(&p), MORTAR_OK);
  assert_int_equal(build(&p, NULL), MORTAR_PROTOCOL);
  assert_non_null(strstr(p.err.message, "a page of 22 columns where the schema has 23"));
  page_fini(&p);
}

/* The text of a null is not looked at; that of a value must be one. */
static void text_without_an_exact_value_is_refused(void **state)
{
  const uint8_t null = 1;
  struct page p;
  int k;

  (void)state;
  page_init(&p);
  for (k = 0; k < KINDS; k++) {
    const bool parsed = kinds[k].type == MTR_TYPE_DECIMAL || kinds[k].type == MTR_TYPE_DATE ||
                        kinds[k].type == MTR_TYPE_TIMESTAMP;
    if (!parsed) continue;
    fill_page(&p, 2, mtr_span_of(NULL, 0));
    p.bytes[k].data[4] = 'x'; /* the first letter of row 0 */
    assert_int_equal(take(&p), MORTAR_OK);
    assert_int_equal(build(&p, NULL), MORTAR_UNSUPPORTED);
    assert_non_null(strstr(p.err.message, "row 0 of the page"));
    assert_non_null(strstr(p.err.message, "cast the column to STRING"));
    assert_null(p.batch.release);
    p.members[k].text.nulls = mtr_span_of(&null, 1);
    assert_int_equal(take(&p), MORTAR_OK);
    assert_int_equal(build(&p, NULL), MORTAR_OK);
  }
  page_fini(&p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_with_every_bitmap),
      cmocka_unit_test(every_type_in_rows),
      cmocka_unit_test(rows_that_disagree_are_refused),
      cmocka_unit_test(batches_whose_schema_is_not_told),
      cmocka_unit_test(text_batches_fail_cleanly),
      cmocka_unit_test(memory),
      cmocka_unit_test(columns_that_disagree_are_refused),
      cmocka_unit_test(text_without_an_exact_value_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
