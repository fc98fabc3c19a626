/* HTTP/1.1 responses: where a reply to a POST begins and ends, and the few headers that matter.
 *
 * Sans-I/O: bytes come in through a buffer, no sockets, no clock. Three outcomes: MORTAR_OK, the
 * reply is complete; MORTAR_MORE; a failure. The buffer always looks like this:
 *
 *     | head | body, decoded from chunks | bytes just received, not looked at yet |
 *
 * Refused, because a peer that sends them is broken or hostile: more than one Content-Length, both
 * Content-Length and Transfer-Encoding, encodings other than chunked, folded headers, line ends
 * other than CR LF, bytes after the end of the reply, 101. A body that lasts until the connection
 * closes is accepted for statuses from 300 on only: a result cut short that way would look whole.
 * A content-encoding other than identity is refused too, but for statuses from 300 on only the
 * body is dropped: the status says more than the refusal would. */
#ifndef MTR_NET_HTTP1_H
#define MTR_NET_HTTP1_H

#include "base/buf.h"
#include "net/lease.h"

enum {
  MTR_HTTP1_MAX_HEAD = 64 * 1024,  /* bytes of a head; gateways send 1 to 4 KB */
  MTR_HTTP1_MAX_LINES = 200,       /* header lines; gateways send 10 to 40 */
  MTR_HTTP1_MAX_INTERIM = 16,      /* 1xx replies before the real one; one is usual */
  MTR_HTTP1_MAX_CHUNK_DIGITS = 16, /* hex digits of a chunk size: all that fits 64 bits */
  MTR_HTTP1_READ_SIZE = 16 * 1024, /* room for a receive whose size nobody knows */
  /* A Content-Length up to this is believed and memory taken at once; a longer body makes its
   * room grow with the bytes that really come. */
  MTR_HTTP1_EAGER_BODY = 64 * 1024 * 1024
};

/* A run of bytes in the buffer, by place: the buffer moves when it grows. */
struct mtr_http1_piece {
  size_t at, size;
};

struct mtr_http1 {
  int state; /* one of http1.c's */
  size_t max_body;
  size_t searched;  /* bytes of the head that hold no end */
  size_t head_size; /* where the body begins; 0 until the head is there */
  size_t body_size; /* decoded bytes */
  size_t left;      /* of the body, or of the chunk */
  size_t overhead;  /* bytes of chunk extensions and trailers */
  int chunk_digits, interim;

  /* What the head said; set by http1_head.c. */
  int status;
  bool http10, close, keep_alive, chunked, has_length, encoded;
  size_t length;
  struct mtr_http1_piece content_type, message, retry_after, date;
  int message_rank;
};

void mtr_http1_init(struct mtr_http1 *http, size_t max_body);

/* Looks at the `fresh` bytes at the end of buf and moves body bytes to their place. After a
 * failure the parser is not used again. */
MORTAR_MUST_USE enum mortar_status mtr_http1_feed(struct mtr_http1 *http, struct mtr_buf *buf,
                                                  size_t fresh, struct mortar_error *err);

/* The peer closed: MORTAR_OK when that is the end of the body, a failure otherwise. */
MORTAR_MUST_USE enum mortar_status mtr_http1_eof(struct mtr_http1 *http, const struct mtr_buf *buf,
                                                 struct mortar_error *err);

/* The bytes to have room for before the next receive. */
size_t mtr_http1_room(const struct mtr_http1 *http, const struct mtr_buf *buf);

/* Of a complete reply: its parts, and whether the connection may carry another request. */
void mtr_http1_reply(const struct mtr_http1 *http, const struct mtr_buf *buf,
                     struct mtr_reply *out);
bool mtr_http1_reusable(const struct mtr_http1 *http);

/* http1_head.c: reads the head of `size` bytes, its empty line included, into http. */
MORTAR_MUST_USE enum mortar_status mtr_http1_parse_head(struct mtr_http1 *http, const uint8_t *head,
                                                        size_t size, struct mortar_error *err);

/* http1_head.c: MORTAR_MORE while the bytes so far may begin an HTTP/1 reply, a failure that says
 * what they look like otherwise. */
MORTAR_MUST_USE enum mortar_status mtr_http1_check_start(const uint8_t *data, size_t size,
                                                         struct mortar_error *err);

#endif
