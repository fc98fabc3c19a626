/* From decoded reply structs to a mtr_answer. Waits for nothing and sends nothing. */
#include "client/thrift/answer.h"

#include "arrow/ipc_reader.h"
#include "base/error.h"
#include "client/thrift/call.h"
#include "client/thrift/columns.h"
#include "client/thrift/row_list.h"
#include "client/thrift/table_schema.h"
#include "client/thrift/text_batch.h"

enum mortar_status mtr_thrift_take_handle(const struct mtr_THandleIdentifier *id,
                                          struct mtr_handle *out, struct mortar_error *err)
{
  memset(out, 0, sizeof *out);
  if (!id || id->guid.size == 0)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's reply names no handle");
  if (id->guid.size > MTR_HANDLE_PART_MAX || id->secret.size > MTR_HANDLE_PART_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "the server's handle of %zu and %zu bytes is too long",
                    id->guid.size, id->secret.size);
  memcpy(out->guid, id->guid.data, id->guid.size);
  if (id->secret.size) memcpy(out->secret, id->secret.data, id->secret.size);
  out->guid_size = (uint8_t)id->guid.size;
  out->secret_size = (uint8_t)id->secret.size;
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_take_operation(const struct mtr_TOperationHandle *operation,
                                             struct mtr_handle *out, struct mortar_error *err)
{
  MTR_TRY(mtr_thrift_take_handle(operation->operation_id, out, err));
  out->type = operation->operation_type;
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_take_state(const struct mtr_TGetOperationStatusResp *state,
                                         struct mtr_answer *out, struct mortar_error *err)
{
  bool known = MTR_HAS(state, TGetOperationStatusResp, operation_state);

  MTR_TRY(mtr_thrift_check(state->status, err));
  if (MTR_HAS(state, TGetOperationStatusResp, num_modified_rows))
    out->rows_affected = state->num_modified_rows;
  out->pending = !known || state->operation_state == MTR_OPERATION_INITIALIZED ||
                 state->operation_state == MTR_OPERATION_PENDING;
  out->live = out->pending || state->operation_state == MTR_OPERATION_RUNNING;
  /* Hive knows it after compiling only, when the handle was sent long ago. */
  if (!out->live && MTR_HAS(state, TGetOperationStatusResp, has_result_set))
    out->more = state->has_result_set;
  if (out->live || state->operation_state == MTR_OPERATION_FINISHED) return MORTAR_OK;
  return mtr_thrift_operation_failed(state, err);
}

static enum mortar_status take_metadata(const struct mtr_TGetResultSetMetadataResp *meta,
                                        struct mtr_arena *arena, struct mtr_answer *out,
                                        struct mortar_error *err)
{
  MTR_TRY(mtr_thrift_check(meta->status, err));
  out->page.lz4 = meta->lz4_compressed;
  out->volume = meta->is_staging_operation;
  out->has_schema = meta->schema || MTR_HAS(meta, TGetResultSetMetadataResp, arrow_schema);
  out->schema = meta->arrow_schema;
  out->page.read =
      MTR_HAS(meta, TGetResultSetMetadataResp, arrow_schema) ? NULL : mtr_thrift_read_batch;
  if (MTR_HAS(meta, TGetResultSetMetadataResp, arrow_schema) &&
      meta->result_format != MTR_ROWSET_COLUMNS && meta->result_format != MTR_ROWSET_ROWS)
    return MORTAR_OK;
  return mtr_thrift_table_schema(meta->schema, arena, &out->schema, err);
}

/* What DDL gives: an Arrow schema without fields beside a Thrift schema with one column, "Result",
 * which rules then. */
static enum mortar_status look_behind_nothing(const struct mtr_TGetResultSetMetadataResp *meta,
                                              struct mtr_arena *arena, struct mtr_answer *out,
                                              struct mortar_error *err)
{
  enum { SHORTEST_FIELD = 160 };
  struct mtr_arrow_schema schema;

  if (out->schema.data != meta->arrow_schema.data || out->schema.size == 0 || !meta->schema ||
      out->schema.size >= SHORTEST_FIELD)
    return MORTAR_OK;
  MTR_TRY(mtr_ipc_read_schema(out->schema, arena, &schema, err));
  if (schema.root.child_count > 0) return MORTAR_OK;
  return mtr_thrift_table_schema(meta->schema, arena, &out->schema, err);
}

enum mortar_status mtr_thrift_take_metadata(const struct mtr_TGetResultSetMetadataResp *meta,
                                            struct mtr_arena *arena, struct mtr_answer *out,
                                            struct mortar_error *err)
{
  MTR_TRY(take_metadata(meta, arena, out, err));
  return look_behind_nothing(meta, arena, out, err);
}

/* The Thrift schema rules where the rows came as columns, too. */
static enum mortar_status prefer_columns(const struct mtr_TGetResultSetMetadataResp *meta,
                                         struct mtr_arena *arena, struct mtr_answer *out,
                                         struct mortar_error *err)
{
  const bool arrow = out->schema.data == meta->arrow_schema.data && out->schema.size > 0;

  if (arrow && meta->schema && out->page.own_rows > 0)
    return mtr_thrift_table_schema(meta->schema, arena, &out->schema, err);
  return out->page.batch_count ? MORTAR_OK : look_behind_nothing(meta, arena, out, err);
}

/* Those of no rows may have no bytes either, and are left out. */
static enum mortar_status take_batches(const struct mtr_TRowSet *set, struct mtr_arena *arena,
                                       struct mtr_page *page, struct mortar_error *err)
{
  size_t i, n = set->arrow_batches.count;

  page->batches = mtr_arena_alloc(arena, n + 1, sizeof *page->batches);
  if (!page->batches) return mtr_fail_nomem(err, "list of batches");
  for (i = 0; i < n; i++) {
    const struct mtr_TSparkArrowBatch *b = &set->arrow_batches.items[i];
    if (!MTR_HAS(b, TSparkArrowBatch, batch) || !MTR_HAS(b, TSparkArrowBatch, row_count) ||
        b->row_count < 0)
      return mtr_fail(err, MORTAR_PROTOCOL, "batch %zu of the page has no bytes or no row count",
                      i);
    if (b->row_count == 0) continue;
    page->batches[page->batch_count].bytes = b->batch;
    page->batches[page->batch_count++].rows = b->row_count;
  }
  return MORTAR_OK;
}

/* HiveServer2 begins every page at row 0, so 0 says nothing. */
static int64_t first_row(const struct mtr_TRowSet *set)
{
  return MTR_HAS(set, TRowSet, start_row_offset) && set->start_row_offset ? set->start_row_offset
                                                                          : -1;
}

/* A server decides page by page, whatever its metadata says. */
static enum mortar_status take_set(const struct mtr_TRowSet *set, struct mtr_arena *arena,
                                   struct mtr_page *page, struct mortar_error *err)
{
  if (set->result_links.count)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "the server sends this result as links to files");
  if (set->binary_columns.size)
    return mtr_fail(err, MORTAR_UNSUPPORTED,
                    "the server sends this result as columns packed by its tasks; switch "
                    "hive.server2.thrift.resultset.serialize.in.tasks off there");
  page->first_row = first_row(set);
  if (set->arrow_batches.count) return take_batches(set, arena, page, err);
  if (set->columns.count) return mtr_thrift_take_columns(set, arena, page, err);
  if (set->rows.count) mtr_thrift_take_row_list(set, page);
  return MORTAR_OK;
}

/* A server whose word counts, and that gives it, is believed. Of others the first page without rows
 * is the last one, unless they say that there are more. */
static bool more_rows(const struct mtr_TFetchResultsResp *rows, bool reliable_more,
                      const struct mtr_page *page)
{
  if (reliable_more && MTR_HAS(rows, TFetchResultsResp, has_more_rows)) return rows->has_more_rows;
  return rows->has_more_rows || mtr_page_has_rows(page);
}

enum mortar_status mtr_thrift_take_rows(const struct mtr_TFetchResultsResp *rows,
                                        bool reliable_more, struct mtr_arena *arena,
                                        struct mtr_answer *out, struct mortar_error *err)
{
  const struct mtr_TRowSet *set = rows->results;

  MTR_TRY(mtr_thrift_check(rows->status, err));
  if (rows->result_set_metadata) MTR_TRY(take_metadata(rows->result_set_metadata, arena, out, err));
  out->has_page = true;
  out->page.batch_count = 0;
  out->page.own_rows = 0;
  out->page.first_row = -1;
  if (set) MTR_TRY(take_set(set, arena, &out->page, err));
  if (rows->result_set_metadata && !out->page.batch_count)
    MTR_TRY(look_behind_nothing(rows->result_set_metadata, arena, out, err));
  out->more = more_rows(rows, reliable_more, &out->page);
  return MORTAR_OK;
}

/* A server that says in one reply that the operation is closed and that it has more rows is asked
 * for them all the same: it gives them or an error, and none is lost without a word. */
static void settle_closed(const struct mtr_TSparkDirectResults *direct, bool reliable_more,
                          struct mtr_answer *out)
{
  const struct mtr_TFetchResultsResp *rows = direct->result_set;
  const bool says_more = reliable_more && rows && rows->has_more_rows;

  out->closed = !says_more && mtr_thrift_check(direct->close_operation->status, NULL) == MORTAR_OK;
  if (out->closed) out->more = false;
}

/* Rows, or the word that the operation is closed, mean that the statement has ended, whatever its
 * state says or leaves out. What comes with one that goes on is asked for again at its end: the
 * reply's bytes do not outlive the polls. */
static void settle_live(const struct mtr_TSparkDirectResults *direct, struct mtr_answer *out)
{
  if (direct->result_set || out->closed) out->live = false;
  if (out->live) out->has_schema = false;
}

static enum mortar_status take_direct(const struct mtr_TSparkDirectResults *direct,
                                      bool reliable_more, struct mtr_arena *arena,
                                      struct mtr_answer *out, struct mortar_error *err)
{
  /* A failed statement's operation may be closed by the server as well: look at that first. */
  out->closed = direct->close_operation != NULL;
  if (direct->operation_status) MTR_TRY(mtr_thrift_take_state(direct->operation_status, out, err));
  if (direct->result_set_metadata)
    MTR_TRY(take_metadata(direct->result_set_metadata, arena, out, err));
  if (direct->result_set)
    MTR_TRY(mtr_thrift_take_rows(direct->result_set, reliable_more, arena, out, err));
  if (direct->result_set_metadata)
    MTR_TRY(prefer_columns(direct->result_set_metadata, arena, out, err));
  if (out->closed) settle_closed(direct, reliable_more, out);
  settle_live(direct, out);
  return MORTAR_OK;
}

enum mortar_status mtr_thrift_take_execute(const struct mtr_TExecuteStatementResp *resp,
                                           bool reliable_more, struct mtr_arena *arena,
                                           struct mtr_answer *out, struct mortar_error *err)
{
  out->live = true;
  out->more = true;
  out->rows_affected = -1;
  if (!resp->operation_handle)
    return mtr_fail(err, MORTAR_PROTOCOL, "the reply names no operation");
  MTR_TRY(mtr_thrift_take_operation(resp->operation_handle, &out->operation, err));
  /* A statement without a result set has nothing to fetch, ever. */
  if (MTR_HAS(resp->operation_handle, TOperationHandle, has_result_set) &&
      !resp->operation_handle->has_result_set)
    out->more = false;
  if (!resp->direct_results) return MORTAR_OK;
  return take_direct(resp->direct_results, reliable_more, arena, out, err);
}
