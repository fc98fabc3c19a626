/* Bodies with compressed buffers (BodyCompression, codecs LZ4_FRAME and ZSTD).
 *
 *     buffer in the body:  [i64 decoded size, or -1: not compressed] [frame, or plain bytes]
 *     slab:                [Buffer struct of each, relocated] [decoded bytes of each, at multiples
 * of 64]
 *
 * A stated size is believed only as far as the codec can reach it: one byte of LZ4 gives at most
 * 255, four of zstd a block of 128 KiB, whose frames mostly say their size themselves. So a body
 * never makes memory grow by more than that factor, nor past MTR_IPC_MAX_DECODED. liblz4 and
 * libzstd take their contexts from the C library's memory.
 */
#include "arrow/ipc_head.h"

#include <inttypes.h>
#include <lz4frame.h>
#include <zstd.h>

#include "base/error.h"

enum { PREFIX = 8, BUFFER_STRUCT = 16 };

enum { LZ4_FRAME = 0, ZSTD = 1 }; /* CompressionType of Message.fbs */
static const uint64_t best_ratio[] = {255, 32768};

/* The context of the body's codec; the other is NULL. */
struct decoder {
  int64_t codec;
  LZ4F_dctx *lz4;
  ZSTD_DCtx *zstd;
};

struct place {
  int64_t offset, size;
};

/* One buffer of the body: its bytes behind the prefix, and the size that they decode to. */
struct packed {
  struct mtr_span bytes;
  size_t size;
  bool plain;
};

static struct place place_at(const uint8_t *buffers, size_t i)
{
  struct place p;
  memcpy(&p, buffers + i * BUFFER_STRUCT, sizeof p);
  return p;
}

static enum mortar_status bad_buffer(struct mortar_error *err, size_t i, const char *what)
{
  return mtr_fail(err, MORTAR_CORRUPT, "compressed buffer %zu %s", i, what);
}

/* What a frame says itself, before there is memory for it. */
static bool frame_agrees(int64_t codec, struct mtr_span frame, uint64_t stated)
{
  unsigned long long own;

  if (codec != ZSTD) return true;
  own = ZSTD_getFrameContentSize(frame.data, frame.size);
  return own == ZSTD_CONTENTSIZE_UNKNOWN || own == stated;
}

static enum mortar_status read_packed(struct mtr_span body, const uint8_t *buffers, size_t i,
                                      int64_t codec, struct packed *out, struct mortar_error *err)
{
  struct place p = place_at(buffers, i);
  int64_t stated;

  memset(out, 0, sizeof *out);
  out->plain = true;
  if (p.size == 0) return MORTAR_OK;
  if (p.offset < 0 || p.size < PREFIX || (uint64_t)p.offset > body.size ||
      (uint64_t)p.size > body.size - (uint64_t)p.offset)
    return bad_buffer(err, i, "lies outside its body");
  memcpy(&stated, body.data + p.offset, PREFIX);
  out->bytes = mtr_span_of(body.data + p.offset + PREFIX, (size_t)p.size - PREFIX);
  out->size = out->bytes.size;
  if (stated == -1) return MORTAR_OK;
  if (stated < 0 || (uint64_t)stated / best_ratio[codec] > out->bytes.size ||
      !frame_agrees(codec, out->bytes, (uint64_t)stated))
    return bad_buffer(err, i, "states a size that it can't hold");
  out->plain = false;
  out->size = (size_t)stated;
  return MORTAR_OK;
}

/* The bytes that all buffers take in the slab, its table included. */
static enum mortar_status total_size(struct mtr_span body, struct mtr_span buffers, int64_t codec,
                                     size_t *out, struct mortar_error *err)
{
  size_t i, count = buffers.size / BUFFER_STRUCT, packed_sum = 0;
  struct packed packed;

  *out = mtr_slab_align(buffers.size);
  for (i = 0; i < count; i++) {
    MTR_TRY(read_packed(body, buffers.data, i, codec, &packed, err));
    packed_sum += packed.bytes.size;
    /* Many buffers over the same bytes would multiply what one byte can give. */
    if (packed_sum > body.size) return bad_buffer(err, i, "overlaps others");
    *out += mtr_slab_align(packed.size);
    if (*out > MTR_IPC_MAX_DECODED)
      return mtr_fail(err, MORTAR_LIMIT, "compressed batch of more than %zu bytes",
                      MTR_IPC_MAX_DECODED);
  }
  return MORTAR_OK;
}

static enum mortar_status wrong_size(struct mortar_error *err, size_t i)
{
  return bad_buffer(err, i, "does not decode to the size that it states");
}

static enum mortar_status decode_lz4(LZ4F_dctx *lz4, const struct packed *packed, size_t i,
                                     uint8_t *out, struct mortar_error *err)
{
  size_t in_done = 0, out_done = 0, hint = 0;

  while (in_done < packed->bytes.size) {
    size_t in_size = packed->bytes.size - in_done, out_size = packed->size - out_done;
    hint = LZ4F_decompress(lz4, out + out_done, &out_size, packed->bytes.data + in_done, &in_size,
                           NULL);
    if (LZ4F_isError(hint)) return bad_buffer(err, i, LZ4F_getErrorName(hint));
    in_done += in_size;
    out_done += out_size;
    if (in_size == 0 && out_size == 0) break;
  }
  if (hint != 0 || in_done != packed->bytes.size || out_done != packed->size)
    return wrong_size(err, i);
  return MORTAR_OK;
}

static enum mortar_status decode_zstd(ZSTD_DCtx *zstd, const struct packed *packed, size_t i,
                                      uint8_t *out, struct mortar_error *err)
{
  size_t n = ZSTD_decompressDCtx(zstd, out, packed->size, packed->bytes.data, packed->bytes.size);

  if (ZSTD_isError(n)) return bad_buffer(err, i, ZSTD_getErrorName(n));
  return n == packed->size ? MORTAR_OK : wrong_size(err, i);
}

static enum mortar_status decode(struct decoder *decoder, const struct packed *packed, size_t i,
                                 uint8_t *out, struct mortar_error *err)
{
  if (decoder->codec == ZSTD) return decode_zstd(decoder->zstd, packed, i, out, err);
  return decode_lz4(decoder->lz4, packed, i, out, err);
}

static enum mortar_status decode_all(struct decoder *decoder, struct mtr_span body,
                                     struct mtr_span buffers, struct mtr_buf *out,
                                     struct mortar_error *err)
{
  size_t i, at = mtr_slab_align(buffers.size);
  struct packed packed;

  for (i = 0; i < buffers.size / BUFFER_STRUCT; i++) {
    struct place place;
    MTR_TRY(read_packed(body, buffers.data, i, decoder->codec, &packed, err));
    if (!packed.plain) MTR_TRY(decode(decoder, &packed, i, out->data + at, err));
    if (packed.plain && packed.size) memcpy(out->data + at, packed.bytes.data, packed.size);
    place.offset = (int64_t)at;
    place.size = (int64_t)packed.size;
    memcpy(out->data + i * BUFFER_STRUCT, &place, sizeof place);
    at += mtr_slab_align(packed.size);
  }
  return MORTAR_OK;
}

static enum mortar_status decoder_open(struct decoder *decoder, int64_t codec,
                                       struct mortar_error *err)
{
  decoder->codec = codec;
  if (codec == LZ4_FRAME) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&decoder->lz4, LZ4F_VERSION)))
      return mtr_fail_nomem(err, "LZ4 context");
    return MORTAR_OK;
  }
  decoder->zstd = ZSTD_createDCtx();
  return decoder->zstd ? MORTAR_OK : mtr_fail_nomem(err, "zstd context");
}

static void decoder_close(struct decoder *decoder)
{
  (void)LZ4F_freeDecompressionContext(decoder->lz4);
  (void)ZSTD_freeDCtx(decoder->zstd);
}

enum mortar_status mtr_ipc_decompress(const struct mtr_ipc_message *message, int64_t codec,
                                      struct mtr_span buffers, const struct mortar_alloc *alloc,
                                      struct mtr_slab **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct decoder decoder = {0, NULL, NULL};
  struct mtr_slab *slab = NULL;
  size_t size;

  *out = NULL;
  if (codec != LZ4_FRAME && codec != ZSTD)
    return mtr_fail(err, MORTAR_CORRUPT, "Arrow body compression %" PRId64 " is not known", codec);
  MTR_GOTO(total_size(message->body, buffers, codec, &size, err));
  MTR_GOTO(mtr_slab_new(alloc, MTR_IPC_MAX_DECODED, &slab, err));
  MTR_GOTO(mtr_buf_reserve(&slab->buf, size, err));
  MTR_GOTO(decoder_open(&decoder, codec, err));
  MTR_GOTO(decode_all(&decoder, message->body, buffers, &slab->buf, err));
  slab->buf.size = size;
  *out = slab;
  slab = NULL;
done:
  decoder_close(&decoder);
  mtr_slab_unref(slab);
  return st;
}
