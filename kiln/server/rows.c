/* Pages from an Arrow stream: how many rows of which batch go into one. Dictionaries and types
 * without a SQL name are refused when the statement starts. Arrays of an engine are trusted. */
#include "kiln/server/rows.h"

#include <errno.h>

#include "arrow/ipc_writer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/page.h"
#include "kiln/server/sqltype.h"
#include "kiln/server/status.h"

/* A client that states no bound gets pages of at most about this size. */
enum { PAGE_BYTES = 64 * 1024 * 1024, SCHEMA_LIMIT = 64 * 1024 * 1024 };

struct kiln_rows {
  struct ArrowArrayStream stream;
  struct kiln_rows_options options;
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct ArrowSchema c_schema; /* the same, as the engine gave it; while rows are left */
  struct mtr_TTableSchema table;
  struct mtr_TGetResultSetMetadataResp metadata;
  struct mtr_buf schema_message; /* empty unless the layout is Arrow */

  struct ArrowArray batch; /* the engine's current one; release NULL: none */
  int64_t at;              /* rows of it that are sent */
  int64_t sent;            /* rows of all pages so far */
  bool ended;

  struct kiln_page *page;
  struct mtr_TRowSet row_set; /* the finished page */
  int64_t page_rows, page_batches;
};

static enum mortar_status stream_fail(struct kiln_rows *rows, int code, struct mortar_error *err)
{
  const char *text = rows->stream.get_last_error(&rows->stream);

  return mtr_fail(err, code == ENOMEM ? MORTAR_NOMEM : MORTAR_SERVER, "%s",
                  text && *text ? text : "the engine failed without a word");
}

/* ---- Schema ------------------------------------------------------------------------------- */

/* What DDL gets on Databricks: a column in the table, none in Arrow. As a Thrift column it has to
 * be there, without rows. */
static enum mortar_status describe_no_result(struct kiln_rows *rows, struct mortar_error *err)
{
  static struct mtr_arrow_field result = {
      .name = "Result", .type = MTR_ARROW_UTF8, .nullable = true, .format = "u"};
  struct mtr_arrow_schema one = {.root = {.name = "", .type = MTR_ARROW_STRUCT, .format = "+s"}};

  rows->ended = true;
  rows->schema = one;
  one.root.child_count = 1;
  one.root.children = &result;
  if (rows->options.layout != MTR_ROWSET_ARROW) rows->schema = one;
  return kiln_sqltype_table(&one, &rows->arena, &rows->table, err);
}

static enum mortar_status describe_stream(struct kiln_rows *rows, struct mortar_error *err)
{
  int code = rows->stream.get_schema(&rows->stream, &rows->c_schema);

  if (code != 0) {
    memset(&rows->c_schema, 0, sizeof rows->c_schema);
    return stream_fail(rows, code, err);
  }
  MTR_TRY(mtr_arrow_schema_import(&rows->c_schema, &rows->arena, &rows->schema, err));
  MTR_TRY(kiln_sqltype_annotate(&rows->schema, &rows->arena, err));
  return kiln_sqltype_table(&rows->schema, &rows->arena, &rows->table, err);
}

static enum mortar_status new_page(struct kiln_rows *rows, struct mortar_error *err)
{
  const struct kiln_rows_options *options = &rows->options;
  struct kiln_page_source source = {&rows->schema, &rows->c_schema};

  if (options->layout == MTR_ROWSET_COLUMNS)
    return kiln_page_columns_new(&source, &rows->page, err);
  if (options->layout == MTR_ROWSET_ROWS) return kiln_page_rows_new(&source, &rows->page, err);
  MTR_TRY(mtr_ipc_write_schema(&rows->schema, &rows->schema_message, err));
  return kiln_page_arrow_new(&source, options, &rows->page, err);
}

/* Hive's protocols know nothing but the table. */
static void fill_metadata(struct kiln_rows *rows)
{
  struct mtr_TGetResultSetMetadataResp *m = &rows->metadata;
  const int32_t protocol = rows->options.protocol;
  bool arrow = rows->options.layout == MTR_ROWSET_ARROW;

  MTR_SET(m, TGetResultSetMetadataResp, status, &kiln_status_success);
  MTR_SET(m, TGetResultSetMetadataResp, schema, &rows->table);
  if (protocol < MTR_PROTOCOL_SPARK_V1) return;
  MTR_SET(m, TGetResultSetMetadataResp, result_format, rows->page->layout->result_format);
  MTR_SET(m, TGetResultSetMetadataResp, lz4_compressed, arrow && rows->options.lz4);
  if (arrow && protocol >= MTR_PROTOCOL_SPARK_V5)
    MTR_SET(m, TGetResultSetMetadataResp, arrow_schema, mtr_buf_span(&rows->schema_message));
  MTR_SET(m, TGetResultSetMetadataResp, cache_lookup_result, 0);
  MTR_SET(m, TGetResultSetMetadataResp, uncompressed_bytes, 0);
  MTR_SET(m, TGetResultSetMetadataResp, compressed_bytes, 0);
  if (protocol >= MTR_PROTOCOL_SPARK_V7)
    MTR_SET(m, TGetResultSetMetadataResp, is_staging_operation, rows->options.volume);
}

static struct kiln_rows *make(struct ArrowArrayStream *stream,
                              const struct kiln_rows_options *options)
{
  struct kiln_rows *rows = mtr_calloc(NULL, 1, sizeof *rows);

  if (!rows) {
    if (stream->release) stream->release(stream);
    return NULL;
  }
  rows->stream = *stream;
  memset(stream, 0, sizeof *stream);
  rows->options = *options;
  mtr_arena_init(&rows->arena, NULL, SCHEMA_LIMIT);
  mtr_buf_init(&rows->schema_message, NULL, "schema message", SCHEMA_LIMIT);
  return rows;
}

bool kiln_rows_new(struct ArrowArrayStream *stream, const struct kiln_rows_options *options,
                   struct kiln_rows **out, struct kiln_error *err)
{
  struct mortar_error error = {0};
  enum mortar_status st = MORTAR_OK;
  struct kiln_rows *rows = make(stream, options);

  *out = NULL;
  if (!rows) {
    st = mtr_fail_nomem(&error, "result");
    goto done;
  }
  if (rows->stream.release)
    MTR_GOTO(describe_stream(rows, &error));
  else
    MTR_GOTO(describe_no_result(rows, &error));
  MTR_GOTO(new_page(rows, &error));
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

static bool page_is_full(const struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes)
{
  return rows->page_rows >= max_rows || rows->page->plain_bytes >= max_bytes ||
         (rows->options.page_batches && rows->page_batches >= rows->options.page_batches);
}

static enum mortar_status fill_page(struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes,
                                    struct mortar_error *err)
{
  int64_t count;

  for (;;) {
    MTR_TRY(look_ahead(rows, err));
    if (rows->ended || page_is_full(rows, max_rows, max_bytes)) return MORTAR_OK;
    count = min_i64(rows->options.batch_rows, rows->batch.length - rows->at);
    count = min_i64(count, max_rows - rows->page_rows);
    if (rows->options.row_limit >= 0)
      count = min_i64(count, rows->options.row_limit - rows->sent - rows->page_rows);
    MTR_TRY(rows->page->layout->append(rows->page, &rows->batch, rows->at, count, err));
    rows->at += count;
    rows->page_rows += count;
    rows->page_batches++;
  }
}

static void begin_page(struct kiln_rows *rows)
{
  rows->page->layout->reset(rows->page);
  rows->page->plain_bytes = rows->page->sent_bytes = 0;
  rows->page_rows = rows->page_batches = 0;
}

static enum mortar_status finish_page(struct kiln_rows *rows, struct mortar_error *err)
{
  memset(&rows->row_set, 0, sizeof rows->row_set);
  MTR_SET(&rows->row_set, TRowSet, start_row_offset, rows->sent);
  MTR_TRY(rows->page->layout->finish(rows->page, &rows->row_set, err));
  rows->metadata.uncompressed_bytes = rows->page->plain_bytes;
  rows->metadata.compressed_bytes = rows->page->sent_bytes;
  rows->sent += rows->page_rows;
  return MORTAR_OK;
}

/* At the end the engine may have its own back, however long the client keeps the operation. */
static void let_go(struct kiln_rows *rows)
{
  drop_batch(rows);
  if (rows->c_schema.release) rows->c_schema.release(&rows->c_schema);
  if (rows->stream.release) rows->stream.release(&rows->stream);
  memset(&rows->stream, 0, sizeof rows->stream);
}

bool kiln_rows_page(struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes,
                    struct mtr_TRowSet **page, bool *more, struct kiln_error *err)
{
  struct mortar_error error = {0};

  begin_page(rows);
  if (max_rows <= 0) max_rows = INT64_MAX;
  if (max_bytes <= 0 || max_bytes > PAGE_BYTES) max_bytes = PAGE_BYTES;
  if (fill_page(rows, max_rows, max_bytes, &error) != MORTAR_OK ||
      finish_page(rows, &error) != MORTAR_OK) {
    kiln_error_from(err, &error);
    return false;
  }
  if (rows->ended) let_go(rows);
  *page = &rows->row_set;
  *more = !rows->ended;
  return true;
}

int64_t kiln_rows_sent(const struct kiln_rows *rows) { return rows->sent; }

void kiln_rows_free(struct kiln_rows *rows)
{
  if (!rows) return;
  let_go(rows);
  if (rows->page) rows->page->layout->free(rows->page);
  mtr_buf_fini(&rows->schema_message);
  mtr_arena_fini(&rows->arena);
  mtr_free(NULL, rows, sizeof *rows);
}
