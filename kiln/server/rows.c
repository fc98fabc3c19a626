/* Pages from an Arrow stream. Batches are cut, never joined; dictionaries and types without a SQL
 * name are refused when the statement starts. Arrays of an engine are trusted. */
#include "kiln/server/rows.h"

#include <errno.h>

#include "arrow/ipc_writer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "codec/lz4/lz4_frame.h"
#include "kiln/server/sqltype.h"
#include "kiln/server/status.h"

/* A client that states no bound gets pages of at most about this size; the hard limit leaves room
 * for one batch of very long values beyond it and keeps Thrift's signed lengths far away. */
enum { PAGE_BYTES = 64 * 1024 * 1024, PAGE_HARD_LIMIT = 1024 * 1024 * 1024 };
enum { SCHEMA_LIMIT = 64 * 1024 * 1024, MAX_BATCHES = 1024 * 1024 };

struct kiln_rows {
  struct ArrowArrayStream stream;
  struct kiln_rows_options options;
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct mtr_TTableSchema table;
  struct mtr_TGetResultSetMetadataResp metadata;
  struct mtr_buf schema_message;

  struct ArrowArray batch; /* the engine's current one; release NULL: none */
  int64_t at;              /* rows of it that are sent */
  int64_t sent;            /* rows of all pages so far */
  bool ended;

  struct mtr_buf plain;   /* one record batch before LZ4 */
  struct mtr_buf bytes;   /* the batches of the page, one behind the other */
  struct mtr_buf batches; /* struct mtr_TSparkArrowBatch; spans hold offsets until all are there */
  struct mtr_TRowSet page;
  int64_t page_rows, plain_bytes;
};

static enum mortar_status stream_fail(struct kiln_rows *rows, int code, struct mortar_error *err)
{
  const char *text = rows->stream.get_last_error(&rows->stream);

  return mtr_fail(err, code == ENOMEM ? MORTAR_NOMEM : MORTAR_SERVER, "%s",
                  text && *text ? text : "the engine failed without a word");
}

/* ---- Schema ------------------------------------------------------------------------------- */

/* Columns of the table without a result set: what DDL gets on Databricks. */
static enum mortar_status describe_no_result(struct kiln_rows *rows, struct mortar_error *err)
{
  static struct mtr_arrow_field result = {
      .name = "Result", .type = MTR_ARROW_UTF8, .nullable = true, .format = "u"};
  struct mtr_arrow_schema one = {.root = {.name = "", .type = MTR_ARROW_STRUCT, .format = "+s"}};

  rows->ended = true;
  rows->schema = one;
  one.root.child_count = 1;
  one.root.children = &result;
  return kiln_sqltype_table(&one, &rows->arena, &rows->table, err);
}

static enum mortar_status describe_stream(struct kiln_rows *rows, struct mortar_error *err)
{
  struct ArrowSchema schema = {0};
  enum mortar_status st = MORTAR_OK;
  int code = rows->stream.get_schema(&rows->stream, &schema);

  if (code != 0) return stream_fail(rows, code, err);
  MTR_GOTO(mtr_arrow_schema_import(&schema, &rows->arena, &rows->schema, err));
  MTR_GOTO(kiln_sqltype_annotate(&rows->schema, &rows->arena, err));
  MTR_GOTO(kiln_sqltype_table(&rows->schema, &rows->arena, &rows->table, err));
done:
  if (schema.release) schema.release(&schema);
  return st;
}

static void fill_metadata(struct kiln_rows *rows)
{
  struct mtr_TGetResultSetMetadataResp *m = &rows->metadata;

  MTR_SET(m, TGetResultSetMetadataResp, status, &kiln_status_success);
  MTR_SET(m, TGetResultSetMetadataResp, schema, &rows->table);
  MTR_SET(m, TGetResultSetMetadataResp, result_format, MTR_ROWSET_ARROW);
  MTR_SET(m, TGetResultSetMetadataResp, lz4_compressed, rows->options.lz4);
  MTR_SET(m, TGetResultSetMetadataResp, arrow_schema, mtr_buf_span(&rows->schema_message));
  MTR_SET(m, TGetResultSetMetadataResp, cache_lookup_result, 0);
  MTR_SET(m, TGetResultSetMetadataResp, uncompressed_bytes, 0);
  MTR_SET(m, TGetResultSetMetadataResp, compressed_bytes, 0);
  MTR_SET(m, TGetResultSetMetadataResp, is_staging_operation, false);
}

bool kiln_rows_new(struct ArrowArrayStream *stream, const struct kiln_rows_options *options,
                   struct kiln_rows **out, struct kiln_error *err)
{
  struct mortar_error error = {0};
  enum mortar_status st = MORTAR_OK;
  struct kiln_rows *rows = mtr_calloc(NULL, 1, sizeof *rows);

  *out = NULL;
  if (!rows) {
    if (stream->release) stream->release(stream);
    st = mtr_fail_nomem(&error, "result");
    goto done;
  }
  rows->stream = *stream;
  memset(stream, 0, sizeof *stream);
  rows->options = *options;
  mtr_arena_init(&rows->arena, NULL, SCHEMA_LIMIT);
  mtr_buf_init(&rows->schema_message, NULL, "schema message", SCHEMA_LIMIT);
  mtr_buf_init(&rows->plain, NULL, "record batch", PAGE_HARD_LIMIT);
  mtr_buf_init(&rows->bytes, NULL, "result page", PAGE_HARD_LIMIT);
  mtr_buf_init(&rows->batches, NULL, "list of batches",
               MAX_BATCHES * sizeof(struct mtr_TSparkArrowBatch));
  if (rows->stream.release)
    MTR_GOTO(describe_stream(rows, &error));
  else
    MTR_GOTO(describe_no_result(rows, &error));
  MTR_GOTO(mtr_ipc_write_schema(&rows->schema, &rows->schema_message, &error));
  fill_metadata(rows);
  *out = rows;
  rows = NULL;
done:
  kiln_rows_free(rows);
  if (st != MORTAR_OK) kiln_error_from(err, &error);
  return st == MORTAR_OK;
}

struct mtr_TGetResultSetMetadataResp *kiln_rows_metadata(struct kiln_rows *rows)
{
  return &rows->metadata;
}

/* ---- Pages -------------------------------------------------------------------------------- */

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }

static void drop_batch(struct kiln_rows *rows)
{
  if (rows->batch.release) rows->batch.release(&rows->batch);
  memset(&rows->batch, 0, sizeof rows->batch);
  rows->at = 0;
}

/* Sees to it that the current batch has rows to send, or that the end is known. */
static enum mortar_status look_ahead(struct kiln_rows *rows, struct mortar_error *err)
{
  int code;

  if (rows->options.row_limit >= 0 && rows->sent + rows->page_rows >= rows->options.row_limit)
    rows->ended = true;
  while (!rows->ended && (!rows->batch.release || rows->at >= rows->batch.length)) {
    drop_batch(rows);
    code = rows->stream.get_next(&rows->stream, &rows->batch);
    if (code != 0) return stream_fail(rows, code, err);
    rows->ended = !rows->batch.release;
  }
  return MORTAR_OK;
}

/* Until the page is complete its bytes may still move, so a batch's span holds its offset only. */
static enum mortar_status append_batch(struct kiln_rows *rows, int64_t count,
                                       struct mortar_error *err)
{
  struct mtr_TSparkArrowBatch item = {0};
  size_t start = rows->bytes.size;

  mtr_buf_reset(&rows->plain);
  MTR_TRY(mtr_ipc_write_batch(&rows->schema, &rows->batch, rows->at, count, &rows->plain, err));
  if (rows->options.lz4)
    MTR_TRY(mtr_lz4_encode(mtr_buf_span(&rows->plain), rows->options.checksum, &rows->bytes, err));
  else
    MTR_TRY(mtr_buf_append(&rows->bytes, rows->plain.data, rows->plain.size, err));
  MTR_SET(&item, TSparkArrowBatch, batch, mtr_span_of(NULL, rows->bytes.size - start));
  MTR_SET(&item, TSparkArrowBatch, row_count, count);
  MTR_TRY(mtr_buf_append(&rows->batches, &item, sizeof item, err));
  rows->at += count;
  rows->page_rows += count;
  rows->plain_bytes += (int64_t)rows->plain.size;
  return MORTAR_OK;
}

static enum mortar_status fill_page(struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes,
                                    struct mortar_error *err)
{
  int64_t count;

  for (;;) {
    MTR_TRY(look_ahead(rows, err));
    if (rows->ended || rows->page_rows >= max_rows || rows->plain_bytes >= max_bytes)
      return MORTAR_OK;
    count = min_i64(rows->options.batch_rows, rows->batch.length - rows->at);
    count = min_i64(count, max_rows - rows->page_rows);
    if (rows->options.row_limit >= 0)
      count = min_i64(count, rows->options.row_limit - rows->sent - rows->page_rows);
    MTR_TRY(append_batch(rows, count, err));
  }
}

static void finish_page(struct kiln_rows *rows)
{
  struct mtr_TSparkArrowBatch *items = (struct mtr_TSparkArrowBatch *)(void *)rows->batches.data;
  size_t count = rows->batches.size / sizeof *items, at = 0, i;

  for (i = 0; i < count; i++) {
    items[i].batch.data = rows->bytes.data + at;
    at += items[i].batch.size;
  }
  memset(&rows->page, 0, sizeof rows->page);
  MTR_SET(&rows->page, TRowSet, start_row_offset, rows->sent);
  KILN_SET_LIST(&rows->page, TRowSet, rows, NULL, 0);
  KILN_SET_LIST(&rows->page, TRowSet, arrow_batches, items, count);
  rows->metadata.uncompressed_bytes = rows->plain_bytes;
  rows->metadata.compressed_bytes = (int64_t)rows->bytes.size;
  rows->sent += rows->page_rows;
}

/* At the end the engine may have its stream back, however long the client keeps the operation. */
static void let_go(struct kiln_rows *rows)
{
  drop_batch(rows);
  if (rows->stream.release) rows->stream.release(&rows->stream);
  memset(&rows->stream, 0, sizeof rows->stream);
}

bool kiln_rows_page(struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes,
                    struct mtr_TRowSet **page, bool *more, struct kiln_error *err)
{
  struct mortar_error error = {0};

  mtr_buf_reset(&rows->bytes);
  mtr_buf_reset(&rows->batches);
  rows->page_rows = rows->plain_bytes = 0;
  if (max_rows <= 0) max_rows = INT64_MAX;
  if (max_bytes <= 0 || max_bytes > PAGE_BYTES) max_bytes = PAGE_BYTES;
  if (fill_page(rows, max_rows, max_bytes, &error) != MORTAR_OK) {
    kiln_error_from(err, &error);
    return false;
  }
  finish_page(rows);
  if (rows->ended) let_go(rows);
  *page = &rows->page;
  *more = !rows->ended;
  return true;
}

int64_t kiln_rows_sent(const struct kiln_rows *rows) { return rows->sent; }

void kiln_rows_free(struct kiln_rows *rows)
{
  if (!rows) return;
  let_go(rows);
  mtr_buf_fini(&rows->batches);
  mtr_buf_fini(&rows->bytes);
  mtr_buf_fini(&rows->plain);
  mtr_buf_fini(&rows->schema_message);
  mtr_arena_fini(&rows->arena);
  mtr_free(NULL, rows, sizeof *rows);
}
