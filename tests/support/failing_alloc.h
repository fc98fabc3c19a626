/* An allocator that counts, checks sizes, fails the n-th call and notices leaks.
 *
 *     MTR_EVERY_ALLOC_FAILS(fa) {            runs the block with n = 1, 2, ... until no call failed
 *       st = thing_new(&fa.alloc, ...);
 *       if (fa.failed) assert_int_equal(st, MORTAR_NOMEM);
 *       thing_free(...);
 *     }
 */
#ifndef MTR_TESTS_FAILING_ALLOC_H
#define MTR_TESTS_FAILING_ALLOC_H

#include "mortar/mortar.h"

struct failing_alloc {
  struct mortar_alloc alloc; /* hand this to the code under test */
  /* Atomic, as the library's background thread allocates, too. */
  _Atomic long calls, fail_at;   /* allocations so far; the one that fails, 0: none */
  _Atomic long live, live_bytes; /* blocks not freed */
  _Atomic long size_mismatches;  /* frees and resizes that told a wrong old size */
  _Atomic bool failed;           /* the failure happened */
  long rounds;
};

void failing_alloc_init(struct failing_alloc *fa, long fail_at);

/* Prepares the next round: false when the last round ran to its end without a failure. Aborts the
 * test program with a text when the last round leaked or told a wrong size. */
bool failing_alloc_next(struct failing_alloc *fa);

#define MTR_EVERY_ALLOC_FAILS(fa) for (failing_alloc_init(&(fa), -1); failing_alloc_next(&(fa));)

#endif
