/* The flatbuffer of one message: what ipc_message.c, ipc_schema.c and ipc_batch.c share. Names of
 * table fields are numbers here, as published in Message.fbs. */
#ifndef MTR_ARROW_IPC_HEAD_H
#define MTR_ARROW_IPC_HEAD_H

#include "arrow/flatbuf.h"
#include "arrow/ipc_reader.h"

struct mtr_ipc_head {
  struct mtr_flat flat;
  int64_t header_type; /* of the MessageHeader union */
  struct mtr_flat_table header;
  int64_t body_size;
};

enum { MTR_IPC_V4 = 3, MTR_IPC_V5 = 4 };

/* Reads the Message table. UNSUPPORTED for metadata other than V4 and V5, CORRUPT otherwise. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_head_read(struct mtr_span bytes,
                                                     struct mtr_ipc_head *out,
                                                     struct mortar_error *err);

/* A body of LZ4-compressed buffers: decodes it into a slab of its own. buffers are the message's
 * 16-byte Buffer structs; in the slab the same table lies first, with places relative to its start.
 * Refuses codecs other than LZ4 frames by name. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_decompress(const struct mtr_ipc_message *message,
                                                      int64_t codec, struct mtr_span buffers,
                                                      const struct mortar_alloc *alloc,
                                                      struct mtr_slab **out,
                                                      struct mortar_error *err);

/* Largest sum of decoded buffers of one batch: a warehouse sends pages of a few MB, and a length
 * read from the wire must not make the process ask for more than a machine has. */
#define MTR_IPC_MAX_DECODED ((size_t)1 << 30)

#endif
