/* Counted memory: limits, failing allocations, and counts taken and given back by many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

#include "arrow/slab.h"
#include "tests/support/failing_alloc.h"

enum { THREADS = 4, ROUNDS = 2000 };

static void the_last_count_frees(void **state)
{
  struct failing_alloc fa;
  struct mtr_slab *slab;

  (void)state;
  failing_alloc_init(&fa, 0);
  mtr_slab_unref(NULL);
  assert_int_equal(mtr_slab_new(&fa.alloc, 1000, &slab, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&slab->buf, "abc", 3, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_reserve(&slab->buf, 998, NULL), MORTAR_LIMIT);
  assert_ptr_equal(mtr_slab_ref(slab), slab);
  mtr_slab_unref(slab);
  assert_memory_equal(slab->buf.data, "abc", 3);
  mtr_slab_unref(slab);
  assert_int_equal(fa.live, 0);
  assert_int_equal(fa.size_mismatches, 0);
}

static void no_memory_gives_no_slab(void **state)
{
  struct failing_alloc fa;
  struct mtr_slab *slab;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st = mtr_slab_new(&fa.alloc, 10, &slab, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (fa.failed) assert_null(slab);
    mtr_slab_unref(slab);
  }
}

/* From the end of what is left, and never into the bytes before. */
static void corners_are_carved_while_there_is_room(void **state)
{
  struct mtr_slab *slab;
  uint8_t *a, *b;

  (void)state;
  assert_int_equal(mtr_slab_new(NULL, 1000, &slab, NULL), MORTAR_OK);
  assert_null(mtr_slab_carve(slab, 1));
  assert_int_equal(mtr_buf_reserve(&slab->buf, 256, NULL), MORTAR_OK);
  slab->buf.size = 100;
  a = mtr_slab_carve(slab, 70); /* 80 of the 156 */
  assert_ptr_equal(a, slab->buf.data + 176);
  b = mtr_slab_carve(slab, 64);
  assert_ptr_equal(b, slab->buf.data + 112);
  assert_null(mtr_slab_carve(slab, 1));
  assert_null(mtr_slab_carve(slab, 1000));
  assert_ptr_equal(mtr_slab_ref(slab), slab);
  assert_false(mtr_slab_reuse(slab)); /* somebody may look at it */
  mtr_slab_unref(slab);
  assert_true(mtr_slab_reuse(slab));
  assert_int_equal(slab->buf.size, 0);
  assert_ptr_equal(mtr_slab_carve(slab, 256), slab->buf.data);
  assert_false(mtr_slab_reuse(NULL));
  mtr_slab_unref(slab);
}

static void room_for_corners_is_made(void **state)
{
  struct mtr_slab *slab;
  int i;

  (void)state;
  assert_int_equal(mtr_slab_new(NULL, 10 << 20, &slab, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_reserve(&slab->buf, 1001, NULL), MORTAR_OK);
  slab->buf.size = 1001;
  assert_int_equal(mtr_slab_reserve(slab, 72, 350, NULL), MORTAR_OK);
  for (i = 0; i < 72; i++)
    assert_non_null(mtr_slab_carve(slab, 350));
  assert_true(mtr_slab_reuse(slab));
  slab->buf.size = slab->buf.capacity;
  assert_int_equal(mtr_slab_reserve(slab, SIZE_MAX / 2, 350, NULL), MORTAR_OK); /* too many */
  assert_null(mtr_slab_carve(slab, 1));
  mtr_slab_unref(slab);
}

static void rest_with(struct mtr_slab **slab, size_t capacity, size_t used)
{
  assert_int_equal(mtr_slab_renew(slab, NULL, 10 << 20, NULL), MORTAR_OK);
  if (capacity > (*slab)->buf.capacity)
    assert_int_equal(mtr_buf_reserve(&(*slab)->buf, capacity, NULL), MORTAR_OK);
  (*slab)->buf.size = used;
  mtr_slab_rest(slab);
}

static void what_is_large_is_kept_while_it_is_used(void **state)
{
  struct mtr_slab *slab = NULL, *other;

  (void)state;
  mtr_slab_rest(&slab);
  assert_null(slab);
  rest_with(&slab, 1000, 0);
  assert_non_null(slab);
  assert_int_equal(slab->buf.size, 0);
  rest_with(&slab, 100000, 90000);
  assert_non_null(slab);
  rest_with(&slab, 0, 1000);
  assert_null(slab);
  rest_with(&slab, MTR_SLAB_KEEP + 1, MTR_SLAB_KEEP + 1);
  assert_null(slab);
  assert_int_equal(mtr_slab_renew(&slab, NULL, 1000, NULL), MORTAR_OK);
  other = mtr_slab_ref(slab);
  mtr_slab_rest(&slab); /* somebody may look at it */
  assert_null(slab);
  mtr_slab_unref(other);
}

static void *take_and_give(void *arg)
{
  struct mtr_slab *slab = arg;
  int i;

  for (i = 0; i < ROUNDS; i++)
    mtr_slab_unref(mtr_slab_ref(slab));
  mtr_slab_unref(slab);
  return NULL;
}

static void any_thread_may_hold_a_count(void **state)
{
  pthread_t threads[THREADS];
  struct failing_alloc fa;
  struct mtr_slab *slab;
  int i;

  (void)state;
  failing_alloc_init(&fa, 0);
  assert_int_equal(mtr_slab_new(&fa.alloc, 10, &slab, NULL), MORTAR_OK);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, mtr_slab_ref(slab)), 0);
  mtr_slab_unref(slab);
  for (i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(fa.live, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_count_frees),
      cmocka_unit_test(no_memory_gives_no_slab),
      cmocka_unit_test(corners_are_carved_while_there_is_room),
      cmocka_unit_test(room_for_corners_is_made),
      cmocka_unit_test(what_is_large_is_kept_while_it_is_used),
      cmocka_unit_test(any_thread_may_hold_a_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
