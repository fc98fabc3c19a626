/* Replaces replies and damages bytes. Bodies are copied before they are damaged: they may be an
 * engine's own memory. */
#include "kiln/server/fault_change.h"

#include <event2/buffer.h>
#include <stdio.h>

#include "base/text.h"
#include "kiln/server/fault_place.h"
#include "kiln/server/status.h"

/* As much as a reply may have (exchange.c). */
enum { BODY_LIMIT = 1088 * 1024 * 1024 };

/* An error's text comes from a script, which is smaller. */
enum { MESSAGE_LIMIT = 16 * 1024 * 1024 };

enum { EXCEPTION_INTERNAL = 6 };

static const char thrift_type[] = "application/x-thrift";

static struct evbuffer *body_of(const struct kiln_fault_reply *reply)
{
  return evhttp_request_get_output_buffer(reply->http);
}

static bool replace(struct kiln_fault_reply *reply, const void *data, size_t size)
{
  struct evbuffer *body = body_of(reply);

  return evbuffer_drain(body, evbuffer_get_length(body)) == 0 &&
         evbuffer_add(body, data, size) == 0;
}

/* ---- Errors in a 200 --------------------------------------------------------------------------
 */

static const char *text_in(const json_t *object, const char *key)
{
  return json_string_value(json_object_get(object, key));
}

static void make_status(const json_t *error, struct mtr_TStatus *out)
{
  const json_t *code = json_object_get(error, "code");
  struct mtr_span text = mtr_span_text(text_in(error, "message"));

  memset(out, 0, sizeof *out);
  MTR_SET(out, TStatus, status_code,
          code ? (int32_t)json_integer_value(code) : (int32_t)MTR_STATUS_ERROR);
  MTR_SET(out, TStatus, sql_state, mtr_span_text(text_in(error, "sqlstate")));
  MTR_SET(out, TStatus, error_message, text);
  MTR_SET(out, TStatus, display_message, text);
}

/* Every reply has its status first; that of OpenSession must have a protocol, too. */
static enum mortar_status write_error(const struct kiln_fault_reply *reply, const json_t *error,
                                      struct mtr_buf *out)
{
  const struct mtr_struct_info *info = reply->call->reply;
  struct mtr_TOpenSessionResp session = {0};
  union {
    struct mtr_struct_head head;
    uint8_t bytes[1024]; /* more than the largest reply struct has */
  } body = {{0, {NULL, 0}}};
  struct mtr_TStatus status, *at = &status;

  make_status(error, &status);
  if (reply->call->kind == KILN_CALL_OPEN_SESSION) {
    MTR_SET(&session, TOpenSessionResp, status, &status);
    MTR_SET(&session, TOpenSessionResp, server_protocol_version, MTR_PROTOCOL_SPARK_V8);
    return mtr_message_write(out, MTR_MESSAGE_REPLY, reply->call->name, reply->seqid, info,
                             &session, NULL);
  }
  if (info->size > sizeof body) return MORTAR_LIMIT;
  body.head.has = 1;
  memcpy(body.bytes + info->fields[0].offset, &at, sizeof at);
  return mtr_message_write(out, MTR_MESSAGE_REPLY, reply->call->name, reply->seqid, info, &body,
                           NULL);
}

static enum mortar_status write_exception(const struct kiln_fault_reply *reply,
                                          const json_t *exception, struct mtr_buf *out)
{
  const json_t *type = json_object_get(exception, "type");

  return mtr_message_write_exception(
      out, reply->call->name, reply->seqid,
      type ? (int32_t)json_integer_value(type) : (int32_t)EXCEPTION_INTERNAL,
      text_in(exception, "message"), NULL);
}

static bool put_error(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  struct mtr_buf message;
  bool ok;

  mtr_buf_init(&message, NULL, "error reply", MESSAGE_LIMIT);
  ok = (rule->error ? write_error(reply, rule->error, &message)
                    : write_exception(reply, rule->exception, &message)) == MORTAR_OK &&
       replace(reply, message.data, message.size);
  mtr_buf_fini(&message);
  reply->status = 200;
  reply->type = thrift_type;
  return ok;
}

static bool put_plain(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  const char *text = rule->body ? rule->body : "";

  if (rule->status) reply->status = (int)rule->status;
  reply->type = NULL;
  return replace(reply, text, strlen(text));
}

/* ---- Damage -----------------------------------------------------------------------------------
 */

static bool flip(struct mtr_buf *body, size_t start, size_t size, int64_t offset)
{
  int64_t at = offset < 0 ? (int64_t)size + offset : offset;

  if (at < 0 || at >= (int64_t)size) return false;
  body->data[start + (size_t)at] ^= 0xFF;
  return true;
}

/* A number of Thrift's: four bytes, the highest first; wraps around. */
static bool add_to(struct mtr_buf *body, int64_t offset, int64_t add)
{
  int64_t at = offset < 0 ? (int64_t)body->size + offset : offset;
  uint32_t number;
  uint8_t *p;

  if (at < 0 || at > (int64_t)body->size - 4) return false;
  p = body->data + at;
  number = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
  number += (uint32_t)add;
  p[0] = (uint8_t)(number >> 24);
  p[1] = (uint8_t)(number >> 16);
  p[2] = (uint8_t)(number >> 8);
  p[3] = (uint8_t)number;
  return true;
}

static bool edit(const struct kiln_fault_edit *edit_, const struct kiln_fault_reply *reply,
                 struct mtr_buf *body)
{
  struct kiln_place place = {0, 0, body->size};

  if (edit_->place && !(reply->call && kiln_place_find(mtr_buf_span(body), reply->call->reply,
                                                       edit_->place, &place)))
    return false;
  if (edit_->flips) return flip(body, place.bytes, place.size, edit_->offset);
  return add_to(body, edit_->place ? (int64_t)place.number : edit_->offset, edit_->add);
}

/* Changes are made in their order, so places are looked for in what earlier ones have left. */
static bool damage(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  struct evbuffer *body = body_of(reply);
  size_t size = evbuffer_get_length(body), i;
  struct mtr_buf bytes;
  bool ok;

  mtr_buf_init(&bytes, NULL, "damaged reply", BODY_LIMIT);
  ok = mtr_buf_reserve(&bytes, size, NULL) == MORTAR_OK &&
       evbuffer_copyout(body, bytes.data, size) == (ev_ssize_t)size;
  if (ok) bytes.size = size;
  for (i = 0; ok && i < rule->edit_count; i++)
    ok = edit(&rule->edits[i], reply, &bytes);
  if (bytes.size == size && !replace(reply, bytes.data, size)) ok = false;
  mtr_buf_fini(&bytes);
  return ok;
}

/* ---- Headers ----------------------------------------------------------------------------------
 */

static void put_header(struct kiln_fault_reply *reply, const char *name, const char *value)
{
  struct evkeyvalq *headers = evhttp_request_get_output_headers(reply->http);

  (void)evhttp_remove_header(headers, name);
  (void)evhttp_add_header(headers, name, value);
}

static void put_headers(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  char number[32];
  const char *name;
  json_t *value;

  json_object_foreach(rule->headers, name, value)
  {
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    put_header(reply, name, json_is_string(value) ? json_string_value(value) : number);
    if (mtr_text_same(mtr_span_text(name), mtr_span_text("Content-Type"))) reply->type = NULL;
  }
}

static void put_length(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  int64_t length = (int64_t)evbuffer_get_length(body_of(reply)) + rule->content_length_add;
  char text[32];

  (void)snprintf(text, sizeof text, "%lld", (long long)(length < 0 ? 0 : length));
  put_header(reply, "Content-Length", text);
}

bool kiln_fault_change(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply)
{
  bool ok = true;

  if (reply->call && (rule->error || rule->exception))
    ok = put_error(rule, reply);
  else if (rule->status || rule->body)
    ok = put_plain(rule, reply);
  if (rule->edit_count > 0 && !damage(rule, reply)) ok = false;
  if (rule->headers) put_headers(rule, reply);
  if (rule->content_length_add) put_length(rule, reply);
  return ok;
}
