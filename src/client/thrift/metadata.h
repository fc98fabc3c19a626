/* The metadata calls: one reply for all, which is that of a statement. */
#ifndef MTR_CLIENT_THRIFT_METADATA_H
#define MTR_CLIENT_THRIFT_METADATA_H

#include "client/thrift/call.h"
#include "codec/thrift/metadata.h"

MORTAR_MUST_USE enum mortar_status mtr_thrift_metadata(const struct mtr_thrift_peer *peer,
                                                       struct mtr_channel *ch,
                                                       const struct mtr_metadata_call *call,
                                                       const struct mtr_wait *wait,
                                                       struct mtr_TExecuteStatementResp *resp,
                                                       struct mortar_error *err);

#endif
