/* The flatbuffer writer and the checked reader: what was written is read, what is broken is bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arrow/flatbuf.h"
#include "arrow/flatbuf_writer.h"

enum { PREFIX = 8 };

/* A table of each width, a text, and a vector of two tables that hold 7 and 8. */
static void write_sample(struct mtr_buf *out)
{
  struct mtr_flat_slot root[7] = {{1, -5, 0},        {2, 1000, 0}, {0, 0, 0}, {4, -100000, 0},
                                  {8, INT64_MIN, 0}, {4, 0, 0},    {4, 0, 0}};
  struct mtr_flat_slot item[1] = {{4, 7, 0}};
  struct mtr_flat_writer w;
  size_t at;

  mtr_buf_init(out, NULL, "flatbuffer", 1 << 16);
  assert_int_equal(mtr_flat_begin(&w, out, NULL), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, w.begin, root, 7), MORTAR_OK);
  assert_int_equal(mtr_flat_put_text(&w, root[5].at, "text", 4), MORTAR_OK);
  assert_int_equal(mtr_flat_put_vector(&w, root[6].at, 2, 4, &at), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, at, item, 1), MORTAR_OK);
  item[0].value = 8;
  assert_int_equal(mtr_flat_put_table(&w, at + 4, item, 1), MORTAR_OK);
  assert_int_equal(mtr_flat_end(&w), MORTAR_OK);
}

static void what_was_written_is_read(void **state)
{
  struct mtr_flat flat = {{0}, false};
  struct mtr_flat_table root, item;
  struct mtr_flat_vector list;
  struct mtr_span text;
  struct mtr_buf out;

  (void)state;
  write_sample(&out);
  assert_int_equal(out.size % 8, 0);
  flat.bytes = mtr_span_of(out.data + PREFIX, out.size - PREFIX);
  root = mtr_flat_root(&flat);
  assert_int_equal(mtr_flat_int(&flat, &root, 0, 1, 0), -5);
  assert_int_equal(mtr_flat_int(&flat, &root, 1, 2, 0), 1000);
  assert_int_equal(mtr_flat_int(&flat, &root, 2, 4, 42), 42);
  assert_false(mtr_flat_has(&flat, &root, 2));
  assert_false(mtr_flat_has(&flat, &root, 99));
  assert_true(mtr_flat_has(&flat, &root, 3));
  assert_int_equal(mtr_flat_int(&flat, &root, 3, 4, 0), -100000);
  assert_true(mtr_flat_int(&flat, &root, 4, 8, 0) == INT64_MIN);
  text = mtr_flat_text(&flat, &root, 5);
  assert_true(mtr_span_equal(text, mtr_span_text("text")));
  list = mtr_flat_list(&flat, &root, 6, 4);
  assert_int_equal(list.count, 2);
  item = mtr_flat_item(&flat, list, 1);
  assert_int_equal(mtr_flat_int(&flat, &item, 0, 4, 0), 8);
  assert_false(flat.bad);
  mtr_buf_fini(&out);
}

static int64_t read_everything(struct mtr_flat *flat)
{
  struct mtr_flat_table root = mtr_flat_root(flat), child;
  struct mtr_flat_vector list;
  struct mtr_span text;
  int64_t sum = 0;
  unsigned id;
  size_t i;

  for (id = 0; id < 8; id++) {
    sum += mtr_flat_int(flat, &root, id, 8, 0) & 1;
    text = mtr_flat_text(flat, &root, id);
    for (i = 0; i < text.size; i++)
      sum += text.data[i];
    list = mtr_flat_list(flat, &root, id, 4);
    for (i = 0; i < list.count && i < 100; i++) {
      child = mtr_flat_item(flat, list, i);
      sum += mtr_flat_int(flat, &child, 0, 4, 0) & 1;
    }
    child = mtr_flat_child(flat, &root, id);
    sum += mtr_flat_int(flat, &child, 0, 8, 0) & 1;
  }
  return sum;
}

/* AddressSanitizer is the judge of reads outside; here each copy has just its own size. */
static void broken_and_cut_bytes_stay_inside(void **state)
{
  static const uint8_t values[] = {0x00, 0xFF, 0x7F, 0x80, 0x10};
  struct mtr_buf out, copy;
  size_t at, i;

  (void)state;
  write_sample(&out);
  for (at = PREFIX; at < out.size; at++) {
    struct mtr_flat flat = {{0}, false};
    mtr_buf_init(&copy, NULL, "copy", 1 << 16);
    assert_int_equal(mtr_buf_append(&copy, out.data + PREFIX, at - PREFIX, NULL), MORTAR_OK);
    flat.bytes = mtr_buf_span(&copy);
    (void)read_everything(&flat);
    assert_true(flat.bad);
    mtr_buf_fini(&copy);
    for (i = 0; i < sizeof values; i++) {
      uint8_t was = out.data[at];
      struct mtr_flat broken = {mtr_span_of(out.data + PREFIX, out.size - PREFIX), false};
      out.data[at] = values[i];
      (void)read_everything(&broken);
      out.data[at] = was;
    }
  }
  mtr_buf_fini(&out);
}

static void hostile_offsets_are_bad(void **state)
{
  static const uint8_t root_outside[8] = {9, 0, 0, 0};
  static const uint8_t vtable_before[12] = {4, 0, 0, 0, 8, 0, 0, 0};
  static const uint8_t vtable_behind[12] = {4, 0, 0, 0, 0, 0, 0, 0x80};
  static const uint8_t short_vtable[12] = {8, 0, 0, 0, 3, 0, 4, 0, 4, 0, 0, 0};
  const struct mtr_span inputs[] = {
      {root_outside, 8},  {vtable_before, 12}, {vtable_behind, 12},
      {short_vtable, 12}, {NULL, 0},           {root_outside, 3},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    struct mtr_flat flat = {inputs[i], false};
    struct mtr_flat_table root = mtr_flat_root(&flat);
    assert_true(flat.bad);
    assert_int_equal(mtr_flat_int(&flat, &root, 0, 4, 3), 3);
  }
}

/* Its one field begins inside the table, whose six bytes end the buffer, and would end outside. */
static void a_field_ends_with_its_table(void **state)
{
  static const uint8_t bytes[16] = {10, 0, 0, 0, 6, 0, 6, 0, 4, 0, 6, 0, 0, 0, 1, 2};
  struct mtr_flat flat = {{bytes, sizeof bytes}, false};
  struct mtr_flat_table root = mtr_flat_root(&flat);

  (void)state;
  assert_false(flat.bad);
  assert_int_equal(mtr_flat_int(&flat, &root, 0, 2, 0), 0x201);
  assert_false(flat.bad);
  assert_int_equal(mtr_flat_int(&flat, &root, 0, 4, 77), 77);
  assert_true(flat.bad);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_read),
      cmocka_unit_test(broken_and_cut_bytes_stay_inside),
      cmocka_unit_test(hostile_offsets_are_bad),
      cmocka_unit_test(a_field_ends_with_its_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
