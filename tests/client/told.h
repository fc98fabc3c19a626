/* What a caller is told of a call that failed: of the statement, not of the question about it. */
#ifndef MTR_TESTS_CLIENT_TOLD_H
#define MTR_TESTS_CLIENT_TOLD_H

#include "net/retry.h"

static inline enum mortar_outcome told(enum mtr_call_kind kind, enum mortar_outcome outcome)
{
  const bool safe = outcome == MORTAR_OUTCOME_NOT_SENT || outcome == MORTAR_OUTCOME_REJECTED;

  if (kind == MTR_CALL_POLL) return MORTAR_OUTCOME_UNKNOWN;
  if ((kind == MTR_CALL_FETCH || kind == MTR_CALL_METADATA) && safe) return MORTAR_OUTCOME_DONE;
  return outcome;
}

#endif
