/* Lengths of messages, whole and in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "bench/message.h"

#define HEAD "POST /x HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 12\r\nAccept: b\r\n\r\n"

static void test_every_part_of_a_head(void **state)
{
  char part[sizeof HEAD];
  size_t i, size;

  (void)state;
  for (i = 0; i < sizeof HEAD - 1; i++) {
    memcpy(part, HEAD, i);
    part[i] = '\0';
    assert_false(message_size(part, &size));
  }
  assert_true(message_size(HEAD, &size));
  assert_int_equal(size, sizeof HEAD - 1 + 12);
  assert_true(message_size(HEAD "Content-Length: 9\r\n\r\n", &size));
  assert_int_equal(size, sizeof HEAD - 1 + 12);
}

static void test_no_length(void **state)
{
  size_t size = 7;

  (void)state;
  assert_true(message_size("GET / HTTP/1.1\r\nHost: a\r\n\r\nContent-Length: 5\r\n", &size));
  assert_int_equal(size, 0);
  assert_true(message_size("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", &size));
  assert_int_equal(size, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_part_of_a_head),
      cmocka_unit_test(test_no_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
