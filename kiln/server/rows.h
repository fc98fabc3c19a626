/* The rows of one statement on their way to the wire: an engine's Arrow stream cut into pages, in
 * the layout that the client reads.
 *
 * Owns the stream. One thread at a time, and not the loop's: the stream may take its time and a
 * page is worth a few milliseconds of compressing. */
#ifndef KILN_SERVER_ROWS_H
#define KILN_SERVER_ROWS_H

#include "arrow/schema.h"
#include "codec/thrift/tcli.h"
#include "kiln/server/engine.h"

struct kiln_rows_options {
  int32_t layout;       /* MTR_ROWSET_ARROW, _COLUMNS or _ROWS */
  int32_t protocol;     /* of the session: older ones are told less of a result */
  int64_t batch_rows;   /* of one record batch, at least 1 */
  int64_t page_batches; /* of one page at most; 0: no such limit */
  int64_t row_limit;    /* of the whole result; negative: none */
  bool lz4, checksum;   /* of Arrow's batches */
  bool volume;          /* the row tells the client to move a file */
};

struct kiln_rows;

/* Takes the stream over, also on failure; a stream whose release is NULL stands for a statement
 * without a result set, which is answered as recorded: a column "Result" and no rows. */
MORTAR_MUST_USE bool kiln_rows_new(struct ArrowArrayStream *stream,
                                   const struct kiln_rows_options *options, struct kiln_rows **out,
                                   struct kiln_error *err);

/* resultSetMetadata; its byte counts are those of the last page. Lives as long as rows. */
struct mtr_TGetResultSetMetadataResp *kiln_rows_metadata(struct kiln_rows *rows);

/* Makes the next page: at most max_rows rows, and no further batch once max_bytes plain bytes are
 * reached. Negative or zero: no such bound from the caller; a bound of our own still holds.
 * *more tells whether rows are left; once it is false the stream has been released. *page lives
 * until the next call. */
MORTAR_MUST_USE bool kiln_rows_page(struct kiln_rows *rows, int64_t max_rows, int64_t max_bytes,
                                    struct mtr_TRowSet **page, bool *more, struct kiln_error *err);

/* The rows of all pages so far. */
int64_t kiln_rows_sent(const struct kiln_rows *rows);

void kiln_rows_free(struct kiln_rows *rows);

#endif
