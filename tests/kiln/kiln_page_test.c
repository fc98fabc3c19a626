/* Thrift columns and rows made of Arrow columns: every type, with and without nulls, at lengths
 * around the bytes of a bitmap, out of slices, and appended in pieces. What is expected is written
 * by the C library or by hand, not by the code under test. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "kiln/server/node.h"
#include "kiln/server/rows.h"

enum { TEXT = 128, SKIPPED = 3 };

/* ---- Types -------------------------------------------------------------------------------- */

/* A type: how a column of it is made, and what stands in row i as text. Numbers are as printf has
 * them, doubles with %.17g. */
struct shape {
  const char *format;
  int64_t buffers, children;
  int64_t (*value)(int64_t i); /* of fixed-width types; NULL: fill makes the values */
  size_t width;
  bool (*fill)(struct mtr_arena *arena, struct kiln_node *node);
  size_t (*expect)(int64_t i, char *out); /* the text's size */
  int column, row; /* which member of TColumn and of TColumnValue: the bits of `has` */
};

static size_t print(char *out, const char *fmt, ...) MORTAR_PRINTF(2, 3);
static size_t print(char *out, const char *fmt, ...)
{
  va_list args;
  int n;

  va_start(args, fmt);
  n = vsnprintf(out, TEXT, fmt, args);
  va_end(args);
  assert_in_range(n, 0, TEXT - 1);
  return (size_t)n;
}

static size_t nothing(int64_t i, char *out)
{
  (void)i;
  return print(out, "never seen");
}

static int64_t tiny(int64_t i) { return 3 * i - 100; }
static int64_t small(int64_t i) { return 400 * i - 1000; }
static int64_t medium(int64_t i) { return 1000003 * i - 5; }
static int64_t big(int64_t i) { return INT64_C(1000000000000000) * i - 7; }
static size_t print_tiny(int64_t i, char *out) { return print(out, "%" PRId64, tiny(i)); }
static size_t print_small(int64_t i, char *out) { return print(out, "%" PRId64, small(i)); }
static size_t print_medium(int64_t i, char *out) { return print(out, "%" PRId64, medium(i)); }
static size_t print_big(int64_t i, char *out) { return print(out, "%" PRId64, big(i)); }

static bool fill_bits(struct mtr_arena *arena, struct kiln_node *node)
{
  uint8_t *bits = kiln_node_buffer(arena, node, 1, (size_t)(node->array.length + 7) / 8);
  int64_t i;

  for (i = 0; bits && i < node->array.length; i += 3)
    bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
  return bits != NULL;
}

static size_t print_bit(int64_t i, char *out) { return print(out, "%d", i % 3 == 0); }

static double special(int64_t i, double otherwise)
{
  if (i == 4) return (double)NAN;
  if (i == 5) return (double)-INFINITY;
  return otherwise;
}

static int64_t float_bits(int64_t i)
{
  float v = (float)special(i, (double)i + 0.1);
  uint32_t bits;

  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static int64_t double_bits(int64_t i)
{
  double v = special(i, (double)i / 7);
  int64_t bits;

  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* What a person would write for the float: 3.1, not 3.0999999046325684. */
static size_t print_float(int64_t i, char *out)
{
  char text[32];

  (void)snprintf(text, sizeof text, "%" PRId64 ".1", i);
  return print(out, "%.17g", special(i, strtod(text, NULL)));
}

static size_t print_double(int64_t i, char *out)
{
  return print(out, "%.17g", special(i, (double)i / 7));
}

static size_t print_text(int64_t i, char *out)
{
  return i % 4 == 0 ? 0 : print(out, "größe %" PRId64, i);
}

/* Three bytes with a zero among them. */
static size_t print_bytes(int64_t i, char *out)
{
  out[0] = (char)(i + 1);
  out[1] = '\0';
  out[2] = (char)0xFE;
  return 3;
}

static bool fill_bytes(struct mtr_arena *arena, struct kiln_node *node,
                       size_t (*text)(int64_t i, char *out), bool wide)
{
  size_t rows = (size_t)node->array.length, total = 0;
  int32_t *offsets = kiln_node_buffer(arena, node, 1, (rows + 1) * sizeof(int64_t));
  int64_t *wide_offsets = (int64_t *)(void *)offsets;
  char *bytes = kiln_node_buffer(arena, node, 2, rows * TEXT), one[TEXT];
  size_t i;

  for (i = 0; offsets && bytes && i < rows; i++) {
    size_t n = text((int64_t)i, one);
    memcpy(bytes + total, one, n);
    total += n;
    if (wide)
      wide_offsets[i + 1] = (int64_t)total;
    else
      offsets[i + 1] = (int32_t)total;
  }
  return offsets && bytes;
}

static bool fill_text(struct mtr_arena *arena, struct kiln_node *node)
{
  return fill_bytes(arena, node, print_text, false);
}

static bool fill_large_text(struct mtr_arena *arena, struct kiln_node *node)
{
  return fill_bytes(arena, node, print_text, true);
}

static bool fill_binary(struct mtr_arena *arena, struct kiln_node *node)
{
  return fill_bytes(arena, node, print_bytes, false);
}

static bool fill_large_binary(struct mtr_arena *arena, struct kiln_node *node)
{
  return fill_bytes(arena, node, print_bytes, true);
}

static bool fill_fixed_binary(struct mtr_arena *arena, struct kiln_node *node)
{
  char *bytes = kiln_node_buffer(arena, node, 1, (size_t)node->array.length * 3);
  int64_t i;

  for (i = 0; bytes && i < node->array.length; i++)
    (void)print_bytes(i, bytes + i * 3);
  return bytes != NULL;
}

static int64_t hundredths(int64_t i) { return 125 * i - 1000; }

static bool fill_decimal(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t *words = kiln_node_buffer(arena, node, 1, (size_t)node->array.length * 16), i;

  for (i = 0; words && i < node->array.length; i++) {
    words[2 * i] = hundredths(i);
    words[2 * i + 1] = hundredths(i) < 0 ? -1 : 0;
  }
  return words != NULL;
}

static size_t print_decimal(int64_t i, char *out)
{
  int64_t v = hundredths(i);

  return print(out, "%s%" PRIdMAX ".%02" PRIdMAX, v < 0 ? "-" : "", imaxabs(v) / 100,
               imaxabs(v) % 100);
}

static int64_t day(int64_t i) { return 100 * i - 2000; }

static size_t print_clock(const char *format, int64_t seconds, char *out)
{
  time_t at = (time_t)seconds;
  struct tm tm;

  assert_non_null(gmtime_r(&at, &tm));
  return strftime(out, TEXT, format, &tm);
}

static size_t print_day(int64_t i, char *out)
{
  return print_clock("%Y-%m-%d", day(i) * 86400, out);
}

/* i milliseconds beyond a whole second, in each unit. */
static int64_t second(int64_t i) { return 86399 * i - 1000000; }
static int64_t milli(int64_t i) { return second(i) * 1000 + i; }
static int64_t micro(int64_t i) { return milli(i) * 1000; }
static int64_t nano(int64_t i) { return micro(i) * 1000; }

static size_t print_second(int64_t i, char *out)
{
  return print_clock("%Y-%m-%d %H:%M:%S", second(i), out);
}

static size_t print_milli(int64_t i, char *out)
{
  size_t n = print_second(i, out);

  if (i == 0) return n;
  n += print(out + n, ".%03" PRId64, i);
  while (out[n - 1] == '0')
    n--;
  return n;
}

/* A day, an hour, a minute, a second and a microsecond, i times; negative when i is odd. */
static int64_t micros_passed(int64_t i)
{
  return (i % 2 ? -1 : 1) * i * (INT64_C(90061) * 1000000 + 1);
}
static int64_t seconds_passed(int64_t i) { return (i % 2 ? -1 : 1) * i * 90061; }

static size_t print_passed(int64_t i, int64_t nanos, char *out)
{
  int64_t s = i * 90061;

  return print(out, "%s%" PRId64 " %02d:%02d:%02d.%09" PRId64, i % 2 ? "-" : "", s / 86400,
               (int)(s / 3600 % 24), (int)(s / 60 % 60), (int)(s % 60), nanos);
}

static size_t print_micros(int64_t i, char *out) { return print_passed(i, i * 1000, out); }
static size_t print_seconds(int64_t i, char *out) { return print_passed(i, 0, out); }

static int64_t months(int64_t i) { return i - 30; }

static size_t print_months(int64_t i, char *out)
{
  int64_t m = months(i);

  return print(out, "%s%" PRIdMAX "-%" PRIdMAX, m < 0 ? "-" : "", imaxabs(m) / 12, imaxabs(m) % 12);
}

/* ---- Nested types ------------------------------------------------------------------------- */

/* i % 3 elements in row i; the element at place k is k. */
static struct kiln_node *adopt_elements(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t rows = node->array.length, i, total = 0;
  int32_t *offsets = kiln_node_buffer(arena, node, 1, (size_t)(rows + 1) * sizeof *offsets);
  struct kiln_node *element;

  assert_non_null(offsets);
  for (i = 0; i < rows; i++) {
    total += i % 3;
    offsets[i + 1] = (int32_t)total;
  }
  element = kiln_node_new(arena, "element", "i", total, 2, 0);
  assert_non_null(element);
  kiln_node_adopt(node, 0, element);
  return element;
}

static int64_t first_element(int64_t i) { return i / 3 * 3 + (i % 3 == 2); }

static bool fill_places(struct mtr_arena *arena, struct kiln_node *node)
{
  int32_t *values = kiln_node_buffer(arena, node, 1, (size_t)node->array.length * sizeof *values);
  int64_t i;

  for (i = 0; values && i < node->array.length; i++)
    values[i] = (int32_t)i;
  return values != NULL;
}

static bool fill_list(struct mtr_arena *arena, struct kiln_node *node)
{
  return fill_places(arena, adopt_elements(arena, node));
}

static size_t print_list(int64_t i, char *out)
{
  int64_t at = first_element(i);

  if (i % 3 == 0) return print(out, "[]");
  if (i % 3 == 1) return print(out, "[%" PRId64 "]", at);
  return print(out, "[%" PRId64 ",%" PRId64 "]", at, at + 1);
}

static size_t print_key(int64_t i, char *out) { return print(out, "k%" PRId64, i); }

/* The elements of a list become the values of entries. */
static bool fill_map(struct mtr_arena *arena, struct kiln_node *node)
{
  struct kiln_node *value = adopt_elements(arena, node);
  int64_t total = value->array.length;
  struct kiln_node *entries = kiln_node_new(arena, "entries", "+s", total, 1, 2);
  struct kiln_node *key = kiln_node_new(arena, "key", "u", total, 3, 0);

  if (!entries || !key) return false;
  entries->schema.flags = key->schema.flags = 0;
  kiln_node_adopt(entries, 0, key);
  kiln_node_adopt(entries, 1, value);
  kiln_node_adopt(node, 0, entries);
  return fill_places(arena, value) && fill_bytes(arena, key, print_key, false);
}

static size_t print_map(int64_t i, char *out)
{
  int64_t at = first_element(i);

  if (i % 3 == 0) return print(out, "{}");
  if (i % 3 == 1) return print(out, "{\"k%" PRId64 "\":%" PRId64 "}", at, at);
  return print(out, "{\"k%" PRId64 "\":%" PRId64 ",\"k%" PRId64 "\":%" PRId64 "}", at, at, at + 1,
               at + 1);
}

/* A struct of a number and a day, longer than the first room for a text. */
static bool fill_struct(struct mtr_arena *arena, struct kiln_node *node)
{
  static const char name[] = "a name that is longer than sixty-four bytes together with the rest";
  struct kiln_node *x = kiln_node_new(arena, name, "i", node->array.length, 2, 0);
  struct kiln_node *text = kiln_node_new(arena, "d", "u", node->array.length, 3, 0);

  if (!x || !text) return false;
  kiln_node_adopt(node, 0, x);
  kiln_node_adopt(node, 1, text);
  return fill_places(arena, x) && fill_bytes(arena, text, print_day, false);
}

static size_t print_struct(int64_t i, char *out)
{
  char text[TEXT];

  text[print_day(i, text)] = '\0';
  return print(out,
               "{\"a name that is longer than sixty-four bytes together with the rest\":%" PRId64
               ",\"d\":\"%s\"}",
               i, text);
}

/* ---- The table ---------------------------------------------------------------------------- */

#define COLUMN(member) MTR_BIT_TColumn_##member
#define VALUE(member) MTR_BIT_TColumnValue_##member
#define IN(member) COLUMN(member), VALUE(member)

static const struct shape shapes[] = {
    {"n", 0, 0, NULL, 0, NULL, nothing, IN(string_val)},
    {"b", 2, 0, NULL, 0, fill_bits, print_bit, IN(bool_val)},
    {"c", 2, 0, tiny, 1, NULL, print_tiny, IN(byte_val)},
    {"s", 2, 0, small, 2, NULL, print_small, IN(i16_val)},
    {"i", 2, 0, medium, 4, NULL, print_medium, IN(i32_val)},
    {"l", 2, 0, big, 8, NULL, print_big, IN(i64_val)},
    {"f", 2, 0, float_bits, 4, NULL, print_float, IN(double_val)},
    {"g", 2, 0, double_bits, 8, NULL, print_double, IN(double_val)},
    {"u", 3, 0, NULL, 0, fill_text, print_text, IN(string_val)},
    {"U", 3, 0, NULL, 0, fill_large_text, print_text, IN(string_val)},
    {"z", 3, 0, NULL, 0, fill_binary, print_bytes, COLUMN(binary_val), VALUE(string_val)},
    {"Z", 3, 0, NULL, 0, fill_large_binary, print_bytes, COLUMN(binary_val), VALUE(string_val)},
    {"w:3", 2, 0, NULL, 0, fill_fixed_binary, print_bytes, COLUMN(binary_val), VALUE(string_val)},
    {"d:10,2", 2, 0, NULL, 0, fill_decimal, print_decimal, IN(string_val)},
    {"tdD", 2, 0, day, 4, NULL, print_day, IN(string_val)},
    {"tss:UTC", 2, 0, second, 8, NULL, print_second, IN(string_val)},
    {"tsm:", 2, 0, milli, 8, NULL, print_milli, IN(string_val)},
    {"tsu:", 2, 0, micro, 8, NULL, print_milli, IN(string_val)},
    {"tsu:Etc/UTC", 2, 0, micro, 8, NULL, print_milli, IN(string_val)},
    {"tsu:Europe/Oslo", 2, 0, micro, 8, NULL, print_milli, IN(string_val)},
    {"tsn:Etc/UTC", 2, 0, nano, 8, NULL, print_milli, IN(string_val)},
    {"tDs", 2, 0, seconds_passed, 8, NULL, print_seconds, IN(string_val)},
    {"tDu", 2, 0, micros_passed, 8, NULL, print_micros, IN(string_val)},
    {"tiM", 2, 0, months, 4, NULL, print_months, IN(string_val)},
    {"+l", 2, 1, NULL, 0, fill_list, print_list, IN(string_val)},
    {"+m", 2, 1, NULL, 0, fill_map, print_map, IN(string_val)},
    {"+s", 1, 2, NULL, 0, fill_struct, print_struct, IN(string_val)},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

enum pattern { NO_NULLS, SOME_NULLS, LAST_NULL, ALL_NULLS, PATTERNS };

static bool is_null(const struct shape *shape, enum pattern pattern, int64_t i, int64_t end)
{
  if (shape->buffers == 0 || pattern == ALL_NULLS) return true;
  return (pattern == SOME_NULLS && i % 5 == 3) || (pattern == LAST_NULL && i == end - 1);
}

/* ---- A table as a stream ------------------------------------------------------------------ */

static struct kiln_node *make_column(struct mtr_arena *arena, const struct shape *shape,
                                     int64_t rows, enum pattern pattern)
{
  struct kiln_node *node =
      kiln_node_new(arena, "c", shape->format, rows, shape->buffers, shape->children);
  uint8_t *values;
  int64_t i, v;

  assert_non_null(node);
  if (shape->fill) assert_true(shape->fill(arena, node));
  if (shape->value) {
    values = kiln_node_buffer(arena, node, 1, (size_t)rows * shape->width);
    assert_non_null(values);
    for (i = 0; i < rows; i++) {
      v = shape->value(i);
      memcpy(values + (size_t)i * shape->width, &v, shape->width);
    }
  }
  for (i = 0; shape->buffers > 0 && i < rows; i++)
    if (is_null(shape, pattern, i, rows)) assert_true(kiln_node_null(arena, node, i));
  return node;
}

static struct kiln_node *make_table(struct mtr_arena *arena, int64_t rows, enum pattern pattern)
{
  struct kiln_node *root = kiln_node_new(arena, "", "+s", rows, 1, SHAPES);
  int64_t i;

  assert_non_null(root);
  for (i = 0; i < SHAPES; i++)
    kiln_node_adopt(root, i, make_column(arena, &shapes[i], rows, pattern));
  return root;
}

struct source {
  struct kiln_node *root;
  int64_t skip;
  bool sent;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  const struct source *source = stream->private_data;

  *out = source->root->schema;
  return 0;
}

/* All rows but the first `skip`, by way of the struct's offset. */
static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct source *source = stream->private_data;

  memset(out, 0, sizeof *out);
  if (source->sent) return 0;
  *out = source->root->array;
  out->offset = source->skip;
  out->length -= source->skip;
  source->sent = true;
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return NULL;
}

static void release(struct ArrowArrayStream *stream) { stream->release = NULL; }

/* ---- Checks ------------------------------------------------------------------------------- */

struct checked {
  struct mtr_arena arena;
  struct source source;
  struct kiln_rows *rows;
  struct mtr_TRowSet *page;
  enum pattern pattern;
  int64_t count, skip;
};

static void begin(struct checked *c, int32_t layout, int64_t count, int64_t skip,
                  enum pattern pattern)
{
  struct kiln_rows_options options = {
      .layout = layout, .protocol = MTR_PROTOCOL_SPARK_V8, .batch_rows = 7, .row_limit = -1};
  struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release, &c->source};
  struct kiln_error error;
  bool more;

  memset(c, 0, sizeof *c);
  mtr_arena_init(&c->arena, NULL, 64 << 20);
  c->source.root = make_table(&c->arena, count + skip, pattern);
  c->source.skip = c->skip = skip;
  c->count = count;
  c->pattern = pattern;
  if (!kiln_rows_new(&stream, &options, &c->rows, &error)) fail_msg("%s", error.message);
  if (!kiln_rows_page(c->rows, 0, 0, &c->page, &more, &error)) fail_msg("%s", error.message);
  assert_false(more);
}

static void end(struct checked *c)
{
  kiln_rows_free(c->rows);
  mtr_arena_fini(&c->arena);
}

static void assert_value(const struct shape *shape, int64_t i, const char *got, size_t size)
{
  char text[TEXT];
  size_t n = shape->expect(i, text);

  if (n != size || memcmp(text, got, n) != 0)
    fail_msg("%s, row %d: \"%.*s\" is not \"%.*s\"", shape->format, (int)i, (int)size, got, (int)n,
             text);
}

/* The next value of a column as text; what it is when it is null must be read all the same. */
static size_t read_value(struct mtr_tr *rd, uint8_t element, char *out)
{
  struct mtr_span bytes;

  switch (element) {
    case MTR_T_BOOL:
      return print(out, "%d", mtr_tr_u8(rd));
    case MTR_T_I8:
      return print(out, "%d", (int8_t)mtr_tr_u8(rd));
    case MTR_T_I16:
      return print(out, "%d", mtr_tr_i16(rd));
    case MTR_T_I32:
      return print(out, "%" PRId32, mtr_tr_i32(rd));
    case MTR_T_I64:
      return print(out, "%" PRId64, mtr_tr_i64(rd));
    case MTR_T_DOUBLE:
      return print(out, "%.17g", mtr_tr_double(rd));
    default:
      assert_int_equal(element, MTR_T_STRING);
      bytes = mtr_tr_string(rd);
      assert_true(bytes.size < TEXT);
      if (bytes.size) memcpy(out, bytes.data, bytes.size);
      return bytes.size;
  }
}

static bool bit_of(struct mtr_span nulls, int64_t i)
{
  return (size_t)i / 8 < nulls.size && (nulls.data[i / 8] >> (i % 8) & 1) != 0;
}

/* The bitmap ends with the byte of the last null and has one byte at least. */
static void check_bitmap(const struct checked *c, const struct shape *shape, struct mtr_span nulls)
{
  size_t size = 1;
  int64_t i;

  for (i = 0; i < c->count; i++) {
    bool null = is_null(shape, c->pattern, i + c->skip, c->count + c->skip);
    if (null) size = (size_t)i / 8 + 1;
    assert_int_equal(bit_of(nulls, i), null);
  }
  assert_int_equal(nulls.size, size);
  for (i = c->count; i < (int64_t)nulls.size * 8; i++)
    assert_false(bit_of(nulls, i));
}

/* All column structs have the same members at the same places. */
static void check_column(const struct checked *c, const struct shape *shape,
                         const struct mtr_TColumn *item)
{
  const struct mtr_struct_info *info = &mtr_TColumn_info;
  const struct mtr_TStringColumn *column;
  struct mtr_tr rd;
  char text[TEXT];
  int64_t i;

  assert_int_equal(item->has, UINT64_C(1) << shape->column);
  memcpy(&column, (const uint8_t *)item + info->fields[shape->column].offset, sizeof column);
  assert_int_equal(column->has, 3);
  assert_int_equal(column->values.count, c->count);
  mtr_tr_init(&rd, column->values.bytes);
  for (i = 0; i < c->count; i++) {
    size_t n = read_value(&rd, column->values.element, text);
    if (!bit_of(column->nulls, i)) assert_value(shape, i + c->skip, text, n);
  }
  assert_true(mtr_tr_ok(&rd));
  assert_int_equal(mtr_tr_left(&rd), 0);
  check_bitmap(c, shape, column->nulls);
}

static void check_columns(int64_t count, int64_t skip, enum pattern pattern)
{
  struct checked c;
  size_t i;

  begin(&c, MTR_ROWSET_COLUMNS, count, skip, pattern);
  assert_int_equal(kiln_rows_metadata(c.rows)->result_format, MTR_ROWSET_COLUMNS);
  assert_int_equal(c.page->rows.count, 0);
  assert_int_equal(c.page->columns.count, SHAPES);
  for (i = 0; i < SHAPES; i++)
    check_column(&c, &shapes[i], &c.page->columns.items[i]);
  end(&c);
}

static size_t print_member(const struct mtr_TColumnValue *value, const struct shape *shape,
                           char *out)
{
  struct mtr_span bytes;

  switch (shape->row) {
    case VALUE(bool_val):
      return print(out, "%d", value->bool_val->value);
    case VALUE(byte_val):
      return print(out, "%d", value->byte_val->value);
    case VALUE(i16_val):
      return print(out, "%d", value->i16_val->value);
    case VALUE(i32_val):
      return print(out, "%" PRId32, value->i32_val->value);
    case VALUE(i64_val):
      return print(out, "%" PRId64, value->i64_val->value);
    case VALUE(double_val):
      return print(out, "%.17g", value->double_val->value);
    default:
      bytes = value->string_val->value;
      assert_true(bytes.size < TEXT);
      if (bytes.size) memcpy(out, bytes.data, bytes.size);
      return bytes.size;
  }
}

static void check_cell(const struct checked *c, const struct shape *shape, int64_t row,
                       const struct mtr_TColumnValue *value)
{
  const struct mtr_struct_info *info = &mtr_TColumnValue_info;
  const struct mtr_TStringValue *wrapped;
  char text[TEXT];

  assert_int_equal(value->has, UINT64_C(1) << shape->row);
  memcpy(&wrapped, (const uint8_t *)value + info->fields[shape->row].offset, sizeof wrapped);
  if (is_null(shape, c->pattern, row + c->skip, c->count + c->skip))
    assert_int_equal(wrapped->has, 0);
  else
    assert_value(shape, row + c->skip, text, print_member(value, shape, text));
}

static void check_rows(int64_t count, int64_t skip, enum pattern pattern)
{
  struct checked c;
  int64_t row;
  size_t i;

  begin(&c, MTR_ROWSET_ROWS, count, skip, pattern);
  assert_int_equal(kiln_rows_metadata(c.rows)->result_format, MTR_ROWSET_ROWS);
  assert_false(MTR_HAS(c.page, TRowSet, columns));
  assert_int_equal(c.page->rows.count, count);
  for (row = 0; row < count; row++) {
    const struct mtr_TRow *item = &c.page->rows.items[row];
    assert_int_equal(item->col_vals.count, SHAPES);
    for (i = 0; i < SHAPES; i++)
      check_cell(&c, &shapes[i], row, &item->col_vals.items[i]);
  }
  end(&c);
}

static void every_type(void (*check)(int64_t count, int64_t skip, enum pattern pattern))
{
  static const int64_t counts[] = {0, 1, 8, 9, 65};
  int pattern;
  size_t i;

  for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
    for (pattern = 0; pattern < PATTERNS; pattern++) {
      check(counts[i], 0, (enum pattern)pattern);
      check(counts[i], SKIPPED, (enum pattern)pattern);
    }
}

static void every_type_as_columns(void **state)
{
  (void)state;
  every_type(check_columns);
}

static void every_type_as_rows(void **state)
{
  (void)state;
  every_type(check_rows);
}

/* A page ends at the batch that reaches the bound. */
static void pages_are_bounded_by_bytes(void **state)
{
  static const int32_t layouts[] = {MTR_ROWSET_COLUMNS, MTR_ROWSET_ROWS};
  struct kiln_rows_options options = {.batch_rows = 4, .row_limit = -1};
  struct kiln_error error;
  struct mtr_TRowSet *page;
  struct kiln_rows *rows;
  struct mtr_arena arena;
  struct source source;
  bool more;
  size_t i;

  (void)state;
  for (i = 0; i < 2; i++) {
    struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release, &source};
    mtr_arena_init(&arena, NULL, 64 << 20);
    memset(&source, 0, sizeof source);
    source.root = make_table(&arena, 10, NO_NULLS);
    options.layout = layouts[i];
    assert_true(kiln_rows_new(&stream, &options, &rows, &error));
    assert_true(kiln_rows_page(rows, 0, 1, &page, &more, &error));
    assert_true(more);
    assert_int_equal(kiln_rows_sent(rows), 4);
    assert_true(kiln_rows_page(rows, 5, 0, &page, &more, &error));
    assert_true(more);
    assert_int_equal(page->start_row_offset, 4);
    assert_int_equal(kiln_rows_sent(rows), 9);
    kiln_rows_free(rows);
    mtr_arena_fini(&arena);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_as_columns),
      cmocka_unit_test(every_type_as_rows),
      cmocka_unit_test(pages_are_bounded_by_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
