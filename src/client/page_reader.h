/* Reads the Arrow batches of one page: decodes them, dozens at a time, into one slab, then hands
 * out views of it.
 *
 *     page    | b0 | b1 | b2 | ...            compressed, in the channel's reply buffer
 *     window  [ b0 | b1 | b2 ]                decoded, each 64-byte aligned, in one slab
 *     spot      where one batch lies in the slab, and how many rows were declared for it
 *
 * A page up to window_bytes is one window: then the channel is free as soon as the page is loaded.
 * Rows in a backend's own form become one batch, built whole.
 * A Schema message before a batch must say what the result's does.
 * Declared row counts rule: a batch may hold more rows (they are cut), never fewer (an error). */
#ifndef MTR_CLIENT_PAGE_READER_H
#define MTR_CLIENT_PAGE_READER_H

#include "arrow/ipc_reader.h"
#include "client/backend.h"
#include "client/shape.h"

struct mtr_spot {
  size_t offset, size; /* in the slab */
  int64_t rows;        /* declared, not yet handed out */
  bool ended;          /* the last message was an end marker */
};

struct mtr_page_reader {
  const struct mortar_alloc *alloc;
  struct mtr_page page;
  struct ArrowArray built; /* of the page's own rows, not handed out yet; release NULL: none */
  size_t packed_next;      /* first batch of the page that is not decoded */
  struct mtr_slab *slab;
  struct mtr_spot *spots;
  size_t spot_count, spot_next, spot_capacity;
  int64_t batch_number; /* of the result, for errors */
};

void mtr_page_reader_init(struct mtr_page_reader *rd, const struct mortar_alloc *alloc);
void mtr_page_reader_fini(struct mtr_page_reader *rd);

/* As after init, but keeps the memory that is small and its own. */
void mtr_page_reader_rest(struct mtr_page_reader *rd);

/* Takes a page that lies in the channel's buffers; the last one must be used up. */
void mtr_page_reader_start(struct mtr_page_reader *rd, const struct mtr_page *page);

/* True while batches of the page are not decoded: ch must stay as it is, and decode be called
 * when next gives nothing more. */
bool mtr_page_reader_wants_decode(const struct mtr_page_reader *rd);

/* Decodes the next window. */
MORTAR_MUST_USE enum mortar_status mtr_page_reader_decode(struct mtr_page_reader *rd,
                                                          const struct mtr_arrow_schema *schema,
                                                          struct mtr_channel *ch,
                                                          size_t window_bytes,
                                                          struct mortar_error *err);

/* Rows declared for the batch that next would give of what is decoded; 0: the window is used up. */
int64_t mtr_page_reader_peek(const struct mtr_page_reader *rd);

/* The next batch with rows; out->release NULL when the window is used up. */
MORTAR_MUST_USE enum mortar_status mtr_page_reader_next(struct mtr_page_reader *rd,
                                                        const struct mtr_shape *shape,
                                                        struct ArrowArray *out,
                                                        struct mortar_error *err);

#endif
