/* What every test file includes: cmocka in the order that it wants. */
#ifndef MTR_TESTS_TEST_H
#define MTR_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#endif
