/* Reads Arrow IPC encapsulated messages that lie in memory, in place.
 *
 * Everything in them is taken for hostile: flatbuffer offsets, lengths, buffer ranges, list and
 * string offsets, map shapes. What is accepted can be read by anyone without further checks, but
 * for text, which is not checked to be UTF-8, and values (a date may lie anywhere).
 * Not read: dictionary batches, bodies compressed by other codecs than LZ4 and zstd, metadata
 * before V4, big-endian streams: each is UNSUPPORTED with its name. Corrupt input is CORRUPT.
 * Sources: Arrow columnar format, "IPC"; flatbuffers Schema.fbs and Message.fbs, V5. */
#ifndef MTR_ARROW_IPC_READER_H
#define MTR_ARROW_IPC_READER_H

#include "arrow/schema.h"
#include "arrow/slab.h"

enum mtr_ipc_kind { MTR_IPC_END, MTR_IPC_SCHEMA, MTR_IPC_DICTIONARY, MTR_IPC_BATCH };

struct mtr_ipc_message {
  enum mtr_ipc_kind kind;
  struct mtr_span head; /* the flatbuffer */
  struct mtr_span body;
  size_t size; /* of the whole message: where the next one begins */
};

/* Splits the first message off a stream. OK, MORE (the bytes end inside it; err is left alone),
 * CORRUPT, or UNSUPPORTED for tensors and foreign metadata versions. An end-of-stream marker is
 * MTR_IPC_END with its size. Both framings (with and without the 0xFFFFFFFF word) are read. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_next(struct mtr_span stream, struct mtr_ipc_message *out,
                                                struct mortar_error *err);

/* Reads a Schema message into arena. The bytes may go afterwards: everything is copied. A message
 * that is cut off is CORRUPT here, not MORE. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_read_schema(struct mtr_span stream,
                                                       struct mtr_arena *arena,
                                                       struct mtr_arrow_schema *out,
                                                       struct mortar_error *err);

/* Reads a RecordBatch message as a struct array whose buffers point into `body`, with no copy.
 * owner holds the memory of body; the array and each of its children keep one count of it until
 * they are released, so children may be moved out. One allocation for the whole batch. body must
 * be 8-byte aligned (64 is better): MORTAR_CORRUPT otherwise. A compressed body is decoded
 * into memory of its own instead. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_read_batch(const struct mtr_arrow_schema *schema,
                                                      const struct mtr_ipc_message *message,
                                                      struct mtr_slab *owner,
                                                      struct ArrowArray *out,
                                                      struct mortar_error *err);

/* How many buffers the table of a RecordBatch message tells of; -1: it is malformed. */
int64_t mtr_ipc_buffer_count(const struct mtr_ipc_message *message);

/* Cuts a struct array of the reader to its first `rows` rows (children too). rows <= length. */
void mtr_arrow_truncate(struct ArrowArray *batch, int64_t rows);

#endif
