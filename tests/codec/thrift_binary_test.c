/* The binary protocol's reader and writer, byte by byte. */
#include <math.h>

#include "codec/thrift/binary.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

#define BYTES(...)                                                                                 \
  mtr_span_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void numbers_are_big_endian(void **state)
{
  struct mtr_tr rd;
  (void)state;

  mtr_tr_init(&rd, BYTES(0x80, 0x80, 0x01, 0xFF, 0xFE, 0xFD, 0xFC, 1, 2, 3, 4, 5, 6, 7, 8, 0xC0, 9,
                         0x21, 0xFB, 0x54, 0x44, 0x2D, 0x18));
  assert_int_equal(mtr_tr_u8(&rd), 0x80);
  assert_int_equal(mtr_tr_i16(&rd), -32767);
  assert_int_equal(mtr_tr_i32(&rd), -66052);
  assert_true(mtr_tr_i64(&rd) == INT64_C(0x0102030405060708));
  assert_true(mtr_tr_double(&rd) == -3.141592653589793);
  assert_true(mtr_tr_ok(&rd));
  assert_int_equal(mtr_tr_left(&rd), 0);
}

static void writer_and_reader_agree(void **state)
{
  struct mtr_buf buf;
  struct mtr_tw wr;
  struct mtr_tr rd;
  (void)state;

  mtr_buf_init(&buf, NULL, "test", 1000);
  mtr_tw_init(&wr, &buf, NULL);
  mtr_tw_u8(&wr, 200);
  mtr_tw_i16(&wr, INT16_MIN);
  mtr_tw_i32(&wr, INT32_MIN);
  mtr_tw_i64(&wr, INT64_MIN);
  mtr_tw_double(&wr, -INFINITY);
  mtr_tw_string(&wr, mtr_span_text("abc"));
  mtr_tw_string(&wr, mtr_span_of(NULL, 0));
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  assert_int_equal(buf.size, 1 + 2 + 4 + 8 + 8 + 7 + 4);
  mtr_tr_init(&rd, mtr_buf_span(&buf));
  assert_int_equal(mtr_tr_u8(&rd), 200);
  assert_int_equal(mtr_tr_i16(&rd), INT16_MIN);
  assert_int_equal(mtr_tr_i32(&rd), INT32_MIN);
  assert_true(mtr_tr_i64(&rd) == INT64_MIN);
  assert_true(mtr_tr_double(&rd) == -INFINITY);
  assert_true(mtr_span_equal(mtr_tr_string(&rd), mtr_span_text("abc")));
  assert_int_equal(mtr_tr_string(&rd).size, 0);
  assert_true(mtr_tr_ok(&rd));
  mtr_buf_fini(&buf);
}

static void short_input_is_more_and_sticks(void **state)
{
  struct mortar_error err;
  struct mtr_tr rd;
  (void)state;

  mtr_tr_init(&rd, BYTES(1, 2, 3));
  assert_int_equal(mtr_tr_i32(&rd), 0);
  assert_int_equal(mtr_tr_u8(&rd), 0);
  assert_true(rd.more && !rd.bad);
  mtr_tr_bad(&rd, "later"); /* too late: zeros are not evidence */
  assert_int_equal(mtr_tr_status(&rd, "thing", &err), MORTAR_MORE);
  assert_non_null(strstr(err.message, "thing: ends too early at byte 0"));
}

static void bad_input_names_place_and_reason(void **state)
{
  struct mortar_error err;
  struct mtr_tr rd;
  (void)state;

  mtr_tr_init(&rd, BYTES(7, 0xFF, 0xFF, 0xFF, 0xFF, 1));
  assert_int_equal(mtr_tr_u8(&rd), 7);
  assert_int_equal(mtr_tr_string(&rd).size, 0);
  assert_int_equal(mtr_tr_u8(&rd), 0);
  assert_int_equal(mtr_tr_status(&rd, "thing", &err), MORTAR_PROTOCOL);
  assert_string_equal(err.message, "thing: byte 1: a string of negative length");
}

static void empty_input_is_more(void **state)
{
  struct mtr_tr rd;
  (void)state;

  mtr_tr_init(&rd, mtr_span_of(NULL, 0));
  assert_int_equal(mtr_tr_u8(&rd), 0);
  assert_int_equal(mtr_tr_status(&rd, "x", NULL), MORTAR_MORE);
}

static enum mortar_status skip_all(uint8_t type, struct mtr_span bytes, size_t *left)
{
  struct mtr_tr rd;

  mtr_tr_init(&rd, bytes);
  mtr_tr_skip(&rd, type, 0);
  *left = mtr_tr_left(&rd);
  return mtr_tr_status(&rd, "skip", NULL);
}

/* One value of every type, each followed by one byte that must be left. */
static const struct {
  uint8_t type, size, bytes[24];
} samples[] = {
    {MTR_T_BOOL, 1, {1}},
    {MTR_T_I8, 1, {9}},
    {MTR_T_DOUBLE, 8, {0}},
    {MTR_T_I16, 2, {0}},
    {MTR_T_I32, 4, {0}},
    {MTR_T_I64, 8, {0}},
    {MTR_T_STRING, 6, {0, 0, 0, 2, 'a', 'b'}},
    {MTR_T_STRUCT, 5, {2, 0, 1, 1, 0}},
    {MTR_T_MAP, 8, {3, 3, 0, 0, 0, 1, 5, 6}},
    {MTR_T_MAP, 6, {0, 0, 0, 0, 0, 0}},
    {MTR_T_SET, 9, {6, 0, 0, 0, 2, 0, 1, 0, 2}},
    {MTR_T_LIST, 5, {0, 0, 0, 0, 0}},
    {MTR_T_LIST, 13, {11, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0}},
    {MTR_T_LIST, 14, {15, 0, 0, 0, 1, 8, 0, 0, 0, 1, 0, 0, 0, 7}},
    {MTR_T_UUID, 16, {0}},
};

static void every_type_is_skipped(void **state)
{
  size_t i, n, left;
  (void)state;

  for (i = 0; i < sizeof samples / sizeof *samples; i++) {
    size_t size = samples[i].size;
    assert_int_equal(skip_all(samples[i].type, mtr_span_of(samples[i].bytes, size + 1), &left),
                     MORTAR_OK);
    assert_int_equal(left, 1);
    for (n = 0; n < size; n++)
      assert_int_equal(skip_all(samples[i].type, mtr_span_of(samples[i].bytes, n), &left),
                       MORTAR_MORE);
  }
}

static void unknown_types_are_bad(void **state)
{
  static const uint8_t types[] = {0, 1, 5, 7, 9, 17, 200, 255};
  const uint8_t zeros[40] = {0};
  size_t i, left;
  (void)state;

  for (i = 0; i < sizeof types; i++) {
    const uint8_t list[] = {types[i], 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t map[] = {MTR_T_BOOL, types[i], 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(skip_all(types[i], mtr_span_of(zeros, sizeof zeros), &left), MORTAR_PROTOCOL);
    assert_int_equal(skip_all(MTR_T_LIST, mtr_span_of(list, sizeof list), &left), MORTAR_PROTOCOL);
    assert_int_equal(skip_all(MTR_T_MAP, mtr_span_of(map, sizeof map), &left), MORTAR_PROTOCOL);
  }
}

static void counts_are_compared_with_what_is_left(void **state)
{
  size_t left;
  (void)state;

  assert_int_equal(skip_all(MTR_T_LIST, BYTES(8, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0), &left),
                   MORTAR_MORE);
  assert_int_equal(skip_all(MTR_T_MAP, BYTES(11, 11, 0x7F, 0xFF, 0xFF, 0xFF, 0), &left),
                   MORTAR_MORE);
  assert_int_equal(skip_all(MTR_T_LIST, BYTES(8, 0x80, 0, 0, 0, 0, 0), &left), MORTAR_PROTOCOL);
  assert_int_equal(skip_all(MTR_T_MAP, BYTES(8, 8, 0xFF, 0xFF, 0xFF, 0xFF), &left),
                   MORTAR_PROTOCOL);
  assert_int_equal(skip_all(MTR_T_STRING, BYTES(0x7F, 0xFF, 0xFF, 0xFF, 'a'), &left), MORTAR_MORE);
}

/* levels structs one in the other: field 1 of each is the next. */
static size_t nested_structs(uint8_t *out, size_t levels)
{
  size_t i, n = 0;

  for (i = 1; i < levels; i++) {
    out[n++] = MTR_T_STRUCT;
    out[n++] = 0;
    out[n++] = 1;
  }
  memset(out + n, 0, levels);
  return n + levels;
}

static void depth_is_limited(void **state)
{
  static uint8_t bomb[5 * 100000];
  size_t i, left, n;
  (void)state;

  n = nested_structs(bomb, MTR_THRIFT_MAX_DEPTH - 1);
  assert_int_equal(skip_all(MTR_T_STRUCT, mtr_span_of(bomb, n), &left), MORTAR_OK);
  n = nested_structs(bomb, MTR_THRIFT_MAX_DEPTH);
  assert_int_equal(skip_all(MTR_T_STRUCT, mtr_span_of(bomb, n), &left), MORTAR_PROTOCOL);
  for (i = 0; i < sizeof bomb; i += 5)
    memcpy(bomb + i, (const uint8_t[]){15, 0, 0, 0, 1}, 5);
  assert_int_equal(skip_all(MTR_T_LIST, mtr_span_of(bomb, sizeof bomb), &left), MORTAR_PROTOCOL);
}

static void writer_reports_limit_and_memory(void **state)
{
  struct failing_alloc fa;
  struct mortar_error err;
  struct mtr_buf buf;
  struct mtr_tw wr;
  (void)state;

  mtr_buf_init(&buf, NULL, "request", 6);
  mtr_tw_init(&wr, &buf, &err);
  mtr_tw_i32(&wr, 1);
  mtr_tw_i32(&wr, 2); /* crosses the limit */
  mtr_tw_u8(&wr, 3);  /* would fit, but the writer is spoiled */
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_LIMIT);
  assert_int_equal(buf.size, 4);
  mtr_buf_fini(&buf);

  failing_alloc_init(&fa, 1);
  mtr_buf_init(&buf, &fa.alloc, "request", 100);
  mtr_tw_init(&wr, &buf, &err);
  mtr_tw_field(&wr, MTR_T_I32, 1);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_NOMEM);
  mtr_buf_fini(&buf);
}

static void a_text_too_long_for_thrift_is_refused(void **state)
{
  struct mtr_buf buf;
  struct mtr_tw wr;
  (void)state;

  mtr_buf_init(&buf, NULL, "request", 100);
  mtr_tw_init(&wr, &buf, NULL);
  mtr_tw_string(&wr, mtr_span_of("x", (size_t)INT32_MAX + 1)); /* refused before it is read */
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_LIMIT);
  assert_int_equal(buf.size, 0);
  mtr_buf_fini(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_big_endian),
      cmocka_unit_test(writer_and_reader_agree),
      cmocka_unit_test(short_input_is_more_and_sticks),
      cmocka_unit_test(bad_input_names_place_and_reason),
      cmocka_unit_test(empty_input_is_more),
      cmocka_unit_test(every_type_is_skipped),
      cmocka_unit_test(unknown_types_are_bad),
      cmocka_unit_test(counts_are_compared_with_what_is_left),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(writer_reports_limit_and_memory),
      cmocka_unit_test(a_text_too_long_for_thrift_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
