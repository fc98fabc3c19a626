/* The pool of translators: limits, and that a failed one costs its own statement only. The
 * processes are shell scripts that answer without reading. */
#include "kiln/engine/translate/translator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

static atomic_bool never, always = true;

/* A refusal with SQLSTATE 00000 and the text "x", then silence. */
static const char *const refuses_once[] = {
    "sh", "-c",
    "printf '\\0\\0\\0\\031\\0\\0\\0\\007refused\\0\\0\\0\\00500000\\0\\0\\0\\001x'; exec sleep "
    "100",
    NULL};
static const char *const silent[] = {"sleep", "100", NULL};
static const char *const ends[] = {"true", NULL};

static struct kiln_translator *translator_of(const char *const *argv, int64_t timeout_ms)
{
  struct kiln_translator_options options = {argv, timeout_ms};
  struct kiln_translator *tr;

  assert_int_equal(kiln_translator_new(&options, &tr, NULL), MORTAR_OK);
  return tr;
}

static enum mortar_status ask(struct kiln_translator *tr, const char *sql, const atomic_bool *stop,
                              struct kiln_plan **plan)
{
  struct kiln_plan_key key = {mtr_span_text(sql), mtr_span_text("main"), mtr_span_text("default"),
                              mtr_span_text(""), mtr_span_text("")};
  return kiln_translator_plan(tr, &key, stop, plan, NULL);
}

static void test_a_plan_is_cached(void **state)
{
  struct kiln_translator *tr = translator_of(refuses_once, 5000);
  struct kiln_plan *first, *second;

  (void)state;
  assert_int_equal(ask(tr, "a", &never, &first), MORTAR_OK);
  assert_string_equal(first->message, "x");
  /* The process says nothing more, so this one can only come from the cache. */
  assert_int_equal(ask(tr, "a", &never, &second), MORTAR_OK);
  assert_ptr_equal(first, second);
  kiln_plan_unref(first);
  kiln_plan_unref(second);
  kiln_translator_free(tr);
}

/* A long text asks again: what is in the cache comes whether the statement was cancelled or not. */
static void test_a_long_text_is_not_cached(void **state)
{
  static char sql[(64 << 10) + 2];
  struct kiln_translator *tr = translator_of(refuses_once, 300);
  struct kiln_plan *plan;

  (void)state;
  memset(sql, 'x', sizeof sql - 1);
  assert_int_equal(ask(tr, sql, &never, &plan), MORTAR_OK);
  kiln_plan_unref(plan);
  assert_int_equal(ask(tr, sql, &always, &plan), MORTAR_CANCELED);
  kiln_translator_free(tr);
}

/* Its limit is that of a short one and a millisecond for ten bytes. */
static void test_a_long_text_may_take_longer(void **state)
{
  static char sql[(10 << 10) + 1];
  struct kiln_translator *tr = translator_of(silent, 100);
  struct kiln_plan *plan;
  int64_t start = mtr_clock_now();

  (void)state;
  memset(sql, 'x', sizeof sql - 1);
  assert_int_equal(ask(tr, sql, &never, &plan), MORTAR_TIMEOUT);
  assert_true(mtr_clock_now() - start >= MTR_SECOND);
  kiln_translator_free(tr);
}

/* Each answers once and is then silent: only a replaced process answers the next but one. */
static void test_a_silent_process_is_replaced(void **state)
{
  struct kiln_translator *tr = translator_of(refuses_once, 300);
  struct kiln_plan *plan;

  (void)state;
  assert_int_equal(ask(tr, "a", &never, &plan), MORTAR_OK);
  kiln_plan_unref(plan);
  assert_int_equal(ask(tr, "b", &never, &plan), MORTAR_TIMEOUT);
  assert_null(plan);
  assert_int_equal(ask(tr, "c", &never, &plan), MORTAR_OK);
  kiln_plan_unref(plan);
  kiln_translator_free(tr);
}

static void test_failures(void **state)
{
  struct kiln_translator *tr = translator_of(silent, 100);
  struct kiln_plan *plan;
  int64_t start = mtr_clock_now();

  (void)state;
  assert_int_equal(ask(tr, "a", &never, &plan), MORTAR_TIMEOUT);
  assert_int_equal(ask(tr, "a", &always, &plan), MORTAR_CANCELED);
  assert_true(mtr_clock_now() - start < 5 * MTR_SECOND);
  kiln_translator_free(tr);
  tr = translator_of(ends, 5000);
  assert_int_equal(ask(tr, "a", &never, &plan), MORTAR_IO);
  assert_null(plan);
  kiln_translator_free(tr);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_plan_is_cached),
      cmocka_unit_test(test_a_long_text_is_not_cached),
      cmocka_unit_test(test_a_long_text_may_take_longer),
      cmocka_unit_test(test_a_silent_process_is_replaced),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
