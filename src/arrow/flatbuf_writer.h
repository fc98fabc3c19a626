/* Writes flatbuffers forwards: a table first, then what its offsets point to.
 *
 *     head begin:  message prefix (continuation word, size), root offset
 *     table:       [vtable][table]; slots that hold offsets are linked once their target begins
 *     head end:    padding to 8 bytes, the size is put into the prefix
 *
 * Positions are relative to the buffer; the alignment is relative to the head's begin. Nothing is
 * shared: equal vtables are written again. */
#ifndef MTR_ARROW_FLATBUF_WRITER_H
#define MTR_ARROW_FLATBUF_WRITER_H

#include "base/buf.h"

struct mtr_flat_writer {
  struct mtr_buf *out;
  size_t begin; /* of the flatbuffer in out */
  struct mortar_error *err;
};

/* A field to write: width 0 leaves it out. at is filled in: where its value lies in out. */
struct mtr_flat_slot {
  unsigned width;
  int64_t value;
  size_t at;
};

/* Appends the prefix and a root offset, which the first table must follow at once. */
MORTAR_MUST_USE enum mortar_status mtr_flat_begin(struct mtr_flat_writer *w, struct mtr_buf *out,
                                                  struct mortar_error *err);

/* Pads and patches the size. */
MORTAR_MUST_USE enum mortar_status mtr_flat_end(struct mtr_flat_writer *w);

/* A table; root: the root offset is linked to it, else the offset at link is. */
MORTAR_MUST_USE enum mortar_status mtr_flat_put_table(struct mtr_flat_writer *w, size_t link,
                                                      struct mtr_flat_slot *slots, unsigned count);

/* A vector of count elements of width bytes, zeroed, linked from link. *at: its first element. */
MORTAR_MUST_USE enum mortar_status mtr_flat_put_vector(struct mtr_flat_writer *w, size_t link,
                                                       size_t count, unsigned width, size_t *at);
MORTAR_MUST_USE enum mortar_status mtr_flat_put_text(struct mtr_flat_writer *w, size_t link,
                                                     const char *text, size_t size);

/* Appends zeros until size is a multiple of alignment, counted from begin. */
MORTAR_MUST_USE enum mortar_status mtr_flat_pad(struct mtr_buf *out, size_t begin, size_t alignment,
                                                struct mortar_error *err);

#endif
