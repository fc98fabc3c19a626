/* Reads the Arrow data of recordings with the library's own reader. */
#ifndef MTR_TOOLS_RECORDINGS_ARROW_CHECK_H
#define MTR_TOOLS_RECORDINGS_ARROW_CHECK_H

#include "base/span.h"
#include "codec/lz4/lz4_frame.h"
#include "tools/recordings/report.h"

/* Reads one record batch, an LZ4 frame when lz4 is set, against a schema message; it must hold at
 * least `declared` rows. Prints its values when asked. A failure is reported. */
bool arrow_check_batch(struct report *r, struct mtr_lz4 *decoder, struct mtr_span schema,
                       struct mtr_span batch, bool lz4, int64_t declared);

/* Does a file begin like an Arrow stream, plain or in an LZ4 frame? */
bool arrow_looks_like_file(struct mtr_span body);

/* Reads a whole file of that kind to its end. */
bool arrow_check_file(struct report *r, struct mtr_lz4 *decoder, struct mtr_span body);

#endif
