/* A client of a few lines: raw HTTP and our own codec, so that no other code judges the server. */
#include "tests/kiln/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "arrow/ipc_reader.h"
#include "codec/lz4/lz4_frame.h"

static const char path[] = "/sql/1.0/warehouses/test";

void wire_open(struct wire *wire, int port)
{
  struct sockaddr_in to;
  struct timeval limit = {10, 0};
  int on = 1;

  memset(wire, 0, sizeof *wire);
  memset(&to, 0, sizeof to);
  wire->port = port;
  wire->headers = "";
  mtr_arena_init(&wire->arena, NULL, 64 << 20);
  mtr_buf_init(&wire->in, NULL, "answer", 256 << 20);
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  wire->fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(wire->fd >= 0);
  assert_int_equal(connect(wire->fd, (struct sockaddr *)&to, sizeof to), 0);
  assert_int_equal(setsockopt(wire->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
  /* Head and body are sent apart: the second must not wait for the first's acknowledgement. */
  assert_int_equal(setsockopt(wire->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
}

void wire_close(struct wire *wire)
{
  (void)close(wire->fd);
  mtr_buf_fini(&wire->in);
  mtr_arena_fini(&wire->arena);
}

void wire_send(struct wire *wire, const void *bytes, size_t size)
{
  const char *at = bytes;

  while (size > 0) {
    ssize_t n = send(wire->fd, at, size, MSG_NOSIGNAL);
    if (n <= 0) return; /* the server may hang up on nonsense; receive tells */
    at += n;
    size -= (size_t)n;
  }
}

static bool read_more(struct wire *wire)
{
  ssize_t n;

  assert_int_equal(mtr_buf_reserve(&wire->in, 65536, NULL), MORTAR_OK);
  n = recv(wire->fd, wire->in.data + wire->in.size, 65536, 0);
  wire->error = n < 0 ? errno : 0;
  if (n <= 0) return false;
  wire->in.size += (size_t)n;
  return true;
}

/* Where the head ends, 0 when it has not ended yet. The buffer is kept ended with NUL. */
static size_t head_size(struct wire *wire)
{
  const char *end;

  assert_int_equal(mtr_buf_reserve(&wire->in, 1, NULL), MORTAR_OK);
  wire->in.data[wire->in.size] = '\0';
  end = strstr((const char *)wire->in.data, "\r\n\r\n");
  return end ? (size_t)(end + 4 - (const char *)wire->in.data) : 0;
}

static size_t content_length(const char *head)
{
  const char *line;

  for (line = head; (line = strstr(line, "\r\n"));) {
    line += 2;
    if (strncasecmp(line, "Content-Length:", 15) == 0) return (size_t)atoll(line + 15);
  }
  return 0;
}

bool wire_receive(struct wire *wire)
{
  size_t head, size;

  mtr_buf_reset(&wire->in);
  do {
    if (!read_more(wire)) return false;
  } while ((head = head_size(wire)) == 0);
  wire->status = atoi((const char *)wire->in.data + 9);
  size = content_length((const char *)wire->in.data);
  while (wire->in.size < head + size)
    if (!read_more(wire)) return false;
  wire->body = mtr_span_of(wire->in.data + head, size);
  return true;
}

const char *wire_header(struct wire *wire, const char *name)
{
  static char value[1024];
  const char *line, *end;
  size_t n = strlen(name);

  for (line = (const char *)wire->in.data; (line = strstr(line, "\r\n"));) {
    line += 2;
    if (strncasecmp(line, name, n) != 0 || line[n] != ':') continue;
    line += n + 1 + strspn(line + n + 1, " ");
    end = strstr(line, "\r\n");
    (void)snprintf(value, sizeof value, "%.*s", (int)(end - line), line);
    return value;
  }
  return NULL;
}

static void send_http(struct wire *wire, const char *method, const char *to, const void *body,
                      size_t size)
{
  char head[1024];
  int n = snprintf(head, sizeof head,
                   "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n", method, to,
                   wire->headers, size);

  assert_in_range(n, 1, sizeof head - 1);
  wire_send(wire, head, (size_t)n);
  wire_send(wire, body, size);
}

void wire_http(struct wire *wire, const char *method, const char *to, const void *body, size_t size)
{
  send_http(wire, method, to, body, size);
  assert_true(wire_receive(wire));
}

void wire_send_call(struct wire *wire, const char *name, const struct mtr_struct_info *info,
                    const void *body)
{
  struct mortar_error err = {0};
  struct mtr_buf call;

  mtr_buf_init(&call, NULL, "call", 16 << 20);
  assert_int_equal(mtr_message_write(&call, MTR_MESSAGE_CALL, name, 77, info, body, &err),
                   MORTAR_OK);
  send_http(wire, "POST", path, call.data, call.size);
  mtr_buf_fini(&call);
}

void *wire_call(struct wire *wire, const char *name, const struct mtr_struct_info *info,
                const void *body, const struct mtr_struct_info *reply)
{
  struct mortar_error err = {0};
  void *out;

  wire_send_call(wire, name, info, body);
  assert_true(wire_receive(wire));
  assert_int_equal(wire->status, 200);
  mtr_arena_reset(&wire->arena);
  out = mtr_arena_alloc(&wire->arena, 1, reply->size);
  assert_non_null(out);
  if (mtr_message_read(wire->body, reply, out, &wire->arena, &wire->head, &err) != MORTAR_OK)
    fail_msg("%s: %s", name, err.message);
  assert_int_equal(wire->head.type, MTR_MESSAGE_REPLY);
  assert_int_equal(wire->head.seqid, 77);
  assert_true(mtr_span_equal(wire->head.name, mtr_span_text(name)));
  return out;
}

/* A version-4 UUID and a secret of the same size. */
void wire_keep(struct wire_handle *out, const struct mtr_THandleIdentifier *id)
{
  assert_non_null(id);
  assert_int_equal(id->guid.size, 16);
  assert_int_equal(id->secret.size, 16);
  assert_int_equal(id->guid.data[6] >> 4, 4);
  assert_int_equal(id->guid.data[8] >> 6, 2);
  memset(out, 0, sizeof *out);
  memcpy(out->bytes[0], id->guid.data, 16);
  memcpy(out->bytes[1], id->secret.data, 16);
  MTR_SET(&out->id, THandleIdentifier, guid, mtr_span_of(out->bytes[0], 16));
  MTR_SET(&out->id, THandleIdentifier, secret, mtr_span_of(out->bytes[1], 16));
  MTR_SET(&out->session, TSessionHandle, session_id, &out->id);
  MTR_SET(&out->operation, TOperationHandle, operation_id, &out->id);
  MTR_SET(&out->operation, TOperationHandle, operation_type, 8);
  MTR_SET(&out->operation, TOperationHandle, has_result_set, false);
}

int32_t wire_open_session_as(struct wire *wire, int32_t hive, int64_t spark,
                             struct wire_handle *out)
{
  struct mtr_TOpenSessionReq req = {0};
  struct mtr_TOpenSessionResp *resp;
  int32_t version;

  if (hive != WIRE_ABSENT) MTR_SET(&req, TOpenSessionReq, client_protocol, hive);
  if (spark != WIRE_ABSENT) MTR_SET(&req, TOpenSessionReq, client_protocol_i64, spark);
  resp = WIRE_CALL(wire, OpenSession, &req);
  assert_int_equal(resp->status->status_code, MTR_STATUS_SUCCESS);
  version = resp->server_protocol_version;
  assert_int_equal(resp->session_handle->server_protocol_version,
                   version < MTR_PROTOCOL_SPARK_V1 ? 0 : version);
  assert_true(MTR_HAS(resp, TOpenSessionResp, configuration));
  assert_int_equal(resp->can_use_multiple_catalogs, version >= MTR_PROTOCOL_SPARK_V4);
  wire_keep(out, resp->session_handle->session_id);
  return version;
}

void wire_open_session(struct wire *wire, struct wire_handle *out)
{
  (void)wire_open_session_as(wire, WIRE_ABSENT, MTR_PROTOCOL_SPARK_V8, out);
}

static void make_execute(struct mtr_TExecuteStatementReq *req,
                         struct mtr_TSparkGetDirectResults *direct, struct wire_handle *session,
                         const char *sql, const struct wire_ask *ask)
{
  MTR_SET(req, TExecuteStatementReq, session_handle, &session->session);
  MTR_SET(req, TExecuteStatementReq, statement, mtr_span_text(sql));
  MTR_SET(req, TExecuteStatementReq, run_async, ask->async);
  MTR_SET(req, TExecuteStatementReq, can_decompress_lz4_result, ask->lz4);
  MTR_SET(direct, TSparkGetDirectResults, max_rows, ask->max_rows);
  if (!ask->no_arrow) MTR_SET(req, TExecuteStatementReq, can_read_arrow_result, true);
  if (ask->timeout) MTR_SET(req, TExecuteStatementReq, query_timeout, ask->timeout);
  if (ask->max_bytes) MTR_SET(direct, TSparkGetDirectResults, max_bytes, ask->max_bytes);
  if (ask->direct) MTR_SET(req, TExecuteStatementReq, get_direct_results, direct);
}

void wire_send_execute(struct wire *wire, struct wire_handle *session, const char *sql,
                       const struct wire_ask *ask)
{
  struct mtr_TExecuteStatementReq req = {0};
  struct mtr_TSparkGetDirectResults direct = {0};

  make_execute(&req, &direct, session, sql, ask);
  wire_send_call(wire, "ExecuteStatement", &mtr_TExecuteStatementReq_info, &req);
}

struct mtr_TExecuteStatementResp *wire_execute(struct wire *wire, struct wire_handle *session,
                                               const char *sql, const struct wire_ask *ask)
{
  struct mtr_TExecuteStatementReq req = {0};
  struct mtr_TSparkGetDirectResults direct = {0};

  make_execute(&req, &direct, session, sql, ask);
  return WIRE_CALL(wire, ExecuteStatement, &req);
}

void wire_assert_text(struct mtr_span span, const char *text)
{
  if (!mtr_span_equal(span, mtr_span_text(text)))
    fail_msg("\"%.*s\" is not \"%s\"", MTR_SPAN_ARG(span), text);
}

bool wire_contains(struct mtr_span span, const char *text)
{
  size_t n = strlen(text), i;

  for (i = 0; i + n <= span.size; i++)
    if (memcmp(span.data + i, text, n) == 0) return true;
  return false;
}

static int64_t check_batch(const struct mtr_arrow_schema *schema, struct mtr_span bytes,
                           int64_t first)
{
  struct mtr_ipc_message message;
  struct mortar_error err = {0};
  struct mtr_slab *slab = NULL;
  struct ArrowArray array = {0};
  const int32_t *values;
  int64_t i, count;

  assert_int_equal(mtr_ipc_next(bytes, &message, &err), MORTAR_OK);
  assert_int_equal(message.kind, MTR_IPC_BATCH);
  assert_int_equal(message.size, bytes.size);
  assert_int_equal(mtr_slab_new(NULL, 64 << 20, &slab, &err), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&slab->buf, message.body.data, message.body.size, &err),
                   MORTAR_OK);
  message.body = mtr_buf_span(&slab->buf);
  if (mtr_ipc_read_batch(schema, &message, slab, &array, &err) != MORTAR_OK)
    fail_msg("%s", err.message);
  values = array.children[0]->buffers[1];
  for (i = 0; i < array.length; i++)
    assert_int_equal(values[array.children[0]->offset + i], first + i);
  count = array.length;
  array.release(&array);
  mtr_slab_unref(slab);
  return count;
}

int64_t wire_check_rows(const struct mtr_TGetResultSetMetadataResp *metadata,
                        const struct mtr_TRowSet *rows, int64_t first)
{
  struct mortar_error err = {0};
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  struct mtr_lz4 *lz4 = NULL;
  struct mtr_buf plain;
  int64_t total = 0;
  size_t i;

  mtr_arena_init(&arena, NULL, 1 << 20);
  mtr_buf_init(&plain, NULL, "batch", 64 << 20);
  assert_int_equal(mtr_lz4_new(NULL, &lz4, &err), MORTAR_OK);
  assert_int_equal(mtr_ipc_read_schema(metadata->arrow_schema, &arena, &schema, &err), MORTAR_OK);
  assert_int_equal(rows->start_row_offset, first);
  for (i = 0; i < rows->arrow_batches.count; i++) {
    const struct mtr_TSparkArrowBatch *batch = &rows->arrow_batches.items[i];
    mtr_buf_reset(&plain);
    if (metadata->lz4_compressed)
      assert_int_equal(mtr_lz4_decode(lz4, batch->batch, &plain, &err), MORTAR_OK);
    else
      assert_int_equal(mtr_buf_append(&plain, batch->batch.data, batch->batch.size, &err),
                       MORTAR_OK);
    assert_int_equal(check_batch(&schema, mtr_buf_span(&plain), first + total), batch->row_count);
    total += batch->row_count;
  }
  mtr_lz4_free(lz4);
  mtr_buf_fini(&plain);
  mtr_arena_fini(&arena);
  return total;
}
