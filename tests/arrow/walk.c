/* The checker of walk.h. Knows the layouts by itself, so that a mistake of the reader is not
 * repeated here. */
#include "tests/arrow/walk.h"

static uint64_t mix(uint64_t sum, uint64_t v) { return (sum ^ v) * UINT64_C(1099511628211); }

static uint64_t mix_bytes(uint64_t sum, const uint8_t *bytes, int64_t size)
{
  int64_t i;

  for (i = 0; i < size; i++)
    sum = mix(sum, bytes[i]);
  return mix(sum, (uint64_t)size);
}

static bool bit(const void *bits, int64_t i) { return ((const uint8_t *)bits)[i / 8] & 1 << i % 8; }

static int64_t offset_at(const struct ArrowArray *a, bool large, int64_t i)
{
  return large ? ((const int64_t *)a->buffers[1])[i] : ((const int32_t *)a->buffers[1])[i];
}

static uint64_t walk_rows(uint64_t sum, const struct mtr_arrow_field *f, const struct ArrowArray *a,
                          int64_t first, int64_t rows);

/* i counts with the array's offset. */
static uint64_t walk_value(uint64_t sum, const struct mtr_arrow_field *f,
                           const struct ArrowArray *a, int64_t i)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(f->type);
  bool large = layout == MTR_LAYOUT_BINARY64 || layout == MTR_LAYOUT_LIST64;
  int64_t k, from;

  switch (layout) {
    case MTR_LAYOUT_NONE:
      return sum;
    case MTR_LAYOUT_BITS:
      return mix(sum, bit(a->buffers[1], i));
    case MTR_LAYOUT_FIXED:
      return mix_bytes(sum, (const uint8_t *)a->buffers[1] + i * f->byte_width, f->byte_width);
    case MTR_LAYOUT_BINARY32:
    case MTR_LAYOUT_BINARY64:
      from = offset_at(a, large, i);
      return mix_bytes(sum, (const uint8_t *)a->buffers[2] + from,
                       offset_at(a, large, i + 1) - from);
    case MTR_LAYOUT_LIST32:
    case MTR_LAYOUT_LIST64:
      from = offset_at(a, large, i);
      return walk_rows(sum, f->children, a->children[0], from, offset_at(a, large, i + 1) - from);
    case MTR_LAYOUT_CHILDREN:
      break;
  }
  if (f->type == MTR_ARROW_FIXED_LIST)
    return walk_rows(sum, f->children, a->children[0], i * f->byte_width, f->byte_width);
  for (k = 0; k < f->child_count; k++)
    sum = walk_rows(sum, &f->children[k], a->children[k], i, 1);
  return sum;
}

static uint64_t walk_rows(uint64_t sum, const struct mtr_arrow_field *f, const struct ArrowArray *a,
                          int64_t first, int64_t rows)
{
  int64_t i;

  sum = mix(sum, (uint64_t)rows);
  if (f->type == MTR_ARROW_NULL) return sum;
  for (i = first + a->offset; i < first + a->offset + rows; i++) {
    bool null = a->null_count != 0 && a->buffers[0] && !bit(a->buffers[0], i);
    sum = mix(sum, null);
    if (!null) sum = walk_value(sum, f, a, i);
  }
  return sum;
}

uint64_t walk_batch(const struct mtr_arrow_schema *schema, const struct ArrowArray *batch,
                    int64_t first, int64_t rows)
{
  uint64_t sum = 0;
  int64_t i;

  for (i = 0; i < schema->root.child_count; i++)
    sum =
        walk_rows(sum, &schema->root.children[i], batch->children[i], first + batch->offset, rows);
  return sum;
}

int64_t walk_nulls(const struct ArrowArray *array)
{
  int64_t i, nulls = 0;

  if (array->n_buffers == 0) return array->length;
  if (!array->buffers[0]) return 0;
  for (i = array->offset; i < array->offset + array->length; i++)
    nulls += !bit(array->buffers[0], i);
  return nulls;
}
