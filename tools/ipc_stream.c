/* Messages of a stream in a row. Refuses what the library's reader refuses, and a second schema. */
#include "tools/ipc_stream.h"

#include "base/error.h"

enum { SCHEMA_MAX = 64 << 20 };

static enum mortar_status next_message(struct ipc_stream *s, struct mtr_ipc_message *out,
                                       struct mortar_error *err)
{
  const struct mtr_buf *buf = &s->bytes->buf;
  enum mortar_status st = mtr_ipc_next(mtr_span_of(buf->data + s->at, buf->size - s->at), out, err);

  if (st == MORTAR_MORE)
    return mtr_fail(err, MORTAR_CORRUPT, "the Arrow stream is cut off in the message at byte %zu",
                    s->at);
  if (st == MORTAR_OK) s->at += out->size;
  return st;
}

enum mortar_status ipc_stream_open(struct ipc_stream *s, struct mtr_slab *bytes,
                                   struct mortar_error *err)
{
  struct mtr_ipc_message message;

  memset(s, 0, sizeof *s);
  s->bytes = mtr_slab_ref(bytes);
  mtr_arena_init(&s->arena, &bytes->alloc, SCHEMA_MAX);
  MTR_TRY(mtr_ipc_read_schema(mtr_buf_span(&bytes->buf), &s->arena, &s->schema, err));
  return next_message(s, &message, err);
}

void ipc_stream_close(struct ipc_stream *s)
{
  mtr_slab_unref(s->bytes);
  mtr_arena_fini(&s->arena);
}

/* A body that does not lie at a multiple of 8 is copied to one that does. */
static enum mortar_status read_batch(struct ipc_stream *s, struct mtr_ipc_message *message,
                                     struct ArrowArray *out, struct mortar_error *err)
{
  struct mtr_slab *copy = NULL;
  enum mortar_status st = MORTAR_OK;

  if ((uintptr_t)message->body.data % 8 == 0)
    return mtr_ipc_read_batch(&s->schema, message, s->bytes, out, err);
  MTR_GOTO(mtr_slab_new(&s->bytes->alloc, message->body.size, &copy, err));
  MTR_GOTO(mtr_buf_append(&copy->buf, message->body.data, message->body.size, err));
  message->body.data = copy->buf.data;
  MTR_GOTO(mtr_ipc_read_batch(&s->schema, message, copy, out, err));
done:
  mtr_slab_unref(copy);
  return st;
}

enum mortar_status ipc_stream_next(struct ipc_stream *s, struct ArrowArray *out,
                                   struct mortar_error *err)
{
  struct mtr_ipc_message message;

  memset(out, 0, sizeof *out);
  if (s->at == s->bytes->buf.size) return MORTAR_OK; /* the end marker may be missing */
  MTR_TRY(next_message(s, &message, err));
  return message.kind == MTR_IPC_END ? MORTAR_OK : read_batch(s, &message, out, err);
}
