/* Bodies with compressed buffers (BodyCompression, codec LZ4_FRAME).
 *
 *     buffer in the body:  [i64 decoded size, or -1: not compressed] [LZ4 frame, or plain bytes]
 *     slab:                [Buffer struct of each, relocated] [decoded bytes of each, at multiples
 * of 64]
 *
 * A stated size is believed only as far as LZ4 can reach it: one byte gives at most 255. So a body
 * never makes memory grow by more than that factor, nor past MTR_IPC_MAX_DECODED. zstd is refused
 * by name. liblz4 takes its context from the C library's memory. */
#include "arrow/ipc_head.h"

#include <inttypes.h>
#include <lz4frame.h>

#include "base/error.h"

enum { ALIGNMENT = 64, PREFIX = 8, BUFFER_STRUCT = 16, LZ4_BEST_RATIO = 255 };

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

static enum mortar_status read_packed(struct mtr_span body, const uint8_t *buffers, size_t i,
                                      struct packed *out, struct mortar_error *err)
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
  if (stated < 0 || (uint64_t)stated / LZ4_BEST_RATIO > out->bytes.size)
    return bad_buffer(err, i, "states a size that it can't hold");
  out->plain = false;
  out->size = (size_t)stated;
  return MORTAR_OK;
}

static size_t align_up(size_t n) { return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* The bytes that all buffers take in the slab, its table included. */
static enum mortar_status total_size(struct mtr_span body, struct mtr_span buffers, size_t *out,
                                     struct mortar_error *err)
{
  size_t i, count = buffers.size / BUFFER_STRUCT, packed_sum = 0;
  struct packed packed;

  *out = align_up(buffers.size);
  for (i = 0; i < count; i++) {
    MTR_TRY(read_packed(body, buffers.data, i, &packed, err));
    packed_sum += packed.bytes.size;
    /* Many buffers over the same bytes would multiply what one byte can give. */
    if (packed_sum > body.size) return bad_buffer(err, i, "overlaps others");
    *out += align_up(packed.size);
    if (*out > MTR_IPC_MAX_DECODED)
      return mtr_fail(err, MORTAR_LIMIT, "compressed batch of more than %zu bytes",
                      MTR_IPC_MAX_DECODED);
  }
  return MORTAR_OK;
}

static enum mortar_status decode(LZ4F_dctx *lz4, const struct packed *packed, size_t i,
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
    return bad_buffer(err, i, "does not decode to the size that it states");
  return MORTAR_OK;
}

static enum mortar_status decode_all(LZ4F_dctx *lz4, struct mtr_span body, struct mtr_span buffers,
                                     struct mtr_buf *out, struct mortar_error *err)
{
  size_t i, at = align_up(buffers.size);
  struct packed packed;

  for (i = 0; i < buffers.size / BUFFER_STRUCT; i++) {
    struct place place;
    MTR_TRY(read_packed(body, buffers.data, i, &packed, err));
    if (!packed.plain) MTR_TRY(decode(lz4, &packed, i, out->data + at, err));
    if (packed.plain && packed.size) memcpy(out->data + at, packed.bytes.data, packed.size);
    place.offset = (int64_t)at;
    place.size = (int64_t)packed.size;
    memcpy(out->data + i * BUFFER_STRUCT, &place, sizeof place);
    at += align_up(packed.size);
  }
  return MORTAR_OK;
}

static enum mortar_status check_codec(int64_t codec, struct mortar_error *err)
{
  if (codec == 0) return MORTAR_OK;
  if (codec == 1)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "zstd-compressed Arrow batches are not supported");
  return mtr_fail(err, MORTAR_CORRUPT, "Arrow body compression %" PRId64 " is not known", codec);
}

enum mortar_status mtr_ipc_decompress(const struct mtr_ipc_message *message, int64_t codec,
                                      struct mtr_span buffers, const struct mortar_alloc *alloc,
                                      struct mtr_slab **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct mtr_slab *slab = NULL;
  LZ4F_dctx *lz4 = NULL;
  size_t size;

  *out = NULL;
  MTR_GOTO(check_codec(codec, err));
  MTR_GOTO(total_size(message->body, buffers, &size, err));
  MTR_GOTO(mtr_slab_new(alloc, MTR_IPC_MAX_DECODED, &slab, err));
  MTR_GOTO(mtr_buf_reserve(&slab->buf, size, err));
  if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION))) {
    st = mtr_fail_nomem(err, "LZ4 context");
    goto done;
  }
  MTR_GOTO(decode_all(lz4, message->body, buffers, &slab->buf, err));
  slab->buf.size = size;
  *out = slab;
  slab = NULL;
done:
  (void)LZ4F_freeDecompressionContext(lz4);
  mtr_slab_unref(slab);
  return st;
}
