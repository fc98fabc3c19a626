/* Replies of HiveServer2's binary transports: one Thrift message, bare (NOSASL) or in frames
 * (SASL), which a length of four bytes begins.
 *
 * Sans-I/O, the counterpart of http1: bytes come in through a buffer, in which the message stands
 * together from the start; three outcomes. A message may be split over several frames. Refused:
 * bytes behind the message, empty frames, and a frame or message longer than it may be. */
#ifndef MTR_NET_BINARY_H
#define MTR_NET_BINARY_H

#include "base/buf.h"
#include "net/thrift_end.h"

enum {
  MTR_FRAME_HEAD = 4,
  MTR_BINARY_READ_SIZE = 16 * 1024, /* room for a receive whose size nobody knows */
  /* A length up to this is believed and memory taken at once; behind it the room grows with the
   * bytes that really come. */
  MTR_BINARY_EAGER = 64 * 1024 * 1024
};

struct mtr_binary {
  bool framed;
  size_t size;       /* bytes of the message so far */
  size_t frame_left; /* of the frame's contents */
  int head_size;     /* bytes of a frame's head that are there */
  uint8_t head[MTR_FRAME_HEAD];
  struct mtr_thrift_end end;
};

void mtr_binary_init(struct mtr_binary *binary, bool framed, size_t max_body);

/* Looks at the `fresh` bytes at the end of buf and takes the heads of frames out. After a failure
 * the parser is not used again. */
MORTAR_MUST_USE enum mortar_status mtr_binary_feed(struct mtr_binary *binary, struct mtr_buf *buf,
                                                   size_t fresh, struct mortar_error *err);

/* The peer closed before the message was whole: never OK. */
MORTAR_MUST_USE enum mortar_status mtr_binary_eof(const struct mtr_binary *binary,
                                                  struct mortar_error *err);

/* The bytes to have room for before the next receive; never many more than the limit. */
size_t mtr_binary_room(const struct mtr_binary *binary);

/* True once a byte of the reply is there. */
bool mtr_binary_begun(const struct mtr_binary *binary);

#endif
