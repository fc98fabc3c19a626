/* The cache of shapes: an equal schema is found again, a changed one is made anew, and no more than
 * the stated number are kept, the latest used ones. */
#include "client/shape.h"

#include <stdio.h>

#include "arrow/ipc_writer.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { SCHEMAS = MTR_SHAPE_CACHE_SIZE + 10, BYTES_MAX = 1 << 16 };

/* A schema of one column, whose name is a number. */
static void write_schema(int number, struct mtr_buf *out)
{
  char name[20];
  struct mtr_arrow_field field = {
      .name = name, .type = MTR_ARROW_INT64, .format = "l", .byte_width = 8, .nullable = true};
  struct mtr_arrow_schema schema = {
      .root = {.name = "", .type = MTR_ARROW_STRUCT, .format = "+s", .child_count = 1}};

  (void)snprintf(name, sizeof name, "c%d", number);
  schema.root.children = &field;
  mtr_buf_reset(out);
  assert_int_equal(mtr_ipc_write_schema(&schema, out, NULL), MORTAR_OK);
}

/* The id of the shape, which the cache keeps or not. */
static uint64_t look_up(struct mtr_shape_cache *cache, int number, struct mtr_buf *bytes)
{
  struct mtr_shape *shape;
  uint64_t id;

  write_schema(number, bytes);
  assert_int_equal(mtr_shape_cache_get(cache, NULL, mtr_buf_span(bytes), &shape, NULL), MORTAR_OK);
  id = shape->id;
  assert_int_equal(shape->schema.root.child_count, 1);
  assert_int_equal(strtol(shape->schema.root.children[0].name + 1, NULL, 10), number);
  mtr_shape_unref(shape);
  return id;
}

static void the_latest_ones_are_kept(void **state)
{
  struct mtr_shape_cache cache;
  struct mtr_buf bytes;
  uint64_t ids[SCHEMAS];
  int i;

  (void)state;
  mtr_shape_cache_init(&cache);
  mtr_buf_init(&bytes, NULL, "schema", BYTES_MAX);
  for (i = 0; i < SCHEMAS; i++) {
    ids[i] = look_up(&cache, i, &bytes);
    assert_int_equal(look_up(&cache, i, &bytes), ids[i]); /* an equal one is found */
    assert_int_equal(look_up(&cache, 0, &bytes), ids[0]); /* what is used stays */
    assert_true(cache.used <= MTR_SHAPE_CACHE_SIZE);
  }
  assert_int_equal(cache.misses, SCHEMAS);
  assert_int_equal(look_up(&cache, SCHEMAS - 1, &bytes), ids[SCHEMAS - 1]);
  assert_int_equal(cache.misses, SCHEMAS);
  assert_int_not_equal(look_up(&cache, 1, &bytes),
                       ids[1]); /* it fell out; ids are never used twice */
  assert_int_equal(cache.misses, SCHEMAS + 1);
  mtr_buf_fini(&bytes);
  mtr_shape_cache_fini(&cache);
}

static void memory_runs_out(void **state)
{
  struct failing_alloc fa;
  struct mtr_buf bytes;

  (void)state;
  mtr_buf_init(&bytes, NULL, "schema", BYTES_MAX);
  write_schema(1, &bytes);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_shape_cache cache;
    struct mtr_shape *shape = NULL;
    enum mortar_status st;
    mtr_shape_cache_init(&cache);
    st = mtr_shape_cache_get(&cache, &fa.alloc, mtr_buf_span(&bytes), &shape, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (st == MORTAR_OK) mtr_shape_unref(shape);
    mtr_shape_cache_fini(&cache);
  }
  mtr_buf_fini(&bytes);
}

/* The copy is refused before a byte of it is read. */
static void a_schema_message_larger_than_the_limit_is_no_lack_of_memory(void **state)
{
  static const uint8_t first[8];
  struct mtr_shape *shape;

  (void)state;
  assert_int_equal(mtr_shape_new(NULL, mtr_span_of(first, (size_t)300 << 20), 1, &shape, NULL),
                   MORTAR_LIMIT);
  assert_null(shape);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_latest_ones_are_kept),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(a_schema_message_larger_than_the_limit_is_no_lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
