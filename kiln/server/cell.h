/* One value of an Arrow column as Thrift's columns and rows carry it.
 *
 *     BOOLEAN, TINYINT to BIGINT   as they are
 *     FLOAT, DOUBLE                a double; a FLOAT by way of its shortest decimal text: 1.1
 * is 1.1 STRING, BINARY               their bytes DECIMAL                      "12.30", all digits
 * of the scale DATE, TIMESTAMP              "2013-01-01", "2013-01-01 05:00:00.5" in UTC, no zone
 *     INTERVAL                     "1-2" and "1 02:03:04.000000000"
 *     ARRAY, MAP, STRUCT           JSON, see mortar_format_cell
 *     VOID                         null
 *
 * Trusts arrays as an engine gives them, and the schema, which has been checked. */
#ifndef KILN_SERVER_CELL_H
#define KILN_SERVER_CELL_H

#include "base/buf.h"
#include "kiln/server/page.h"

enum kiln_cell_kind {
  KILN_CELL_BOOL,
  KILN_CELL_I8,
  KILN_CELL_I16,
  KILN_CELL_I32,
  KILN_CELL_I64,
  KILN_CELL_DOUBLE,
  KILN_CELL_TEXT,
  KILN_CELL_BINARY
};

/* A null has zero, or no bytes: what stands in its place in a column. */
struct kiln_cell {
  bool null;
  int64_t number;        /* BOOL, I8 to I64 */
  double real;           /* DOUBLE */
  struct mtr_span bytes; /* TEXT, BINARY; until the next cell is read */
};

struct kiln_cells {
  struct kiln_page_source source;
  const struct ArrowArray *batch; /* whoever reads sets it */
  struct mtr_buf text;            /* of the last cell that had to be written */
};

void kiln_cells_init(struct kiln_cells *cells, const struct kiln_page_source *source);
void kiln_cells_fini(struct kiln_cells *cells);

enum kiln_cell_kind kiln_cell_kind(const struct mtr_arrow_field *field);

/* Row `row` of the batch, its own offset not counted. */
MORTAR_MUST_USE enum mortar_status kiln_cell_read(struct kiln_cells *cells, int64_t column,
                                                  int64_t row, struct kiln_cell *out,
                                                  struct mortar_error *err);

#endif
