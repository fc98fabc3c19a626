/* The envelope of a call: strict binary messages, as HiveServer2 insists on, with one argument.
 *
 *     call   80 01 00 01  name  seqid  { 1: request struct }
 *     reply  80 01 00 02  name  seqid  { 0: reply struct }      or 80 01 00 03 and an exception
 *
 * Replies in the old form (name first) are read as well. */
#ifndef MTR_CODEC_THRIFT_MESSAGE_H
#define MTR_CODEC_THRIFT_MESSAGE_H

#include "codec/thrift/tcli.h"

enum mtr_message_type { MTR_MESSAGE_CALL = 1, MTR_MESSAGE_REPLY = 2, MTR_MESSAGE_EXCEPTION = 3 };

struct mtr_message {
  struct mtr_span name; /* into the input: "ExecuteStatement" */
  int32_t seqid;
  enum mtr_message_type type;
  struct mtr_span exception_text; /* of an EXCEPTION */
  int32_t exception_type;
};

/* Appends a whole message: type CALL wraps body as field 1, REPLY as field 0. */
MORTAR_MUST_USE enum mortar_status mtr_message_write(struct mtr_buf *out,
                                                     enum mtr_message_type type, const char *name,
                                                     int32_t seqid,
                                                     const struct mtr_struct_info *info,
                                                     const void *body, struct mortar_error *err);

/* Appends an EXCEPTION message. */
MORTAR_MUST_USE enum mortar_status mtr_message_write_exception(struct mtr_buf *out,
                                                               const char *name, int32_t seqid,
                                                               int32_t type, const char *text,
                                                               struct mortar_error *err);

/* Reads the envelope only and leaves rd at the body struct. OK, MORE or PROTOCOL. */
MORTAR_MUST_USE enum mortar_status mtr_message_read_head(struct mtr_tr *rd,
                                                         struct mtr_message *head,
                                                         struct mortar_error *err);

/* Reads a whole message whose body field (1 of a CALL, 0 of a REPLY) is a struct `info`. For an
 * EXCEPTION fills head and clears body: that is MORTAR_OK, the caller looks at head->type. A body
 * without its field is PROTOCOL; so are bytes behind the message. */
MORTAR_MUST_USE enum mortar_status mtr_message_read(struct mtr_span bytes,
                                                    const struct mtr_struct_info *info, void *body,
                                                    struct mtr_arena *arena,
                                                    struct mtr_message *head,
                                                    struct mortar_error *err);

/* The same, but structs of the type `leave` (below the body) are not decoded: their `wire` is set
 * and nothing else. They are checked to be whole, and mtr_thrift_decode reads them when wanted. */
MORTAR_MUST_USE enum mortar_status mtr_message_read_leaving(
    struct mtr_span bytes, const struct mtr_struct_info *info, const struct mtr_struct_info *leave,
    void *body, struct mtr_arena *arena, struct mtr_message *head, struct mortar_error *err);

#endif
