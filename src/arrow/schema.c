/* What the type table says, and metadata look-ups, see schema.h. */
#include "arrow/schema.h"

enum mtr_arrow_layout mtr_arrow_layout_of(enum mtr_arrow_type type)
{
  static const uint8_t layouts[] = {
#define X(name, layout) MTR_LAYOUT_##layout,
      MTR_ARROW_TYPE_MAP(X)
#undef X
  };
  return (enum mtr_arrow_layout)layouts[type];
}

int mtr_arrow_buffer_count(enum mtr_arrow_type type)
{
  static const uint8_t counts[] = {
      [MTR_LAYOUT_NONE] = 0,     [MTR_LAYOUT_BITS] = 2,     [MTR_LAYOUT_FIXED] = 2,
      [MTR_LAYOUT_BINARY32] = 3, [MTR_LAYOUT_BINARY64] = 3, [MTR_LAYOUT_LIST32] = 2,
      [MTR_LAYOUT_LIST64] = 2,   [MTR_LAYOUT_CHILDREN] = 1,
  };
  return counts[mtr_arrow_layout_of(type)];
}

struct mtr_span mtr_arrow_metadata_get(const struct mtr_arrow_field *field, const char *key)
{
  struct mtr_span want = mtr_span_text(key);
  int64_t i;

  for (i = 0; i < field->metadata_count; i++) {
    const struct mtr_arrow_metadata *pair = &field->metadata[i];
    if (mtr_span_equal(mtr_span_of(pair->key, pair->key_size), want))
      return mtr_span_of(pair->value, pair->value_size);
  }
  return mtr_span_of(NULL, 0);
}
