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

/* named: the names of the children belong to the type. Those of a list's items and a map's entries
 * differ from writer to writer. */
static bool same_type(const struct mtr_arrow_field *a, const struct mtr_arrow_field *b, bool named)
{
  int64_t i;

  if (a->child_count != b->child_count || strcmp(a->format, b->format) != 0) return false;
  for (i = 0; i < a->child_count; i++) {
    const struct mtr_arrow_field *x = &a->children[i], *y = &b->children[i];
    if (named && strcmp(x->name, y->name) != 0) return false;
    if (!same_type(x, y, x->type == MTR_ARROW_STRUCT && a->type != MTR_ARROW_MAP)) return false;
  }
  return true;
}

bool mtr_arrow_schema_same_types(const struct mtr_arrow_schema *a, const struct mtr_arrow_schema *b)
{
  return same_type(&a->root, &b->root, false);
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
