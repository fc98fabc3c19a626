/* The head of a request: its bytes, its being kept, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "net/request_head.h"
#include "tests/support/failing_alloc.h"

static void assert_text(const struct mtr_request_head *head, const char *want)
{
  assert_int_equal(head->text.size, strlen(want));
  assert_memory_equal(head->text.data, want, strlen(want));
}

static void writes_the_head(void **state)
{
  struct mtr_request_head head;
  struct mortar_error err;
  const char *headers = "Authorization: Bearer x\r\nContent-Type: application/x-thrift\r\n";
  char rest[MTR_LENGTH_LINE], most[MTR_LENGTH_LINE + 1];

  (void)state;
  mtr_request_head_init(&head, NULL);
  assert_int_equal(mtr_request_head_set(&head, "h:1", "/p?o=1", headers, &err), MORTAR_OK);
  assert_text(&head,
              "POST /p?o=1 HTTP/1.1\r\nHost: h:1\r\nAccept-Encoding: identity\r\n"
              "Authorization: Bearer x\r\nContent-Type: application/x-thrift\r\n"
              "Content-Length: ");
  assert_int_equal(mtr_request_head_rest(1234, rest), 8);
  assert_memory_equal(rest, "1234\r\n\r\n", 8);
  assert_int_equal(mtr_request_head_rest(0, rest), 5);
  assert_memory_equal(rest, "0\r\n\r\n", 5);
  (void)snprintf(most, sizeof most, "%zu\r\n\r\n", SIZE_MAX);
  assert_int_equal(mtr_request_head_rest(SIZE_MAX, rest), strlen(most));
  assert_memory_equal(rest, most, strlen(most));
  mtr_request_head_fini(&head);
}

static void kept_until_it_changes(void **state)
{
  struct mtr_request_head head;
  struct mortar_error err;

  (void)state;
  mtr_request_head_init(&head, NULL);
  assert_int_equal(mtr_request_head_set(&head, "h", "/p", "A: 1\r\n", &err), MORTAR_OK);
  head.text.data[0] = 'p'; /* seen again as long as the head is not written anew */
  assert_int_equal(mtr_request_head_set(&head, "h", "/p", "A: 1\r\n", &err), MORTAR_OK);
  assert_int_equal(head.text.data[0], 'p');
  assert_int_equal(mtr_request_head_set(&head, "h", "/p", "A: 2\r\n", &err), MORTAR_OK);
  assert_text(&head,
              "POST /p HTTP/1.1\r\nHost: h\r\nAccept-Encoding: identity\r\nA: 2\r\n"
              "Content-Length: ");
  assert_int_equal(mtr_request_head_set(&head, "h", "/q", "A: 2\r\n", &err), MORTAR_OK);
  assert_memory_equal(head.text.data, "POST /q ", 8);
  mtr_request_head_fini(&head);
}

static void refuses_bad_text(void **state)
{
  static const struct {
    const char *path, *headers;
  } cases[] = {
      {"p", ""},
      {"", ""},
      {"/p q", ""},
      {"/p\r\nX: y", ""},
      {"/p\x7f", ""},
      {"/", "A: 1"},
      {"/", "A: 1\r\nB: 2"},
      {"/", "A: 1\n\r\n"},
      {"/", "A: 1\rB: secret\r\n"},
      {"/", "A: 1\r\n\r\nB: 2\r\n"},
      {"/", ": 1\r\n"},
      {"/", "A 1\r\n"},
      {"/", "A b: 1\r\n"},
      {"/", " A: 1\r\n"},
      {"/", "Host: x\r\n"},
      {"/", "content-length: 1\r\n"},
      {"/", "Transfer-Encoding: chunked\r\n"},
      {"/", "CONNECTION: close\r\n"},
      {"/", "Accept-Encoding: gzip\r\n"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_request_head head;
    struct mortar_error err = {0};
    mtr_request_head_init(&head, NULL);
    assert_int_equal(mtr_request_head_set(&head, "h", cases[i].path, cases[i].headers, &err),
                     MORTAR_INVALID);
    assert_null(strstr(err.message, "secret"));
    assert_int_equal(head.text.size, 0);
    mtr_request_head_fini(&head);
  }
}

static void refuses_an_endless_head(void **state)
{
  struct mtr_request_head head;
  struct mortar_error err;
  char *headers = malloc(MTR_MAX_REQUEST_HEAD + 16);

  (void)state;
  assert_non_null(headers);
  memset(headers, 'x', MTR_MAX_REQUEST_HEAD + 16);
  memcpy(headers, "A: ", 3);
  memcpy(headers + MTR_MAX_REQUEST_HEAD, "\r\n", 3);
  mtr_request_head_init(&head, NULL);
  assert_int_equal(mtr_request_head_set(&head, "h", "/", headers, &err), MORTAR_LIMIT);
  assert_int_equal(head.text.size, 0);
  mtr_request_head_fini(&head);
  free(headers);
}

static void every_allocation_may_fail(void **state)
{
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_request_head head;
    struct mortar_error err;
    char headers[600];
    enum mortar_status st;
    memset(headers, 'x', sizeof headers);
    memcpy(headers, "A: ", 3);
    memcpy(headers + sizeof headers - 3, "\r\n", 3);
    mtr_request_head_init(&head, &fa.alloc);
    st = mtr_request_head_set(&head, "h", "/", headers, &err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    /* A half written head does not pass for this one. */
    if (fa.failed)
      assert_int_equal(mtr_request_head_set(&head, "h", "/", headers, &err), MORTAR_OK);
    assert_memory_equal(head.text.data + head.text.size - 16, "Content-Length: ", 16);
    mtr_request_head_fini(&head);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(writes_the_head), cmocka_unit_test(kept_until_it_changes),
      cmocka_unit_test(refuses_bad_text), cmocka_unit_test(refuses_an_endless_head),
      cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
