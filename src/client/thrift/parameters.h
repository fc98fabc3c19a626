/* Bound values as Thrift has them: TSparkParameter, the value as text beside its SQL type. */
#ifndef MTR_CLIENT_THRIFT_PARAMETERS_H
#define MTR_CLIENT_THRIFT_PARAMETERS_H

#include "client/backend.h"
#include "codec/thrift/tcli.h"

/* Puts the values of run into req. What req points to then lives in the arena, and texts are
 * run's. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_put_parameters(const struct mtr_run *run,
                                                             struct mtr_arena *arena,
                                                             struct mtr_TExecuteStatementReq *req,
                                                             struct mortar_error *err);

#endif
