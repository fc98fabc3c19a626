/* alloc, buf and arena: sizes that overflow, limits, and memory that runs out. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static void sizes_that_overflow_are_refused(void **state)
{
  size_t n;

  (void)state;
  assert_null(mtr_calloc(NULL, SIZE_MAX / 2, 3));
  assert_false(mtr_size_mul(SIZE_MAX, 2, &n));
  assert_false(mtr_size_add(SIZE_MAX, 1, &n));
  assert_true(mtr_size_mul(0, SIZE_MAX, &n));
  assert_int_equal(n, 0);
}

static void a_buffer_grows_to_its_limit_and_says_so(void **state)
{
  struct mortar_error err;
  struct mtr_buf buf;
  size_t i;

  (void)state;
  mtr_buf_init(&buf, NULL, "thing", 1000);
  for (i = 0; i < 1000; i++)
    assert_int_equal(mtr_buf_append(&buf, "x", 1, &err), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&buf, "x", 1, &err), MORTAR_LIMIT);
  assert_non_null(strstr(err.message, "thing"));
  assert_non_null(strstr(err.message, "1000"));
  assert_int_equal(buf.size, 1000);
  assert_int_equal(mtr_buf_reserve(&buf, SIZE_MAX, &err), MORTAR_LIMIT);
  mtr_buf_reset(&buf);
  assert_int_equal(mtr_buf_printf(&buf, &err, "%s-%d", "abc", 12), MORTAR_OK);
  assert_memory_equal(buf.data, "abc-12", 6);
  mtr_buf_trim(&buf, 10);
  assert_null(buf.data);
  mtr_buf_fini(&buf);
  mtr_buf_fini(&buf);
}

static void an_arena_gives_zeroed_aligned_memory(void **state)
{
  struct mortar_error err;
  struct mtr_arena arena;
  int round;

  (void)state;
  mtr_arena_init(&arena, NULL, 1 << 20);
  for (round = 0; round < 3; round++) {
    size_t i, k;
    for (i = 1; i < 300; i++) {
      unsigned char *p = i % 2 ? mtr_arena_alloc(&arena, 1, i) : mtr_arena_one(&arena, i);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % 16, 0);
      for (k = 0; k < i; k++)
        assert_int_equal(p[k], 0);
      memset(p, 0xEE, i);
    }
    assert_string_equal(mtr_arena_text(&arena, "hello", 5), "hello");
    mtr_arena_reset(&arena);
  }
  assert_null(mtr_arena_alloc(&arena, 1, 2 << 20));
  assert_int_equal(mtr_arena_fail(&arena, &err, "heap"), MORTAR_LIMIT);
  assert_string_equal(err.message, "heap crosses its limit of 1048576 bytes of memory");
  assert_null(mtr_arena_alloc(&arena, SIZE_MAX, 2));
  assert_null(mtr_arena_alloc(&arena, 1, SIZE_MAX));
  assert_null(mtr_arena_one(&arena, SIZE_MAX));
  assert_non_null(mtr_arena_one(&arena, 0));
  mtr_arena_fini(&arena);
}

static void a_steady_arena_allocates_nothing(void **state)
{
  struct failing_alloc fa;
  struct mtr_arena arena;
  long calls;
  int i;

  (void)state;
  failing_alloc_init(&fa, 0);
  mtr_arena_init(&arena, &fa.alloc, 1 << 20);
  for (i = 0; i < 100; i++)
    assert_non_null(mtr_arena_alloc(&arena, 1, 100));
  mtr_arena_reset(&arena);
  calls = fa.calls;
  for (i = 0; i < 20; i++)
    assert_non_null(mtr_arena_alloc(&arena, 1, 100));
  assert_int_equal(fa.calls, calls);
  mtr_arena_fini(&arena);
  assert_int_equal(fa.live, 0);
}

static void memory_that_runs_out_is_reported(void **state)
{
  struct failing_alloc fa;
  struct mortar_error err;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_buf buf;
    struct mtr_arena arena;
    enum mortar_status st = MORTAR_OK;
    int i;
    mtr_buf_init(&buf, &fa.alloc, "thing", 1 << 20);
    mtr_arena_init(&arena, &fa.alloc, 1 << 20);
    for (i = 0; i < 100 && st == MORTAR_OK; i++)
      st = mtr_buf_append(&buf, "0123456789", 10, &err);
    for (i = 0; i < 100 && st == MORTAR_OK; i++)
      if (!mtr_arena_alloc(&arena, 1, 100)) st = mtr_arena_fail(&arena, &err, "heap");
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_buf_fini(&buf);
    mtr_arena_fini(&arena);
  }
  assert_true(fa.rounds > 4);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_overflow_are_refused),
      cmocka_unit_test(a_buffer_grows_to_its_limit_and_says_so),
      cmocka_unit_test(an_arena_gives_zeroed_aligned_memory),
      cmocka_unit_test(a_steady_arena_allocates_nothing),
      cmocka_unit_test(memory_that_runs_out_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
