/* Where a Thrift message ends, found while it comes in: on a bare socket nothing else says so.
 *
 * Sans-I/O, strict binary protocol. It keeps its place, so that no head is looked at twice, and
 * passes over texts and lists of numbers in one step. Three outcomes: MORTAR_OK, MORTAR_MORE, a
 * failure. Refused: negative lengths, unknown types, nesting beyond 64 as Apache's libraries do,
 * and a message that grows longer than it may, as soon as a length in it says so. What the message
 * means is the codec's business. */
#ifndef MTR_NET_THRIFT_END_H
#define MTR_NET_THRIFT_END_H

#include <stddef.h>
#include <stdint.h>

#include "mortar/mortar.h"

enum { MTR_THRIFT_END_LEVELS = 64 };

/* A struct, or a container of which `left` values follow: of types[left & 1], since the keys and
 * the values of a map take turns. */
struct mtr_thrift_level {
  bool fields;
  uint8_t types[2];
  uint64_t left;
};

struct mtr_thrift_end {
  size_t max, pos; /* pos: what stands before it is settled; it may lie behind the last byte yet */
  bool begun;
  int depth;
  struct mtr_thrift_level levels[MTR_THRIFT_END_LEVELS];
};

void mtr_thrift_end_init(struct mtr_thrift_end *end, size_t max);

/* Looks at the first `size` bytes, of which it may have seen some before. OK: the message ends at
 * end->pos, and bytes may stand behind it. After a failure it is not used again. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_end_find(struct mtr_thrift_end *end,
                                                       const uint8_t *data, size_t size,
                                                       struct mortar_error *err);

#endif
