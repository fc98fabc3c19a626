/* A result as an ArrowArrayStream, which then owns it. */
#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "client/result.h"

struct stream {
  struct mortar_alloc alloc;
  struct mortar_result *result;
  struct mortar_error err;
};

/* The interface speaks errno. */
static int errno_of(enum mortar_status st)
{
  switch (st) {
    case MORTAR_OK:
      return 0;
    case MORTAR_NOMEM:
      return ENOMEM;
    case MORTAR_INVALID:
    case MORTAR_STATE:
      return EINVAL;
    case MORTAR_UNSUPPORTED:
      return ENOTSUP;
    case MORTAR_TIMEOUT:
      return ETIMEDOUT;
    case MORTAR_INTERRUPTED:
      return EINTR;
    case MORTAR_CANCELED:
      return ECANCELED;
    case MORTAR_MORE:
    case MORTAR_LIMIT:
    case MORTAR_CONNECT:
    case MORTAR_TLS:
    case MORTAR_IO:
    case MORTAR_AUTH:
    case MORTAR_FILE:
    case MORTAR_HTTP:
    case MORTAR_PROTOCOL:
    case MORTAR_CORRUPT:
    case MORTAR_SERVER:
      break;
  }
  return EIO;
}

enum { JOIN_ROWS = 64 * 1024 };

static int stream_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
  struct stream *s = self->private_data;
  return errno_of(mortar_result_schema(s->result, out, &s->err));
}

static int stream_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
  struct stream *s = self->private_data;
  return errno_of(mortar_result_next_joined(s->result, NULL, JOIN_ROWS, out, &s->err));
}

static const char *stream_get_last_error(struct ArrowArrayStream *self)
{
  const struct stream *s = self->private_data;
  return s->err.status == MORTAR_OK ? NULL : s->err.message;
}

static void stream_release(struct ArrowArrayStream *self)
{
  struct stream *s = self->private_data;
  struct mortar_alloc alloc = s->alloc;

  mortar_result_free(s->result);
  mtr_free(&alloc, s, sizeof *s);
  self->private_data = NULL;
  self->release = NULL;
}

enum mortar_status mortar_result_to_stream(struct mortar_result **result,
                                           struct ArrowArrayStream *out, struct mortar_error *err)
{
  struct stream *s;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  memset(out, 0, sizeof *out);
  if (!result || !*result) return mtr_fail(err, MORTAR_INVALID, "result must not be NULL");
  s = mtr_calloc(&(*result)->alloc, 1, sizeof *s);
  if (!s) return mtr_fail_nomem(err, "Arrow stream");
  s->alloc = (*result)->alloc;
  s->result = *result;
  *result = NULL;
  out->get_schema = stream_get_schema;
  out->get_next = stream_get_next;
  out->get_last_error = stream_get_last_error;
  out->release = stream_release;
  out->private_data = s;
  return MORTAR_OK;
}
