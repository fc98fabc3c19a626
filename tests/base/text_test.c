/* Text: characters that are cut, UTF-8, numbers, ids. */
#include "base/text.h"

#include "tests/support/test.h"

static void text_is_cut_between_characters(void **state)
{
  const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1, 2, 3 and 4 bytes */

  (void)state;
  assert_int_equal(mtr_utf8_cut(text, 0), 0);
  assert_int_equal(mtr_utf8_cut(text, 1), 1);
  assert_int_equal(mtr_utf8_cut(text, 2), 1);
  assert_int_equal(mtr_utf8_cut(text, 3), 3);
  assert_int_equal(mtr_utf8_cut(text, 5), 3);
  assert_int_equal(mtr_utf8_cut(text, 6), 6);
  assert_int_equal(mtr_utf8_cut(text, 9), 6);
  assert_int_equal(mtr_utf8_cut(text, 10), 10);
}

static void utf8_is_checked_by_the_book(void **state)
{
  static const char *const good[] = {"",
                                     "plain ascii text",
                                     "\xc2\x80",
                                     "\xe0\xa0\x80",
                                     "\xed\x9f\xbf",
                                     "\xf4\x8f\xbf\xbf",
                                     "12345678\xf0\x90\x80\x80"};
  static const char *const bad[] = {"\x80",
                                    "\xc0\x80",
                                    "\xc1\xbf",
                                    "\xe0\x9f\xbf",
                                    "\xed\xa0\x80",
                                    "\xf0\x8f\xbf\xbf",
                                    "\xf4\x90\x80\x80",
                                    "\xf5\x80\x80\x80",
                                    "\xe2\x82",
                                    "12345678\xff",
                                    "\xc3("};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof good / sizeof *good; i++)
    assert_true(mtr_utf8_valid(mtr_span_text(good[i])));
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(mtr_utf8_valid(mtr_span_text(bad[i])));
}

static void numbers_are_read_whole_or_not(void **state)
{
  uint64_t v = 0;

  (void)state;
  assert_true(mtr_text_u64(mtr_span_text("18446744073709551615"), UINT64_MAX, &v));
  assert_true(v == UINT64_MAX);
  assert_false(mtr_text_u64(mtr_span_text("18446744073709551616"), UINT64_MAX, &v));
  assert_false(mtr_text_u64(mtr_span_text(""), 10, &v));
  assert_false(mtr_text_u64(mtr_span_text("11"), 10, &v));
  assert_false(mtr_text_u64(mtr_span_text("-1"), 10, &v));
  assert_false(mtr_text_u64(mtr_span_text("1 "), 10, &v));
  assert_true(mtr_text_u64(mtr_span_text("007"), 10, &v));
  assert_int_equal(v, 7);
}

static void an_id_is_shown_like_the_server_shows_it(void **state)
{
  uint8_t id[40];
  char text[37];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof id; i++)
    id[i] = (uint8_t)(i * 17);
  mtr_uuid_text(mtr_span_of(id, 16), text);
  assert_string_equal(text, "00112233-4455-6677-8899-aabbccddeeff");
  mtr_uuid_text(mtr_span_of(id, 3), text);
  assert_string_equal(text, "001122");
  mtr_uuid_text(mtr_span_of(id, 40), text);
  assert_int_equal(strlen(text), 36);
  mtr_uuid_text(mtr_span_of(NULL, 0), text);
  assert_string_equal(text, "");
}

static void case_is_ignored_for_letters_only(void **state)
{
  (void)state;
  assert_true(mtr_text_same(mtr_span_text("Content-Length"), mtr_span_text("content-LENGTH")));
  assert_false(mtr_text_same(mtr_span_text("a["), mtr_span_text("A{")));
  assert_false(mtr_text_same(mtr_span_text("ab"), mtr_span_text("abc")));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_cut_between_characters),
      cmocka_unit_test(utf8_is_checked_by_the_book),
      cmocka_unit_test(numbers_are_read_whole_or_not),
      cmocka_unit_test(an_id_is_shown_like_the_server_shows_it),
      cmocka_unit_test(case_is_ignored_for_letters_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
