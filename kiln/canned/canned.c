/* Makes the replies with the server's own rows and codec, keeps them, hands them out; clients that
 * do not read Arrow or do not ask for direct results get the same tables as a stream. Refuses no
 * statement: a text that it does not know gets one row. Parameters of the request are not looked
 * at, nor the bounds of direct results. */
#include "kiln/canned/canned.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "codec/thrift/tcli.h"
#include "kiln/canned/tables.h"
#include "kiln/server/ids.h"
#include "kiln/server/protocol.h"
#include "kiln/server/rows.h"
#include "kiln/server/status.h"

enum { MIXED_ROWS = 1000, TEXT_SIZE = 64, REPLIES = 3 };

/* 1,000,000 rows of the table take 60 MB. */
enum { TABLE_LIMIT = 256 * 1024 * 1024, REPLY_LIMIT = 512 * 1024 * 1024 };

struct reply {
  char text[TEXT_SIZE];
  struct kiln_node *table;
  int64_t batches;
  struct mtr_buf lz4, plain; /* TExecuteStatementResp structs */
};

struct kiln_canned {
  struct reply replies[REPLIES]; /* the last one is for any text */
  size_t guid_offset;            /* the same in all: what stands before the guid has one length */
  int64_t server_time_us;
  struct mtr_arena arena; /* the tables; never changed once made, so any thread may read them */
};

/* ---- A table as a stream ------------------------------------------------------------------ */

struct source {
  struct kiln_node *table;
  int64_t batches, next;
};

static int source_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  const struct source *source = stream->private_data;

  *out = source->table->schema;
  return 0;
}

/* Batch k of n has the rows from rows*k/n on. */
static int source_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct source *source = stream->private_data;
  int64_t rows = source->table->array.length, first, end;

  memset(out, 0, sizeof *out);
  if (source->next >= source->batches) return 0;
  first = rows * source->next / source->batches;
  end = rows * (source->next + 1) / source->batches;
  source->next++;
  *out = source->table->array;
  out->offset = first;
  out->length = end - first;
  return 0;
}

static const char *source_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return NULL;
}

static void source_release(struct ArrowArrayStream *stream) { stream->release = NULL; }

static void source_stream(struct source *source, struct ArrowArrayStream *out)
{
  out->get_schema = source_schema;
  out->get_next = source_next;
  out->get_last_error = source_error;
  out->release = source_release;
  out->private_data = source;
}

/* ---- Replies ------------------------------------------------------------------------------ */

static const uint8_t zero_id[KILN_ID_SIZE];

/* The secret is the same in all replies. The operation is closed when the client hears of it, so
 * there is nothing to protect. */
static const uint8_t secret[KILN_ID_SIZE] = "canned secret 16";

static enum mortar_status write_reply(struct kiln_rows *rows, struct mtr_TRowSet *page,
                                      struct mtr_buf *out, struct mortar_error *err)
{
  struct mtr_TExecuteStatementResp resp = {0};
  struct mtr_TOperationHandle handle = {0};
  struct mtr_THandleIdentifier id = {0};
  struct mtr_TSparkDirectResults direct = {0};
  struct mtr_TGetOperationStatusResp status = {0};
  struct mtr_TFetchResultsResp fetched = {0};
  struct mtr_TCloseOperationResp closed = {0};
  struct mtr_tw wr;

  MTR_SET(&id, THandleIdentifier, guid, mtr_span_of(zero_id, sizeof zero_id));
  MTR_SET(&id, THandleIdentifier, secret, mtr_span_of(secret, sizeof secret));
  MTR_SET(&handle, TOperationHandle, operation_id, &id);
  MTR_SET(&handle, TOperationHandle, operation_type, 0);
  MTR_SET(&handle, TOperationHandle, has_result_set, true);
  MTR_SET(&status, TGetOperationStatusResp, status, &kiln_status_success);
  MTR_SET(&status, TGetOperationStatusResp, operation_state, MTR_OPERATION_FINISHED);
  MTR_SET(&fetched, TFetchResultsResp, status, &kiln_status_success);
  MTR_SET(&fetched, TFetchResultsResp, has_more_rows, false);
  MTR_SET(&fetched, TFetchResultsResp, results, page);
  MTR_SET(&closed, TCloseOperationResp, status, &kiln_status_success);
  MTR_SET(&direct, TSparkDirectResults, operation_status, &status);
  MTR_SET(&direct, TSparkDirectResults, result_set_metadata, kiln_rows_metadata(rows));
  MTR_SET(&direct, TSparkDirectResults, result_set, &fetched);
  MTR_SET(&direct, TSparkDirectResults, close_operation, &closed);
  MTR_SET(&resp, TExecuteStatementResp, status, &kiln_status_success);
  MTR_SET(&resp, TExecuteStatementResp, operation_handle, &handle);
  MTR_SET(&resp, TExecuteStatementResp, direct_results, &direct);
  mtr_tw_init(&wr, out, err);
  mtr_thrift_write_struct(&wr, &mtr_TExecuteStatementResp_info, &resp);
  return mtr_tw_finish(&wr);
}

static enum mortar_status prepare(struct kiln_node *table, int64_t batches, bool lz4, bool checksum,
                                  struct mtr_buf *out, struct mortar_error *err)
{
  struct kiln_rows_options options = {.layout = MTR_ROWSET_ARROW,
                                      .protocol = KILN_PROTOCOL_NEWEST,
                                      .batch_rows = KILN_CANNED_MAX_ROWS,
                                      .row_limit = -1,
                                      .lz4 = lz4,
                                      .checksum = checksum};
  struct source source = {table, batches, 0};
  struct ArrowArrayStream stream = {0};
  struct kiln_error error = {0};
  struct kiln_rows *rows = NULL;
  struct mtr_TRowSet *page = NULL;
  enum mortar_status st = MORTAR_OK;
  bool more = false;

  source_stream(&source, &stream);
  if (!kiln_rows_new(&stream, &options, &rows, &error) ||
      !kiln_rows_page(rows, 0, 0, &page, &more, &error)) {
    st = mtr_fail(err, MORTAR_SERVER, "preparing a reply: %s", error.message);
    goto done;
  }
  if (more) {
    st = mtr_fail(err, MORTAR_LIMIT, "a prepared reply is one page of at most 64 MiB: fewer rows");
    goto done;
  }
  MTR_GOTO(write_reply(rows, page, out, err));
done:
  kiln_rows_free(rows);
  return st;
}

static enum mortar_status prepare_both(struct reply *reply, struct kiln_node *table,
                                       int64_t batches, bool checksum, struct mortar_error *err)
{
  if (!table) return mtr_fail_nomem(err, "table");
  reply->table = table;
  reply->batches = batches;
  MTR_TRY(prepare(table, batches, true, checksum, &reply->lz4, err));
  return prepare(table, batches, false, false, &reply->plain, err);
}

static enum mortar_status prepare_all(struct kiln_canned *canned,
                                      const struct kiln_canned_options *options,
                                      struct mortar_error *err)
{
  struct reply *reply = canned->replies;
  struct mtr_arena *arena = &canned->arena;

  (void)snprintf(reply[0].text, TEXT_SIZE, "SELECT * FROM rows_%lld", (long long)options->rows);
  (void)snprintf(reply[1].text, TEXT_SIZE, "SELECT * FROM mixed");
  (void)snprintf(reply[2].text, TEXT_SIZE, "SELECT 1");
  MTR_TRY(prepare_both(&reply[0], kiln_table_rows(arena, options->rows), options->batches,
                       options->checksum, err));
  MTR_TRY(prepare_both(&reply[1], kiln_table_mixed(arena, MIXED_ROWS), 1, options->checksum, err));
  return prepare_both(&reply[2], kiln_table_one(arena), 1, options->checksum, err);
}

/* The guid is the first run of sixteen zero bytes that has its own length in front of it. */
static size_t find_guid(const struct mtr_buf *reply)
{
  static const uint8_t field[] = {MTR_T_STRING, 0, 1, 0, 0, 0, KILN_ID_SIZE};
  size_t i;

  for (i = 0; i + sizeof field + KILN_ID_SIZE <= reply->size; i++)
    if (memcmp(reply->data + i, field, sizeof field) == 0 &&
        memcmp(reply->data + i + sizeof field, zero_id, KILN_ID_SIZE) == 0)
      return i + sizeof field;
  return 0;
}

static enum mortar_status check_options(const struct kiln_canned_options *options,
                                        struct mortar_error *err)
{
  if (options->rows < 1 || options->rows > KILN_CANNED_MAX_ROWS)
    return mtr_fail(err, MORTAR_INVALID, "1 to %d rows are possible", KILN_CANNED_MAX_ROWS);
  if (options->batches < 1 || options->batches > KILN_CANNED_MAX_BATCHES ||
      options->batches > options->rows)
    return mtr_fail(err, MORTAR_INVALID, "1 to %d batches of one row or more are possible",
                    KILN_CANNED_MAX_BATCHES);
  return MORTAR_OK;
}

enum mortar_status kiln_canned_new(const struct kiln_canned_options *options,
                                   struct kiln_canned **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_canned *canned = NULL;
  int i;

  *out = NULL;
  MTR_TRY(check_options(options, err));
  canned = mtr_calloc(NULL, 1, sizeof *canned);
  if (!canned) return mtr_fail_nomem(err, "canned replies");
  for (i = 0; i < REPLIES; i++) {
    mtr_buf_init(&canned->replies[i].lz4, NULL, "prepared reply", REPLY_LIMIT);
    mtr_buf_init(&canned->replies[i].plain, NULL, "prepared reply", REPLY_LIMIT);
  }
  mtr_arena_init(&canned->arena, NULL, TABLE_LIMIT);
  canned->server_time_us = options->server_time_us;
  MTR_GOTO(prepare_all(canned, options, err));
  canned->guid_offset = find_guid(&canned->replies[0].lz4);
  *out = canned;
  canned = NULL;
done:
  kiln_canned_free(canned);
  return st;
}

void kiln_canned_free(struct kiln_canned *canned)
{
  int i;

  if (!canned) return;
  for (i = 0; i < REPLIES; i++) {
    mtr_buf_fini(&canned->replies[i].lz4);
    mtr_buf_fini(&canned->replies[i].plain);
  }
  mtr_arena_fini(&canned->arena);
  mtr_free(NULL, canned, sizeof *canned);
}

/* ---- The engine --------------------------------------------------------------------------- */

static bool open_session(void *engine, const char *catalog, const char *schema,
                         const struct mtr_thrift_values *settings, void **session,
                         struct kiln_error *err)
{
  (void)catalog;
  (void)schema;
  (void)settings;
  (void)err;
  *session = engine;
  return true;
}

static void close_session(void *engine, void *session)
{
  (void)engine;
  (void)session;
}

static const struct reply *choose(const struct kiln_canned *canned,
                                  const struct kiln_statement *statement)
{
  struct mtr_span sql = mtr_span_of(statement->sql, statement->size);
  int i = 0;

  while (i < REPLIES - 1 && !mtr_text_same(sql, mtr_span_text(canned->replies[i].text)))
    i++;
  return &canned->replies[i];
}

static void free_stream(struct ArrowArrayStream *stream)
{
  mtr_free(NULL, stream->private_data, sizeof(struct source));
  stream->release = NULL;
}

static bool make_stream(const struct reply *reply, struct ArrowArrayStream *out,
                        struct kiln_error *err)
{
  struct source *source = mtr_calloc(NULL, 1, sizeof *source);

  if (!source) {
    kiln_fail(err, "HY001", "out of memory: result");
    return false;
  }
  source->table = reply->table;
  source->batches = reply->batches;
  source_stream(source, out);
  out->release = free_stream;
  return true;
}

static bool execute(void *engine, void *session, const struct kiln_statement *statement,
                    _Atomic(void *) *ctx, struct kiln_answer *answer, struct kiln_error *err)
{
  const struct kiln_canned *canned = engine;
  const struct reply *reply = choose(canned, statement);
  const struct mtr_buf *bytes = statement->lz4 ? &reply->lz4 : &reply->plain;

  (void)session;
  (void)ctx;
  answer->delay_us = canned->server_time_us;
  if (!statement->prepared_ok) return make_stream(reply, &answer->stream, err);
  answer->prepared = bytes->data;
  answer->prepared_size = bytes->size;
  answer->guid_offset = canned->guid_offset;
  return true;
}

const struct kiln_engine kiln_canned_engine = {
    .name = "canned",
    .inline_ok = true,
    .open_session = open_session,
    .close_session = close_session,
    .execute = execute,
};
