/* The descriptor-driven reader, writer and dump: what they accept, skip and refuse. */
#include <math.h>
#include <stdio.h>

#include "codec/thrift/tcli.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { ARENA_MAX = 1 << 20 };

/* A struct is made with the writer, then decoded; everything lives until fini. */
struct bench {
  struct mtr_buf buf, json;
  struct mtr_tw wr;
  struct mtr_arena arena;
  struct mortar_error err;
};

static void bench_init(struct bench *b, const struct mortar_alloc *alloc)
{
  memset(b, 0, sizeof *b);
  mtr_buf_init(&b->buf, alloc, "input", ARENA_MAX);
  mtr_buf_init(&b->json, alloc, "dump", ARENA_MAX);
  mtr_arena_init(&b->arena, alloc, ARENA_MAX);
  mtr_tw_init(&b->wr, &b->buf, &b->err);
}

static void bench_fini(struct bench *b)
{
  mtr_buf_fini(&b->buf);
  mtr_buf_fini(&b->json);
  mtr_arena_fini(&b->arena);
}

static enum mortar_status decode(struct bench *b, const struct mtr_struct_info *info, void *out)
{
  assert_int_equal(mtr_tw_finish(&b->wr), MORTAR_OK);
  return mtr_thrift_decode(mtr_buf_span(&b->buf), info, out, &b->arena, &b->err);
}

static const char *dump(struct bench *b, const struct mtr_struct_info *info, const void *in)
{
  mtr_buf_reset(&b->json);
  assert_int_equal(mtr_thrift_dump(info, in, &b->json, &b->err), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&b->json, "", 1, &b->err), MORTAR_OK);
  return (const char *)b->json.data;
}

/* What a field is on the wire, said once more. */
static int type_of(uint8_t kind)
{
  static const uint8_t types[] = {
      MTR_T_BOOL,   MTR_T_I8,     MTR_T_I16,  MTR_T_I32,  MTR_T_I64, MTR_T_DOUBLE, MTR_T_STRING,
      MTR_T_STRING, MTR_T_STRUCT, MTR_T_LIST, MTR_T_LIST, MTR_T_MAP, MTR_T_MAP};

  assert_true(kind < sizeof types);
  return types[kind];
}

static void tables_are_in_order(void **state)
{
  size_t i, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  unsigned j;
  (void)state;

  assert_int_equal(count, 93);
  for (i = 0; i < count; i++) {
    assert_ptr_equal(mtr_tcli_find(mtr_span_text(all[i]->name)), all[i]);
    for (j = 0; j < all[i]->field_count; j++) {
      assert_true(all[i]->fields[j].offset >= sizeof(struct mtr_struct_head));
      assert_true(all[i]->fields[j].offset < all[i]->size);
      assert_int_equal(all[i]->fields[j].bit, UINT64_C(1) << j);
      assert_int_equal(all[i]->fields[j].wire, type_of(all[i]->fields[j].kind));
      if (j) assert_true(all[i]->fields[j - 1].id < all[i]->fields[j].id);
    }
    assert_int_equal(all[i]->fields[j].id, INT16_MAX);
    assert_int_equal(all[i]->fields[j].wire, MTR_T_STOP);
  }
  assert_null(mtr_tcli_find(mtr_span_text("TStat")));
  assert_null(mtr_tcli_find(mtr_span_text("TStatusX")));
}

/* One value of each wire type, written behind a field head. */
static const struct {
  uint8_t type, size, bytes[20];
} samples[] = {
    {MTR_T_BOOL, 1, {1}},
    {MTR_T_I8, 1, {9}},
    {MTR_T_DOUBLE, 8, {0}},
    {MTR_T_I16, 2, {1, 2}},
    {MTR_T_I32, 4, {1, 2, 3, 4}},
    {MTR_T_I64, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
    {MTR_T_STRING, 6, {0, 0, 0, 2, 'a', 'b'}},
    {MTR_T_STRUCT, 5, {2, 0, 1, 1, 0}},
    {MTR_T_MAP, 8, {3, 3, 0, 0, 0, 1, 5, 6}},
    {MTR_T_SET, 9, {6, 0, 0, 0, 2, 0, 1, 0, 2}},
    {MTR_T_LIST, 5, {16, 0, 0, 0, 0}},
    {MTR_T_UUID, 16, {0}},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void write_sample(struct mtr_tw *wr, size_t i, int16_t id)
{
  mtr_tw_field(wr, (enum mtr_thrift_type)samples[i].type, id);
  mtr_tw_raw(wr, mtr_span_of(samples[i].bytes, samples[i].size));
}

static void write_all_samples(struct mtr_tw *wr)
{
  size_t i;

  for (i = 0; i < SAMPLES; i++)
    write_sample(wr, i, (int16_t)(4000 + i));
  for (i = 0; i < SAMPLES; i++)
    write_sample(wr, i, (int16_t)-i);
  for (i = 0; i < SAMPLES; i++)
    write_sample(wr, i, INT16_MAX);
}

static void known_fields_of_other_types_are_skipped(void **state)
{
  _Alignas(16) uint8_t out[512];
  size_t i, s, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  unsigned j;
  struct bench b;
  uint64_t has;
  (void)state;

  for (i = 0; i < count; i++)
    for (j = 0; j < all[i]->field_count; j++)
      for (s = 0; s < SAMPLES; s++) {
        assert_true(all[i]->size <= sizeof out);
        bench_init(&b, NULL);
        write_sample(&b.wr, s, all[i]->fields[j].id);
        mtr_tw_u8(&b.wr, MTR_T_STOP);
        assert_int_equal(decode(&b, all[i], out), MORTAR_OK);
        memcpy(&has, out, sizeof has);
        if (has) { /* then it was the right type: what we write is what came */
          mtr_buf_reset(&b.json);
          mtr_tw_init(&b.wr, &b.json, &b.err);
          mtr_thrift_write_struct(&b.wr, all[i], out);
          assert_int_equal(b.json.data[0], samples[s].type);
          if (samples[s].type != MTR_T_STRUCT)
            assert_true(mtr_span_equal(mtr_buf_span(&b.json), mtr_buf_span(&b.buf)));
        }
        bench_fini(&b);
      }
}

static void right_types_are_taken(void **state)
{
  struct mtr_TTypeQualifierValue v;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  write_sample(&b.wr, 4, 1);
  write_sample(&b.wr, 6, 2);
  mtr_tw_u8(&b.wr, MTR_T_STOP);
  assert_int_equal(decode(&b, &mtr_TTypeQualifierValue_info, &v), MORTAR_OK);
  assert_true(MTR_HAS(&v, TTypeQualifierValue, i32_value));
  assert_int_equal(v.i32_value, 0x01020304);
  assert_true(MTR_HAS(&v, TTypeQualifierValue, string_value));
  assert_true(mtr_span_equal(v.string_value, mtr_span_text("ab")));
  bench_fini(&b);
}

/* A table schema with strangers in every struct, also in those inside the list. */
static void write_strange_schema(struct mtr_tw *wr)
{
  int i;

  write_all_samples(wr);
  mtr_tw_field(wr, MTR_T_LIST, 1);
  mtr_tw_u8(wr, MTR_T_STRUCT);
  mtr_tw_i32(wr, 2);
  for (i = 0; i < 2; i++) {
    write_all_samples(wr);
    mtr_tw_field(wr, MTR_T_STRING, 1);
    mtr_tw_string(wr, mtr_span_text(i ? "b" : "a"));
    mtr_tw_field(wr, MTR_T_STRUCT, 2);
    write_all_samples(wr);
    mtr_tw_u8(wr, MTR_T_STOP);
    write_all_samples(wr);
    mtr_tw_field(wr, MTR_T_I32, 3);
    mtr_tw_i32(wr, i + 1);
    mtr_tw_u8(wr, MTR_T_STOP);
  }
  write_all_samples(wr);
  mtr_tw_u8(wr, MTR_T_STOP);
}

static void unknown_fields_are_skipped_everywhere(void **state)
{
  struct mtr_TTableSchema schema;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  write_strange_schema(&b.wr);
  assert_int_equal(decode(&b, &mtr_TTableSchema_info, &schema), MORTAR_OK);
  assert_string_equal(dump(&b, &mtr_TTableSchema_info, &schema),
                      "{\"columns\":[{\"column_name\":\"a\",\"type_desc\":{},\"position\":1},"
                      "{\"column_name\":\"b\",\"type_desc\":{},\"position\":2}]}");
  bench_fini(&b);
}

static void containers_of_other_elements_are_skipped(void **state)
{
  struct mtr_TOpenSessionReq req;
  struct mtr_TTableSchema schema;
  struct mtr_TI32Column column;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  mtr_tw_raw(&b.wr, mtr_span_of("\x0f\0\1\x08\0\0\0\1\0\0\0\7\0", 13));
  assert_int_equal(decode(&b, &mtr_TTableSchema_info, &schema), MORTAR_OK);
  assert_int_equal(schema.has, 0);
  assert_int_equal(decode(&b, &mtr_TI32Column_info, &column), MORTAR_OK);
  assert_true(MTR_HAS(&column, TI32Column, values));
  bench_fini(&b);

  bench_init(&b, NULL);
  mtr_tw_raw(&b.wr, mtr_span_of("\x0f\0\1\x0a\0\0\0\1\0\0\0\0\0\0\0\7\0", 17));
  assert_int_equal(decode(&b, &mtr_TI32Column_info, &column), MORTAR_OK);
  assert_int_equal(column.has, 0);
  bench_fini(&b);

  bench_init(&b, NULL);
  mtr_tw_raw(&b.wr, mtr_span_of("\x0d\0\4\x0b\x03\0\0\0\1\0\0\0\0\7\0", 15));
  assert_int_equal(decode(&b, &mtr_TOpenSessionReq_info, &req), MORTAR_OK);
  assert_int_equal(req.has, 0);
  bench_fini(&b);
}

static void order_does_not_matter_and_the_last_counts(void **state)
{
  struct mtr_TSparkGetDirectResults v;
  struct bench b;
  int64_t i;
  (void)state;

  bench_init(&b, NULL);
  for (i = 1; i <= 3; i++) {
    mtr_tw_field(&b.wr, MTR_T_I64, 2);
    mtr_tw_i64(&b.wr, i * 10);
    mtr_tw_field(&b.wr, MTR_T_I64, 1);
    mtr_tw_i64(&b.wr, i);
  }
  mtr_tw_u8(&b.wr, MTR_T_STOP);
  assert_int_equal(decode(&b, &mtr_TSparkGetDirectResults_info, &v), MORTAR_OK);
  assert_int_equal(v.max_rows, 3);
  assert_int_equal(v.max_bytes, 30);
  bench_fini(&b);
}

static enum mortar_status decode_bytes(struct mtr_span bytes, const struct mtr_struct_info *info,
                                       size_t *arena_total)
{
  static _Alignas(16) uint8_t out[512];
  struct mtr_arena arena;
  enum mortar_status st;

  mtr_arena_init(&arena, NULL, ARENA_MAX);
  st = mtr_thrift_decode(bytes, info, out, &arena, NULL);
  *arena_total = arena.total;
  mtr_arena_fini(&arena);
  return st;
}

static void claims_cost_no_memory(void **state)
{
  uint8_t list[100] = {MTR_T_LIST, 0, 1, MTR_T_STRUCT, 0x7F, 0xFF, 0xFF, 0xFF};
  size_t total;
  (void)state;

  assert_int_equal(decode_bytes(mtr_span_of(list, sizeof list), &mtr_TTableSchema_info, &total),
                   MORTAR_MORE);
  assert_int_equal(total, 0);
  list[4] = 0x80;
  assert_int_equal(decode_bytes(mtr_span_of(list, sizeof list), &mtr_TTableSchema_info, &total),
                   MORTAR_PROTOCOL);
  assert_int_equal(total, 0);
}

static void negative_sizes_are_refused(void **state)
{
  static const char text[] = "\x0b\0\3\xff\xff\xff\xff\0";
  static const char list[] = "\x0f\0\2\x0b\xff\xff\xff\xfe\0";
  static const char map[] = "\x0d\0\4\x0b\x0b\x80\0\0\0\0";
  static const char inner[] = "\x0f\0\2\x0b\0\0\0\1\xff\xff\xff\xff\0";
  size_t total;
  (void)state;

  assert_int_equal(decode_bytes(mtr_span_of(text, 8), &mtr_TStatus_info, &total), MORTAR_PROTOCOL);
  assert_int_equal(decode_bytes(mtr_span_of(list, 9), &mtr_TStatus_info, &total), MORTAR_PROTOCOL);
  assert_int_equal(decode_bytes(mtr_span_of(map, 10), &mtr_TOpenSessionReq_info, &total),
                   MORTAR_PROTOCOL);
  assert_int_equal(decode_bytes(mtr_span_of(inner, 13), &mtr_TStatus_info, &total),
                   MORTAR_PROTOCOL);
}

/* TSparkParameterValueArg holds a list of itself. */
static size_t nested_arguments(uint8_t *out, size_t levels)
{
  static const uint8_t open[8] = {MTR_T_LIST, 0, 3, MTR_T_STRUCT, 0, 0, 0, 1};
  size_t i;

  for (i = 0; i + 1 < levels; i++)
    memcpy(out + 8 * i, open, 8);
  memset(out + 8 * i, 0, levels);
  return 8 * i + levels;
}

static void depth_is_limited(void **state)
{
  static uint8_t bomb[9 * 2000];
  const struct mtr_struct_info *info = &mtr_TSparkParameterValueArg_info;
  size_t total, n = nested_arguments(bomb, MTR_THRIFT_MAX_DEPTH);
  (void)state;

  assert_int_equal(decode_bytes(mtr_span_of(bomb, n), info, &total), MORTAR_OK);
  n = nested_arguments(bomb, MTR_THRIFT_MAX_DEPTH + 1);
  assert_int_equal(decode_bytes(mtr_span_of(bomb, n), info, &total), MORTAR_PROTOCOL);
  n = nested_arguments(bomb, 2000);
  assert_int_equal(decode_bytes(mtr_span_of(bomb, n), info, &total), MORTAR_PROTOCOL);
}

static void bytes_behind_are_refused(void **state)
{
  size_t total;
  (void)state;

  assert_int_equal(decode_bytes(mtr_span_of("\0", 1), &mtr_TStatus_info, &total), MORTAR_OK);
  assert_int_equal(decode_bytes(mtr_span_of("\0\0", 2), &mtr_TStatus_info, &total),
                   MORTAR_PROTOCOL);
}

static void plain_lists_stay_in_the_input(void **state)
{
  struct mtr_TI32Column column;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  mtr_tw_raw(&b.wr, mtr_span_of("\x0f\0\1\x08\0\0\0\2\0\0\0\7\xff\xff\xff\xff\0", 17));
  assert_int_equal(decode(&b, &mtr_TI32Column_info, &column), MORTAR_OK);
  assert_int_equal(column.values.count, 2);
  assert_int_equal(column.values.element, MTR_T_I32);
  assert_ptr_equal(column.values.bytes.data, b.buf.data + 8);
  assert_int_equal(column.values.bytes.size, 8);
  assert_int_equal(b.arena.total, 0);
  bench_fini(&b);
}

static void wire_is_where_the_struct_stood(void **state)
{
  struct mtr_TTableSchema schema;
  struct mtr_TColumnDesc column;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  write_strange_schema(&b.wr);
  assert_int_equal(decode(&b, &mtr_TTableSchema_info, &schema), MORTAR_OK);
  assert_ptr_equal(schema.wire.data, b.buf.data);
  assert_int_equal(schema.wire.size, b.buf.size);
  assert_true(schema.columns.items[0].wire.data + schema.columns.items[0].wire.size ==
              schema.columns.items[1].wire.data);
  assert_int_equal(mtr_thrift_decode(schema.columns.items[1].wire, &mtr_TColumnDesc_info, &column,
                                     &b.arena, &b.err),
                   MORTAR_OK);
  assert_string_equal(dump(&b, &mtr_TColumnDesc_info, &column),
                      "{\"column_name\":\"b\",\"type_desc\":{},\"position\":2}");
  bench_fini(&b);
}

/* Reads without what is inside of structs of the type. */
static enum mortar_status read_leaving(struct bench *b, struct mtr_span bytes,
                                       const struct mtr_struct_info *info,
                                       const struct mtr_struct_info *leave, void *out)
{
  struct mtr_struct_reader sr = {.arena = &b->arena, .leave = leave};

  mtr_tr_init(&sr.rd, bytes);
  mtr_thrift_read_struct(&sr, info, out);
  return mtr_tr_status(&sr.rd, "struct", &b->err);
}

static void structs_of_a_type_are_left_on_the_wire(void **state)
{
  struct mtr_TTableSchema schema;
  struct mtr_TColumnDesc *columns;
  struct bench b;
  size_t i;
  (void)state;

  bench_init(&b, NULL);
  write_strange_schema(&b.wr);
  assert_int_equal(
      read_leaving(&b, mtr_buf_span(&b.buf), &mtr_TTableSchema_info, &mtr_TTypeDesc_info, &schema),
      MORTAR_OK);
  columns = schema.columns.items;
  assert_int_equal(schema.columns.count, 2);
  for (i = 0; i < 2; i++) {
    assert_int_equal(columns[i].position, i + 1);
    assert_int_equal(columns[i].type_desc->has, 0);
    assert_true(columns[i].type_desc->wire.size > 100); /* the strangers */
  }
  assert_int_equal(read_leaving(&b, mtr_buf_span(&b.buf), &mtr_TTableSchema_info,
                                &mtr_TColumnDesc_info, &schema),
                   MORTAR_OK);
  assert_int_equal(schema.columns.count, 2);
  assert_int_equal(schema.columns.items[1].has, 0);
  assert_true(mtr_span_equal(schema.columns.items[1].wire, columns[1].wire));
  bench_fini(&b);
}

/* Where nothing is decoded, a list is a level of nesting, too: half as many structs in lists. */
static void what_is_left_is_checked_to_be_whole(void **state)
{
  static uint8_t bomb[9 * MTR_THRIFT_MAX_DEPTH];
  const struct mtr_struct_info *info = &mtr_TSparkParameter_info;
  const struct mtr_struct_info *leave = &mtr_TSparkParameterValueArg_info;
  struct mtr_TSparkParameter p;
  size_t n, head = 8;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  memcpy(bomb, (const uint8_t[]){MTR_T_LIST, 0, 5, MTR_T_STRUCT, 0, 0, 0, 1}, head);
  n = head + nested_arguments(bomb + head, MTR_THRIFT_MAX_DEPTH / 2) + 1;
  assert_int_equal(read_leaving(&b, mtr_span_of(bomb, n), info, leave, &p), MORTAR_OK);
  assert_int_equal(p.arguments.items[0].wire.size, n - head - 1);
  while (--n > 0)
    assert_int_equal(read_leaving(&b, mtr_span_of(bomb, n), info, leave, &p), MORTAR_MORE);
  n = head + nested_arguments(bomb + head, MTR_THRIFT_MAX_DEPTH / 2 + 1) + 1;
  assert_int_equal(read_leaving(&b, mtr_span_of(bomb, n), info, leave, &p), MORTAR_PROTOCOL);
  bench_fini(&b);
}

static void write_qualifiers(struct mtr_tw *wr)
{
  mtr_tw_field(wr, MTR_T_MAP, 1);
  mtr_tw_raw(wr, mtr_span_of("\x0b\x0c\0\0\0\2", 6));
  mtr_tw_string(wr, mtr_span_text("scale"));
  write_all_samples(wr);
  mtr_tw_field(wr, MTR_T_I32, 1);
  mtr_tw_i32(wr, -2);
  mtr_tw_u8(wr, MTR_T_STOP);
  mtr_tw_string(wr, mtr_span_of("\xff", 1));
  mtr_tw_u8(wr, MTR_T_STOP);
  mtr_tw_u8(wr, MTR_T_STOP);
}

static void maps_of_structs_are_dumped(void **state)
{
  struct mtr_TTypeQualifiers q;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  write_qualifiers(&b.wr);
  assert_int_equal(decode(&b, &mtr_TTypeQualifiers_info, &q), MORTAR_OK);
  assert_int_equal(q.qualifiers.count, 2);
  assert_string_equal(dump(&b, &mtr_TTypeQualifiers_info, &q),
                      "{\"qualifiers\":{\"scale\":{\"i32_value\":-2},\"hex:ff\":{}}}");
  bench_fini(&b);
}

static void dump_escapes_text_and_shows_bytes(void **state)
{
  struct mtr_THandleIdentifier handle = {0};
  struct mtr_TStatus status = {0};
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  MTR_SET(&status, TStatus, status_code, INT32_MIN);
  MTR_SET(&status, TStatus, sql_state, mtr_span_text("a\"\\\n\x1f\xc3\xa4z"));
  MTR_SET(&status, TStatus, error_message, mtr_span_of("\xc3(", 2));
  MTR_SET(&status, TStatus, display_message, mtr_span_of(NULL, 0));
  assert_string_equal(
      dump(&b, &mtr_TStatus_info, &status),
      "{\"status_code\":-2147483648,\"sql_state\":\"a\\\"\\\\\\u000a\\u001f\xc3\xa4z\","
      "\"error_message\":\"hex:c328\",\"display_message\":\"\"}");
  MTR_SET(&handle, THandleIdentifier, guid, mtr_span_text("ab"));
  assert_string_equal(dump(&b, &mtr_THandleIdentifier_info, &handle), "{\"guid\":\"hex:6162\"}");
  bench_fini(&b);
}

static void dump_shows_every_double(void **state)
{
  static const struct {
    double v;
    const char *text;
  } cases[] = {{NAN, "\"NaN\""},
               {INFINITY, "\"Infinity\""},
               {-INFINITY, "\"-Infinity\""},
               {0.1, "0.10000000000000001"},
               {-1.5, "-1.5"}};
  struct mtr_TDoubleValue value = {0};
  char want[64];
  struct bench b;
  size_t i;
  (void)state;

  bench_init(&b, NULL);
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    MTR_SET(&value, TDoubleValue, value, cases[i].v);
    snprintf(want, sizeof want, "{\"value\":%s}", cases[i].text);
    assert_string_equal(dump(&b, &mtr_TDoubleValue_info, &value), want);
  }
  bench_fini(&b);
}

static void dump_shows_lists_of_lists(void **state)
{
  static const char rows[] =
      "\x0f\0\2\x0f\0\0\0\3"
      "\x0b\0\0\0\2\0\0\0\1x\0\0\0\0"
      "\x0b\0\0\0\0"
      "\x0c\0\0\0\1\2\0\1\1\0"
      "\0";
  struct mtr_TProgressUpdateResp progress;
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  mtr_tw_raw(&b.wr, mtr_span_of(rows, sizeof rows - 1));
  assert_int_equal(decode(&b, &mtr_TProgressUpdateResp_info, &progress), MORTAR_OK);
  assert_string_equal(dump(&b, &mtr_TProgressUpdateResp_info, &progress),
                      "{\"rows\":[[\"x\",\"\"],[],[\"hex:0200010100\"]]}");
  bench_fini(&b);
}

static void writer_takes_empty_lists_left_at_zero(void **state)
{
  struct mtr_TRowSet rows = {0};
  struct bench b;
  (void)state;

  bench_init(&b, NULL);
  MTR_SET(&rows, TRowSet, start_row_offset, 1);
  rows.has |= UINT64_C(1) << MTR_BIT_TRowSet_rows;
  mtr_thrift_write_struct(&b.wr, &mtr_TRowSet_info, &rows);
  assert_memory_equal(b.buf.data, "\x0a\0\1\0\0\0\0\0\0\0\1\x0f\0\2\x0c\0\0\0\0\0", 20);
  assert_int_equal(b.buf.size, 20);
  bench_fini(&b);
}

static void running_out_of_memory_is_said(void **state)
{
  struct mtr_TTableSchema schema;
  struct failing_alloc fa;
  enum mortar_status st;
  uint8_t bytes[4096];
  struct bench b;
  size_t n;
  (void)state;

  bench_init(&b, NULL);
  write_strange_schema(&b.wr);
  n = b.buf.size;
  assert_true(n <= sizeof bytes);
  memcpy(bytes, b.buf.data, n);
  bench_fini(&b);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    bench_init(&b, &fa.alloc);
    st =
        mtr_thrift_decode(mtr_span_of(bytes, n), &mtr_TTableSchema_info, &schema, &b.arena, &b.err);
    if (st == MORTAR_OK) st = mtr_thrift_dump(&mtr_TTableSchema_info, &schema, &b.json, &b.err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_int_equal(b.err.status, st);
    bench_fini(&b);
  }
  assert_true(fa.rounds > 2);
}

static void memory_inside_of_a_dumped_map_may_run_out(void **state)
{
  struct mtr_TTypeQualifiers q;
  struct failing_alloc fa;
  enum mortar_status st;
  struct bench in, b;
  (void)state;

  bench_init(&in, NULL);
  write_qualifiers(&in.wr);
  assert_int_equal(decode(&in, &mtr_TTypeQualifiers_info, &q), MORTAR_OK);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    bench_init(&b, &fa.alloc);
    st = mtr_thrift_dump(&mtr_TTypeQualifiers_info, &q, &b.json, &b.err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    bench_fini(&b);
  }
  bench_fini(&in);
}

static void the_arena_s_limit_holds(void **state)
{
  static uint8_t list[8 + 2000] = {MTR_T_LIST, 0, 1, MTR_T_STRUCT, 0, 0, 7, 0xCF};
  struct mtr_TTableSchema schema;
  struct mtr_arena arena;
  (void)state;

  mtr_arena_init(&arena, NULL, 4096); /* 1999 columns need far more */
  assert_int_equal(mtr_thrift_decode(mtr_span_of(list, sizeof list), &mtr_TTableSchema_info,
                                     &schema, &arena, NULL),
                   MORTAR_LIMIT);
  mtr_arena_fini(&arena);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_in_order),
      cmocka_unit_test(known_fields_of_other_types_are_skipped),
      cmocka_unit_test(right_types_are_taken),
      cmocka_unit_test(unknown_fields_are_skipped_everywhere),
      cmocka_unit_test(containers_of_other_elements_are_skipped),
      cmocka_unit_test(order_does_not_matter_and_the_last_counts),
      cmocka_unit_test(claims_cost_no_memory),
      cmocka_unit_test(negative_sizes_are_refused),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(bytes_behind_are_refused),
      cmocka_unit_test(plain_lists_stay_in_the_input),
      cmocka_unit_test(wire_is_where_the_struct_stood),
      cmocka_unit_test(structs_of_a_type_are_left_on_the_wire),
      cmocka_unit_test(what_is_left_is_checked_to_be_whole),
      cmocka_unit_test(maps_of_structs_are_dumped),
      cmocka_unit_test(dump_escapes_text_and_shows_bytes),
      cmocka_unit_test(dump_shows_every_double),
      cmocka_unit_test(dump_shows_lists_of_lists),
      cmocka_unit_test(writer_takes_empty_lists_left_at_zero),
      cmocka_unit_test(running_out_of_memory_is_said),
      cmocka_unit_test(memory_inside_of_a_dumped_map_may_run_out),
      cmocka_unit_test(the_arena_s_limit_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
