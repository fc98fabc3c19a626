/* The cache of plans: what is found again, what goes first, and what tells keys apart. */
#include "kiln/engine/translate/plan_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kiln/engine/translate/field.h"

static struct kiln_plan *make_plan(const char *sql)
{
  const char *fields[] = {"plan", "rows", "", "", "", sql};
  struct kiln_plan *plan;
  struct mtr_buf buf;
  size_t i;

  mtr_buf_init(&buf, NULL, "message", 1 << 16);
  for (i = 0; i < 6; i++)
    assert_int_equal(kiln_field_put(&buf, mtr_span_text(fields[i]), NULL), MORTAR_OK);
  assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_OK);
  mtr_buf_fini(&buf);
  return plan;
}

static struct kiln_plan_key key_of(const char *sql, const char *catalog, const char *schema,
                                   const char *parameters)
{
  struct kiln_plan_key key = {mtr_span_text(sql), mtr_span_text(catalog), mtr_span_text(schema),
                              mtr_span_text(parameters), mtr_span_text("")};
  return key;
}

static void put(struct kiln_plan_cache *cache, const char *sql)
{
  struct kiln_plan_key key = key_of(sql, "main", "default", "");
  struct kiln_plan *plan = make_plan(sql);

  kiln_plan_cache_put(cache, &key, plan);
  kiln_plan_unref(plan);
}

static bool has(struct kiln_plan_cache *cache, const char *sql)
{
  struct kiln_plan_key key = key_of(sql, "main", "default", "");
  struct kiln_plan *plan = kiln_plan_cache_get(cache, &key);
  bool found = plan != NULL;

  if (found) assert_string_equal(plan->statements[0], sql);
  kiln_plan_unref(plan);
  return found;
}

static void test_oldest_use_goes_first(void **state)
{
  struct kiln_plan_cache *cache;

  (void)state;
  assert_int_equal(kiln_plan_cache_new(2, 1 << 20, &cache, NULL), MORTAR_OK);
  put(cache, "a");
  put(cache, "b");
  assert_true(has(cache, "a")); /* used: b is the oldest now */
  put(cache, "c");
  assert_true(has(cache, "a"));
  assert_false(has(cache, "b"));
  assert_true(has(cache, "c"));
  put(cache, "c"); /* replaces itself */
  assert_true(has(cache, "a"));
  kiln_plan_cache_free(cache);
}

static void test_bytes_are_limited(void **state)
{
  struct kiln_plan_cache *cache;

  (void)state;
  assert_int_equal(kiln_plan_cache_new(100, 16, &cache, NULL), MORTAR_OK);
  put(cache, "larger than the whole cache");
  assert_false(has(cache, "larger than the whole cache"));
  kiln_plan_cache_free(cache);
}

/* Moving a byte from one part of the key to the next makes another key. */
static void test_parts_of_a_key_are_apart(void **state)
{
  const struct kiln_plan_key keys[] = {
      key_of("sq", "ma", "de", "p"), key_of("sq", "mad", "e", "p"), key_of("sq", "ma", "dep", ""),
      key_of("psq", "ma", "de", ""), key_of("sq", "ma", "de", ""),
  };
  struct kiln_plan *plan = make_plan("x"), *found;
  struct kiln_plan_cache *cache;
  size_t i;

  (void)state;
  assert_int_equal(kiln_plan_cache_new(10, 1 << 20, &cache, NULL), MORTAR_OK);
  kiln_plan_cache_put(cache, &keys[0], plan);
  for (i = 0; i < sizeof keys / sizeof *keys; i++) {
    found = kiln_plan_cache_get(cache, &keys[i]);
    assert_ptr_equal(found, i == 0 ? plan : NULL);
    kiln_plan_unref(found);
  }
  kiln_plan_unref(plan);
  kiln_plan_cache_free(cache);
}

/* A plan outlives its place in the cache while somebody runs it. */
static void test_a_plan_in_use_stays(void **state)
{
  struct kiln_plan_key key = key_of("a", "main", "default", "");
  struct kiln_plan_cache *cache;
  struct kiln_plan *plan;

  (void)state;
  assert_int_equal(kiln_plan_cache_new(1, 1 << 20, &cache, NULL), MORTAR_OK);
  put(cache, "a");
  plan = kiln_plan_cache_get(cache, &key);
  put(cache, "b");
  kiln_plan_cache_free(cache);
  assert_string_equal(plan->statements[0], "a");
  kiln_plan_unref(plan);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_oldest_use_goes_first),
      cmocka_unit_test(test_bytes_are_limited),
      cmocka_unit_test(test_parts_of_a_key_are_apart),
      cmocka_unit_test(test_a_plan_in_use_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
