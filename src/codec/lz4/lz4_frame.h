/* LZ4 frames, decoded one after the other into one buffer. Owns one liblz4 context: making one
 * costs 15 us, reusing it 0.2 us. Header and content checksums are checked where the frame has
 * them. Any input that is not whole frames is MORTAR_CORRUPT; memory that ran out, and the
 * buffer's limit, are said as such. */
#ifndef MTR_CODEC_LZ4_FRAME_H
#define MTR_CODEC_LZ4_FRAME_H

#include "base/buf.h"
#include "base/span.h"

struct mtr_lz4; /* one thread at a time */

MORTAR_MUST_USE enum mortar_status mtr_lz4_new(const struct mortar_alloc *alloc,
                                               struct mtr_lz4 **out, struct mortar_error *err);
void mtr_lz4_free(struct mtr_lz4 *lz4);

/* Appends what the frames in `in` hold, one or more of them, to out. On failure out->size is as
 * before, and the context is fit for the next call. */
MORTAR_MUST_USE enum mortar_status mtr_lz4_decode(struct mtr_lz4 *lz4, struct mtr_span in,
                                                  struct mtr_buf *out, struct mortar_error *err);

/* Appends in as one frame. checksum: block and content checksums too (the recordings have both
 * kinds of frames). No content size, as the recorded frames. For Kiln and tests. */
MORTAR_MUST_USE enum mortar_status mtr_lz4_encode(struct mtr_span in, bool checksum,
                                                  struct mtr_buf *out, struct mortar_error *err);

#endif
