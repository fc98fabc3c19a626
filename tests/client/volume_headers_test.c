/* The little JSON of a volume's answer: what is taken, what is refused, that no text of bytes does
 * harm; and that what is secret in an answer gets into no error. */
#include <stdio.h>

#include "base/error.h"
#include "client/volume_row.h"
#include "tests/support/test.h"

struct headers_case {
  const char *json;
  enum mortar_status st;
  const char *want; /* "name=value;" of each */
};

static enum mortar_status read_headers(const char *json, size_t size, char *out, size_t capacity)
{
  struct mtr_volume_row row = {0};
  struct mtr_arena arena;
  enum mortar_status st;
  size_t i, n = 0;

  mtr_arena_init(&arena, NULL, 8 << 20);
  st = mtr_volume_headers(mtr_span_of(json, size), &arena, &row, NULL);
  *out = '\0';
  for (i = 0; st == MORTAR_OK && i < row.header_count; i++)
    n += (size_t)snprintf(out + n, capacity - n, "%s=%s;", row.headers[i].name,
                          row.headers[i].value);
  mtr_arena_fini(&arena);
  return st;
}

static void headers_are_a_json_object_of_texts(void **state)
{
  static const struct headers_case cases[] = {
      {"", MORTAR_OK, ""},
      {"null", MORTAR_OK, ""},
      {" {} ", MORTAR_OK, ""},
      {"[]", MORTAR_OK, ""},
      {"[{}]", MORTAR_OK, ""},
      {"{\"a\":\"b\"}", MORTAR_OK, "a=b;"},
      {"[ {\"a\" : \"b\" , \"c\":\"\"} ]", MORTAR_OK, "a=b;c=;"},
      {"{\"a\":\"\\u003d\\\"\\\\\\/\\n\"}", MORTAR_OK, "a==\"\\/\n;"},
      {"{\"a\":null,\"b\":\"c\"}", MORTAR_OK, "b=c;"},
      {"{\"a\":\"\xc3\xa9\"}", MORTAR_OK, "a=\xc3\xa9;"},
      {"x", MORTAR_PROTOCOL, ""},
      {"{", MORTAR_PROTOCOL, ""},
      {"{\"a\"}", MORTAR_PROTOCOL, ""},
      {"{\"a\":1}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b\"", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b\",}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b\"}}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b\\", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"\\u00", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"\\u0000\"}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"\\u00e9\"}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"\\x\"}", MORTAR_PROTOCOL, ""},
      {"{\"a\":\"b\nc\"}", MORTAR_PROTOCOL, ""},
      {"{\"a\":{\"b\":\"c\"}}", MORTAR_PROTOCOL, ""},
      {"[{\"a\":\"b\"}", MORTAR_PROTOCOL, ""},
  };
  char got[200];
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *json = cases[i].json;
    if (read_headers(json, strlen(json), got, sizeof got) != cases[i].st) fail_msg("%s", json);
    assert_string_equal(got, cases[i].want);
  }
}

/* Under the sanitizers: each text is in memory of its own size, so a byte too far is seen. */
static void random_texts_do_no_harm(void **state)
{
  static const char *const pieces[] = {"{",  "}", "[",    "]",      ":",  ",", "\"", "a",
                                       "\\", "u", "0041", "\\u00e", "\"", " ", "n",  "null"};
  unsigned random = 7;
  char text[200], got[2000];
  int i;

  (void)state;
  for (i = 0; i < 20000; i++) {
    size_t size = 0;
    char *exact;
    while (size < 60) {
      const char *piece;
      random = random * 1103515245u + 12345u;
      piece = pieces[random >> 16 & 15];
      if ((random >> 24) % 20 == 0) break;
      memcpy(text + size, piece, strlen(piece));
      size += strlen(piece);
    }
    exact = malloc(size + 1);
    assert_non_null(exact);
    memcpy(exact, text, size);
    (void)read_headers(exact, size, got, sizeof got);
    free(exact);
  }
}

static void too_many_are_refused(void **state)
{
  char *json = malloc(80 * 1024);
  char got[2000];
  size_t n = 1;
  int i;

  (void)state;
  assert_non_null(json);
  json[0] = '{';
  for (i = 0; i < 65; i++)
    n += (size_t)snprintf(json + n, 20, "%s\"h%d\":\"\"", i ? "," : "", i);
  json[n++] = '}';
  assert_int_equal(read_headers(json, n, got, sizeof got), MORTAR_LIMIT);
  memset(json, ' ', 80 * 1024);
  assert_int_equal(read_headers(json, 80 * 1024, got, sizeof got), MORTAR_LIMIT);
  free(json);
}

static void no_error_tells_the_link(void **state)
{
  static const struct mtr_transfer_header headers[] = {{"x-token", "token-of-the-store"}};
  const struct mtr_volume_row row = {
      .operation = "GET",
      .link = "https://h/a?X-Expires=90&X-Signature=abc%2Fdefgh%3D&X-Token=t0ken%252Bvalue",
      .headers = headers,
      .header_count = 1};
  struct mortar_error err;

  (void)state;
  (void)mtr_fail(&err, MORTAR_HTTP,
                 "a %s b abc%%2Fdefgh%%3D c abc/defgh= d token-of-the-store e "
                 "t0ken%%2Bvalue f t0ken%%252Bvalue g 90",
                 strchr(row.link, '?'));
  mtr_volume_row_hide(&row, &err);
  assert_string_equal(err.message, "a *** b *** c *** d *** e *** f *** g 90");
  mtr_volume_row_hide(&row, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_are_a_json_object_of_texts),
      cmocka_unit_test(random_texts_do_no_harm),
      cmocka_unit_test(too_many_are_refused),
      cmocka_unit_test(no_error_tells_the_link),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
