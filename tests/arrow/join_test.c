/* Joined batches hold the rows of their pieces, whatever types, nulls and offsets those have. */
#include "arrow/join.h"

#include "arrow/bits.h"
#include "tests/arrow/sample.h"
#include "tests/arrow/walk.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { PIECES_MAX = 8 };

static void check_rows(const struct sample *s, const struct ArrowArray *pieces, size_t n,
                       const struct ArrowArray *joined)
{
  int64_t row = 0, i;
  size_t k;

  for (k = 0; k < n; row += pieces[k++].length)
    for (i = 0; i < pieces[k].length; i++)
      if (walk_batch(&s->schema, &pieces[k], i, 1) != walk_batch(&s->schema, joined, row + i, 1))
        fail_msg("row %d of piece %d", (int)i, (int)k);
  assert_int_equal(joined->length, row);
  for (i = 0; i < joined->n_children; i++)
    assert_int_equal(joined->children[i]->null_count, walk_nulls(joined->children[i]));
}

static void every_type_joins(void **state)
{
  static const int64_t lengths[PIECES_MAX] = {3, 0, 8, 1, 64, 7, 0, 13};
  static const uint32_t nulls[] = {0, 30, 100};
  size_t n, m;

  (void)state;
  for (m = 0; m < sizeof nulls / sizeof *nulls; m++)
    for (n = 1; n <= PIECES_MAX; n++) {
      struct ArrowArray pieces[PIECES_MAX], joined;
      struct mortar_error err;
      struct sample s;
      size_t k;
      sample_init(&s);
      for (k = 0; k < n; k++)
        pieces[k] = sample_batch(&s, (uint32_t)(k + 1), lengths[k], (int64_t)(k % 3), nulls[m]);
      assert_int_equal(mtr_arrow_join(&s.schema, pieces, n, NULL, &joined, &err), MORTAR_OK);
      check_rows(&s, pieces, n, &joined);
      joined.release(&joined);
      sample_fini(&s);
    }
}

/* Some pieces with nulls, some without: what is not said is valid. */
static void nulls_of_some_pieces(void **state)
{
  struct ArrowArray pieces[3], joined;
  struct sample s;

  (void)state;
  sample_init(&s);
  pieces[0] = sample_batch(&s, 1, 5, 0, 0);
  pieces[1] = sample_batch(&s, 2, 6, 1, 50);
  pieces[2] = sample_batch(&s, 3, 7, 2, 0);
  assert_int_equal(mtr_arrow_join(&s.schema, pieces, 3, NULL, &joined, NULL), MORTAR_OK);
  check_rows(&s, pieces, 3, &joined);
  joined.release(&joined);
  sample_fini(&s);
}

static void memory_runs_out(void **state)
{
  struct ArrowArray pieces[2], joined;
  struct failing_alloc fa;
  struct sample s;

  (void)state;
  sample_init(&s);
  pieces[0] = sample_batch(&s, 1, 20, 0, 20);
  pieces[1] = sample_batch(&s, 2, 20, 3, 20);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    const enum mortar_status st = mtr_arrow_join(&s.schema, pieces, 2, &fa.alloc, &joined, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_true((joined.release != NULL) == (st == MORTAR_OK));
    if (joined.release) joined.release(&joined);
  }
  sample_fini(&s);
}

/* Two texts of a gigabyte and more are there only by their offsets: nothing is read before the sum
 * is known to be too much. */
static void too_much_for_one_batch(void **state)
{
  const int32_t offsets[2] = {0, INT32_MAX - 10};
  const void *no_buffers[1] = {NULL}, *buffers[3] = {NULL, offsets, offsets};
  struct ArrowArray text = {.length = 1, .n_buffers = 3, .buffers = buffers},
                    *children[1] = {&text};
  struct ArrowArray batch = {
      .length = 1, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = children};
  struct ArrowArray both[2] = {batch, batch}, joined;
  struct mtr_arrow_field field = {.name = "c", .type = MTR_ARROW_UTF8, .format = "u"};
  struct mtr_arrow_schema schema = {
      .root = {.type = MTR_ARROW_STRUCT, .format = "+s", .child_count = 1, .children = &field},
      .node_count = 1,
      .buffer_count = 3};
  struct mortar_error err;

  (void)state;
  assert_int_equal(mtr_arrow_join(&schema, both, 2, NULL, &joined, &err), MORTAR_LIMIT);
  assert_null(joined.release);
  assert_non_null(strstr(err.message, "too many for one batch"));
}

static void bits_at_any_place(void **state)
{
  const uint8_t bits[] = {0xa5, 0x3c, 0xff, 0x81, 0x00, 0x7e};
  int64_t at, offset, count, i;

  (void)state;
  for (at = 0; at < 17; at++)
    for (offset = 0; offset < 9; offset++)
      for (count = 0; count < 30; count++) {
        uint8_t put[8] = {0}, set[8] = {0};
        if (at) put[(at - 1) / 8] = set[(at - 1) / 8] = (uint8_t)(1 << (at - 1) % 8);
        mtr_bits_put(put, at, bits, offset, count);
        mtr_bits_set(set, at, count);
        for (i = 0; i < 64; i++) {
          const bool inside = i >= at && i < at + count, before = i == at - 1;
          assert_int_equal(mtr_bit(put, i), before || (inside && mtr_bit(bits, offset + i - at)));
          assert_int_equal(mtr_bit(set, i), before || inside);
        }
      }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_joins),  cmocka_unit_test(nulls_of_some_pieces),
      cmocka_unit_test(memory_runs_out),   cmocka_unit_test(too_much_for_one_batch),
      cmocka_unit_test(bits_at_any_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
