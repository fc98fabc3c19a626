/* One line of a recording: a request and its reply, with bodies as bytes. */
#ifndef MTR_TOOLS_RECORDINGS_EXCHANGE_H
#define MTR_TOOLS_RECORDINGS_EXCHANGE_H

#include "base/buf.h"

/* A recorded body larger than this is no recording of a test any more. */
enum { RECORDING_BODY_MAX = 1 << 30 };

enum exchange_kind { EXCHANGE_THRIFT, EXCHANGE_JSON, EXCHANGE_BODY, EXCHANGE_EMPTY };

struct exchange {
  struct mtr_buf request, response; /* empty when there is none or it is JSON */
  enum exchange_kind kind;
  int status;
  bool json_response;
};

void exchange_init(struct exchange *x);
void exchange_fini(struct exchange *x);

/* Reads one line. folder is that of the file, for bodies in files of their own. INVALID with the
 * reason when the line is not of the format; x->kind is then set as far as it was known. */
MORTAR_MUST_USE enum mortar_status exchange_parse(struct exchange *x, struct mtr_span line,
                                                  const char *folder, struct mortar_error *err);

/* Appends a whole file. IO when it can't be read. */
MORTAR_MUST_USE enum mortar_status recording_read_file(const char *path, struct mtr_buf *out,
                                                       struct mortar_error *err);

#endif
