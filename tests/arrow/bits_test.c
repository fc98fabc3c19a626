/* Bitmaps at every offset and length, against a loop over single bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "arrow/bits.h"

enum { BITS = 200 };

static const uint8_t sample[BITS / 8] = {0xA5, 0x00, 0xFF, 0x13, 0x80, 0x01, 0x7E, 0xC3, 0x99,
                                         0x10, 0xEF, 0x55, 0x02, 0xFE, 0x31, 0x8C, 0x00, 0xFF,
                                         0x4B, 0xD2, 0x66, 0x05, 0xAA, 0x0F, 0xF1};

static void counting_equals_a_loop(void **state)
{
  int64_t offset, count, i;

  (void)state;
  for (offset = 0; offset < 20; offset++)
    for (count = 0; offset + count <= BITS; count++) {
      int64_t want = 0;
      for (i = offset; i < offset + count; i++)
        want += mtr_bit(sample, i);
      assert_int_equal(mtr_bits_count(sample, offset, count), want);
    }
}

static void copying_moves_bits_and_clears_the_rest(void **state)
{
  uint8_t out[BITS / 8 + 1];
  int64_t offset, count, i;

  (void)state;
  for (offset = 0; offset < 20; offset++)
    for (count = 0; offset + count <= BITS; count++) {
      memset(out, 0xFF, sizeof out);
      mtr_bits_copy(out, sample, offset, count);
      for (i = 0; i < count; i++)
        assert_int_equal(mtr_bit(out, i), mtr_bit(sample, offset + i));
      for (i = count; i < mtr_bits_size(count) * 8; i++)
        assert_false(mtr_bit(out, i));
      assert_int_equal(out[mtr_bits_size(count)], 0xFF);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counting_equals_a_loop),
      cmocka_unit_test(copying_moves_bits_and_clears_the_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
