/* The head of a POST as it goes out, kept from exchange to exchange: only the number behind
 * Content-Length differs. Refuses text that would end a line or the head too early. */
#ifndef MTR_NET_REQUEST_HEAD_H
#define MTR_NET_REQUEST_HEAD_H

#include "base/buf.h"

enum {
  /* A bearer token with many groups has 16 KB; servers refuse heads far smaller than this. */
  MTR_MAX_REQUEST_HEAD = 64 * 1024,
  MTR_LENGTH_LINE = 24 /* 20 digits, two line ends */
};

/* Value in the caller's storage. */
struct mtr_request_head {
  struct mtr_buf text; /* everything up to the number of Content-Length */
  size_t path_size, headers_at, headers_size;
};

void mtr_request_head_init(struct mtr_request_head *head, const struct mortar_alloc *alloc);
void mtr_request_head_fini(struct mtr_request_head *head);

/* Writes the head unless it is this one already. host is the value of the Host header.
 * INVALID: see mtr_request; the text never shows the headers, which hold the token. */
MORTAR_MUST_USE enum mortar_status mtr_request_head_set(struct mtr_request_head *head,
                                                        const char *host, const char *path,
                                                        const char *headers,
                                                        struct mortar_error *err);

/* The rest of the head, for a body of this size, without a NUL; returns its length. */
size_t mtr_request_head_rest(size_t body_size, char out[MTR_LENGTH_LINE]);

#endif
