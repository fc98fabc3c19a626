/* TStatus structs. Never sets STILL_EXECUTING or INVALID_HANDLE: the recorded servers do not. */
#include "kiln/server/status.h"

struct mtr_TStatus kiln_status_success = {
    .has = UINT64_C(1) << MTR_BIT_TStatus_status_code,
    .status_code = MTR_STATUS_SUCCESS,
};

void kiln_status_error(struct mtr_TStatus *out, const struct kiln_error *err)
{
  memset(out, 0, sizeof *out);
  MTR_SET(out, TStatus, status_code, MTR_STATUS_ERROR);
  MTR_SET(out, TStatus, sql_state, mtr_span_text(err->sqlstate));
  MTR_SET(out, TStatus, error_code, 0);
  MTR_SET(out, TStatus, error_message, mtr_span_text(err->message));
  MTR_SET(out, TStatus, display_message, mtr_span_text(err->message));
}

void kiln_error_from(struct kiln_error *out, const struct mortar_error *err)
{
  kiln_fail(out, err->sqlstate[0] ? err->sqlstate : "HY000", "%s", err->message);
}
