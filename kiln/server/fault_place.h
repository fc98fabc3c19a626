/* Where a named value stands in the bytes of a Thrift message: "results.arrowBatches[1].batch".
 *
 *     place:  name, name[n], joined by dots; from the reply struct on; names as the interface
 *             description has them, with or without underscores, upper and lower case alike
 *
 * For those who damage a reply on purpose. */
#ifndef KILN_SERVER_FAULT_PLACE_H
#define KILN_SERVER_FAULT_PLACE_H

#include "codec/thrift/message.h"

struct kiln_place {
  size_t number; /* offset of a 4-byte number: a text's length, a list's count, an i32 */
  size_t bytes;  /* offset and size of a text's bytes; size 0 for others */
  size_t size;
};

/* Whether such a place can be in a reply of this type at all: every name is a field, every list
 * has an index unless it is the last, and the last is a text, a list or an i32. */
bool kiln_place_valid(const struct mtr_struct_info *reply, const char *place);

/* false: the message has none, or is no reply of that type. */
bool kiln_place_find(struct mtr_span message, const struct mtr_struct_info *reply,
                     const char *place, struct kiln_place *out);

#endif
