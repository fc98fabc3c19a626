/* An engine for tests: statements of a few words, and counters that tell whether the server gave
 * back all that it took.
 *
 *     rows N       N rows of one column n, 0 to N-1, in arrays of 1,000
 *     half N       N rows, then the stream fails
 *     drip N       N rows, then the stream waits until it is interrupted and fails
 *     late N       waits until it is interrupted, then has N rows all the same
 *     lazy N       N rows after 20 ms
 *     fail         fails with 42P01
 *     slow         runs until it is interrupted, then fails with 57014 (10 s at the most)
 *     ddl          has no result set         dml      changed 3 rows
 *     prepared     has a prepared reply, whoever asks
 *     unsigned     a column without SQL type  echo    fails with its session's namespace
 *
 * SELECT may stand before each of them, for clients that look at that. A metadata call runs its
 * filter `table` as such a statement, or "rows 3" without one; echo then tells its filters. */
#ifndef TESTS_KILN_TINY_ENGINE_H
#define TESTS_KILN_TINY_ENGINE_H

#include <stdatomic.h>

#include "kiln/server/engine.h"

struct tiny_engine {
  _Atomic int sessions, contexts, streams; /* live ones */
  _Atomic int interrupts, executed;
};

extern const struct kiln_engine tiny_engine, tiny_engine_inline;

#endif
