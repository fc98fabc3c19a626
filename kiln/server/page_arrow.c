/* Pages of Arrow record batches, as text where the client's protocol is old, each its own LZ4 frame
 * when the client reads that. Batches are cut, never joined. */
#include "arrow/ipc_writer.h"
#include "base/alloc.h"
#include "base/error.h"
#include "codec/lz4/lz4_frame.h"
#include "kiln/server/text_columns.h"

struct arrow_page {
  struct kiln_page base;
  const struct mtr_arrow_schema *schema;
  bool lz4, checksum, old;
  struct kiln_text_columns texts; /* when old */
  struct mtr_buf plain;           /* one record batch before LZ4 */
  struct mtr_buf bytes;           /* the batches of the page, one behind the other */
  struct mtr_buf batches; /* struct mtr_TSparkArrowBatch; spans hold sizes until all are there */
};

static struct arrow_page *page_of(struct kiln_page *base)
{
  return (struct arrow_page *)(void *)base;
}

static enum mortar_status write_batch(struct arrow_page *page, const struct ArrowArray *batch,
                                      int64_t first, int64_t count, struct mortar_error *err)
{
  struct ArrowArray view;

  if (!page->old) return mtr_ipc_write_batch(page->schema, batch, first, count, &page->plain, err);
  MTR_TRY(kiln_text_columns_view(&page->texts, batch, first, count, &view, err));
  return mtr_ipc_write_batch(&page->texts.wire, &view, 0, count, &page->plain, err);
}

/* Until the page is complete its bytes may still move, so a batch's span holds its size only. */
static enum mortar_status append(struct kiln_page *base, const struct ArrowArray *batch,
                                 int64_t first, int64_t count, struct mortar_error *err)
{
  struct arrow_page *page = page_of(base);
  struct mtr_TSparkArrowBatch item = {0};
  size_t start = page->bytes.size;

  mtr_buf_reset(&page->plain);
  MTR_TRY(write_batch(page, batch, first, count, err));
  if (page->lz4)
    MTR_TRY(mtr_lz4_encode(mtr_buf_span(&page->plain), page->checksum, &page->bytes, err));
  else
    MTR_TRY(mtr_buf_append(&page->bytes, page->plain.data, page->plain.size, err));
  MTR_SET(&item, TSparkArrowBatch, batch, mtr_span_of(NULL, page->bytes.size - start));
  MTR_SET(&item, TSparkArrowBatch, row_count, count);
  MTR_TRY(mtr_buf_append(&page->batches, &item, sizeof item, err));
  base->plain_bytes += (int64_t)page->plain.size;
  return MORTAR_OK;
}

static enum mortar_status finish(struct kiln_page *base, struct mtr_TRowSet *out,
                                 struct mortar_error *err)
{
  struct arrow_page *page = page_of(base);
  struct mtr_TSparkArrowBatch *items = (struct mtr_TSparkArrowBatch *)(void *)page->batches.data;
  size_t count = page->batches.size / sizeof *items, at = 0, i;

  (void)err;
  for (i = 0; i < count; i++) {
    items[i].batch.data = page->bytes.data + at;
    at += items[i].batch.size;
  }
  MTR_SET_LIST(out, TRowSet, rows, NULL, 0);
  MTR_SET_LIST(out, TRowSet, arrow_batches, items, count);
  base->sent_bytes = (int64_t)page->bytes.size;
  return MORTAR_OK;
}

static void reset(struct kiln_page *base)
{
  struct arrow_page *page = page_of(base);

  mtr_buf_reset(&page->bytes);
  mtr_buf_reset(&page->batches);
}

static void free_page(struct kiln_page *base)
{
  struct arrow_page *page = page_of(base);

  mtr_buf_fini(&page->batches);
  mtr_buf_fini(&page->bytes);
  mtr_buf_fini(&page->plain);
  if (page->old) kiln_text_columns_fini(&page->texts);
  mtr_free(NULL, page, sizeof *page);
}

static const struct kiln_page_layout layout = {MTR_ROWSET_ARROW, append, finish, reset, free_page};

enum mortar_status kiln_page_arrow_new(const struct kiln_page_source *source,
                                       const struct kiln_rows_options *options,
                                       struct kiln_page **out, struct mortar_error *err)
{
  enum { MAX_BATCHES = 1024 * 1024 };
  enum mortar_status st = MORTAR_OK;
  struct arrow_page *page = mtr_calloc(NULL, 1, sizeof *page);

  *out = NULL;
  if (!page) return mtr_fail_nomem(err, "result page");
  page->base.layout = &layout;
  page->schema = source->schema;
  page->lz4 = options->lz4;
  page->checksum = options->checksum;
  page->old = options->protocol < MTR_PROTOCOL_SPARK_V5;
  mtr_buf_init(&page->plain, NULL, "record batch", KILN_PAGE_HARD_LIMIT);
  mtr_buf_init(&page->bytes, NULL, "result page", KILN_PAGE_HARD_LIMIT);
  mtr_buf_init(&page->batches, NULL, "batches of a page",
               MAX_BATCHES * sizeof(struct mtr_TSparkArrowBatch));
  if (page->old) st = kiln_text_columns_init(&page->texts, source, err);
  if (st == MORTAR_OK)
    *out = &page->base;
  else
    free_page(&page->base);
  return st;
}
