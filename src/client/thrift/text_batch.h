/* Arrow batches that come without an Arrow schema: Databricks' protocols before V5 have none, and a
 * server may leave it out. Their columns are known by the TTableSchema alone, which does not say
 * whether decimals, timestamps and VOID are values of Arrow's or text.
 *
 * The number of buffers in the batch does: a text has one more than a decimal or a timestamp, and
 * three more than VOID. Where several guesses fit, the first one counts in the order decimals,
 * timestamps, both, and these with VOID: old servers write decimals as text. */
#ifndef MTR_CLIENT_THRIFT_TEXT_BATCH_H
#define MTR_CLIENT_THRIFT_TEXT_BATCH_H

#include "arrow/ipc_reader.h"

/* As mtr_ipc_read_batch, with a schema that mtr_thrift_table_schema made. Text is read into values
 * of the schema's types, as in Thrift columns: UNSUPPORTED where it has no exact one. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_read_batch(const struct mtr_arrow_schema *schema,
                                                         const struct mtr_ipc_message *message,
                                                         struct mtr_slab *owner,
                                                         struct ArrowArray *out,
                                                         struct mortar_error *err);

#endif
