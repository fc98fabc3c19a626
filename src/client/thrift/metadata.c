/* Metadata calls of TCLIService. What they give is read like a statement's result. */
#include "client/thrift/metadata.h"

#include "base/error.h"

static const struct mtr_thrift_method methods[] = {
#define X(metadata_kind, call, type)                                                               \
  [MORTAR_METADATA_##metadata_kind] = {.name = #call,                                              \
                                       .request = &mtr_T##call##Req_info,                          \
                                       .reply = &mtr_TExecuteStatementResp_info,                   \
                                       .kind = MTR_CALL_READ,                                      \
                                       .names_session = true,                                      \
                                       .keep = true},
    MTR_METADATA_MAP(X)
#undef X
};

enum mortar_status mtr_thrift_metadata(const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
                                       const struct mtr_metadata_call *call,
                                       const struct mtr_wait *wait,
                                       struct mtr_TExecuteStatementResp *resp,
                                       struct mortar_error *err)
{
  void *request;

  MTR_TRY(mtr_metadata_to_request(call, &ch->arena, &request, err));
  return mtr_thrift_call(peer, ch, &methods[call->what.kind], request, resp, wait, err);
}
