/* Writes a decoded Thrift message again and compares it with what was read. */
#ifndef MTR_TOOLS_RECORDINGS_REWRITE_CHECK_H
#define MTR_TOOLS_RECORDINGS_REWRITE_CHECK_H

#include "codec/thrift/message.h"
#include "tools/recordings/report.h"

/* body is what was decoded from bytes: a call or a reply. Counts the message as the same or as one
 * of another form: old envelope, fields out of order, or fields that TCLIService does not have.
 * Anything else that differs is reported as a failure of `what`. */
bool rewrite_check(struct report *r, const char *what, struct mtr_span bytes,
                   const struct mtr_message *head, const struct mtr_struct_info *info,
                   const void *body);

#endif
