/* One TCLIService call: request struct in, reply struct out, every failure told apart.
 *
 * Looked at in this order: transport, HTTP status, envelope, TStatus. What the operation itself
 * says (its state) is the caller's business. */
#ifndef MTR_CLIENT_THRIFT_CALL_H
#define MTR_CLIENT_THRIFT_CALL_H

#include "client/backend.h"
#include "codec/thrift/message.h"

/* What a session sends with every call. */
struct mtr_thrift_peer {
  const char *path, *headers; /* as mtr_request wants them */
  const char *endpoint;       /* "host:port", for errors */
  int64_t read_timeout_ms;
};

struct mtr_thrift_method {
  const char *name; /* "ExecuteStatement" */
  const struct mtr_struct_info *request, *reply;
};

/* Sends request, fills reply; both are the method's structs. The reply's first field is its
 * TStatus: one that is no success becomes an error. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_call(const struct mtr_thrift_peer *peer,
                                                   struct mtr_channel *ch,
                                                   const struct mtr_thrift_method *method,
                                                   const void *request, void *reply,
                                                   const struct mtr_wait *wait,
                                                   struct mortar_error *err);

/* OK for the good codes; else an error with the server's words, SQLSTATE and number. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_check(const struct mtr_TStatus *status,
                                                    struct mortar_error *err);

/* The error of an operation that ended badly. Never OK. */
enum mortar_status mtr_thrift_operation_failed(const struct mtr_TGetOperationStatusResp *state,
                                               struct mortar_error *err);

#endif
