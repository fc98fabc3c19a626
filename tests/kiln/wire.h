/* A client for tests that is nothing but a socket and the codec: it sends what it is told, also
 * nonsense, and fails the test when the server does not answer within ten seconds. */
#ifndef TESTS_KILN_WIRE_H
#define TESTS_KILN_WIRE_H

#include "base/buf.h"
#include "codec/thrift/message.h"

struct wire {
  int fd;
  int port;
  const char *headers; /* extra ones, each ended with CR LF; "" by default */
  struct mtr_arena arena;
  struct mtr_buf in;    /* what was received */
  int status;           /* of the last answer */
  int error;            /* errno of the read that ended the connection; 0: an orderly end */
  struct mtr_span body; /* of the last answer, in `in` */
  struct mtr_message head;
};

void wire_open(struct wire *wire, int port);
void wire_close(struct wire *wire);

/* Sends bytes as they are. */
void wire_send(struct wire *wire, const void *bytes, size_t size);

/* Reads one answer. false: the connection ended first, or the time was up. */
bool wire_receive(struct wire *wire);

/* One HTTP exchange with a body of any bytes. */
void wire_http(struct wire *wire, const char *method, const char *path, const void *body,
               size_t size);

/* Sends a CALL and does not wait for the answer. */
void wire_send_call(struct wire *wire, const char *name, const struct mtr_struct_info *info,
                    const void *body);

/* One call: sends a CALL of body, receives and decodes. The answer must be a 200 with a reply; it
 * lives until the next call. */
void *wire_call(struct wire *wire, const char *name, const struct mtr_struct_info *info,
                const void *body, const struct mtr_struct_info *reply);

#define WIRE_CALL(wire, name, body)                                                                \
  ((struct mtr_T##name##Resp *)wire_call(wire, #name, &mtr_T##name##Req_info, body,                \
                                         &mtr_T##name##Resp_info))

/* A handle that outlives the reply. */
struct wire_handle {
  uint8_t bytes[2][16];
  struct mtr_THandleIdentifier id;
  struct mtr_TSessionHandle session;
  struct mtr_TOperationHandle operation;
};
void wire_keep(struct wire_handle *out, const struct mtr_THandleIdentifier *id);

enum { WIRE_ABSENT = -1000 }; /* a protocol that is not sent */

/* Opens a session, field 1 and field 1282 of the request being these; gives what was agreed on. */
int32_t wire_open_session_as(struct wire *wire, int32_t hive, int64_t spark,
                             struct wire_handle *out);
void wire_open_session(struct wire *wire, struct wire_handle *out);

/* The value of a header of the last answer; NULL: it has none. Lives until the next call. */
const char *wire_header(struct wire *wire, const char *name);

/* How a statement is asked for. */
struct wire_ask {
  bool direct, async, lz4;
  int64_t max_rows, max_bytes;
  bool no_arrow;
  int64_t timeout; /* seconds; 0: not sent */
};
/* Sends the statement and does not wait for the answer. */
void wire_send_execute(struct wire *wire, struct wire_handle *session, const char *sql,
                       const struct wire_ask *ask);
struct mtr_TExecuteStatementResp *wire_execute(struct wire *wire, struct wire_handle *session,
                                               const char *sql, const struct wire_ask *ask);

void wire_assert_text(struct mtr_span span, const char *text);
bool wire_contains(struct mtr_span span, const char *text);

/* Decodes the batches and checks that they hold the numbers from `first` on; gives their count. */
int64_t wire_check_rows(const struct mtr_TGetResultSetMetadataResp *metadata,
                        const struct mtr_TRowSet *rows, int64_t first);

#endif
