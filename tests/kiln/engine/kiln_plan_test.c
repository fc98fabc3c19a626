/* Plans from translators' messages: what a good one holds, and that no bad one is taken. */
#include "kiln/engine/translate/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "kiln/engine/translate/field.h"

static void put_all(struct mtr_buf *buf, const char *const *fields, size_t count)
{
  size_t i;

  mtr_buf_init(buf, NULL, "message", 1 << 16);
  for (i = 0; i < count; i++)
    assert_int_equal(kiln_field_put(buf, mtr_span_text(fields[i]), NULL), MORTAR_OK);
}

static void test_plan(void **state)
{
  static const char *const fields[] = {"plan", "merge", "samples", "nyc", "samples own", "A", "B"};
  struct mtr_buf buf;
  struct kiln_plan *plan;

  (void)state;
  put_all(&buf, fields, 7);
  assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_OK);
  mtr_buf_fini(&buf); /* a plan keeps nothing of the message */
  assert_false(plan->refused);
  assert_int_equal(plan->answer, KILN_ANSWER_MERGE);
  assert_string_equal(plan->use_catalog, "samples");
  assert_string_equal(plan->use_schema, "nyc");
  assert_true(plan->samples);
  assert_true(plan->own);
  assert_int_equal(plan->count, 2);
  assert_string_equal(plan->statements[0], "A");
  assert_string_equal(plan->statements[1], "B");
  kiln_plan_unref(plan);
}

/* Words of the list count as a whole only. */
static void test_needs(void **state)
{
  static const struct {
    const char *list;
    bool samples, own;
    int64_t timeout; /* -1: as it was */
  } cases[] = {{"", false, false, -1},
               {"samples", true, false, -1},
               {"own", false, true, -1},
               {"own samples", true, true, -1},
               {"samplesown", false, false, -1},
               {"sample", false, false, -1},
               {"  own ", false, true, -1},
               {"own timeout=5", false, true, 5},
               {"timeout=0 own", false, true, 0},
               {"timeout=", false, false, -1},
               {"timeout=x", false, false, -1},
               {"timeout=99999999999", false, false, -1}};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *fields[] = {"plan", "rows", "", "", cases[i].list, "A"};
    struct mtr_buf buf;
    struct kiln_plan *plan;

    put_all(&buf, fields, 6);
    assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_OK);
    assert_int_equal(plan->samples, cases[i].samples);
    assert_int_equal(plan->own, cases[i].own);
    assert_int_equal(plan->times ? plan->timeout : -1, cases[i].timeout);
    kiln_plan_unref(plan);
    mtr_buf_fini(&buf);
  }
}

static void test_refusal(void **state)
{
  static const char *const fields[] = {"refused", "42601", "[X] no"};
  struct mtr_buf buf;
  struct kiln_plan *plan;

  (void)state;
  put_all(&buf, fields, 3);
  assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_OK);
  assert_true(plan->refused);
  assert_string_equal(plan->sqlstate, "42601");
  assert_string_equal(plan->message, "[X] no");
  kiln_plan_unref(plan);
  mtr_buf_fini(&buf);
}

/* Cut anywhere, a plan whose last field is its only statement is no plan. */
static void test_every_cut_is_refused_or_shorter(void **state)
{
  static const char *const fields[] = {"plan", "rows", "", "", "", "SELECT 1"};
  struct mtr_buf buf;
  struct kiln_plan *plan;
  size_t n, taken = 0;

  (void)state;
  put_all(&buf, fields, 6);
  for (n = 0; n < buf.size; n++) {
    enum mortar_status st = kiln_plan_decode(mtr_span_of(buf.data, n), &plan, NULL);

    if (st == MORTAR_OK) {
      assert_int_equal(plan->count, 0);
      taken++;
    } else {
      assert_int_equal(st, MORTAR_PROTOCOL);
      assert_null(plan);
    }
    kiln_plan_unref(plan);
  }
  assert_int_equal(taken, 1); /* cut exactly before the statement */
  mtr_buf_fini(&buf);
}

static void test_unknown_words_and_too_many_fields(void **state)
{
  const char *many[1100];
  struct mtr_buf buf;
  struct kiln_plan *plan;
  size_t i;

  (void)state;
  for (i = 0; i < 1100; i++)
    many[i] = i == 0 ? "plan" : i == 1 ? "rows" : "";
  put_all(&buf, many, 1100);
  assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_PROTOCOL);
  mtr_buf_fini(&buf);
  many[1] = "table";
  put_all(&buf, many, 5);
  assert_int_equal(kiln_plan_decode(mtr_buf_span(&buf), &plan, NULL), MORTAR_PROTOCOL);
  mtr_buf_fini(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plan),
      cmocka_unit_test(test_needs),
      cmocka_unit_test(test_refusal),
      cmocka_unit_test(test_every_cut_is_refused_or_shorter),
      cmocka_unit_test(test_unknown_words_and_too_many_fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
