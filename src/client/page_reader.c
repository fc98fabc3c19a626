/* Decodes a page in windows and hands out its batches. Asks nobody for more bytes. */
#include "client/page_reader.h"

#include "arrow/batch_block.h"
#include "base/alloc.h"
#include "base/error.h"

/* One decoded window; a single batch can't be larger. Servers make batches of a few MB. */
#define WINDOW_MAX ((size_t)2 << 30)

enum { FIRST_SPOTS = 8 };

void mtr_page_reader_init(struct mtr_page_reader *rd, const struct mortar_alloc *alloc)
{
  memset(rd, 0, sizeof *rd);
  rd->alloc = alloc;
}

void mtr_page_reader_rest(struct mtr_page_reader *rd)
{
  if (rd->built.release) rd->built.release(&rd->built);
  rd->built.release = NULL;
  mtr_slab_rest(&rd->slab);
  memset(&rd->page, 0, sizeof rd->page);
  rd->packed_next = rd->spot_count = rd->spot_next = 0;
  rd->batch_number = 0;
}

void mtr_page_reader_fini(struct mtr_page_reader *rd)
{
  if (rd->built.release) rd->built.release(&rd->built);
  mtr_slab_unref(rd->slab);
  mtr_free(rd->alloc, rd->spots, rd->spot_capacity * sizeof *rd->spots);
  mtr_page_reader_init(rd, rd->alloc);
}

void mtr_page_reader_start(struct mtr_page_reader *rd, const struct mtr_page *page)
{
  rd->page = *page;
  rd->packed_next = 0;
}

bool mtr_page_reader_wants_decode(const struct mtr_page_reader *rd)
{
  return rd->packed_next < rd->page.batch_count || rd->page.own_rows > 0;
}

static enum mortar_status add_spot(struct mtr_page_reader *rd, const struct mtr_spot *spot,
                                   struct mortar_error *err)
{
  if (rd->spot_count == rd->spot_capacity) {
    size_t have = rd->spot_capacity, want = have ? have * 2 : FIRST_SPOTS;
    struct mtr_spot *grown =
        mtr_realloc(rd->alloc, rd->spots, have * sizeof *grown, want * sizeof *grown);
    if (!grown) return mtr_fail_nomem(err, "list of batches");
    rd->spots = grown;
    rd->spot_capacity = want;
  }
  rd->spots[rd->spot_count++] = *spot;
  return MORTAR_OK;
}

static enum mortar_status align(struct mtr_buf *buf, struct mortar_error *err)
{
  const size_t gap = mtr_slab_align(buf->size) - buf->size;

  MTR_TRY(mtr_buf_reserve(buf, gap, err));
  if (gap) memset(buf->data + buf->size, 0, gap);
  buf->size += gap;
  return MORTAR_OK;
}

static enum mortar_status decode_batch(struct mtr_page_reader *rd, struct mtr_channel *ch,
                                       const struct mtr_packed_batch *packed,
                                       struct mortar_error *err)
{
  struct mtr_buf *buf = &rd->slab->buf;
  struct mtr_spot spot = {.rows = packed->rows};
  struct mtr_lz4 *lz4;

  MTR_TRY(align(buf, err));
  spot.offset = buf->size;
  if (rd->page.lz4) {
    MTR_TRY(mtr_channel_lz4(ch, &lz4, err));
    MTR_TRY(mtr_lz4_decode(lz4, packed->bytes, buf, err));
  } else {
    /* Bodies lie anywhere in the reply; readers of Arrow want them aligned. */
    MTR_TRY(mtr_buf_append(buf, packed->bytes.data, packed->bytes.size, err));
  }
  spot.size = buf->size - spot.offset;
  return add_spot(rd, &spot, err);
}

static enum mortar_status build_own(struct mtr_page_reader *rd,
                                    const struct mtr_arrow_schema *schema, struct mortar_error *err)
{
  MTR_TRY(rd->page.build(&rd->page, schema, rd->alloc, &rd->built, err));
  rd->page.own_rows = 0;
  return MORTAR_OK;
}

enum mortar_status mtr_page_reader_decode(struct mtr_page_reader *rd,
                                          const struct mtr_arrow_schema *schema,
                                          struct mtr_channel *ch, size_t window_bytes,
                                          struct mortar_error *err)
{
  enum mortar_status st;

  if (rd->page.own_rows > 0) return build_own(rd, schema, err);
  rd->spot_count = rd->spot_next = 0;
  /* The last window's slab, if no array points into it any more. */
  MTR_TRY(mtr_slab_renew(&rd->slab, rd->alloc, WINDOW_MAX, err));
  while (rd->packed_next < rd->page.batch_count) {
    st = decode_batch(rd, ch, &rd->page.batches[rd->packed_next], err);
    if (st != MORTAR_OK) {
      mtr_error_prefix(err, "batch %lld", (long long)(rd->batch_number + (int64_t)rd->spot_count));
      return st;
    }
    rd->packed_next++;
    if (rd->slab->buf.size >= window_bytes) break;
  }
  /* One batch for each spot is what servers send. */
  return mtr_slab_reserve(rd->slab, rd->spot_count, mtr_batch_block_size(schema), err);
}

/* Nothing is left in the spot: were all rows there? */
static enum mortar_status finish_spot(struct mtr_page_reader *rd, const struct mtr_spot *spot,
                                      struct mortar_error *err)
{
  if (spot->rows > 0)
    return mtr_fail(err, MORTAR_CORRUPT, "batch %lld lacks %lld of the rows declared for it",
                    (long long)rd->batch_number, (long long)spot->rows);
  rd->spot_next++;
  rd->batch_number++;
  return MORTAR_OK;
}

/* Rows may stand behind an end marker, another one may not: zeros are markers of four bytes each,
 * and a small frame holds a billion of them. */
static enum mortar_status take_end(struct mtr_spot *spot, struct mortar_error *err)
{
  if (spot->ended) return mtr_fail(err, MORTAR_CORRUPT, "two Arrow end markers in a row");
  spot->ended = true;
  return MORTAR_OK;
}

/* A batch may bring its schema. A backend that knows the result's only roughly judges the batch
 * itself by what it finds in it. */
static enum mortar_status take_schema(const struct mtr_page_reader *rd,
                                      const struct mtr_shape *shape, struct mtr_span message,
                                      struct mortar_error *err)
{
  return rd->page.read ? MORTAR_OK : mtr_shape_check(shape, message, err);
}

/* Takes one IPC message off the spot. out->release stays NULL for one without rows. */
static enum mortar_status take_message(struct mtr_page_reader *rd, struct mtr_spot *spot,
                                       const struct mtr_shape *shape, struct ArrowArray *out,
                                       struct mortar_error *err)
{
  const uint8_t *bytes = rd->slab->buf.data + spot->offset;
  struct mtr_ipc_message message;
  enum mortar_status st = mtr_ipc_next(mtr_span_of(bytes, spot->size), &message, err);

  if (st == MORTAR_MORE) return mtr_fail(err, MORTAR_CORRUPT, "the Arrow message is cut short");
  if (st != MORTAR_OK) return st;
  spot->offset += message.size;
  spot->size -= message.size;
  if (message.kind == MTR_IPC_END) return take_end(spot, err);
  spot->ended = false;
  if (message.kind == MTR_IPC_SCHEMA)
    return take_schema(rd, shape, mtr_span_of(bytes, message.size), err);
  if (message.kind != MTR_IPC_BATCH)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "dictionary batches are not supported");
  MTR_TRY((rd->page.read ? rd->page.read : mtr_ipc_read_batch)(&shape->schema, &message, rd->slab,
                                                               out, err));
  if (out->length > spot->rows) mtr_arrow_truncate(out, spot->rows);
  spot->rows -= out->length;
  if (out->length == 0) out->release(out);
  return MORTAR_OK;
}

int64_t mtr_page_reader_peek(const struct mtr_page_reader *rd)
{
  size_t i;

  if (rd->built.release) return rd->built.length;
  for (i = rd->spot_next; i < rd->spot_count; i++)
    if (rd->spots[i].rows > 0) return rd->spots[i].rows;
  return 0;
}

enum mortar_status mtr_page_reader_next(struct mtr_page_reader *rd, const struct mtr_shape *shape,
                                        struct ArrowArray *out, struct mortar_error *err)
{
  *out = rd->built;
  rd->built.release = NULL;
  while (!out->release && rd->spot_next < rd->spot_count) {
    struct mtr_spot *spot = &rd->spots[rd->spot_next];
    enum mortar_status st;
    if (spot->size == 0) {
      MTR_TRY(finish_spot(rd, spot, err));
      continue;
    }
    st = take_message(rd, spot, shape, out, err);
    if (st != MORTAR_OK) {
      mtr_error_prefix(err, "batch %lld", (long long)rd->batch_number);
      return st;
    }
  }
  return MORTAR_OK;
}
