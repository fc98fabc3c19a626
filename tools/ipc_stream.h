/* A whole Arrow IPC stream in memory, read batch by batch, for tools and tests. The client never
 * has one: its batches come without their schema. */
#ifndef MTR_TOOLS_IPC_STREAM_H
#define MTR_TOOLS_IPC_STREAM_H

#include "arrow/ipc_reader.h"

struct ipc_stream {
  struct mtr_slab *bytes;
  size_t at; /* where the next message begins */
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
};

/* Reads the schema at the start of the slab's bytes; takes a count of the slab, whose allocator is
 * used for all else. close is due in any case, and frees nothing that batches need. */
MORTAR_MUST_USE enum mortar_status ipc_stream_open(struct ipc_stream *s, struct mtr_slab *bytes,
                                                   struct mortar_error *err);
void ipc_stream_close(struct ipc_stream *s);

/* The next batch; out->release is NULL at the end: the marker, behind which `at` is then, or the
 * end of the bytes. A message that they end inside of is CORRUPT. */
MORTAR_MUST_USE enum mortar_status ipc_stream_next(struct ipc_stream *s, struct ArrowArray *out,
                                                   struct mortar_error *err);

#endif
