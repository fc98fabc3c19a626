/* The bridge of arrow_bridge.h. Its streams belong to one thread, its counters to all. */
#include "tests/support/arrow_bridge.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arrow/ipc_writer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "tools/ipc_stream.h"

enum { MAX_SCHEMA = 64 << 20, MAX_STREAM = 1 << 30 };

static _Atomic size_t held, peak, limit = SIZE_MAX;

static void *counted(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  size_t now = held + new_size - old_size; /* one thread allocates at a time in the tests */
  void *p = NULL;

  (void)ctx;
  if (new_size && (new_size > limit || now > limit)) return NULL;
  if (new_size == 0)
    free(ptr);
  else if (!(p = realloc(ptr, new_size)))
    return NULL;
  held = now;
  if (now > peak) peak = now;
  return p;
}

static const struct mortar_alloc alloc = {counted, NULL};

void mtr_bridge_limit(size_t bytes)
{
  limit = bytes;
  peak = held;
}

size_t mtr_bridge_peak(void) { return peak; }
size_t mtr_bridge_held(void) { return held; }

struct source {
  struct ipc_stream stream;
  struct mortar_error err;
};

static void free_source(struct source *src)
{
  if (!src) return;
  ipc_stream_close(&src->stream);
  mtr_free(&alloc, src, sizeof *src);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct source *src = stream->private_data;

  return mtr_arrow_schema_export(&src->stream.schema, &alloc, out, &src->err) == MORTAR_OK ? 0
                                                                                           : ENOMEM;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct source *src = stream->private_data;

  return ipc_stream_next(&src->stream, out, &src->err) == MORTAR_OK ? 0 : EINVAL;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
  struct source *src = stream->private_data;
  return src->err.message;
}

static void release_stream(struct ArrowArrayStream *stream)
{
  free_source(stream->private_data);
  stream->release = NULL;
}

int mtr_bridge_read(const uint8_t *data, size_t size, struct ArrowArrayStream *out,
                    struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct source *src = mtr_calloc(&alloc, 1, sizeof *src);
  struct mtr_slab *bytes = NULL;

  memset(out, 0, sizeof *out);
  if (!src) return (int)mtr_fail_nomem(err, "stream");
  MTR_GOTO(mtr_slab_new(&alloc, MAX_STREAM, &bytes, err));
  MTR_GOTO(mtr_buf_append(&bytes->buf, data, size, err));
  MTR_GOTO(ipc_stream_open(&src->stream, bytes, err));
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = get_last_error;
  out->release = release_stream;
  out->private_data = src;
  src = NULL;
done:
  mtr_slab_unref(bytes);
  free_source(src);
  return (int)st;
}

static enum mortar_status write_batches(struct ArrowArrayStream *in,
                                        const struct mtr_arrow_schema *schema, struct mtr_buf *out,
                                        struct mortar_error *err)
{
  struct ArrowArray batch = {0};
  enum mortar_status st;

  for (;;) {
    if (in->get_next(in, &batch)) return mtr_fail(err, MORTAR_INVALID, "get_next failed");
    if (!batch.release) return mtr_ipc_write_end(out, err);
    st = mtr_ipc_write_batch(schema, &batch, 0, batch.length, out, err);
    batch.release(&batch);
    if (st != MORTAR_OK) return st;
  }
}

int mtr_bridge_write(struct ArrowArrayStream *in, uint8_t **data, size_t *size,
                     struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct ArrowSchema c_schema = {0};
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  struct mtr_buf out;

  *data = NULL;
  *size = 0;
  mtr_arena_init(&arena, &alloc, MAX_SCHEMA);
  mtr_buf_init(&out, &alloc, "stream", MAX_STREAM);
  if (in->get_schema(in, &c_schema)) {
    st = mtr_fail(err, MORTAR_INVALID, "get_schema failed");
    goto done;
  }
  MTR_GOTO(mtr_arrow_schema_import(&c_schema, &arena, &schema, err));
  MTR_GOTO(mtr_ipc_write_schema(&schema, &out, err));
  MTR_GOTO(write_batches(in, &schema, &out, err));
  *data = malloc(out.size);
  if (!*data) {
    st = mtr_fail_nomem(err, "copy of the stream");
    goto done;
  }
  memcpy(*data, out.data, out.size);
  *size = out.size;
done:
  if (c_schema.release) c_schema.release(&c_schema);
  mtr_buf_fini(&out);
  mtr_arena_fini(&arena);
  return (int)st;
}

void mtr_bridge_free(uint8_t *data) { free(data); }

int mtr_bridge_format(const struct ArrowSchema *schema, const struct ArrowArray *array,
                      int64_t column, int64_t row, char *buf, size_t capacity, size_t *size,
                      struct mortar_error *err)
{
  return (int)mortar_format_cell(schema, array, column, row, buf, capacity, size, err);
}
