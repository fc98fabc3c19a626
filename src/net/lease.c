/* Leases: a connection and the buffers of its exchanges. The request leaves in one piece: the
 * body's blocks have room before them into which the head is written at the last moment. */
#include "net/lease.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/be.h"
#include "base/error.h"
#include "net/driver_blocking.h"
#include "net/endpoint_internal.h"
#include "net/request_head.h"

enum {
  HEADROOM = 4096, /* a usual head with a token has 1 to 3 KB; a longer one is sent on its own */
  MAX_REQUEST = 256 * 1024 * 1024, /* servers stop far below; the length must fit everywhere */
  KEEP_BODY = 64 * 1024,           /* what a trimmed lease may hold */
  KEEP_REPLY = 256 * 1024
};

struct mtr_lease {
  struct mtr_endpoint *endpoint;
  struct mtr_transport *transport; /* NULL before the first exchange */
  int64_t last_used;
  struct mortar_alloc body_alloc; /* gives blocks with HEADROOM bytes before them */
  struct mtr_buf body, reply;
  struct mtr_request_head head;
  struct mtr_binary *binary; /* NULL: HTTP */
  struct mtr_lease_stats stats;
  struct mtr_exchange unfinished; /* meaningful while its pending is set */
};

static void *headroom_fn(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
  const struct mortar_alloc *alloc = ctx;
  uint8_t *block = ptr ? (uint8_t *)ptr - HEADROOM : NULL, *fresh;

  if (new_size == 0) {
    if (block) mtr_free(alloc, block, old_size + HEADROOM);
    return NULL;
  }
  if (new_size > SIZE_MAX - HEADROOM) return NULL;
  fresh = mtr_realloc(alloc, block, block ? old_size + HEADROOM : 0, new_size + HEADROOM);
  return fresh ? fresh + HEADROOM : NULL;
}

static enum mortar_status make_framing(struct mtr_lease *lease, struct mortar_error *err)
{
  if (mtr_endpoint_wire(lease->endpoint) == MTR_WIRE_HTTP) return MORTAR_OK;
  lease->binary = mtr_calloc(mtr_endpoint_alloc(lease->endpoint), 1, sizeof *lease->binary);
  return lease->binary ? MORTAR_OK : mtr_fail_nomem(err, "framing");
}

enum mortar_status mtr_lease_new(struct mtr_endpoint *endpoint, struct mtr_lease **out,
                                 struct mortar_error *err)
{
  /* The endpoint, and so its allocator, outlives the lease. The cast only stores the pointer. */
  const struct mortar_alloc *alloc = mtr_endpoint_alloc(endpoint);
  const size_t max_reply = mtr_endpoint_max_reply(endpoint);
  enum mortar_status st;
  struct mtr_lease *lease;
  size_t room;

  *out = NULL;
  MTR_TRY(mtr_endpoint_check_process(endpoint, err));
  if (!mtr_size_add(max_reply, MTR_HTTP1_MAX_HEAD + 2 * MTR_HTTP1_READ_SIZE, &room))
    return mtr_fail(err, MORTAR_INVALID, "max_reply of %zu is too large", max_reply);
  lease = mtr_calloc(alloc, 1, sizeof *lease);
  if (!lease) return mtr_fail_nomem(err, "lease");
  lease->endpoint = mtr_endpoint_ref(endpoint);
  lease->body_alloc.fn = headroom_fn;
  lease->body_alloc.ctx = (void *)(uintptr_t)alloc;
  mtr_buf_init(&lease->body, &lease->body_alloc, "request body", MAX_REQUEST);
  mtr_buf_init(&lease->reply, alloc, "reply", room);
  mtr_request_head_init(&lease->head, alloc);
  st = make_framing(lease, err);
  if (st == MORTAR_OK)
    *out = lease;
  else
    mtr_lease_free(lease);
  return st;
}

bool mtr_lease_pending(const struct mtr_lease *lease) { return lease->unfinished.pending; }

int mtr_lease_fd(const struct mtr_lease *lease)
{
  return lease->unfinished.pending ? lease->transport->fd : -1;
}

/* A connection on which a reply is still due is of no use to anybody else. */
static void abandon(struct mtr_lease *lease)
{
  if (!lease->unfinished.pending) return;
  lease->unfinished.pending = false;
  /* In the child of a fork the connection is the parent's, and freeing the lease knows that. */
  if (!mtr_endpoint_inherited(lease->endpoint)) lease->transport->ops->close(lease->transport);
}

void mtr_lease_free(struct mtr_lease *lease)
{
  struct mtr_endpoint *endpoint;

  if (!lease) return;
  abandon(lease);
  endpoint = lease->endpoint;
  mtr_endpoint_give(endpoint, lease->transport, lease->last_used);
  mtr_request_head_fini(&lease->head);
  mtr_buf_fini(&lease->reply);
  mtr_buf_fini(&lease->body);
  mtr_free(mtr_endpoint_alloc(endpoint), lease->binary, sizeof *lease->binary);
  mtr_free(mtr_endpoint_alloc(endpoint), lease, sizeof *lease);
  mtr_endpoint_unref(endpoint);
}

struct mtr_buf *mtr_lease_body(struct mtr_lease *lease)
{
  mtr_buf_reset(&lease->body);
  return &lease->body;
}

/* A transport, its connection not older than the endpoint allows. */
static enum mortar_status ready_transport(struct mtr_lease *lease, int64_t now,
                                          struct mortar_error *err)
{
  struct mtr_transport *t = lease->transport;

  if (t && t->fd >= 0) {
    if (!mtr_endpoint_too_old(lease->endpoint, lease->last_used, now)) return MORTAR_OK;
    t->ops->close(t);
    lease->stats.stale++;
  }
  if (t) return MORTAR_OK;
  return mtr_endpoint_take(lease->endpoint, now, &lease->transport, err);
}

/* Puts the head before the body, or beside it when it is too long for that. */
static enum mortar_status join(struct mtr_lease *lease, struct mtr_span out[2],
                               struct mortar_error *err)
{
  char rest[MTR_LENGTH_LINE];
  struct mtr_buf *text = &lease->head.text, *body = &lease->body;
  const size_t size = text->size, n = mtr_request_head_rest(body->size, rest);
  uint8_t *start;

  if (size + n > HEADROOM) {
    MTR_TRY(mtr_buf_append(text, rest, n, err));
    text->size = size;
    out[0] = mtr_span_of(text->data, size + n);
    out[1] = mtr_buf_span(body);
    return MORTAR_OK;
  }
  MTR_TRY(mtr_buf_reserve(body, 1, err));
  start = body->data - size - n;
  memcpy(start, text->data, size);
  memcpy(start + size, rest, n);
  out[0] = mtr_span_of(start, size + n + body->size);
  out[1] = mtr_span_of(NULL, 0);
  return MORTAR_OK;
}

/* Puts the length of its frame before the body. */
static enum mortar_status join_frame(struct mtr_lease *lease, struct mtr_span out[2],
                                     struct mortar_error *err)
{
  struct mtr_buf *body = &lease->body;
  const size_t head = lease->binary->framed ? MTR_FRAME_HEAD : 0;

  MTR_TRY(mtr_buf_reserve(body, 1, err));
  if (head) mtr_put_be32(body->data - head, (uint32_t)body->size);
  out[0] = mtr_span_of(body->data - head, body->size + head);
  out[1] = mtr_span_of(NULL, 0);
  return MORTAR_OK;
}

static enum mortar_status prepare_binary(struct mtr_lease *lease, struct mtr_span out[2],
                                         struct mortar_error *err)
{
  mtr_binary_init(lease->binary, mtr_endpoint_wire(lease->endpoint) == MTR_WIRE_SASL,
                  mtr_endpoint_max_reply(lease->endpoint));
  return join_frame(lease, out, err);
}

static enum mortar_status prepare_post(struct mtr_lease *lease, const struct mtr_request *request,
                                       struct mtr_span out[2], struct mortar_error *err)
{
  const char *host = mtr_endpoint_host_header(lease->endpoint);

  MTR_TRY(mtr_request_head_set(&lease->head, host, request->path, request->headers, err));
  return join(lease, out, err);
}

static enum mortar_status prepare(struct mtr_lease *lease, const struct mtr_request *request,
                                  int64_t now, struct mtr_span out[2], struct mortar_error *err)
{
  MTR_TRY(mtr_endpoint_check_process(lease->endpoint, err));
  MTR_TRY(lease->binary ? prepare_binary(lease, out, err) : prepare_post(lease, request, out, err));
  return ready_transport(lease, now, err);
}

/* What an exchange leaves behind, however it ended. */
static enum mortar_status conclude(struct mtr_lease *lease, const struct mtr_exchange *ex,
                                   struct mtr_reply *reply)
{
  if (ex->status != MORTAR_OK) {
    reply->begun = lease->reply.size != 0 || (lease->binary && mtr_binary_begun(lease->binary));
    if (ex->pending) lease->unfinished = *ex;
    return ex->status;
  }
  lease->last_used = ex->finished;
  if (lease->binary)
    reply->body = mtr_buf_span(&lease->reply);
  else
    mtr_http1_reply(&ex->http, &lease->reply, reply);
  return MORTAR_OK;
}

static enum mortar_status run(struct mtr_lease *lease, const struct mtr_span out[2], bool keep,
                              const struct mtr_wait *wait, int64_t now, struct mtr_reply *reply,
                              struct mortar_error *err)
{
  struct mtr_exchange ex = {.transport = lease->transport,
                            .out = {out[0], out[1]},
                            .login = mtr_endpoint_login(lease->endpoint),
                            .binary = lease->binary,
                            .reply = &lease->reply,
                            .max_body = mtr_endpoint_max_reply(lease->endpoint),
                            .connect_timeout_ms = mtr_endpoint_connect_timeout_ms(lease->endpoint),
                            .deadline = wait->deadline,
                            .keep = keep,
                            .stats = &lease->stats,
                            .err = err};

  (void)!mtr_drive_blocking(&ex, wait, now); /* conclude looks at its status */
  return conclude(lease, &ex, reply);
}

static void clear_reply(struct mtr_reply *reply)
{
  memset(reply, 0, sizeof *reply);
  reply->retry_after_ms = -1;
}

enum mortar_status mtr_lease_exchange(struct mtr_lease *lease, const struct mtr_request *request,
                                      const struct mtr_wait *wait, struct mtr_reply *reply,
                                      struct mortar_error *err)
{
  const int64_t now = mtr_clock_now();
  struct mortar_error own;
  struct mtr_span out[2];
  enum mortar_status st;

  clear_reply(reply);
  if (!err) err = &own;
  abandon(lease);
  st = prepare(lease, request, now, out, err);
  if (st != MORTAR_OK)
    mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
  else
    st = run(lease, out, request->keep, wait, now, reply, err);
  if (st != MORTAR_OK) mtr_error_prefix(err, "%s", mtr_endpoint_name(lease->endpoint));
  return st;
}

enum mortar_status mtr_lease_resume(struct mtr_lease *lease, const struct mtr_wait *wait,
                                    struct mtr_reply *reply, struct mortar_error *err)
{
  struct mtr_exchange ex = lease->unfinished;
  struct mortar_error own;
  enum mortar_status st;

  clear_reply(reply);
  if (!err) err = &own;
  MTR_TRY(mtr_endpoint_check_process(lease->endpoint, err));
  if (!ex.pending) return mtr_fail(err, MORTAR_STATE, "no exchange is pending");
  ex.err = err;
  lease->unfinished.pending = false;
  (void)!mtr_drive_resumed(&ex, wait); /* conclude looks at its status */
  st = conclude(lease, &ex, reply);
  if (st != MORTAR_OK) mtr_error_prefix(err, "%s", mtr_endpoint_name(lease->endpoint));
  return st;
}

void mtr_lease_trim(struct mtr_lease *lease)
{
  abandon(lease);
  mtr_buf_trim(&lease->body, KEEP_BODY);
  mtr_buf_trim(&lease->reply, KEEP_REPLY);
}

void mtr_lease_stats(const struct mtr_lease *lease, struct mtr_lease_stats *out)
{
  *out = lease->stats;
}
