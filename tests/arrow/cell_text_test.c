/* mortar_format_cell: the text of every type, edges of the calendar, nested values, short buffers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mortar/mortar.h"
#include "tests/arrow/sample.h"

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

/* One column as row 1 of two, so that an offset that is left out shows another value. */
struct column {
  struct ArrowSchema schema, root, *columns[1];
  struct ArrowArray array, batch, *arrays[1];
  const void *buffers[3], *no_buffers[1];
};

static void column_init(struct column *c, const char *format, const void *values, const void *data)
{
  memset(c, 0, sizeof *c);
  c->schema.format = format;
  c->schema.name = "c";
  c->schema.release = c->root.release = release_schema;
  c->root.format = "+s";
  c->root.n_children = c->batch.n_children = 1;
  c->root.children = c->columns;
  c->columns[0] = &c->schema;
  c->buffers[1] = values;
  c->buffers[2] = data;
  c->array.length = 1;
  c->array.n_buffers = data ? 3 : 2;
  c->array.buffers = c->buffers;
  c->array.release = c->batch.release = release_array;
  c->batch.length = 1;
  c->batch.n_buffers = 1;
  c->batch.buffers = c->no_buffers;
  c->batch.children = c->arrays;
  c->arrays[0] = &c->array;
}

static void check_cell(struct column *c, int64_t row, const char *want)
{
  struct mortar_error err;
  char buf[200];
  size_t size;

  assert_int_equal(mortar_format_cell(&c->root, &c->batch, 0, row, buf, sizeof buf, &size, &err),
                   MORTAR_OK);
  assert_string_equal(buf, want);
  assert_int_equal(size, strlen(want));
}

/* The value lies behind a row of other bytes that only the array's offset skips. */
static void check(const char *format, const void *value, size_t width, const char *want)
{
  _Alignas(16) uint8_t values[128];
  struct column c;

  memset(values, 0x3C, sizeof values);
  memcpy(values + width, value, width);
  column_init(&c, format, values, NULL);
  c.array.offset = 1;
  check_cell(&c, 0, want);
}

static void check_i64(const char *format, int64_t value, const char *want)
{
  check(format, &value, 8, want);
}

static void check_i32(const char *format, int32_t value, const char *want)
{
  check(format, &value, 4, want);
}

static void check_double(double value, const char *want) { check("g", &value, 8, want); }
static void check_float(float value, const char *want) { check("f", &value, 4, want); }

static void integers(void **state)
{
  (void)state;
  check("c", "\x80", 1, "-128");
  check("C", "\xff", 1, "255");
  check("s", "\x00\x80", 2, "-32768");
  check("S", "\xff\xff", 2, "65535");
  check_i32("i", INT32_MIN, "-2147483648");
  check_i32("I", -1, "4294967295");
  check_i64("l", INT64_MIN, "-9223372036854775808");
  check_i64("l", 0, "0");
  check_i64("L", -1, "18446744073709551615");
}

static void floating_point(void **state)
{
  (void)state;
  check_double(1, "1.0");
  check_double(-0.1, "-0.1");
  check_double(0.001, "0.001");
  check_double(0.0001, "1.0E-4");
  check_double(9999999.5, "9999999.5");
  check_double(1e7, "1.0E7");
  check_double(1e20, "1.0E20");
  check_double(123456.789, "123456.789");
  check_double(1.7976931348623157e308, "1.7976931348623157E308");
  check_double(0.1 + 0.2, "0.30000000000000004");
  check_double(0, "0.0");
  check_double(-0.0, "-0.0");
  check_double((double)NAN, "NaN");
  check_double((double)INFINITY, "Infinity");
  check_double(-(double)INFINITY, "-Infinity");
  check_float(0.1f, "0.1");
  check_float(16777216.0f, "1.6777216E7");
  check_float(3.4028235e38f, "3.4028235E38");
  check("e", "\x00\x3c", 2, "1.0");
  check("e", "\x01\x00", 2, "5.9604645E-8");
  check("e", "\xff\xfb", 2, "-65504.0");
  check("e", "\x00\xfc", 2, "-Infinity");
  check("e", "\x01\x7c", 2, "NaN");
}

static void a_locale_has_no_say(void **state)
{
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
  size_t i;

  (void)state;
  for (i = 0; i < 4; i++)
    if (setlocale(LC_NUMERIC, names[i])) break;
  check_double(1234.5, "1234.5");
  check_double(0.1 + 0.2, "0.30000000000000004");
  (void)setlocale(LC_NUMERIC, "C");
}

static void decimals(void **state)
{
  uint8_t wide[32], narrow[16] = {0};

  (void)state;
  check_i32("d:9,2,32", -5, "-0.05");
  check_i64("d:18,3,64", 1234567, "1234.567");
  check("d:10,0", narrow, 16, "0");
  check("d:10,2", narrow, 16, "0.00");
  memset(narrow, 0xFF, sizeof narrow);
  check("d:10,1", narrow, 16, "-0.1");
  check("d:38,38", narrow, 16, "-0.00000000000000000000000000000000000001");
  memcpy(narrow, "\xff\xff\xff\xff\x3f\x22\x8a\x09\x7a\xc4\x86\x5a\xa8\x4c\x3b\x4b", 16);
  check("d:38,10", narrow, 16, "9999999999999999999999999999.9999999999");
  check("d:38,-2", narrow, 16, "99999999999999999999999999999999999999E2");
  check("d:38,200", narrow, 16, "99999999999999999999999999999999999999E-200");
  memset(wide, 0, sizeof wide);
  wide[31] = 0x80; /* the smallest of 256 bits: its negation does not fit either */
  check("d:76,0,256", wide, 32,
        "-57896044618658097711785492504343953926634992332820282019728792003956564819968");
}

static void dates(void **state)
{
  (void)state;
  check_i32("tdD", 0, "1970-01-01");
  check_i32("tdD", 15706, "2013-01-01");
  check_i32("tdD", 11016, "2000-02-29");
  check_i32("tdD", -25509, "1900-02-28");
  check_i32("tdD", -25508, "1900-03-01");
  check_i32("tdD", 2932896, "9999-12-31");
  check_i32("tdD", 2932897, "+10000-01-01");
  check_i32("tdD", -719162, "0001-01-01");
  check_i32("tdD", -719163, "0000-12-31");
  check_i32("tdD", -719528, "0000-01-01");
  check_i32("tdD", -719529, "-0001-12-31");
  check_i32("tdD", INT32_MAX, "+5881580-07-11");
  check_i32("tdD", INT32_MIN, "-5877641-06-23");
  check_i64("tdm", -1, "1969-12-31");
  check_i64("tdm", INT64_C(86400000), "1970-01-02");
}

/* Every day of 400 years follows the one before it by the calendar's rules. */
static void each_day_has_a_successor(void **state)
{
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int32_t days = -719528 + 146097 * 4; /* 1600-01-01 */
  int year = 1600, month = 1, day = 1;
  char want[32];

  (void)state;
  for (; year < 2001; days++) {
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    (void)snprintf(want, sizeof want, "%04d-%02d-%02d", year, month, day);
    check_i32("tdD", days, want);
    if (++day <= lengths[month - 1] + (month == 2 && leap)) continue;
    day = 1;
    if (++month <= 12) continue;
    month = 1;
    year++;
  }
}

static void times_and_timestamps(void **state)
{
  (void)state;
  check_i32("tts", 18000, "05:00:00");
  check_i32("ttm", 86399999, "23:59:59.999");
  check_i64("ttu", 1500000, "00:00:01.5");
  check_i64("ttn", 1, "00:00:00.000000001");
  check_i64("ttn", -1, "-00:00:00.000000001");
  check_i64("tss:", 1357016400, "2013-01-01 05:00:00");
  check_i64("tsm:", -1, "1969-12-31 23:59:59.999");
  check_i64("tsu:", INT64_C(1357016400000500), "2013-01-01 05:00:00.0005");
  check_i64("tsn:", INT64_MIN, "1677-09-21 00:12:43.145224192");
  check_i64("tsu:UTC", 0, "1970-01-01 00:00:00");
  check_i64("tsu:Etc/UTC", 0, "1970-01-01 00:00:00");
  check_i64("tsu:Europe/Berlin", 0, "1970-01-01 00:00:00+00:00");
  check_i64("tsu:+02:00", 100000, "1970-01-01 00:00:00.1+00:00");
  check_i64("tss:", INT64_MAX, "+292277026596-12-04 15:30:07");
  check_i64("tss:", INT64_MIN, "-292277022657-01-27 08:29:52");
}

static void intervals(void **state)
{
  const int32_t day_time[2] = {-1, 500}, mixed[4] = {-14, 3, 1000, 0};

  (void)state;
  check_i32("tiM", 14, "1-2");
  check_i32("tiM", -14, "-1-2");
  check_i32("tiM", INT32_MIN, "-178956970-8");
  check_i64("tDu", INT64_C(93784000000), "1 02:03:04.000000");
  check_i64("tDu", -1, "-0 00:00:00.000001");
  check_i64("tDs", -86400, "-1 00:00:00.000000");
  check_i64("tDm", 1, "0 00:00:00.001000");
  check_i64("tDn", INT64_MIN, "-106751 23:47:16.854775808");
  check("tiD", day_time, 8, "-0 23:59:59.500000");
  check("tin", mixed, 16, "-1-2 3 00:00:00.000001000");
}

static void bytes_and_text(void **state)
{
  const int32_t narrow[] = {0, 2, 5};
  const int64_t wide[] = {0, 2, 5};
  struct column c;

  (void)state;
  column_init(&c, "u", narrow, "ab\"\xc3\xa9");
  c.batch.length = c.array.length = 2;
  check_cell(&c, 0, "ab");
  check_cell(&c, 1, "\"\xc3\xa9");
  c.batch.offset = 1;
  c.batch.length = 1;
  check_cell(&c, 0, "\"\xc3\xa9"); /* the batch's own offset counts for its columns */
  column_init(&c, "U", wide, "ab\"\xc3\xa9");
  c.array.offset = 1;
  check_cell(&c, 0, "\"\xc3\xa9");
  column_init(&c, "z", narrow, "ab\xca\xfe!");
  c.array.offset = 1;
  check_cell(&c, 0, "X'CAFE21'");
  check("w:2", "\x00\x1f", 2, "X'001F'");
}

static void nulls_and_booleans(void **state)
{
  static const uint8_t bits[] = {0x02}, valid[] = {0x01};
  struct column c;

  (void)state;
  column_init(&c, "b", bits, NULL);
  c.batch.length = c.array.length = 2;
  check_cell(&c, 0, "false");
  check_cell(&c, 1, "true");
  c.buffers[0] = valid;
  c.array.null_count = -1;
  check_cell(&c, 1, "NULL");
  c.array.null_count = 0;
  check_cell(&c, 1, "true");
  c.schema.format = "n";
  c.array.n_buffers = 0;
  check_cell(&c, 0, "NULL");
}

/* list<double> {NaN, 1.5, null}, list<utf8>, and a fixed list, over one column's slot. */
static void lists_are_json_arrays(void **state)
{
  static const int32_t offsets[] = {0, 1, 4}, texts[] = {0, 0, 2, 4, 5};
  static const uint8_t valid[] = {0x07};
  const double values[] = {9, (double)NAN, 1.5, 7};
  struct column c, item;
  struct ArrowSchema *schemas[] = {&item.schema};
  struct ArrowArray *arrays[] = {&item.array};

  (void)state;
  column_init(&item, "g", values, NULL);
  item.buffers[0] = valid;
  item.array.null_count = 1;
  item.array.length = 4;
  column_init(&c, "+l", offsets, NULL);
  c.array.offset = 1;
  c.schema.n_children = c.array.n_children = 1;
  c.schema.children = schemas;
  c.array.children = arrays;
  check_cell(&c, 0, "[\"NaN\",1.5,null]");
  column_init(&item, "u", texts, "a\"\n\x01z");
  item.array.length = 4;
  check_cell(&c, 0, "[\"a\\\"\",\"\\n\\u0001\",\"z\"]");
  c.schema.format = "+w:2";
  c.array.n_buffers = 1;
  check_cell(&c, 0, "[\"\\n\\u0001\",\"z\"]");
}

static void structs_and_maps_are_json_objects(void **state)
{
  static const int32_t offsets[] = {0, 0, 2}, one[] = {0, 1}, days[] = {0, 1};
  static const uint8_t bits[] = {0x01};
  struct column c, entries, key, value;
  struct ArrowSchema *schemas[] = {&key.schema, &value.schema}, *entry[] = {&entries.schema};
  struct ArrowArray *arrays[] = {&key.array, &value.array}, *entry_array[] = {&entries.array};

  (void)state;
  column_init(&key, "tdD", days, NULL);
  column_init(&value, "b", bits, NULL);
  key.schema.name = "k";
  value.schema.name = "v\"";
  column_init(&entries, "+s", NULL, NULL);
  entries.array.n_buffers = 1;
  entries.schema.n_children = entries.array.n_children = 2;
  entries.schema.children = schemas;
  entries.array.children = arrays;
  column_init(&c, "+m", offsets, NULL);
  c.schema.n_children = c.array.n_children = 1;
  c.schema.children = entry;
  c.array.children = entry_array;
  check_cell(&c, 0, "{}");
  c.array.offset = 1;
  check_cell(&c, 0, "{\"1970-01-01\":true,\"1970-01-02\":false}");
  entries.array.offset = 1;
  c.buffers[1] = one;
  c.array.offset = 0;
  check_cell(&c, 0, "{\"1970-01-02\":false}"); /* the entries may be a slice themselves */
  entries.array.offset = 0;
  c.root.children = entry;
  c.batch.children = entry_array;
  check_cell(&c, 0, "{\"k\":\"1970-01-01\",\"v\\\"\":true}");
}

/* map<struct<k: date>, bool>: keys that are no text make an array of entries. */
static void maps_with_nested_keys_are_arrays(void **state)
{
  static const int32_t offsets[] = {0, 1}, days[] = {0};
  static const uint8_t bits[] = {0x01};
  struct column c, entries, key, value, inner;
  struct ArrowSchema *inners[] = {&inner.schema}, *schemas[] = {&key.schema, &value.schema},
                     *entry[] = {&entries.schema};
  struct ArrowArray *inner_arrays[] = {&inner.array}, *arrays[] = {&key.array, &value.array},
                    *entry_array[] = {&entries.array};

  (void)state;
  column_init(&inner, "tdD", days, NULL);
  column_init(&key, "+s", NULL, NULL);
  key.schema.name = "key";
  key.array.n_buffers = key.schema.n_children = key.array.n_children = 1;
  key.schema.children = inners;
  key.array.children = inner_arrays;
  column_init(&value, "b", bits, NULL);
  value.schema.name = "value";
  column_init(&entries, "+s", NULL, NULL);
  entries.array.n_buffers = 1;
  entries.schema.n_children = entries.array.n_children = 2;
  entries.schema.children = schemas;
  entries.array.children = arrays;
  column_init(&c, "+m", offsets, NULL);
  c.schema.n_children = c.array.n_children = 1;
  c.schema.children = entry;
  c.array.children = entry_array;
  check_cell(&c, 0, "[{\"key\":{\"c\":\"1970-01-01\"},\"value\":true}]");
}

static void short_buffers_are_cut_at_a_character(void **state)
{
  static const char *const want[] = {
      "", "", "", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9\xc3\xa9", "\xc3\xa9\xc3\xa9"};
  const int32_t offsets[] = {0, 4};
  struct column c;
  char buf[8];
  size_t capacity, size;

  (void)state;
  column_init(&c, "u", offsets, "\xc3\xa9\xc3\xa9");
  for (capacity = 1; capacity <= 6; capacity++) {
    memset(buf, 'x', sizeof buf);
    assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, buf, capacity, &size, NULL),
                     MORTAR_OK);
    assert_string_equal(buf, want[capacity]);
    assert_int_equal(size, 4);
    assert_int_equal(buf[capacity], 'x');
  }
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, NULL, 0, &size, NULL), MORTAR_OK);
  assert_int_equal(size, 4);
}

static void wrong_arguments_are_refused(void **state)
{
  const int32_t values[] = {1};
  struct mortar_error err;
  struct column c;
  char buf[8] = "x";
  size_t size = 9;

  (void)state;
  column_init(&c, "i", values, NULL);
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 1, 0, buf, 8, &size, &err),
                   MORTAR_INVALID);
  assert_int_equal(size, 0);
  assert_string_equal(buf, "");
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, -1, 0, buf, 8, &size, &err),
                   MORTAR_INVALID);
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 1, buf, 8, &size, &err),
                   MORTAR_INVALID);
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, -1, buf, 8, &size, &err),
                   MORTAR_INVALID);
  assert_int_equal(mortar_format_cell(NULL, &c.batch, 0, 0, buf, 8, &size, &err), MORTAR_INVALID);
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, NULL, 8, &size, &err),
                   MORTAR_INVALID);
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, buf, 8, NULL, NULL), MORTAR_OK);
  assert_string_equal(buf, "1");
  c.schema.format = "vu";
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, buf, 8, &size, &err),
                   MORTAR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "column \"c\""));
  c.schema.format = "i";
  c.schema.dictionary = &c.root;
  assert_int_equal(mortar_format_cell(&c.root, &c.batch, 0, 0, buf, 8, &size, &err),
                   MORTAR_UNSUPPORTED);
}

static void every_type_has_a_text(void **state)
{
  struct ArrowArray batch;
  struct sample s;
  int64_t column, row;
  char buf[64];
  size_t size;

  (void)state;
  sample_init(&s);
  batch = sample_batch(&s, 9, 40, 3, 20);
  for (column = 0; column < batch.n_children; column++)
    for (row = 0; row < batch.length; row++)
      assert_int_equal(
          mortar_format_cell(&s.c_schema, &batch, column, row, buf, sizeof buf, &size, NULL),
          MORTAR_OK);
  sample_fini(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),
      cmocka_unit_test(floating_point),
      cmocka_unit_test(a_locale_has_no_say),
      cmocka_unit_test(decimals),
      cmocka_unit_test(dates),
      cmocka_unit_test(each_day_has_a_successor),
      cmocka_unit_test(times_and_timestamps),
      cmocka_unit_test(intervals),
      cmocka_unit_test(bytes_and_text),
      cmocka_unit_test(nulls_and_booleans),
      cmocka_unit_test(lists_are_json_arrays),
      cmocka_unit_test(structs_and_maps_are_json_objects),
      cmocka_unit_test(maps_with_nested_keys_are_arrays),
      cmocka_unit_test(short_buffers_are_cut_at_a_character),
      cmocka_unit_test(wrong_arguments_are_refused),
      cmocka_unit_test(every_type_has_a_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
