/* LZ4 frames over liblz4's frame API. See the header for the contract.
 *
 * Recorded frames name 4 MB blocks even for batches of 300 bytes, so the destination is sized from
 * the input and grown on demand: liblz4 decodes straight into it when a whole block fits and goes
 * through its own buffer, which it keeps, when not. */
#include "codec/lz4/lz4_frame.h"

#include <lz4frame.h>

#include "base/alloc.h"
#include "base/error.h"

enum {
  EXPECTED_RATIO = 4, /* plain to compressed, of the first guess */
  SMALLEST_GROWTH = 4096
};

struct mtr_lz4 {
  LZ4F_dctx *context;
  struct mortar_alloc alloc;
};

enum mortar_status mtr_lz4_new(const struct mortar_alloc *alloc, struct mtr_lz4 **out,
                               struct mortar_error *err)
{
  struct mtr_lz4 *lz4 = mtr_calloc(alloc, 1, sizeof *lz4);

  *out = NULL;
  if (!lz4) return mtr_fail_nomem(err, "LZ4 decoder");
  if (alloc) lz4->alloc = *alloc;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4->context, LZ4F_VERSION))) {
    lz4->context = NULL;
    mtr_lz4_free(lz4);
    return mtr_fail_nomem(err, "LZ4 decoder");
  }
  *out = lz4;
  return MORTAR_OK;
}

void mtr_lz4_free(struct mtr_lz4 *lz4)
{
  struct mortar_alloc alloc;

  if (!lz4) return;
  alloc = lz4->alloc;
  (void)LZ4F_freeDecompressionContext(lz4->context);
  mtr_free(&alloc, lz4, sizeof *lz4);
}

/* liblz4 1.9 has no public number for its errors, only names. */
static enum mortar_status lz4_failure(size_t code, size_t offset, struct mortar_error *err)
{
  const char *name = LZ4F_getErrorName(code);

  if (strcmp(name, "ERROR_allocation_failed") == 0) return mtr_fail_nomem(err, "LZ4 decoder");
  return mtr_fail(err, MORTAR_CORRUPT, "LZ4 frame: %s near byte %zu", name, offset);
}

/* Room for the next piece: the guess at first, doubling afterwards, what the limit leaves at last.
 */
static enum mortar_status make_room(struct mtr_buf *out, size_t guess, struct mortar_error *err)
{
  size_t left = out->max - out->size;

  if (out->capacity > out->size) return MORTAR_OK;
  if (guess < SMALLEST_GROWTH) guess = SMALLEST_GROWTH;
  if (guess > left) guess = left;
  return mtr_buf_reserve(out, guess ? guess : 1, err);
}

/* One frame, or as much of it as `in` holds: *hint is 0 when it is whole. */
static enum mortar_status decode_frame(struct mtr_lz4 *lz4, struct mtr_span in, size_t *pos,
                                       struct mtr_buf *out, size_t *hint, struct mortar_error *err)
{
  do {
    size_t src = in.size - *pos, dst;

    MTR_TRY(make_room(out, src < SIZE_MAX / EXPECTED_RATIO ? src * EXPECTED_RATIO : src, err));
    dst = out->capacity - out->size;
    *hint = LZ4F_decompress(lz4->context, out->data + out->size, &dst, in.data + *pos, &src, NULL);
    if (LZ4F_isError(*hint)) return lz4_failure(*hint, *pos, err);
    *pos += src;
    out->size += dst;
    if (*hint && src == 0 && dst == 0)
      return mtr_fail(err, MORTAR_CORRUPT, "LZ4 frame: cut short at byte %zu", *pos);
  } while (*hint);
  return MORTAR_OK;
}

enum mortar_status mtr_lz4_decode(struct mtr_lz4 *lz4, struct mtr_span in, struct mtr_buf *out,
                                  struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  size_t pos = 0, hint = 0, before = out->size;

  if (in.size == 0) return mtr_fail(err, MORTAR_CORRUPT, "LZ4 frame: no bytes");
  while (pos < in.size)
    MTR_GOTO(decode_frame(lz4, in, &pos, out, &hint, err));
done:
  if (st != MORTAR_OK) {
    out->size = before;
    LZ4F_resetDecompressionContext(lz4->context);
  }
  return st;
}

enum mortar_status mtr_lz4_encode(struct mtr_span in, bool checksum, struct mtr_buf *out,
                                  struct mortar_error *err)
{
  LZ4F_preferences_t prefs;
  size_t bound, n;

  memset(&prefs, 0, sizeof prefs);
  prefs.frameInfo.blockSizeID = LZ4F_max4MB;
  prefs.frameInfo.blockMode = LZ4F_blockIndependent;
  if (checksum) {
    prefs.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
    prefs.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  }
  bound = LZ4F_compressFrameBound(in.size, &prefs);
  MTR_TRY(mtr_buf_reserve(out, bound, err));
  n = LZ4F_compressFrame(out->data + out->size, bound, in.data, in.size, &prefs);
  if (LZ4F_isError(n)) return mtr_fail_nomem(err, "LZ4 encoder");
  out->size += n;
  return MORTAR_OK;
}
