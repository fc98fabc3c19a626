/* One Thrift exchange, to the last byte. A reply must fit its request: name, sequence id, and the
 * struct of the call. Both are written again, to the same bytes. Row data is read where it is
 * inline; links are left to whoever fetches them.
 */
#include "tools/recordings/thrift_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "codec/thrift/message.h"
#include "tools/recordings/rewrite_check.h"

enum { ARENA_MAX = 1 << 30, DUMP_MAX = 1 << 30, NAME_MAX_SIZE = 300 };

/* A message with its body. */
struct decoded {
  struct mtr_message head;
  const struct mtr_struct_info *info;
  void *body;
};

void thrift_check_init(struct thrift_check *c, struct report *report, struct mtr_lz4 *lz4)
{
  memset(c, 0, sizeof *c);
  c->report = report;
  c->lz4 = lz4;
  mtr_arena_init(&c->arena, NULL, ARENA_MAX);
  mtr_arena_init(&c->file_arena, NULL, ARENA_MAX);
}

void thrift_check_fini(struct thrift_check *c)
{
  mtr_arena_fini(&c->arena);
  mtr_arena_fini(&c->file_arena);
}

void thrift_check_new_file(struct thrift_check *c)
{
  mtr_arena_reset(&c->file_arena);
  c->operations = NULL;
}

/* The struct of a call's request or reply. NULL: no such call. */
static const struct mtr_struct_info *struct_of(struct mtr_span call, const char *suffix)
{
  char name[NAME_MAX_SIZE];
  int n = snprintf(name, sizeof name, "T%.*s%s", MTR_SPAN_ARG(call), suffix);

  return mtr_tcli_find(mtr_span_of(name, n > 0 ? (size_t)n : 0));
}

static enum mortar_status decode(struct thrift_check *c, struct mtr_span bytes, const char *suffix,
                                 struct decoded *out, struct mortar_error *err)
{
  struct mtr_tr rd;

  mtr_tr_init(&rd, bytes);
  MTR_TRY(mtr_message_read_head(&rd, &out->head, err));
  out->info = struct_of(out->head.name, suffix);
  if (!out->info)
    return mtr_fail(err, MORTAR_PROTOCOL, "TCLIService has no call %.*s",
                    MTR_SPAN_ARG(out->head.name));
  out->body = mtr_arena_alloc(&c->arena, 1, out->info->size);
  if (!out->body) return mtr_fail_nomem(err, out->info->name);
  return mtr_message_read(bytes, out->info, out->body, &c->arena, &out->head, err);
}

static void print_dump(const struct report *r, const char *what, const struct decoded *d,
                       struct mtr_buf *json)
{
  json_t *file = json_string(r->file);

  printf("{\"file\":");
  (void)json_dumpf(file, stdout, JSON_ENCODE_ANY);
  printf(",\"line\":%zu,\"%s\":\"%.*s\",\"seqid\":%" PRId32 ",\"body\":", r->line, what,
         MTR_SPAN_ARG(d->head.name), d->head.seqid);
  (void)fwrite(json->data, 1, json->size, stdout);
  printf("}\n");
  json_decref(file);
}

/* An exception is shown as the status that it amounts to. */
static enum mortar_status dump_body(const struct decoded *d, struct mtr_buf *json)
{
  struct mtr_TStatus status = {0};

  if (d->head.type != MTR_MESSAGE_EXCEPTION) return mtr_thrift_dump(d->info, d->body, json, NULL);
  MTR_SET(&status, TStatus, error_code, d->head.exception_type);
  MTR_SET(&status, TStatus, error_message, d->head.exception_text);
  return mtr_thrift_dump(&mtr_TStatus_info, &status, json, NULL);
}

static void dump_if_asked(const struct report *r, const char *what, const struct decoded *d)
{
  struct mtr_buf json;

  if (!r->dump) return;
  mtr_buf_init(&json, NULL, "dump", DUMP_MAX);
  if (dump_body(d, &json) == MORTAR_OK) print_dump(r, what, d, &json);
  mtr_buf_fini(&json);
}

static struct operation *find_operation(const struct thrift_check *c, struct mtr_span guid)
{
  struct operation *op = c->operations;

  while (op && !mtr_span_equal(op->guid, guid))
    op = op->next;
  return op;
}

/* Keeps the schema for later pages. Memory that runs out shows as a schema that is not known. */
static void remember(struct thrift_check *c, struct mtr_span guid,
                     const struct mtr_TGetResultSetMetadataResp *metadata)
{
  struct operation *op = mtr_arena_alloc(&c->file_arena, 1, sizeof *op);
  const char *id = mtr_arena_text(&c->file_arena, guid.data, guid.size);
  const char *schema =
      mtr_arena_text(&c->file_arena, metadata->arrow_schema.data, metadata->arrow_schema.size);

  if (!op || !id || !schema) return;
  op->guid = mtr_span_of(id, guid.size);
  op->schema = mtr_span_of(schema, metadata->arrow_schema.size);
  op->lz4 = metadata->lz4_compressed;
  op->next = c->operations;
  c->operations = op;
}

static uint32_t column_length(const struct mtr_TColumn *col)
{
  if (col->bool_val) return col->bool_val->values.count;
  if (col->byte_val) return col->byte_val->values.count;
  if (col->i16_val) return col->i16_val->values.count;
  if (col->i32_val) return col->i32_val->values.count;
  if (col->i64_val) return col->i64_val->values.count;
  if (col->double_val) return col->double_val->values.count;
  if (col->string_val) return col->string_val->values.count;
  return col->binary_val ? col->binary_val->values.count : 0;
}

static bool check_columns(struct thrift_check *c, const struct mtr_TRowSet *rows)
{
  uint32_t length = rows->columns.count ? column_length(&rows->columns.items[0]) : 0;
  size_t i;

  for (i = 1; i < rows->columns.count; i++)
    if (column_length(&rows->columns.items[i]) != length)
      return report_fail(c->report, "column %zu has %" PRIu32 " rows, column 0 has %" PRIu32, i,
                         column_length(&rows->columns.items[i]), length);
  c->report->column_sets += rows->columns.count ? 1 : 0;
  c->report->column_rows += length;
  return true;
}

static bool check_batches(struct thrift_check *c, const struct mtr_TRowSet *rows,
                          const struct operation *op)
{
  size_t i;

  if (rows->arrow_batches.count == 0) return true;
  if (!op || op->schema.size == 0)
    return report_fail(c->report, "Arrow batches of an operation whose schema is not known");
  for (i = 0; i < rows->arrow_batches.count; i++) {
    const struct mtr_TSparkArrowBatch *b = &rows->arrow_batches.items[i];
    if (!arrow_check_batch(c->report, c->lz4, op->schema, b->batch, op->lz4, b->row_count))
      return false;
  }
  return true;
}

/* A page of rows, and the schema that may come with it. */
static bool check_fetch(struct thrift_check *c, struct mtr_span guid,
                        const struct mtr_TFetchResultsResp *fetch)
{
  if (fetch->result_set_metadata) remember(c, guid, fetch->result_set_metadata);
  if (!fetch->results) return true;
  return check_columns(c, fetch->results) &&
         check_batches(c, fetch->results, find_operation(c, guid));
}

static struct mtr_span guid_of(const struct mtr_TOperationHandle *handle)
{
  return handle && handle->operation_id ? handle->operation_id->guid : mtr_span_of(NULL, 0);
}

static bool check_direct(struct thrift_check *c, const struct mtr_TExecuteStatementResp *resp)
{
  const struct mtr_TSparkDirectResults *direct = resp->direct_results;
  struct mtr_span guid = guid_of(resp->operation_handle);

  if (!direct) return true;
  if (direct->result_set_metadata) remember(c, guid, direct->result_set_metadata);
  return !direct->result_set || check_fetch(c, guid, direct->result_set);
}

/* Every call whose reply has the layout of ExecuteStatement's. */
static bool has_direct_results(const struct mtr_struct_info *info)
{
  const struct mtr_struct_info *model = &mtr_TExecuteStatementResp_info;

  return info->field_count == model->field_count && info->size == model->size &&
         info->fields[2].sub == model->fields[2].sub;
}

static bool check_rows(struct thrift_check *c, const struct decoded *call,
                       const struct decoded *reply)
{
  if (reply->info == &mtr_TFetchResultsResp_info) {
    const struct mtr_TFetchResultsReq *req = call->body;
    return check_fetch(c, guid_of(req->operation_handle), reply->body);
  }
  if (reply->info == &mtr_TGetResultSetMetadataResp_info) {
    const struct mtr_TGetResultSetMetadataReq *req = call->body;
    remember(c, guid_of(req->operation_handle), reply->body);
    return true;
  }
  return !has_direct_results(reply->info) || check_direct(c, reply->body);
}

static bool fits(struct thrift_check *c, const struct decoded *call, const struct decoded *reply)
{
  if (reply->head.type == MTR_MESSAGE_CALL) return report_fail(c->report, "reply: it is a call");
  if (!mtr_span_equal(call->head.name, reply->head.name))
    return report_fail(c->report, "reply: answers %.*s, asked was %.*s",
                       MTR_SPAN_ARG(reply->head.name), MTR_SPAN_ARG(call->head.name));
  if (call->head.seqid != reply->head.seqid)
    return report_fail(c->report, "reply: sequence id %" PRId32 ", asked was %" PRId32,
                       reply->head.seqid, call->head.seqid);
  return true;
}

static bool rewritten(struct thrift_check *c, const char *what, struct mtr_span bytes,
                      const struct decoded *d)
{
  return rewrite_check(c->report, what, bytes, &d->head, d->info, d->body);
}

static bool check_reply(struct thrift_check *c, struct mtr_span bytes, const struct decoded *call)
{
  struct mortar_error err = {0};
  struct decoded reply = {0};

  if (decode(c, bytes, "Resp", &reply, &err) != MORTAR_OK)
    return report_fail(c->report, "reply: %s", err.message);
  dump_if_asked(c->report, "reply", &reply);
  if (!fits(c, call, &reply)) return false;
  if (reply.head.type != MTR_MESSAGE_EXCEPTION)
    return rewritten(c, "reply", bytes, &reply) && check_rows(c, call, &reply);
  c->report->exceptions++;
  return true;
}

static bool check_request(struct thrift_check *c, struct mtr_span bytes, struct decoded *call)
{
  struct mortar_error err = {0};

  if (decode(c, bytes, "Req", call, &err) != MORTAR_OK)
    return report_fail(c->report, "request: %s", err.message);
  if (call->head.type != MTR_MESSAGE_CALL)
    return report_fail(c->report, "request: it is not a call");
  dump_if_asked(c->report, "request", call);
  return rewritten(c, "request", bytes, call);
}

bool thrift_check_exchange(struct thrift_check *c, const struct kiln_recorded *x)
{
  struct decoded call = {0};

  mtr_arena_reset(&c->arena);
  if (!check_request(c, mtr_buf_span(&x->request), &call)) return false;
  if (x->status != 200) { /* then there is no Thrift in the body: the status is the answer */
    c->report->http_errors++;
    return true;
  }
  if (x->json_response) return report_fail(c->report, "reply: JSON, where Thrift was asked for");
  return check_reply(c, mtr_buf_span(&x->response), &call);
}
