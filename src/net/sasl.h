/* The login of HiveServer2's SASL transport, mechanism PLAIN: who we are in one go, and the
 * server's answer. Messages are a status byte, a length of four bytes, and that many bytes.
 * Sans-I/O. Refused: answers that go on with the negotiation, which PLAIN does not know. */
#ifndef MTR_NET_SASL_H
#define MTR_NET_SASL_H

#include "base/buf.h"

enum {
  MTR_SASL_MAX_TEXT = 64 * 1024, /* of an answer; servers send a line or nothing */
  MTR_SASL_ROOM = 4096           /* for one receive of it */
};

/* Appends all that a client says. INVALID: a text with more than MTR_SASL_MAX_TEXT bytes. */
MORTAR_MUST_USE enum mortar_status mtr_sasl_write_plain(struct mtr_buf *out, const char *user,
                                                        const char *password,
                                                        struct mortar_error *err);

/* What the server has answered so far: OK, welcome; MORE; AUTH with its words; PROTOCOL. */
MORTAR_MUST_USE enum mortar_status mtr_sasl_read_answer(struct mtr_span answer,
                                                        struct mortar_error *err);

#endif
