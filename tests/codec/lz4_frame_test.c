/* The LZ4 frame decoder: what goes in comes out, and nothing else is ever called data. */
#include "codec/lz4/lz4_frame.h"

#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { MAX = 1 << 24 };

struct fixture {
  struct mtr_lz4 *lz4;
  struct mtr_buf plain, packed, out;
  struct mortar_error err;
};

static void open_fixture(struct fixture *f)
{
  memset(f, 0, sizeof *f);
  mtr_buf_init(&f->plain, NULL, "plain", MAX);
  mtr_buf_init(&f->packed, NULL, "packed", MAX);
  mtr_buf_init(&f->out, NULL, "decoded page", MAX);
  assert_int_equal(mtr_lz4_new(NULL, &f->lz4, &f->err), MORTAR_OK);
}

static void close_fixture(struct fixture *f)
{
  mtr_lz4_free(f->lz4);
  mtr_buf_fini(&f->plain);
  mtr_buf_fini(&f->packed);
  mtr_buf_fini(&f->out);
}

/* n bytes that shrink a little: two of three from a small set. */
static void fill(struct mtr_buf *buf, size_t n, unsigned seed)
{
  size_t i;

  mtr_buf_reset(buf);
  assert_int_equal(mtr_buf_reserve(buf, n + 1, NULL), MORTAR_OK);
  for (i = 0; i < n; i++) {
    seed = seed * 1103515245u + 12345u;
    buf->data[i] = (uint8_t)(i % 3 ? seed >> 29 : seed >> 16);
  }
  buf->size = n;
}

static void pack(struct fixture *f, size_t n, unsigned seed, bool checksum)
{
  fill(&f->plain, n, seed);
  assert_int_equal(mtr_lz4_encode(mtr_buf_span(&f->plain), checksum, &f->packed, &f->err),
                   MORTAR_OK);
}

static void many_frames_become_one_run_of_bytes(void **state)
{
  static const size_t sizes[] = {0, 1, 100, 4096, 70000, 5000000};
  struct fixture f;
  struct mtr_buf all;
  size_t i;

  (void)state;
  open_fixture(&f);
  mtr_buf_init(&all, NULL, "all", MAX);
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    pack(&f, sizes[i], (unsigned)i, i % 2 == 0);
    assert_int_equal(mtr_buf_append(&all, f.plain.data, f.plain.size, NULL), MORTAR_OK);
  }
  assert_int_equal(mtr_lz4_decode(f.lz4, mtr_buf_span(&f.packed), &f.out, &f.err), MORTAR_OK);
  assert_int_equal(f.out.size, all.size);
  assert_memory_equal(f.out.data, all.data, all.size);
  mtr_buf_fini(&all);
  close_fixture(&f);
}

static void a_cut_frame_is_corrupt_at_every_byte(void **state)
{
  struct fixture f;
  size_t n;

  (void)state;
  open_fixture(&f);
  pack(&f, 300, 7, true);
  for (n = 0; n < f.packed.size; n++) {
    f.out.size = 0;
    assert_int_equal(mtr_lz4_decode(f.lz4, mtr_span_of(f.packed.data, n), &f.out, &f.err),
                     MORTAR_CORRUPT);
    assert_int_equal(f.out.size, 0);
  }
  assert_int_equal(mtr_lz4_decode(f.lz4, mtr_buf_span(&f.packed), &f.out, &f.err), MORTAR_OK);
  assert_memory_equal(f.out.data, f.plain.data, 300);
  close_fixture(&f);
}

/* With checksums no changed byte goes unseen; without them none may crash or overrun. */
static void a_changed_byte_is_seen(void **state)
{
  struct fixture f;
  int checksum;

  (void)state;
  open_fixture(&f);
  for (checksum = 0; checksum < 2; checksum++) {
    size_t i;
    mtr_buf_reset(&f.packed);
    pack(&f, 500, 3, checksum == 1);
    for (i = 0; i < f.packed.size; i++) {
      enum mortar_status st;
      f.packed.data[i] ^= 0x41;
      f.out.size = 0;
      st = mtr_lz4_decode(f.lz4, mtr_buf_span(&f.packed), &f.out, &f.err);
      if (checksum) assert_int_not_equal(st, MORTAR_OK);
      if (st != MORTAR_OK) assert_int_equal(f.out.size, 0);
      f.packed.data[i] ^= 0x41;
    }
  }
  close_fixture(&f);
}

static void bytes_that_are_no_frame_are_corrupt(void **state)
{
  struct fixture f;

  (void)state;
  open_fixture(&f);
  pack(&f, 10, 1, false);
  assert_int_equal(mtr_buf_append(&f.packed, "rubbish", 7, NULL), MORTAR_OK);
  assert_int_equal(mtr_lz4_decode(f.lz4, mtr_buf_span(&f.packed), &f.out, &f.err), MORTAR_CORRUPT);
  assert_non_null(strstr(f.err.message, "LZ4 frame"));
  assert_int_equal(mtr_lz4_decode(f.lz4, mtr_span_text("plain text"), &f.out, &f.err),
                   MORTAR_CORRUPT);
  close_fixture(&f);
}

static void the_limit_holds_and_is_named(void **state)
{
  struct fixture f;
  struct mtr_buf small;

  (void)state;
  open_fixture(&f);
  mtr_buf_init(&small, NULL, "decoded page", 1000);
  pack(&f, 5000, 1, false);
  assert_int_equal(mtr_lz4_decode(f.lz4, mtr_buf_span(&f.packed), &small, &f.err), MORTAR_LIMIT);
  assert_non_null(strstr(f.err.message, "1000"));
  assert_int_equal(small.size, 0);
  mtr_buf_fini(&small);
  close_fixture(&f);
}

static void memory_that_runs_out_is_not_corruption(void **state)
{
  struct fixture f;
  struct failing_alloc fa;

  (void)state;
  open_fixture(&f);
  pack(&f, 200000, 5, true);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_lz4 *lz4 = NULL;
    struct mtr_buf out;
    enum mortar_status st;

    mtr_buf_init(&out, &fa.alloc, "decoded page", MAX);
    st = mtr_lz4_new(&fa.alloc, &lz4, &f.err);
    if (st == MORTAR_OK) st = mtr_lz4_decode(lz4, mtr_buf_span(&f.packed), &out, &f.err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_lz4_free(lz4);
    mtr_buf_fini(&out);
  }
  assert_true(fa.rounds > 2);
  close_fixture(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_frames_become_one_run_of_bytes),
      cmocka_unit_test(a_cut_frame_is_corrupt_at_every_byte),
      cmocka_unit_test(a_changed_byte_is_seen),
      cmocka_unit_test(bytes_that_are_no_frame_are_corrupt),
      cmocka_unit_test(the_limit_holds_and_is_named),
      cmocka_unit_test(memory_that_runs_out_is_not_corruption),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
