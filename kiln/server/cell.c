/* Values of Arrow columns for Thrift's columns and rows. Refuses nothing: what has no SQL type was
 * refused when the statement started. */
#include "kiln/server/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/bits.h"
#include "arrow/text_out.h"
#include "arrow/values.h"
#include "base/error.h"

void kiln_cells_init(struct kiln_cells *cells, const struct kiln_page_source *source)
{
  memset(cells, 0, sizeof *cells);
  cells->source = *source;
  mtr_buf_init(&cells->text, NULL, "text of a value", KILN_PAGE_HARD_LIMIT);
}

void kiln_cells_fini(struct kiln_cells *cells) { mtr_buf_fini(&cells->text); }

enum kiln_cell_kind kiln_cell_kind(const struct mtr_arrow_field *field)
{
  switch (field->type) {
    case MTR_ARROW_BOOL:
      return KILN_CELL_BOOL;
    case MTR_ARROW_INT8:
      return KILN_CELL_I8;
    case MTR_ARROW_INT16:
      return KILN_CELL_I16;
    case MTR_ARROW_INT32:
      return KILN_CELL_I32;
    case MTR_ARROW_INT64:
      return KILN_CELL_I64;
    case MTR_ARROW_FLOAT:
    case MTR_ARROW_DOUBLE:
      return KILN_CELL_DOUBLE;
    case MTR_ARROW_BINARY:
    case MTR_ARROW_LARGE_BINARY:
    case MTR_ARROW_FIXED_BINARY:
      return KILN_CELL_BINARY;
    default:
      return KILN_CELL_TEXT;
  }
}

/* The number that a person would write for it, as Spark and Hive send it. Both conversions use the
 * same locale, so it has no say. */
static double widen(float v)
{
  char text[40];
  int digits;

  if (!isfinite(v)) return (double)v;
  for (digits = 6; digits <= 9; digits++) {
    (void)snprintf(text, sizeof text, "%.*e", digits - 1, (double)v);
    if (strtof(text, NULL) == v) break;
  }
  return strtod(text, NULL);
}

static double read_real(const struct mtr_arrow_field *field, const uint8_t *at)
{
  double real;
  float single;

  if (field->type == MTR_ARROW_FLOAT) {
    memcpy(&single, at, sizeof single);
    return widen(single);
  }
  memcpy(&real, at, sizeof real);
  return real;
}

static struct mtr_span read_bytes(const struct mtr_arrow_field *field,
                                  const struct ArrowArray *array, int64_t i)
{
  int64_t first, end;

  if (field->type == MTR_ARROW_FIXED_BINARY)
    return mtr_span_of((const uint8_t *)array->buffers[1] + i * field->byte_width,
                       (size_t)field->byte_width);
  if (mtr_arrow_layout_of(field->type) == MTR_LAYOUT_BINARY64) {
    first = ((const int64_t *)array->buffers[1])[i];
    end = ((const int64_t *)array->buffers[1])[i + 1];
  } else {
    first = ((const int32_t *)array->buffers[1])[i];
    end = ((const int32_t *)array->buffers[1])[i + 1];
  }
  if (end == first) return mtr_span_of(NULL, 0);
  return mtr_span_of((const uint8_t *)array->buffers[2] + first, (size_t)(end - first));
}

/* ---- Written values ----------------------------------------------------------------------- */

static int64_t per_second(const struct mtr_arrow_field *field)
{
  static const int64_t units[] = {1, 1000, 1000000, 1000000000};

  return units[field->unit];
}

/* Nine digits of a second, as Hive has them, whatever the unit. Whole days are split off first:
 * nanoseconds of all of it might not fit. */
static void put_duration(struct mtr_text_out *out, int64_t value, int64_t unit)
{
  int64_t day = unit * 86400;

  mtr_out_day_time(out, value / day, value % day * (1000000000 / unit), 1000000000);
}

/* A moment's text is shorter than this: a year has at most 13 characters. */
enum { MOMENT_SIZE = 64 };

static enum mortar_status write_moment(struct kiln_cells *cells,
                                       const struct mtr_arrow_field *field, int64_t value,
                                       struct mtr_span *out, struct mortar_error *err)
{
  struct mtr_text_out text = {NULL, MOMENT_SIZE, 0};

  mtr_buf_reset(&cells->text);
  MTR_TRY(mtr_buf_reserve(&cells->text, MOMENT_SIZE, err));
  text.buf = (char *)cells->text.data;
  if (field->type == MTR_ARROW_DURATION)
    put_duration(&text, value, per_second(field));
  else
    mtr_out_timestamp(&text, value, per_second(field), NULL);
  *out = mtr_span_of(text.buf, text.size < MOMENT_SIZE ? text.size : MOMENT_SIZE);
  return MORTAR_OK;
}

/* The first try tells how much room the text needs. */
static enum mortar_status write_formatted(struct kiln_cells *cells, int64_t column, int64_t row,
                                          struct mtr_span *out, struct mortar_error *err)
{
  size_t size;

  mtr_buf_reset(&cells->text);
  MTR_TRY(mtr_buf_reserve(&cells->text, MOMENT_SIZE, err));
  for (;;) {
    MTR_TRY(mortar_format_cell(cells->source.c_schema, cells->batch, column, row,
                               (char *)cells->text.data, cells->text.capacity, &size, err));
    if (size < cells->text.capacity) break;
    MTR_TRY(mtr_buf_reserve(&cells->text, size + 1, err));
  }
  *out = mtr_span_of(cells->text.data, size);
  return MORTAR_OK;
}

static bool has_bytes(const struct mtr_arrow_field *field)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);

  return layout == MTR_LAYOUT_BINARY32 || layout == MTR_LAYOUT_BINARY64 ||
         field->type == MTR_ARROW_FIXED_BINARY;
}

enum mortar_status kiln_cell_read(struct kiln_cells *cells, int64_t column, int64_t row,
                                  struct kiln_cell *out, struct mortar_error *err)
{
  const struct mtr_arrow_field *field = &cells->source.schema->root.children[column];
  const struct ArrowArray *array = cells->batch->children[column];
  int64_t i = cells->batch->offset + row + array->offset;
  const uint8_t *values;

  memset(out, 0, sizeof *out);
  out->null = mtr_value_is_null(array, i);
  if (out->null) return MORTAR_OK;
  if (has_bytes(field)) {
    out->bytes = read_bytes(field, array, i);
    return MORTAR_OK;
  }
  values = array->n_buffers > 1 ? array->buffers[1] : NULL;
  if (field->type == MTR_ARROW_BOOL)
    out->number = mtr_bit(values, i);
  else if (kiln_cell_kind(field) == KILN_CELL_DOUBLE)
    out->real = read_real(field, values + i * field->byte_width);
  else if (kiln_cell_kind(field) != KILN_CELL_TEXT)
    out->number = mtr_value_signed(values + i * field->byte_width, field->byte_width);
  else if (field->type == MTR_ARROW_TIMESTAMP || field->type == MTR_ARROW_DURATION)
    return write_moment(cells, field, mtr_value_signed(values + i * field->byte_width, 8),
                        &out->bytes, err);
  else
    return write_formatted(cells, column, row, &out->bytes, err);
  return MORTAR_OK;
}
