/* One line of a recording: a request and its reply, with bodies as bytes. */
#ifndef KILN_RECORDINGS_EXCHANGE_H
#define KILN_RECORDINGS_EXCHANGE_H

#include "base/buf.h"

/* A recorded body larger than this is no recording of a test any more. */
enum { KILN_RECORDING_MAX = 1 << 30 };

enum kiln_recorded_kind {
  KILN_RECORDED_THRIFT,
  KILN_RECORDED_JSON,
  KILN_RECORDED_BODY,
  KILN_RECORDED_EMPTY
};

struct kiln_recorded {
  struct mtr_buf request, response; /* empty when there is none or it is JSON */
  enum kiln_recorded_kind kind;
  int status;
  bool json_response;
};

void kiln_recorded_init(struct kiln_recorded *x);
void kiln_recorded_fini(struct kiln_recorded *x);

/* Reads one line. folder is that of the file, for bodies in files of their own. INVALID with the
 * reason when the line is not of the format; x->kind is then set as far as it was known. */
MORTAR_MUST_USE enum mortar_status kiln_recorded_parse(struct kiln_recorded *x,
                                                       struct mtr_span line, const char *folder,
                                                       struct mortar_error *err);

/* Appends a whole file. IO when it can't be read. */
MORTAR_MUST_USE enum mortar_status kiln_recording_read(const char *path, struct mtr_buf *out,
                                                       struct mortar_error *err);

#endif
