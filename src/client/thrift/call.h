/* One TCLIService call: request struct in, reply struct out, every failure told apart, and sent
 * again as net/retry.h says.
 *
 * Looked at in this order: transport, HTTP status, envelope, TStatus. What the operation itself
 * says (its state) is the caller's business. */
#ifndef MTR_CLIENT_THRIFT_CALL_H
#define MTR_CLIENT_THRIFT_CALL_H

#include "client/backend.h"
#include "codec/thrift/template.h"
#include "net/retry.h"

/* What a session sends with every call. */
struct mtr_thrift_peer {
  const char *path, *headers; /* as mtr_request wants them */
  const char *endpoint;       /* "host:port", for errors */
  int64_t read_timeout_ms;
  struct mtr_retry_policy retry;
};

struct mtr_thrift_method {
  const char *name; /* "ExecuteStatement" */
  const struct mtr_struct_info *request, *reply;
  enum mtr_call_kind kind;
  bool names_session; /* the request carries the session's handle: "gone" means the session */
  bool keep;          /* given up, it stays pending for mtr_thrift_resume: the reply names something
                         that must be closed */
  /* Asked only once a call has failed; NULL: kind it is. */
  enum mtr_call_kind (*kind_of)(const void *request);
};

/* Sends request, fills reply; both are the method's structs. The reply's first field is its
 * TStatus: one that is no success becomes an error. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_call(const struct mtr_thrift_peer *peer,
                                                   struct mtr_channel *ch,
                                                   const struct mtr_thrift_method *method,
                                                   const void *request, void *reply,
                                                   const struct mtr_wait *wait,
                                                   struct mortar_error *err);

/* The same with a request that is t's with this text in it. request is what kind_of looks at. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_call_template(
    const struct mtr_thrift_peer *peer, struct mtr_channel *ch,
    const struct mtr_thrift_method *method, const struct mtr_message_template *t,
    struct mtr_span text, const void *request, void *reply, const struct mtr_wait *wait,
    struct mortar_error *err);

/* The reply of the call that was given up and is pending on the channel. Never sends anything. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_resume(const struct mtr_thrift_peer *peer,
                                                     struct mtr_channel *ch, void *reply,
                                                     const struct mtr_wait *wait,
                                                     struct mortar_error *err);

/* ---- status.c: a server's words ---- */

/* OK for the good codes; else an error with the server's words, SQLSTATE and number. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_check(const struct mtr_TStatus *status,
                                                    struct mortar_error *err);

/* The event behind an error that mtr_thrift_check made of status. */
enum mtr_retry_event mtr_thrift_event(const struct mtr_TStatus *status);

/* True for texts that say that the server does not know the session's handle, in any spelling. */
bool mtr_thrift_names_lost_session(struct mtr_span text);

/* The error of an operation that ended badly. Never OK. */
enum mortar_status mtr_thrift_operation_failed(const struct mtr_TGetOperationStatusResp *state,
                                               struct mortar_error *err);

#endif
