/* Cells as lines of JSON. Text that is not UTF-8, which the library lets pass and JSON can't hold,
 * is shown as "?". */
#include "tools/recordings/values.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"

/* The longest cell of a recording is far shorter. */
enum { CELL_MAX = 64 << 20 };

static bool is_null(const struct ArrowArray *column, const char *format, int64_t row)
{
  const uint8_t *valid = column->n_buffers > 0 ? column->buffers[0] : NULL;
  int64_t i = row + column->offset;

  if (format[0] == 'n') return true;
  return valid && !(valid[i / 8] >> (i % 8) & 1);
}

/* The text of a cell into buf, which grows until it fits. */
static enum mortar_status cell_text(const struct ArrowSchema *schema,
                                    const struct ArrowArray *batch, int64_t column, int64_t row,
                                    struct mtr_buf *buf, struct mortar_error *err)
{
  size_t size;

  mtr_buf_reset(buf);
  MTR_TRY(mtr_buf_reserve(buf, 64, err));
  MTR_TRY(
      mortar_format_cell(schema, batch, column, row, (char *)buf->data, buf->capacity, &size, err));
  if (size >= buf->capacity) {
    MTR_TRY(mtr_buf_reserve(buf, size + 1, err));
    MTR_TRY(mortar_format_cell(schema, batch, column, row, (char *)buf->data, buf->capacity, &size,
                               err));
  }
  buf->size = size;
  return MORTAR_OK;
}

static json_t *text_or_mark(const struct mtr_buf *buf)
{
  json_t *text = json_stringn((const char *)buf->data, buf->size);
  return text ? text : json_string("?");
}

static enum mortar_status row_json(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                   int64_t row, struct mtr_buf *buf, json_t *out,
                                   struct mortar_error *err)
{
  int64_t i;

  for (i = 0; i < schema->n_children; i++) {
    if (is_null(batch->children[i], schema->children[i]->format, row)) {
      (void)json_array_append_new(out, json_null());
      continue;
    }
    MTR_TRY(cell_text(schema, batch, i, row, buf, err));
    (void)json_array_append_new(out, text_or_mark(buf));
  }
  return MORTAR_OK;
}

static enum mortar_status print_row(const char *file, size_t line, const struct ArrowSchema *schema,
                                    const struct ArrowArray *batch, int64_t row,
                                    struct mtr_buf *buf, struct mortar_error *err)
{
  json_t *cells = json_array();
  enum mortar_status st = row_json(schema, batch, row, buf, cells, err);
  json_t *object = json_pack("{s:s,s:I,s:o}", "file", file, "line", (json_int_t)line, "row", cells);

  if (st == MORTAR_OK && json_dumpf(object, stdout, JSON_COMPACT) == 0) putchar('\n');
  json_decref(object);
  return st;
}

enum mortar_status values_print(const char *file, size_t line,
                                const struct mtr_arrow_schema *schema,
                                const struct ArrowArray *batch, struct mortar_error *err)
{
  struct ArrowSchema exported = {0};
  enum mortar_status st;
  struct mtr_buf buf;
  int64_t row;

  mtr_buf_init(&buf, NULL, "cell", CELL_MAX);
  MTR_GOTO(mtr_arrow_schema_export(schema, NULL, &exported, err));
  for (row = 0; row < batch->length; row++)
    MTR_GOTO(print_row(file, line, &exported, batch, row, &buf, err));
done:
  if (exported.release) exported.release(&exported);
  mtr_buf_fini(&buf);
  return st;
}
