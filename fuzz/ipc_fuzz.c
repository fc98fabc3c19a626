/* Fuzzes the Arrow IPC reader as a client uses it: a whole stream, schema and batches, every cell
 * that was accepted read as text. The sanitizers are the judges. */
#include "arrow/ipc_reader.h"
#include "base/error.h"

/* Columns of nulls may have millions of rows without a byte of input; the first are enough. */
enum { MAX_ROWS = 256, MAX_SCHEMA = 1 << 22, MAX_STREAM = 1 << 24 };

struct stream {
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct ArrowSchema c_schema;
  struct mtr_span rest;
};

static void format_batch(const struct stream *s, const struct ArrowArray *batch)
{
  char buf[64];
  int64_t row, column;
  size_t size;

  for (row = 0; row < batch->length && row < MAX_ROWS; row++)
    for (column = 0; column < batch->n_children; column++)
      if (mortar_format_cell(&s->c_schema, batch, column, row, buf, sizeof buf, &size, NULL))
        return;
}

/* Copied to where it is aligned, as the client copies such bodies out of a reply. */
static enum mortar_status read_batch(struct stream *s, struct mtr_ipc_message *message,
                                     struct ArrowArray *out)
{
  struct mtr_slab *copy = NULL;
  enum mortar_status st;

  MTR_TRY(mtr_slab_new(NULL, MAX_STREAM, &copy, NULL));
  MTR_GOTO(mtr_buf_append(&copy->buf, message->body.data, message->body.size, NULL));
  message->body.data = copy->buf.data;
  MTR_GOTO(mtr_ipc_read_batch(&s->schema, message, copy, out, NULL));
done:
  mtr_slab_unref(copy);
  return st;
}

static enum mortar_status next_batch(struct stream *s)
{
  struct mtr_ipc_message message;
  struct ArrowArray batch;

  MTR_TRY(mtr_ipc_next(s->rest, &message, NULL));
  s->rest.data += message.size;
  s->rest.size -= message.size;
  if (message.kind == MTR_IPC_END) return MORTAR_MORE;
  MTR_TRY(read_batch(s, &message, &batch));
  format_batch(s, &batch);
  if (batch.length > 1) {
    mtr_arrow_truncate(&batch, batch.length / 2);
    format_batch(s, &batch);
  }
  batch.release(&batch);
  return MORTAR_OK;
}

static enum mortar_status read_stream(struct stream *s)
{
  struct mtr_ipc_message message;

  MTR_TRY(mtr_ipc_read_schema(s->rest, &s->arena, &s->schema, NULL));
  MTR_TRY(mtr_arrow_schema_export(&s->schema, NULL, &s->c_schema, NULL));
  MTR_TRY(mtr_ipc_next(s->rest, &message, NULL));
  s->rest.data += message.size;
  s->rest.size -= message.size;
  for (;;)
    MTR_TRY(next_batch(s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct stream s;

  memset(&s, 0, sizeof s);
  s.rest = mtr_span_of(data, size);
  mtr_arena_init(&s.arena, NULL, MAX_SCHEMA);
  (void)read_stream(&s);
  if (s.c_schema.release) s.c_schema.release(&s.c_schema);
  mtr_arena_fini(&s.arena);
  return 0;
}
