/* Arrow batches and files. The library lets a batch hold more rows than the reply declares and cuts
 * it; here any difference is a failure, as no recorded server made one. */
#include "tools/recordings/arrow_check.h"

#include <inttypes.h>

#include "base/error.h"
#include "tools/ipc_stream.h"
#include "tools/recordings/values.h"

/* Schemas are small; decoded batches and files have the size of a recording at most. */
enum { SCHEMA_MAX = 64 << 20, SLAB_MAX = 1 << 30 };

static const uint8_t lz4_magic[4] = {0x04, 0x22, 0x4D, 0x18};
static const uint8_t arrow_magic[4] = {0xFF, 0xFF, 0xFF, 0xFF};

/* The bytes in a slab of their own, decompressed. */
static enum mortar_status fill_slab(struct mtr_lz4 *decoder, struct mtr_span in, bool lz4,
                                    struct mtr_slab **slab, struct mortar_error *err)
{
  MTR_TRY(mtr_slab_new(NULL, SLAB_MAX, slab, err));
  if (lz4) return mtr_lz4_decode(decoder, in, &(*slab)->buf, err);
  return mtr_buf_append(&(*slab)->buf, in.data, in.size, err);
}

static enum mortar_status check_rows(const struct ArrowArray *batch, int64_t declared,
                                     struct mortar_error *err)
{
  if (batch->length == declared) return MORTAR_OK;
  return mtr_fail(err, MORTAR_CORRUPT, "%" PRId64 " rows are declared, the batch holds %" PRId64,
                  declared, batch->length);
}

/* The next message; one that the bytes end inside of is corrupt here, as no more will come. */
static enum mortar_status next_message(struct mtr_span bytes, struct mtr_ipc_message *out,
                                       struct mortar_error *err)
{
  enum mortar_status st = mtr_ipc_next(bytes, out, err);

  if (st != MORTAR_MORE) return st;
  return mtr_fail(err, MORTAR_CORRUPT, "the Arrow message is cut short, or is no Arrow message");
}

/* Behind a batch nothing may stand but the end of the stream. */
static enum mortar_status check_end(struct mtr_span rest, struct mortar_error *err)
{
  struct mtr_ipc_message end;

  if (rest.size == 0) return MORTAR_OK;
  MTR_TRY(next_message(rest, &end, err));
  if (end.kind == MTR_IPC_END && end.size == rest.size) return MORTAR_OK;
  return mtr_fail(err, MORTAR_CORRUPT, "%zu bytes behind the batch", rest.size);
}

static enum mortar_status read_message(const struct mtr_arrow_schema *schema,
                                       const struct mtr_ipc_message *message, struct mtr_slab *slab,
                                       struct ArrowArray *out, struct mortar_error *err)
{
  if (message->kind != MTR_IPC_BATCH)
    return mtr_fail(err, MORTAR_CORRUPT, "a message that is no record batch");
  return mtr_ipc_read_batch(schema, message, slab, out, err);
}

static enum mortar_status read_only_batch(const struct mtr_arrow_schema *schema,
                                          struct mtr_slab *slab, struct ArrowArray *out,
                                          struct mortar_error *err)
{
  struct mtr_span stream = mtr_buf_span(&slab->buf);
  struct mtr_ipc_message message;

  MTR_TRY(next_message(stream, &message, err));
  MTR_TRY(check_end(mtr_span_of(stream.data + message.size, stream.size - message.size), err));
  return read_message(schema, &message, slab, out, err);
}

static enum mortar_status print_if_asked(const struct report *r,
                                         const struct mtr_arrow_schema *schema,
                                         const struct ArrowArray *batch, struct mortar_error *err)
{
  return r->values ? values_print(r->file, r->line, schema, batch, err) : MORTAR_OK;
}

static void release(struct ArrowArray *batch)
{
  if (batch->release) batch->release(batch);
}

bool arrow_check_batch(struct report *r, struct mtr_lz4 *decoder, struct mtr_span schema,
                       struct mtr_span batch, bool lz4, int64_t declared)
{
  enum mortar_status st = MORTAR_OK;
  struct mtr_arrow_schema model;
  struct ArrowArray array = {0};
  struct mtr_slab *slab = NULL;
  struct mortar_error err = {0};
  struct mtr_arena arena;

  mtr_arena_init(&arena, NULL, SCHEMA_MAX);
  MTR_GOTO(mtr_ipc_read_schema(schema, &arena, &model, &err));
  MTR_GOTO(fill_slab(decoder, batch, lz4, &slab, &err));
  MTR_GOTO(read_only_batch(&model, slab, &array, &err));
  MTR_GOTO(check_rows(&array, declared, &err));
  MTR_GOTO(print_if_asked(r, &model, &array, &err));
  r->arrow_batches++;
  r->arrow_rows += (size_t)declared;
done:
  release(&array);
  mtr_slab_unref(slab);
  mtr_arena_fini(&arena);
  return st == MORTAR_OK ? true : report_fail(r, "Arrow batch: %s", err.message);
}

bool arrow_looks_like_file(struct mtr_span body)
{
  return body.size >= 4 &&
         (memcmp(body.data, lz4_magic, 4) == 0 || memcmp(body.data, arrow_magic, 4) == 0);
}

static enum mortar_status check_file_batch(struct report *r, const struct mtr_arrow_schema *schema,
                                           struct ArrowArray *batch, struct mortar_error *err)
{
  enum mortar_status st = print_if_asked(r, schema, batch, err);

  r->file_batches++;
  r->file_rows += (size_t)batch->length;
  release(batch);
  return st;
}

/* Schema, batches, and the end: its marker, or that of the bytes. */
static enum mortar_status check_stream(struct report *r, struct ipc_stream *s,
                                       struct mortar_error *err)
{
  struct ArrowArray batch;

  for (;;) {
    MTR_TRY(ipc_stream_next(s, &batch, err));
    if (!batch.release) break;
    MTR_TRY(check_file_batch(r, &s->schema, &batch, err));
  }
  if (s->at == s->bytes->buf.size) return MORTAR_OK;
  return mtr_fail(err, MORTAR_CORRUPT, "%zu bytes behind the end", s->bytes->buf.size - s->at);
}

bool arrow_check_file(struct report *r, struct mtr_lz4 *decoder, struct mtr_span body)
{
  bool lz4 = memcmp(body.data, lz4_magic, 4) == 0;
  struct mortar_error err = {0};
  struct mtr_slab *slab = NULL;
  struct ipc_stream s = {0};
  enum mortar_status st;

  MTR_GOTO(fill_slab(decoder, body, lz4, &slab, &err));
  MTR_GOTO(ipc_stream_open(&s, slab, &err));
  MTR_GOTO(check_stream(r, &s, &err));
  r->arrow_files++;
done:
  ipc_stream_close(&s);
  mtr_slab_unref(slab);
  return st == MORTAR_OK ? true : report_fail(r, "Arrow file: %s", err.message);
}
