/* Writes Arrow IPC messages: what Kiln sends and tests feed to the reader. Metadata V5,
 * continuation word, 8-byte padding, bodies not compressed. Slices (offset != 0) are written as
 * the rows they show. Dictionaries are refused. */
#ifndef MTR_ARROW_IPC_WRITER_H
#define MTR_ARROW_IPC_WRITER_H

#include "arrow/schema.h"
#include "base/buf.h"

/* Appends an encapsulated Schema message. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_write_schema(const struct mtr_arrow_schema *schema,
                                                        struct mtr_buf *out,
                                                        struct mortar_error *err);

/* Appends an encapsulated RecordBatch message of `rows` rows of batch, a struct array of that
 * schema, from row `first` on. The arrays are trusted: they are ours or an engine's. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_write_batch(const struct mtr_arrow_schema *schema,
                                                       const struct ArrowArray *batch,
                                                       int64_t first, int64_t rows,
                                                       struct mtr_buf *out,
                                                       struct mortar_error *err);

/* Appends the end-of-stream marker. */
MORTAR_MUST_USE enum mortar_status mtr_ipc_write_end(struct mtr_buf *out, struct mortar_error *err);

#endif
