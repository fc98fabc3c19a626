/* Request bytes to a decoded call, a reply to bytes. Refuses bodies that are no strict Thrift
 * message with 400, and calls it does not know with an EXCEPTION. */
#include "kiln/server/exchange.h"

#include <event2/buffer.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/fault_apply.h"
#include "kiln/server/http.h"
#include "kiln/server/status.h"

/* A request holds at most 64 MiB; decoded it can be larger, since structs of few bytes on the wire
 * take more in memory. A reply is limited by a page of rows (rows.c) with its head. */
enum { ARENA_LIMIT = 256 * 1024 * 1024, REPLY_LIMIT = 1088 * 1024 * 1024 };

/* Idle exchanges are kept, with at most this much of reply buffer and of arena each. */
enum { KEEP_IDLE = 256, KEEP_BYTES = 64 * 1024 };

/* A longer reply is given to libevent by reference, a shorter one copied. */
enum { COPY_LIMIT = 16 * 1024 };

enum { EXCEPTION_UNKNOWN_METHOD = 1, EXCEPTION_INTERNAL = 6, EXCEPTION_PROTOCOL = 7 };

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
  struct kiln_exchange *x = arg;

  (void)fd;
  (void)what;
  x->on_timer(x);
}

static struct kiln_exchange *take_idle(struct kiln_core *core)
{
  struct kiln_exchange *x;

  if (kiln_list_empty(&core->idle_exchanges)) return NULL;
  x = KILN_OWNER(core->idle_exchanges.next, struct kiln_exchange, link);
  kiln_list_remove(&x->link);
  core->idle_count--;
  return x;
}

static struct kiln_exchange *make(struct kiln_core *core)
{
  struct kiln_exchange *x = mtr_calloc(NULL, 1, sizeof *x);

  if (!x) return NULL;
  x->core = core;
  mtr_arena_init(&x->arena, NULL, ARENA_LIMIT);
  mtr_buf_init(&x->out, NULL, "reply", REPLY_LIMIT);
  kiln_list_init(&x->link);
  kiln_list_init(&x->wait_link);
  (void)evtimer_assign(&x->timer, core->base, on_timer, x);
  return x;
}

static void destroy(struct kiln_exchange *x)
{
  mtr_arena_fini(&x->arena);
  mtr_buf_fini(&x->out);
  mtr_free(NULL, x, sizeof *x);
}

struct kiln_exchange *kiln_exchange_new(struct kiln_core *core, struct evhttp_request *http)
{
  struct evbuffer *body = evhttp_request_get_input_buffer(http);
  size_t size = evbuffer_get_length(body);
  struct kiln_exchange *x = take_idle(core);

  if (!x) x = make(core);
  if (!x) return NULL;
  x->http = http;
  x->bytes = mtr_span_of(size ? evbuffer_pullup(body, -1) : NULL, size);
  if (!x->bytes.data) x->bytes.size = 0;
  kiln_list_append(&core->exchanges, &x->link);
  core->stats.exchanges++;
  core->stats.bytes_in += size;
  return x;
}

static void release(struct kiln_exchange *x)
{
  struct kiln_core *core = x->core;

  kiln_exchange_disarm(x);
  kiln_list_remove(&x->wait_link);
  kiln_list_remove(&x->link);
  if (core->idle_count >= KEEP_IDLE) {
    destroy(x);
    return;
  }
  if (x->arena.total > KEEP_BYTES)
    mtr_arena_fini(&x->arena);
  else
    mtr_arena_reset(&x->arena);
  mtr_buf_reset(&x->out);
  mtr_buf_trim(&x->out, KEEP_BYTES);
  x->http = NULL;
  x->request = NULL;
  x->call = NULL;
  x->tail = mtr_span_of(NULL, 0);
  x->delay_us = 0;
  x->operation = NULL;
  kiln_list_append(&core->idle_exchanges, &x->link);
  core->idle_count++;
}

struct evhttp_request *kiln_exchange_give_up(struct kiln_exchange *x)
{
  struct evhttp_request *http = x->http;

  release(x);
  return http;
}

void kiln_exchange_drain(struct kiln_core *core)
{
  struct kiln_exchange *x;

  while ((x = take_idle(core)))
    destroy(x);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void reject_bytes(struct kiln_exchange *x, const char *text)
{
  struct kiln_core *core = x->core;

  core->stats.errors++;
  core->stats.calls[KILN_CALL_OTHER]++;
  kiln_http_error(core, kiln_exchange_give_up(x), 400, text);
}

static void unknown_method(struct kiln_exchange *x, const struct mtr_message *head)
{
  char name[128], text[192];

  (void)snprintf(name, sizeof name, "%.*s", (int)(head->name.size < 100 ? head->name.size : 100),
                 (const char *)head->name.data);
  (void)snprintf(text, sizeof text, "Invalid method name: '%s'", name);
  x->core->stats.calls[KILN_CALL_OTHER]++;
  kiln_exchange_exception(x, name, EXCEPTION_UNKNOWN_METHOD, text);
}

void kiln_exchange_dispatch(struct kiln_exchange *x)
{
  struct mtr_message head = {0};
  struct mortar_error err = {0};
  struct mtr_tr rd;

  mtr_tr_init(&rd, x->bytes);
  if (mtr_message_read_head(&rd, &head, &err) != MORTAR_OK || head.type != MTR_MESSAGE_CALL) {
    reject_bytes(x, "the body is not a Thrift call");
    return;
  }
  x->seqid = head.seqid;
  x->call = kiln_call_find(head.name);
  if (!x->call) {
    unknown_method(x, &head);
    return;
  }
  x->core->stats.calls[x->call->kind]++;
  x->request = mtr_arena_alloc(&x->arena, 1, x->call->request->size);
  if (!x->request) {
    kiln_exchange_exception(x, x->call->name, EXCEPTION_INTERNAL, "out of memory");
    return;
  }
  if (mtr_message_read(x->bytes, x->call->request, x->request, &x->arena, &head, &err) !=
      MORTAR_OK) {
    kiln_exchange_exception(x, x->call->name, EXCEPTION_PROTOCOL, err.message);
    return;
  }
  if (x->core->faults && kiln_fault_on_call(x)) return;
  if (x->core->engine->answer)
    x->core->engine->answer(x->core->engine_ctx, x);
  else
    x->call->handle(x);
}

/* ---- Time --------------------------------------------------------------------------------- */

void kiln_exchange_after(struct kiln_exchange *x, int64_t us, void (*fn)(struct kiln_exchange *x))
{
  struct timeval tv;

  tv.tv_sec = (time_t)(us / 1000000);
  tv.tv_usec = (suseconds_t)(us % 1000000);
  x->on_timer = fn;
  if (evtimer_add(&x->timer, &tv) != 0) fn(x);
}

void kiln_exchange_disarm(struct kiln_exchange *x) { (void)evtimer_del(&x->timer); }

/* ---- Replies ------------------------------------------------------------------------------ */

static void free_bytes(const void *data, size_t size, void *capacity)
{
  (void)size;
  mtr_free(NULL, (void *)(uintptr_t)data, (size_t)(uintptr_t)capacity);
}

/* Long replies change hands; the exchange's buffer is empty afterwards. */
static bool add_out(struct evbuffer *to, struct mtr_buf *out)
{
  if (out->size <= COPY_LIMIT) return evbuffer_add(to, out->data, out->size) == 0;
  if (evbuffer_add_reference(to, out->data, out->size, free_bytes,
                             (void *)(uintptr_t)out->capacity) != 0)
    return false;
  mtr_buf_init(out, NULL, out->what, out->max);
  return true;
}

static bool add_tail(struct evbuffer *to, struct mtr_span tail)
{
  static const uint8_t stop = MTR_T_STOP;

  if (tail.size == 0) return true;
  if (tail.size <= COPY_LIMIT) {
    if (evbuffer_add(to, tail.data, tail.size) != 0) return false;
  } else if (evbuffer_add_reference(to, tail.data, tail.size, NULL, NULL) != 0) {
    return false;
  }
  return evbuffer_add(to, &stop, 1) == 0;
}

static void send_now(struct kiln_exchange *x)
{
  struct kiln_core *core = x->core;
  struct evhttp_request *http = x->http;
  struct evbuffer *body = evhttp_request_get_output_buffer(http);
  bool ok = add_out(body, &x->out) && add_tail(body, x->tail);

  core->stats.bytes_out += evbuffer_get_length(body);
  release(x);
  if (ok)
    kiln_http_reply(core, http, 200, "application/x-thrift");
  else
    kiln_http_error(core, http, 500, "out of memory");
}

void kiln_exchange_send(struct kiln_exchange *x)
{
  if (x->delay_us > 0 && !x->core->stopping)
    kiln_exchange_after(x, x->delay_us, send_now);
  else
    send_now(x);
}

enum mortar_status kiln_exchange_encode(struct kiln_exchange *x, const void *body,
                                        struct mortar_error *err)
{
  mtr_buf_reset(&x->out);
  return mtr_message_write(&x->out, MTR_MESSAGE_REPLY, x->call->name, x->seqid, x->call->reply,
                           body, err);
}

void kiln_exchange_exception(struct kiln_exchange *x, const char *name, int32_t type,
                             const char *text)
{
  struct kiln_core *core = x->core;

  core->stats.errors++;
  mtr_buf_reset(&x->out);
  if (mtr_message_write_exception(&x->out, name, x->seqid, type, text, NULL) == MORTAR_OK) {
    kiln_exchange_send(x);
    return;
  }
  kiln_http_error(core, kiln_exchange_give_up(x), 500, "out of memory");
}

void kiln_exchange_reply(struct kiln_exchange *x, const void *body)
{
  struct mortar_error err = {0};

  if (kiln_exchange_encode(x, body, &err) == MORTAR_OK)
    kiln_exchange_send(x);
  else
    kiln_exchange_exception(x, x->call->name, EXCEPTION_INTERNAL, err.message);
}

/* Every reply struct of the interface has its status as the first field. */
static void reply_status(struct kiln_exchange *x, struct mtr_TStatus *status)
{
  const struct mtr_struct_info *info = x->call->reply;
  uint64_t *body = mtr_arena_alloc(&x->arena, 1, info->size);

  if (!body) {
    kiln_exchange_exception(x, x->call->name, EXCEPTION_INTERNAL, "out of memory");
    return;
  }
  *body = 1;
  memcpy((uint8_t *)body + info->fields[0].offset, &status, sizeof status);
  kiln_exchange_reply(x, body);
}

void kiln_exchange_refuse(struct kiln_exchange *x, const struct kiln_error *error)
{
  struct mtr_TStatus status;

  x->core->stats.errors++;
  kiln_status_error(&status, error);
  reply_status(x, &status);
}

void kiln_exchange_refuse_with(struct kiln_exchange *x, const struct mortar_error *error)
{
  struct kiln_error text;

  kiln_error_from(&text, error);
  kiln_exchange_refuse(x, &text);
}

void kiln_exchange_accept(struct kiln_exchange *x) { reply_status(x, &kiln_status_success); }

/* The envelope by hand: the body is bytes already. */
void kiln_exchange_prepared(struct kiln_exchange *x, const struct kiln_answer *answer,
                            const uint8_t guid[KILN_ID_SIZE])
{
  size_t after = answer->guid_offset + KILN_ID_SIZE;
  struct mortar_error err = {0};
  struct mtr_tw wr;

  mtr_buf_reset(&x->out);
  mtr_tw_init(&wr, &x->out, &err);
  mtr_tw_i32(&wr, (int32_t)(0x80010000u | MTR_MESSAGE_REPLY));
  mtr_tw_string(&wr, mtr_span_text(x->call->name));
  mtr_tw_i32(&wr, x->seqid);
  mtr_tw_field(&wr, MTR_T_STRUCT, 0);
  mtr_tw_raw(&wr, mtr_span_of(answer->prepared, answer->guid_offset));
  mtr_tw_raw(&wr, mtr_span_of(guid, KILN_ID_SIZE));
  if (mtr_tw_finish(&wr) != MORTAR_OK) {
    kiln_exchange_exception(x, x->call->name, EXCEPTION_INTERNAL, err.message);
    return;
  }
  x->tail = mtr_span_of(answer->prepared + after, answer->prepared_size - after);
  x->delay_us = answer->delay_us;
  kiln_exchange_send(x);
}

void kiln_exchange_unavailable(struct kiln_exchange *x)
{
  struct kiln_core *core = x->core;
  struct evhttp_request *http = kiln_exchange_give_up(x);

  core->stats.errors++;
  (void)evhttp_add_header(evhttp_request_get_output_headers(http), "Retry-After", "1");
  kiln_http_error(core, http, 503, "the server has too much to do or is stopping");
}
