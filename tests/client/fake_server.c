/* The fake warehouse: replies made with our own codec, sent over blocking sockets. */
#include "tests/client/fake_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arrow/ipc_writer.h"
#include "base/be.h"
#include "base/clock.h"
#include "codec/lz4/lz4_frame.h"
#include "codec/thrift/message.h"
#include "codec/thrift/metadata.h"
#include "net/binary.h"
#include "tests/arrow/sample.h"
#include "tests/support/test.h"

/* The server runs in the test's process but is not under test: a failure ends the program. */
static void must(enum mortar_status st)
{
  if (st == MORTAR_OK) return;
  fprintf(stderr, "fake server: %s\n", mortar_status_name(st));
  abort();
}

/* ---- Arrow ---- */

/* These structs live on the stack: nothing to give back. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void import_schema(bool other, struct mtr_arena *arena, struct mtr_arrow_schema *out)
{
  struct ArrowSchema n = {"l", "n", NULL, ARROW_FLAG_NULLABLE, 0, NULL, NULL, release_schema, NULL};
  struct ArrowSchema s = {"u", "s", NULL, ARROW_FLAG_NULLABLE, 0, NULL, NULL, release_schema, NULL};
  struct ArrowSchema *children[2] = {&n, &s};
  struct ArrowSchema root = {"+s", "", NULL, 0, 2, children, NULL, release_schema, NULL};

  if (other) n.name = "m";
  must(mtr_arrow_schema_import(&root, arena, out, NULL));
}

static void write_every_type(const struct fake_batch *b, struct mtr_buf *out)
{
  struct ArrowArray root;
  struct sample s;

  sample_init(&s);
  root = sample_batch(&s, (uint32_t)b->first + 1, b->rows, 0, 20);
  must(mtr_ipc_write_batch(&s.schema, &root, 0, b->rows, out, NULL));
  sample_fini(&s);
}

static void write_batch(const struct mtr_arrow_schema *schema, const struct fake_batch *b,
                        struct mtr_buf *out)
{
  size_t rows = (size_t)b->rows, i;
  int64_t *values = calloc(rows + 1, sizeof *values);
  int32_t *offsets = calloc(rows + 2, sizeof *offsets);
  char *text = calloc(rows + 1, 24);
  uint8_t *valid = calloc(rows / 8 + 1, 1);
  const void *n_buffers[2] = {NULL, values}, *s_buffers[3] = {valid, offsets, text};
  const void *no_buffers[1] = {NULL};
  struct ArrowArray n = {b->rows, 0, 0, 2, 0, n_buffers, NULL, NULL, NULL, NULL};
  struct ArrowArray s = {b->rows, -1, 0, 3, 0, s_buffers, NULL, NULL, NULL, NULL};
  struct ArrowArray *children[2] = {&n, &s};
  struct ArrowArray root = {b->rows, 0, 0, 1, 2, no_buffers, children, NULL, NULL, NULL};

  if (!values || !offsets || !text || !valid) abort();
  for (i = 0; i < rows; i++) {
    int64_t v = b->first + (int64_t)i;
    values[i] = v;
    offsets[i + 1] = offsets[i];
    if (v % 3 == 0) continue;
    valid[i / 8] = (uint8_t)(valid[i / 8] | 1u << i % 8);
    offsets[i + 1] += snprintf(text + offsets[i], 24, "s%lld", (long long)v);
  }
  must(mtr_ipc_write_batch(schema, &root, 0, b->rows, out, NULL));
  free(values);
  free(offsets);
  free(text);
  free(valid);
}

/* schema has the columns n and s. */
static void write_own_schema(const struct mtr_arrow_schema *schema, int how, struct mtr_buf *out)
{
  const struct mtr_arrow_field *n = &schema->root.children[0], *s = &schema->root.children[1];
  struct mtr_arrow_field columns[3] = {*n, *s, *s};
  struct mtr_arrow_schema own = *schema;

  own.root.children = columns;
  if (how == FAKE_SCHEMA_RENAMED) columns[0].name = "of another statement";
  if (how == FAKE_SCHEMA_SWAPPED) {
    columns[0] = *s;
    columns[1] = *n;
  }
  if (how == FAKE_SCHEMA_OTHER_TYPE) {
    columns[0].type = MTR_ARROW_DOUBLE; /* as wide as an INT64 */
    columns[0].format = "g";
  }
  if (how == FAKE_SCHEMA_EXTRA) own.root.child_count = 3;
  if (how == FAKE_SCHEMA_FEWER) own.root.child_count = 1;
  if (how == FAKE_SCHEMA_EMPTY) own.root.child_count = 0;
  must(mtr_ipc_write_schema(&own, out, NULL));
  if (how == FAKE_SCHEMA_CUT) memset(out->data + out->size / 2, 0, out->size / 2);
}

/* Does to the packed batch what b wants. */
static void damage(struct fake_server *fs, const struct fake_batch *b, struct mtr_buf *packed)
{
  const size_t at = (size_t)b->corrupt_at, cut = (size_t)b->cut;

  if (b->corrupt_at < 0 && !b->cut) return;
  fs->packed_size = (long)packed->size;
  if (b->corrupt_at >= 0 && at < packed->size) packed->data[packed->size - 1 - at] ^= 0x55;
  packed->size -= cut < packed->size ? cut : packed->size;
}

/* out is empty. */
static void pack_batch(struct fake_server *fs, const struct mtr_arrow_schema *schema,
                       const struct fake_batch *b, struct mtr_buf *out)
{
  struct mtr_buf plain;
  int i;

  mtr_buf_init(&plain, NULL, "plain batch", 1 << 28);
  if (b->schema) write_own_schema(schema, b->schema, &plain);
  for (i = 0; i < b->end_markers; i++)
    must(mtr_ipc_write_end(&plain, NULL));
  if (fs->every_type)
    write_every_type(b, &plain);
  else
    write_batch(schema, b, &plain);
  if (fs->lz4)
    must(mtr_lz4_encode(mtr_buf_span(&plain), fs->checksum, out, NULL));
  else
    must(mtr_buf_append(out, plain.data, plain.size, NULL));
  damage(fs, b, out);
  mtr_buf_fini(&plain);
}

/* ---- Replies ---- */

struct reply {
  struct mtr_arena arena;
  struct mtr_buf body, bytes; /* the message; what its spans point to */
  bool direct;                /* direct results are asked for */
};

static struct mtr_TStatus *good_status(struct reply *r)
{
  struct mtr_TStatus *st = mtr_arena_alloc(&r->arena, 1, sizeof *st);
  MTR_SET(st, TStatus, status_code, MTR_STATUS_SUCCESS);
  return st;
}

static struct mtr_TStatus *bad_status(struct reply *r, const char *words)
{
  struct mtr_TStatus *st = mtr_arena_alloc(&r->arena, 1, sizeof *st);
  MTR_SET(st, TStatus, status_code, MTR_STATUS_ERROR);
  MTR_SET(st, TStatus, sql_state, mtr_span_text("HY000"));
  MTR_SET(st, TStatus, error_message, mtr_span_text(words));
  return st;
}

/* The same id for all, and a secret that is a number. */
static struct mtr_THandleIdentifier *an_id(struct reply *r, const char *sixteen, int number)
{
  struct mtr_THandleIdentifier *id = mtr_arena_alloc(&r->arena, 1, sizeof *id);
  char secret[17];
  (void)snprintf(secret, sizeof secret, "%016d", number);
  MTR_SET(id, THandleIdentifier, guid, mtr_span_of(sixteen, 16));
  MTR_SET(id, THandleIdentifier, secret, mtr_span_of(mtr_arena_text(&r->arena, secret, 16), 16));
  return id;
}

/* Notes a request as JSON; connections may do so at once. */
static void note(struct fake_server *fs, struct reply *r, const struct mtr_struct_info *info,
                 const void *request, char *out, size_t size)
{
  mtr_buf_reset(&r->bytes);
  must(mtr_thrift_dump(info, request, &r->bytes, NULL));
  (void)pthread_mutex_lock(&fs->fault_lock);
  (void)snprintf(out, size, "%.*s", MTR_SPAN_ARG(mtr_buf_span(&r->bytes)));
  (void)pthread_mutex_unlock(&fs->fault_lock);
}

/* The place of the statement that a FetchResults request names. */
static _Atomic int *pages_of(struct fake_server *fs, struct mtr_span body, struct reply *r)
{
  struct mtr_TFetchResultsReq req;
  struct mtr_message head;
  char number[17] = "";

  must(mtr_message_read(body, &mtr_TFetchResultsReq_info, &req, &r->arena, &head, NULL));
  note(fs, r, &mtr_TFetchResultsReq_info, &req, fs->fetch_asked, sizeof fs->fetch_asked);
  memcpy(number, req.operation_handle->operation_id->secret.data, 16);
  return &fs->page_next[strtol(number, NULL, 10) % FAKE_STATEMENTS_MAX];
}

/* A table of one column for each type of the interface, of "Result" alone, which is what DDL has,
 * or of the columns n and s. */
static struct mtr_TTableSchema *table_schema(struct fake_server *fs, struct reply *r)
{
  static const int32_t two[] = {MTR_TYPE_BIGINT, MTR_TYPE_STRING};
  struct mtr_TTableSchema *table = mtr_arena_alloc(&r->arena, 1, sizeof *table);
  const bool ddl = fs->table == FAKE_TABLE_DDL, columnar = fs->table >= FAKE_TABLE_ARROW;
  size_t i, n = ddl ? 1 : columnar ? 2 : MTR_TYPE_INTERVAL_DAY_TIME + 1;
  struct mtr_TColumnDesc *columns = mtr_arena_alloc(&r->arena, n, sizeof *columns);

  for (i = 0; i < n; i++) {
    struct mtr_TTypeDesc *desc = mtr_arena_alloc(&r->arena, 1, sizeof *desc);
    struct mtr_TTypeEntry *entry = mtr_arena_alloc(&r->arena, 1, sizeof *entry);
    struct mtr_TPrimitiveTypeEntry *type = mtr_arena_alloc(&r->arena, 1, sizeof *type);
    MTR_SET(type, TPrimitiveTypeEntry, type,
            ddl        ? MTR_TYPE_STRING
            : columnar ? two[i]
                       : (int32_t)i);
    MTR_SET(entry, TTypeEntry, primitive_entry, type);
    MTR_SET_LIST(desc, TTypeDesc, types, entry, 1);
    MTR_SET(&columns[i], TColumnDesc, column_name, mtr_span_text("Result"));
    MTR_SET(&columns[i], TColumnDesc, type_desc, desc);
    MTR_SET(&columns[i], TColumnDesc, position, (int32_t)i + 1);
  }
  MTR_SET_LIST(table, TTableSchema, columns, columns, n);
  return table;
}

static struct mtr_TGetResultSetMetadataResp *metadata(struct fake_server *fs, struct reply *r)
{
  struct mtr_TGetResultSetMetadataResp *m = mtr_arena_alloc(&r->arena, 1, sizeof *m);
  struct mtr_arrow_schema schema;
  struct mtr_buf bytes;
  struct sample s;

  sample_init(&s);
  import_schema(fs->other_schema, &r->arena, &schema);
  if (fs->table == FAKE_TABLE_DDL) schema.root.child_count = 0;
  mtr_buf_init(&bytes, NULL, "schema", 1 << 20);
  must(mtr_ipc_write_schema(fs->every_type ? &s.schema : &schema, &bytes, NULL));
  sample_fini(&s);
  MTR_SET(m, TGetResultSetMetadataResp, status, good_status(r));
  if (fs->table != FAKE_TABLE_NONE && !(fs->lacks & FAKE_NO_SCHEMA))
    MTR_SET(m, TGetResultSetMetadataResp, schema, table_schema(fs, r));
  if (fs->table < FAKE_TABLE_ONLY && !(fs->lacks & FAKE_NO_SCHEMA))
    MTR_SET(m, TGetResultSetMetadataResp, arrow_schema,
            mtr_span_of(mtr_arena_text(&r->arena, bytes.data, bytes.size), bytes.size));
  MTR_SET(m, TGetResultSetMetadataResp, lz4_compressed, fs->lz4);
  mtr_buf_fini(&bytes);
  return m;
}

/* What the writer made so far, as values; it begins anew. */
static struct mtr_thrift_values take_values(struct reply *r, uint8_t element, uint32_t count)
{
  struct mtr_thrift_values values = {count, element, MTR_T_STOP, {NULL, 0}};

  values.bytes =
      mtr_span_of(mtr_arena_text(&r->arena, r->bytes.data, r->bytes.size), r->bytes.size);
  mtr_buf_reset(&r->bytes);
  return values;
}

/* The rows of one batch as the columns n and s; declared counts don't exist there. */
static void set_columns(struct reply *r, const struct fake_batch *b, struct mtr_TRowSet *set)
{
  const uint32_t rows = (uint32_t)b->rows;
  struct mtr_TColumn *columns = mtr_arena_alloc(&r->arena, 2, sizeof *columns);
  struct mtr_TI64Column *n = mtr_arena_alloc(&r->arena, 1, sizeof *n);
  struct mtr_TStringColumn *s = mtr_arena_alloc(&r->arena, 1, sizeof *s);
  uint8_t *nulls = mtr_arena_alloc(&r->arena, rows / 8 + 1, 1);
  struct mtr_tw wr;
  char text[24];
  uint32_t i;

  mtr_buf_reset(&r->bytes);
  mtr_tw_init(&wr, &r->bytes, NULL);
  for (i = 0; i < rows; i++)
    mtr_tw_i64(&wr, b->first + (int64_t)i);
  MTR_SET(n, TI64Column, values, take_values(r, MTR_T_I64, rows));
  MTR_SET(n, TI64Column, nulls, mtr_span_of(NULL, 0));
  for (i = 0; i < rows; i++) {
    const int64_t v = b->first + (int64_t)i;
    (void)snprintf(text, sizeof text, "s%lld", (long long)v);
    if (v % 3 == 0) nulls[i / 8] |= (uint8_t)(1u << i % 8);
    mtr_tw_string(&wr, mtr_span_text(v % 3 ? text : ""));
  }
  MTR_SET(s, TStringColumn, values, take_values(r, MTR_T_STRING, rows));
  MTR_SET(s, TStringColumn, nulls, mtr_span_of(nulls, rows / 8 + 1));
  must(mtr_tw_finish(&wr));
  MTR_SET(&columns[0], TColumn, i64_val, n);
  MTR_SET(&columns[1], TColumn, string_val, s);
  MTR_SET_LIST(set, TRowSet, columns, columns, 2);
}

/* The same, row by row. A null lacks its value, or every sixth the whole member. */
static void set_rows(struct reply *r, const struct fake_batch *b, struct mtr_TRowSet *set)
{
  struct mtr_TRow *rows = mtr_arena_alloc(&r->arena, (size_t)b->rows + 1, sizeof *rows);
  char text[24];
  int64_t i;

  for (i = 0; i < b->rows; i++) {
    const int64_t v = b->first + i;
    struct mtr_TColumnValue *cells = mtr_arena_alloc(&r->arena, 2, sizeof *cells);
    struct mtr_TI64Value *n = mtr_arena_alloc(&r->arena, 1, sizeof *n);
    struct mtr_TStringValue *s = mtr_arena_alloc(&r->arena, 1, sizeof *s);
    const size_t size = (size_t)snprintf(text, sizeof text, "s%lld", (long long)v);
    MTR_SET(n, TI64Value, value, v);
    MTR_SET(&cells[0], TColumnValue, i64_val, n);
    if (v % 3)
      MTR_SET(s, TStringValue, value, mtr_span_of(mtr_arena_text(&r->arena, text, size), size));
    if (v % 6) MTR_SET(&cells[1], TColumnValue, string_val, s);
    MTR_SET_LIST(&rows[i], TRow, col_vals, cells, 2);
  }
  MTR_SET_LIST(set, TRowSet, rows, rows, (size_t)b->rows);
}

static void set_batches(struct fake_server *fs, struct reply *r, int first, int count,
                        struct mtr_TRowSet *set)
{
  struct mtr_TSparkArrowBatch *items = mtr_arena_alloc(&r->arena, (size_t)count + 1, sizeof *items);
  struct mtr_arrow_schema schema;
  int n;

  if (fs->lacks & FAKE_NO_BATCHES) return;
  import_schema(fs->other_schema, &r->arena, &schema);
  for (n = 0; n < count; n++) {
    const struct fake_batch *b = &fs->batches[first + n];
    mtr_buf_reset(&r->bytes);
    pack_batch(fs, &schema, b, &r->bytes);
    MTR_SET(&items[n], TSparkArrowBatch, batch,
            mtr_span_of(mtr_arena_text(&r->arena, r->bytes.data, r->bytes.size), r->bytes.size));
    MTR_SET(&items[n], TSparkArrowBatch, row_count, b->declared);
  }
  MTR_SET_LIST(set, TRowSet, arrow_batches, items, (size_t)n);
}

static int least(int a, int b) { return a < b ? a : b; }

static bool is_hive(const struct fake_server *fs)
{
  return fs->version >= 0 && fs->version <= MTR_PROTOCOL_HIVE_V10;
}

static struct mtr_TRowSet *row_set(struct fake_server *fs, struct reply *r, int page)
{
  struct mtr_TRowSet *set = mtr_arena_alloc(&r->arena, 1, sizeof *set);
  const int per = (fs->batch_count + fs->pages - 1) / fs->pages;
  const int first = least(page * per, fs->batch_count);
  const int count = least(per, fs->batch_count - first);
  static const struct fake_batch none;
  const struct fake_batch *one = count ? &fs->batches[first] : &none;
  int64_t first_row = fs->repeats && page ? -1 : 0;
  int k;

  for (k = 0; k < first; k++)
    first_row += fs->batches[k].declared;
  if (!(fs->lacks & FAKE_NO_OFFSET)) MTR_SET(set, TRowSet, start_row_offset, first_row);
  MTR_SET_LIST(set, TRowSet, rows, NULL, 0);
  if (fs->table == FAKE_TABLE_COLUMNS)
    set_columns(r, one, set);
  else if (fs->table == FAKE_TABLE_ROWS)
    set_rows(r, one, set);
  else
    set_batches(fs, r, first, count, set);
  return set;
}

static struct mtr_TFetchResultsResp *fetch_reply(struct fake_server *fs, struct reply *r, int page)
{
  struct mtr_TFetchResultsResp *f = mtr_arena_alloc(&r->arena, 1, sizeof *f);
  const bool more = page + 1 < fs->pages + fs->empty_pages;

  if (fs->fail_page == page + 1) {
    MTR_SET(f, TFetchResultsResp, status, bad_status(r, "the page is lost"));
    return f;
  }
  MTR_SET(f, TFetchResultsResp, status, good_status(r));
  if (fs->more != FAKE_MORE_ABSENT)
    MTR_SET(f, TFetchResultsResp, has_more_rows, more && fs->more == FAKE_MORE_TRUTH);
  if (!(fs->lacks & FAKE_NO_RESULTS)) MTR_SET(f, TFetchResultsResp, results, row_set(fs, r, page));
  return f;
}

static struct mtr_TGetOperationStatusResp *state_reply(struct fake_server *fs, struct reply *r)
{
  struct mtr_TGetOperationStatusResp *s = mtr_arena_alloc(&r->arena, 1, sizeof *s);
  int32_t state = MTR_OPERATION_FINISHED;

  if (fs->failure) state = MTR_OPERATION_ERROR;
  if (fs->live_polls > 0) state = fs->pending ? MTR_OPERATION_PENDING : MTR_OPERATION_RUNNING;
  if (fs->ends_canceled && fs->canceled) state = MTR_OPERATION_CANCELED;
  MTR_SET(s, TGetOperationStatusResp, status, good_status(r));
  MTR_SET(s, TGetOperationStatusResp, operation_state, state);
  if (state == MTR_OPERATION_ERROR) {
    MTR_SET(s, TGetOperationStatusResp, sql_state, mtr_span_text(fs->sqlstate));
    MTR_SET(s, TGetOperationStatusResp, display_message, mtr_span_text(fs->failure));
    MTR_SET(s, TGetOperationStatusResp, error_code, 42);
  }
  if (fs->tells_unchanged) MTR_SET(s, TGetOperationStatusResp, num_modified_rows, 0);
  if (fs->result_set != FAKE_RESULT_TOLD)
    MTR_SET(s, TGetOperationStatusResp, has_result_set,
            state == MTR_OPERATION_FINISHED && fs->result_set == FAKE_RESULT_LATE);
  if (fs->live_polls > 0) fs->live_polls--;
  return s;
}

static void write_reply(struct reply *r, const char *name, int32_t seqid,
                        const struct mtr_struct_info *info, const void *body)
{
  must(mtr_message_write(&r->body, MTR_MESSAGE_REPLY, name, seqid, info, body, NULL));
}

/* Keeps a request as JSON. */
static void keep_request(struct fake_server *fs, struct reply *r, struct mtr_span body,
                         const char *name)
{
  struct mtr_struct_head request[16]; /* more than any of these requests takes */
  const struct mtr_struct_info *info;
  struct mtr_message head;
  char of[64];

  (void)snprintf(of, sizeof of, "T%sReq", name);
  info = mtr_tcli_find(mtr_span_text(of));
  if (!info || info->size > sizeof request) abort();
  must(mtr_message_read(body, info, request, &r->arena, &head, NULL));
  note(fs, r, info, request, fs->asked, sizeof fs->asked);
}

static void reply_open(struct fake_server *fs, struct reply *r, int32_t seqid)
{
  struct mtr_TOpenSessionResp resp = {0};
  struct mtr_TSessionHandle handle = {0};

  fs->opened++;
  MTR_SET(&handle, TSessionHandle, session_id, an_id(r, "SESSION-ID-0001!", 1));
  MTR_SET(&resp, TOpenSessionResp, status, good_status(r));
  MTR_SET(&resp, TOpenSessionResp, server_protocol_version, fs->version);
  MTR_SET(&resp, TOpenSessionResp, session_handle, &handle);
  write_reply(r, "OpenSession", seqid, &mtr_TOpenSessionResp_info, &resp);
}

static void note_execute(struct fake_server *fs, struct mtr_span body, struct reply *r)
{
  struct mtr_TExecuteStatementReq req;
  struct mtr_message head;

  must(mtr_message_read(body, &mtr_TExecuteStatementReq_info, &req, &r->arena, &head, NULL));
  fs->parameters = (int)req.parameters.count;
  r->direct = (req.get_direct_results && !is_hive(fs)) || fs->always_direct;
  note(fs, r, &mtr_TExecuteStatementReq_info, &req, fs->execute_asked, sizeof fs->execute_asked);
}

static void fill_direct(struct fake_server *fs, struct reply *r, _Atomic int *page_next,
                        struct mtr_TSparkDirectResults *direct)
{
  struct mtr_TCloseOperationResp *close = mtr_arena_alloc(&r->arena, 1, sizeof *close);
  const bool ended = fs->live_polls == 0;

  if (!(fs->lacks & FAKE_NO_STATE))
    MTR_SET(direct, TSparkDirectResults, operation_status, state_reply(fs, r));
  if (!ended && fs->early_metadata)
    MTR_SET(direct, TSparkDirectResults, result_set_metadata, metadata(fs, r));
  if (!ended || fs->failure) return;
  if (!fs->no_schema && !(fs->lacks & FAKE_NO_METADATA))
    MTR_SET(direct, TSparkDirectResults, result_set_metadata, metadata(fs, r));
  if (!(fs->lacks & FAKE_NO_PAGE)) {
    MTR_SET(direct, TSparkDirectResults, result_set, fetch_reply(fs, r, 0));
    *page_next = 1;
  }
  MTR_SET(close, TCloseOperationResp, status, good_status(r));
  if ((fs->pages + fs->empty_pages == 1 || fs->closes_too_soon) && !fs->no_schema &&
      !(fs->lacks & FAKE_NO_CLOSE))
    MTR_SET(direct, TSparkDirectResults, close_operation, close);
}

static void reply_execute(struct fake_server *fs, struct reply *r, const char *name, int32_t type,
                          int32_t seqid)
{
  struct mtr_TExecuteStatementResp resp = {0};
  struct mtr_TOperationHandle op = {0};
  struct mtr_TSparkDirectResults direct = {0};
  const int number = ++fs->executed;
  _Atomic int *page_next = &fs->page_next[number % FAKE_STATEMENTS_MAX];

  fs->ran++;
  fs->operation_type = type;
  *page_next = 0; /* until the first page went out with this reply */
  if (fs->exception) {
    must(mtr_message_write_exception(&r->body, name, seqid, 6, "no such thing", NULL));
    return;
  }
  MTR_SET(&op, TOperationHandle, operation_id, an_id(r, "OPERATION-0001!!", number));
  MTR_SET(&op, TOperationHandle, operation_type, type);
  MTR_SET(&op, TOperationHandle, has_result_set, fs->result_set == FAKE_RESULT_TOLD);
  MTR_SET(&resp, TExecuteStatementResp, status, good_status(r));
  MTR_SET(&resp, TExecuteStatementResp, operation_handle, &op);
  if (r->direct) {
    fill_direct(fs, r, page_next, &direct);
    MTR_SET(&resp, TExecuteStatementResp, direct_results, &direct);
  }
  write_reply(r, name, seqid, &mtr_TExecuteStatementResp_info, &resp);
}

/* Hive's servers find an operation by its type, too. */
static void check_type(struct fake_server *fs, struct mtr_span body, struct reply *r,
                       const char *name)
{
  struct mtr_TFetchResultsReq req; /* the operation comes first in all of them */
  struct mtr_message head;

  if (strcmp(name, "CloseSession") == 0) return;
  must(mtr_message_read(body, &mtr_TFetchResultsReq_info, &req, &r->arena, &head, NULL));
  if (req.operation_handle->operation_type != fs->operation_type) fs->misnamed++;
}

static void reply_status_only(struct reply *r, const char *name, int32_t seqid)
{
  struct mtr_TCloseSessionResp resp = {0}; /* the layout of all replies that are a status only */

  MTR_SET(&resp, TCloseSessionResp, status, good_status(r));
  write_reply(r, name, seqid, &mtr_TCloseSessionResp_info, &resp);
}

static void answer_call(struct fake_server *fs, struct mtr_span body, struct reply *r)
{
  enum mortar_metadata_kind kind;
  struct mtr_message head;
  struct mtr_tr rd;
  char name[64];

  mtr_tr_init(&rd, body);
  must(mtr_message_read_head(&rd, &head, NULL));
  snprintf(name, sizeof name, "%.*s", MTR_SPAN_ARG(head.name));
  if (strcmp(name, "OpenSession") == 0) {
    keep_request(fs, r, body, name);
    reply_open(fs, r, head.seqid);
  } else if (strcmp(name, "ExecuteStatement") == 0) {
    note_execute(fs, body, r);
    reply_execute(fs, r, name, 0, head.seqid);
  } else if (mtr_metadata_kind_of(head.name, &kind)) {
    keep_request(fs, r, body, name);
    r->direct = !is_hive(fs) && strstr(fs->asked, "get_direct_results") != NULL;
    reply_execute(fs, r, name, mtr_metadata_operation_type(kind), head.seqid);
  } else if (strcmp(name, "GetOperationStatus") == 0) {
    fs->polled++;
    check_type(fs, body, r, name);
    write_reply(r, name, head.seqid, &mtr_TGetOperationStatusResp_info, state_reply(fs, r));
  } else if (strcmp(name, "FetchResults") == 0) {
    fs->fetched++;
    check_type(fs, body, r, name);
    write_reply(r, name, head.seqid, &mtr_TFetchResultsResp_info,
                fetch_reply(fs, r, (*pages_of(fs, body, r))++));
  } else if (strcmp(name, "GetResultSetMetadata") == 0) {
    fs->schemas++;
    check_type(fs, body, r, name);
    write_reply(r, name, head.seqid, &mtr_TGetResultSetMetadataResp_info, metadata(fs, r));
  } else {
    check_type(fs, body, r, name);
    if (strcmp(name, "CloseSession") == 0) fs->closed++;
    if (strcmp(name, "CancelOperation") == 0) fs->canceled++;
    if (strcmp(name, "CloseOperation") == 0) fs->operations_closed++;
    reply_status_only(r, name, head.seqid);
  }
}

static bool is_call(struct mtr_span body, const char *name)
{
  const size_t n = strlen(name);

  return body.size > 12 + n && body.data[7] == n && memcmp(body.data + 8, name, n) == 0;
}

/* ---- HTTP ---- */

static bool wait_readable(struct fake_server *fs, int fd)
{
  struct pollfd p = {fd, POLLIN, 0};
  int n = 0;

  while (!fs->stop && n == 0)
    n = poll(&p, 1, 20);
  return !fs->stop && n > 0;
}

/* Reads one request; false at the end of the connection. *body is where its body begins. */
static bool read_request(struct fake_server *fs, int fd, struct mtr_buf *in, size_t *body)
{
  size_t length = 0;

  mtr_buf_reset(in);
  *body = 0;
  while (*body == 0 || in->size < *body + length) {
    ssize_t n;
    must(mtr_buf_reserve(in, 65536, NULL));
    if (!wait_readable(fs, fd)) return false;
    n = recv(fd, in->data + in->size, 65535, 0);
    if (n <= 0) return false;
    in->size += (size_t)n;
    in->data[in->size] = '\0';
    if (*body == 0) {
      const char *end = strstr((char *)in->data, "\r\n\r\n");
      const char *len = strstr((char *)in->data, "Content-Length: ");
      if (!end) continue;
      if (!len) abort();
      *body = (size_t)(end - (char *)in->data) + 4;
      length = strtoul(len + 16, NULL, 10);
    }
  }
  return true;
}

/* The same for the binary wires. */
static bool read_message(struct fake_server *fs, int fd, struct mtr_buf *in)
{
  struct mtr_binary binary;
  enum mortar_status st = MORTAR_MORE;

  mtr_buf_reset(in);
  mtr_binary_init(&binary, fs->wire == MTR_WIRE_SASL, 1 << 28);
  while (st == MORTAR_MORE) {
    ssize_t n;
    must(mtr_buf_reserve(in, 65536, NULL));
    if (!wait_readable(fs, fd)) return false;
    n = recv(fd, in->data + in->size, 65536, 0);
    if (n <= 0) return false;
    in->size += (size_t)n;
    st = mtr_binary_feed(&binary, in, (size_t)n, NULL);
  }
  must(st);
  return true;
}

static bool next_request(struct fake_server *fs, int fd, struct mtr_buf *in, size_t *body)
{
  if (fs->wire == MTR_WIRE_HTTP) return read_request(fs, fd, in, body);
  *body = 0;
  return read_message(fs, fd, in);
}

static bool send_flagged(int fd, const void *data, size_t size, int flags)
{
  const char *p = data;

  while (size) {
    ssize_t n = send(fd, p, size, MSG_NOSIGNAL | flags);
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

static bool send_all(int fd, const void *data, size_t size)
{
  return send_flagged(fd, data, size, 0);
}

/* A reply body, in a frame if need be, of which so many bytes are sent. */
static bool send_message(const struct fake_server *fs, int fd, const struct mtr_buf *body,
                         size_t sent)
{
  uint8_t head[MTR_FRAME_HEAD];

  mtr_put_be32(head, (uint32_t)body->size);
  return (fs->wire != MTR_WIRE_SASL || send_all(fd, head, sizeof head)) &&
         send_all(fd, body->data, sent);
}

static bool send_reply(const struct fake_server *fs, int fd, int status, const char *headers,
                       const void *body, size_t size)
{
  char head[1024];
  int n = snprintf(head, sizeof head,
                   "HTTP/1.1 %d Whatever\r\nContent-Length: %zu\r\n"
                   "Content-Type: application/x-thrift\r\n%s\r\n",
                   status, size, headers ? headers : "");

  if (fs->wire != MTR_WIRE_HTTP) {
    const struct mtr_buf message = {.data = (uint8_t *)(uintptr_t)body, .size = size};
    return send_message(fs, fd, &message, size);
  }
  /* Together, so that the client may have both at once. */
  return send_flagged(fd, head, (size_t)n, size ? MSG_MORE : 0) && send_all(fd, body, size);
}

/* Reads the two messages of a login, whose bytes are all there once the user's NUL and a password
 * are, and answers. */
static bool serve_login(struct fake_server *fs, int fd)
{
  const char *words = fs->login_refusal ? fs->login_refusal : "";
  uint8_t bytes[512], answer[5] = {fs->login_refusal ? 3 : 5};
  size_t size = 0;

  while (size < 15 || size < 15 + (size_t)mtr_be32(bytes + 11)) {
    const ssize_t n = wait_readable(fs, fd) ? recv(fd, bytes + size, sizeof bytes - size, 0) : 0;
    if (n <= 0) return false;
    size += (size_t)n;
  }
  fs->logins++;
  mtr_put_be32(answer + 1, (uint32_t)strlen(words));
  return send_all(fd, answer, sizeof answer) && send_all(fd, words, strlen(words)) &&
         !fs->login_refusal;
}

/* ---- Faults ---- */

void fake_server_fault(struct fake_server *fs, const struct fake_fault *fault)
{
  (void)pthread_mutex_lock(&fs->fault_lock);
  fs->fault_requests = 0;
  fs->fault = *fault;
  (void)pthread_mutex_unlock(&fs->fault_lock);
}

/* True when the fault strikes this request. */
static bool fault_strikes(struct fake_server *fs, struct mtr_span body, struct fake_fault *fault)
{
  int n;

  (void)pthread_mutex_lock(&fs->fault_lock);
  *fault = fs->fault;
  (void)pthread_mutex_unlock(&fs->fault_lock);
  if (fault->event == FAKE_NONE || !is_call(body, fault->call)) return false;
  n = fs->fault_requests++;
  if (n < FAKE_TIMES_MAX) fs->fault_times[n] = mtr_clock_now();
  return n >= fault->skip && (fault->last == 0 || n < fault->last);
}

static bool reset(int fd)
{
  const struct linger at_once = {1, 0};

  if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0) abort();
  return false;
}

/* Until the client leaves, or the test lets go. */
static bool hang(struct fake_server *fs, int fd)
{
  struct pollfd p = {fd, POLLIN, 0};
  char byte;

  while (!fs->stop && !fs->let_go)
    if (poll(&p, 1, 10) > 0 && recv(fd, &byte, 1, 0) <= 0) break;
  return false;
}

/* A reply of any call whose status is bad: all of them begin alike. */
static bool send_bad_status(const struct fake_server *fs, int fd, struct reply *r,
                            struct mtr_span request, int32_t code, const char *words)
{
  struct mtr_TCloseSessionResp resp = {0};
  struct mtr_TStatus *status = bad_status(r, words);
  struct mtr_message head;
  struct mtr_tr rd;
  char name[64];

  mtr_tr_init(&rd, request);
  must(mtr_message_read_head(&rd, &head, NULL));
  snprintf(name, sizeof name, "%.*s", MTR_SPAN_ARG(head.name));
  status->status_code = code;
  MTR_SET(&resp, TCloseSessionResp, status, status);
  mtr_buf_reset(&r->body);
  write_reply(r, name, head.seqid, &mtr_TCloseSessionResp_info, &resp);
  return send_reply(fs, fd, 200, NULL, r->body.data, r->body.size);
}

static bool send_exception(const struct fake_server *fs, const char *call, int fd, struct reply *r)
{
  mtr_buf_reset(&r->body);
  must(mtr_message_write_exception(&r->body, call, 1, 6, "no such thing", NULL));
  return send_reply(fs, fd, 200, NULL, r->body.data, r->body.size);
}

static bool send_cut(const struct fake_server *fs, int fd, const struct reply *r)
{
  char head[100];
  const int n =
      snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", r->body.size);

  if (fs->wire == MTR_WIRE_HTTP) (void)send_all(fd, head, (size_t)n);
  (void)send_message(fs, fd, &r->body, r->body.size / 2);
  return false;
}

static bool send_late(const struct fake_server *fs, int delay_ms, int fd, const struct reply *r)
{
  const struct timespec pause = {delay_ms / 1000, delay_ms % 1000 * 1000000};

  nanosleep(&pause, NULL);
  return send_reply(fs, fd, 200, NULL, r->body.data, r->body.size);
}

/* r holds the right reply when the fault lets the call run. False: the connection ends. */
static bool serve_fault(struct fake_server *fs, const struct fake_fault *fault, int fd,
                        struct mtr_span body, struct reply *r)
{
  static const char half_head[] = "HTTP/1.1 200 OK\r\nCont";
  static const char page[] = "<!doctype html><p>Sign in</p>", garbage[] = "rubbish, no Thrift";

  switch (fault->event) {
    case FAKE_RESET:
      return reset(fd);
    case FAKE_CUT:
      return send_cut(fs, fd, r);
    case FAKE_HALF_HEAD:
      return send_all(fd, half_head, sizeof half_head - 1) && reset(fd);
    case FAKE_EMPTY:
      return send_reply(fs, fd, 200, NULL, "", 0);
    case FAKE_WEB_PAGE:
      return send_reply(fs, fd, 200, NULL, page, sizeof page - 1);
    case FAKE_GARBAGE:
      return send_reply(fs, fd, 200, NULL, garbage, sizeof garbage - 1);
    case FAKE_STATUS:
      return send_reply(fs, fd, fault->status, fault->headers, "", 0);
    case FAKE_LATE:
      return send_late(fs, fault->delay_ms, fd, r);
    case FAKE_NOT_STARTED:
      return send_bad_status(fs, fd, r, body, MTR_STATUS_ERROR,
                             "[TEMPORARILY_UNAVAILABLE] starting");
    case FAKE_GONE:
      return send_bad_status(fs, fd, r, body, MTR_STATUS_INVALID_HANDLE, "who is that?");
    case FAKE_LOST:
      return send_bad_status(fs, fd, r, body, MTR_STATUS_ERROR, "Invalid SessionHandle: gone");
    case FAKE_ERROR:
      return send_bad_status(fs, fd, r, body, MTR_STATUS_ERROR, "it does not please me");
    case FAKE_EXCEPTION:
      return send_exception(fs, fault->call, fd, r);
    default:
      return hang(fs, fd);
  }
}

static bool is_execute(struct mtr_span body)
{
  return body.size > 28 && memcmp(body.data + 8, "ExecuteStatement", 16) == 0;
}

static bool serve_one(struct fake_server *fs, int fd, struct mtr_span body)
{
  struct reply r;
  bool execute = is_execute(body), strikes, ok;
  struct fake_fault fault;
  size_t size;

  if (is_call(body, "OpenSession")) {
    fs->owner = fd;
    fs->session_ended = false;
  }
  if (execute && fs->hang) {
    fs->executed++;
    return hang(fs, fd);
  }
  strikes = fault_strikes(fs, body, &fault);
  if (execute && fs->http_status && !strikes) {
    fs->executed++;
    return send_reply(fs, fd, fs->http_status, fs->http_headers, fs->http_body,
                      strlen(fs->http_body));
  }
  r.direct = true;
  mtr_arena_init(&r.arena, NULL, 1 << 30);
  mtr_buf_init(&r.body, NULL, "reply", 1 << 30);
  mtr_buf_init(&r.bytes, NULL, "bytes", 1 << 30);
  if (!strikes || fault.runs) answer_call(fs, body, &r);
  if (fs->session_ended) fault.event = FAKE_LOST;
  size = r.body.size;
  if (execute) fs->reply_size = (long)size;
  if (execute && fs->cut_to >= 0 && (size_t)fs->cut_to < size) size = (size_t)fs->cut_to;
  if (strikes || fs->session_ended)
    ok = serve_fault(fs, &fault, fd, body, &r);
  else
    ok = send_reply(fs, fd, 200, NULL, r.body.data, size) && !fs->close_after_reply;
  mtr_arena_fini(&r.arena);
  mtr_buf_fini(&r.body);
  mtr_buf_fini(&r.bytes);
  return ok;
}

struct connection {
  struct fake_server *fs;
  int fd;
};

static void *serve_connection(void *arg)
{
  struct connection c = *(struct connection *)arg;
  struct mtr_buf in;
  size_t body;

  free(arg);
  mtr_buf_init(&in, NULL, "request", 1 << 28);
  if (c.fs->wire != MTR_WIRE_SASL || serve_login(c.fs, c.fd))
    while (next_request(c.fs, c.fd, &in, &body))
      if (!serve_one(c.fs, c.fd, mtr_span_of(in.data + body, in.size - body))) break;
  if (c.fs->wire != MTR_WIRE_HTTP && c.fs->owner == c.fd) {
    c.fs->session_ended = true;
    c.fs->owner = -1; /* the number may be another connection's soon */
  }
  close(c.fd);
  mtr_buf_fini(&in);
  c.fs->connections--;
  return NULL;
}

static void *accept_loop(void *arg)
{
  struct fake_server *fs = arg;

  while (wait_readable(fs, fs->listener)) {
    struct connection *c = malloc(sizeof *c);
    pthread_t thread;
    if (!c) abort();
    c->fs = fs;
    c->fd = accept(fs->listener, NULL, NULL);
    if (c->fd < 0) { /* the client has left again */
      free(c);
      continue;
    }
    /* Head and body go out apart: without this the second waits for an acknowledgement. */
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    fs->connections++;
    if (pthread_create(&thread, NULL, serve_connection, c) != 0) abort();
    pthread_detach(thread);
  }
  return NULL;
}

void fake_server_start(struct fake_server *fs)
{
  struct sockaddr_in addr = {.sin_family = AF_INET};
  socklen_t size = sizeof addr;

  memset(fs, 0, sizeof *fs);
  (void)pthread_mutex_init(&fs->fault_lock, NULL);
  fs->cut_to = -1;
  fs->version = MTR_PROTOCOL_SPARK_V8;
  fs->pages = 1;
  fs->lz4 = true;
  fake_server_batches(fs, 1, 3);
  addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fs->listener = socket(AF_INET, SOCK_STREAM, 0);
  if (fs->listener < 0 || bind(fs->listener, (struct sockaddr *)&addr, sizeof addr) != 0 ||
      listen(fs->listener, 256) != 0 ||
      getsockname(fs->listener, (struct sockaddr *)&addr, &size) != 0)
    abort();
  fs->port = ntohs(addr.sin_port);
  if (pthread_create(&fs->thread, NULL, accept_loop, fs) != 0) abort();
}

void fake_server_wait_closed(const struct fake_server *fs)
{
  const struct timespec pause = {0, 1000000};

  while (fs->connections > 0)
    nanosleep(&pause, NULL);
}

void fake_server_stop(struct fake_server *fs)
{
  fs->stop = true;
  pthread_join(fs->thread, NULL);
  close(fs->listener);
  fake_server_wait_closed(fs);
  (void)pthread_mutex_destroy(&fs->fault_lock);
}

void fake_server_batches(struct fake_server *fs, int count, int64_t rows)
{
  int i;

  fs->batch_count = count;
  for (i = 0; i < count; i++)
    fs->batches[i] =
        (struct fake_batch){.first = i * rows, .rows = rows, .declared = rows, .corrupt_at = -1};
}
