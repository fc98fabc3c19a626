/* Joins batches, see join.h. The same walk is done twice: first it measures, then it fills a slab
 * of exactly that size. At each level the pieces are the same stretches of rows, seen from there.
 */
#include "arrow/join.h"

#include "arrow/batch_block.h"
#include "arrow/bits.h"
#include "base/alloc.h"
#include "base/error.h"

#define JOIN_MAX ((size_t)8 << 30)
#define SCRATCH_MAX ((size_t)1 << 30)

/* Pieces of 256 batches at two levels, and some more. */
enum { KEEP_SCRATCH = 16 * 1024 };

/* A stretch of one array's rows; first counts from the start of its buffers. */
struct piece {
  const struct ArrowArray *array;
  int64_t first, count;
};

struct join {
  size_t n; /* pieces at every level */
  struct mtr_arena *scratch;
  struct mtr_batch_parts parts;
  uint8_t *room; /* where the next buffer goes; NULL while measuring */
  size_t size;   /* measured so far */
  struct mortar_error *err;
};

/* Room for a buffer, with the gap behind it zeroed; NULL while measuring. */
static uint8_t *take(struct join *j, int64_t size)
{
  const size_t rounded = mtr_slab_align((size_t)size);
  uint8_t *at = j->room;

  j->size += rounded;
  if (!at) return NULL;
  memset(at + size, 0, rounded - (size_t)size);
  j->room += rounded;
  return at;
}

/* The same for so many bits, all of them zero. */
static uint8_t *take_bits(struct join *j, int64_t count)
{
  uint8_t *bits = take(j, mtr_bits_size(count));

  if (bits) memset(bits, 0, (size_t)mtr_bits_size(count));
  return bits;
}

static int64_t total(const struct join *j, const struct piece *pieces)
{
  int64_t rows = 0;
  size_t i;

  for (i = 0; i < j->n; i++)
    rows += pieces[i].count;
  return rows;
}

/* ---- Buffers ------------------------------------------------------------------------------- */

static bool may_hold_nulls(const struct piece *p)
{
  return p->count && p->array->null_count != 0 && p->array->buffers[0];
}

static void join_validity(struct join *j, const struct piece *pieces, struct ArrowArray *out)
{
  const int64_t rows = total(j, pieces);
  bool any = false;
  int64_t at = 0;
  uint8_t *bits;
  size_t i;

  for (i = 0; i < j->n; i++)
    any |= may_hold_nulls(&pieces[i]);
  if (out) out->buffers[0] = NULL;
  if (!any) return;
  bits = take_bits(j, rows);
  if (!bits) return;
  for (i = 0; i < j->n; at += pieces[i++].count)
    if (may_hold_nulls(&pieces[i]))
      mtr_bits_put(bits, at, pieces[i].array->buffers[0], pieces[i].first, pieces[i].count);
    else
      mtr_bits_set(bits, at, pieces[i].count);
  out->null_count = rows - mtr_bits_count(bits, 0, rows);
  if (out->null_count) out->buffers[0] = bits;
}

static void join_bits(struct join *j, const struct piece *pieces, struct ArrowArray *out)
{
  uint8_t *bits = take_bits(j, total(j, pieces));
  int64_t at = 0;
  size_t i;

  if (!out) return;
  for (i = 0; i < j->n; at += pieces[i++].count)
    if (pieces[i].count)
      mtr_bits_put(bits, at, pieces[i].array->buffers[1], pieces[i].first, pieces[i].count);
  out->buffers[1] = bits;
}

static void join_fixed(struct join *j, const struct piece *pieces, int64_t width,
                       struct ArrowArray *out)
{
  uint8_t *values = take(j, total(j, pieces) * width), *at = values;
  size_t i;

  if (!out) return;
  out->buffers[1] = values;
  for (i = 0; i < j->n; i++) {
    const size_t size = (size_t)(pieces[i].count * width);
    if (size)
      memcpy(at, (const uint8_t *)pieces[i].array->buffers[1] + pieces[i].first * width, size);
    at += size;
  }
}

static int64_t offset_at(const struct piece *p, int64_t i, bool wide)
{
  const uint8_t *offsets = p->array->buffers[1];
  int64_t v64;
  int32_t v32;

  if (wide) {
    memcpy(&v64, offsets + (p->first + i) * 8, sizeof v64);
    return v64;
  }
  memcpy(&v32, offsets + (p->first + i) * 4, sizeof v32);
  return v32;
}

static void put_offset(uint8_t *offsets, int64_t i, int64_t v, bool wide)
{
  const int32_t narrow = (int32_t)v;

  if (wide)
    memcpy(offsets + i * 8, &v, sizeof v);
  else
    memcpy(offsets + i * 4, &narrow, sizeof narrow);
}

/* The offsets of all pieces, counted on; *items is the last one. */
static enum mortar_status join_offsets(struct join *j, const struct piece *pieces, bool wide,
                                       struct ArrowArray *out, int64_t *items)
{
  uint8_t *offsets = take(j, (total(j, pieces) + 1) * (wide ? 8 : 4));
  int64_t row = 0, i;
  size_t k;

  *items = 0;
  if (offsets) put_offset(offsets, 0, 0, wide);
  for (k = 0; k < j->n; k++) {
    const struct piece *p = &pieces[k];
    const int64_t base = p->count ? offset_at(p, 0, wide) : 0;
    for (i = 0; offsets && i < p->count; i++)
      put_offset(offsets, ++row, *items + offset_at(p, i + 1, wide) - base, wide);
    if (p->count) *items += offset_at(p, p->count, wide) - base;
  }
  if (!wide && *items > INT32_MAX)
    return mtr_fail(j->err, MORTAR_LIMIT, "%lld items are too many for one batch",
                    (long long)*items);
  if (out) out->buffers[1] = offsets;
  return MORTAR_OK;
}

static enum mortar_status join_text(struct join *j, const struct piece *pieces, bool wide,
                                    struct ArrowArray *out)
{
  uint8_t *text, *at;
  int64_t size;
  size_t i;

  MTR_TRY(join_offsets(j, pieces, wide, out, &size));
  text = at = take(j, size);
  if (!out) return MORTAR_OK;
  out->buffers[2] = text;
  for (i = 0; i < j->n; i++) {
    const struct piece *p = &pieces[i];
    const int64_t begin = p->count ? offset_at(p, 0, wide) : 0;
    const size_t n = p->count ? (size_t)(offset_at(p, p->count, wide) - begin) : 0;
    if (n) memcpy(at, (const uint8_t *)p->array->buffers[2] + begin, n);
    at += n;
  }
  return MORTAR_OK;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static enum mortar_status join_field(struct join *j, const struct mtr_arrow_field *field,
                                     const struct piece *pieces, struct ArrowArray *out);

/* The same rows one level down. Items of a list lie between its offsets; a struct's children have
 * its rows, a fixed list's so many for each. */
static void look_into(const struct join *j, const struct mtr_arrow_field *field,
                      const struct piece *pieces, int64_t k, struct piece *inner)
{
  const enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);
  const bool wide = layout == MTR_LAYOUT_LIST64;
  const int64_t each = field->type == MTR_ARROW_FIXED_LIST ? field->byte_width : 1;
  size_t i;

  for (i = 0; i < j->n; i++) {
    const struct piece *p = &pieces[i];
    const struct ArrowArray *child = p->array->children[k];
    int64_t begin = p->first * each, end = (p->first + p->count) * each;
    if (layout != MTR_LAYOUT_CHILDREN && p->count) {
      begin = offset_at(p, 0, wide);
      end = offset_at(p, p->count, wide);
    }
    inner[i] = (struct piece){child, child->offset + begin, end - begin};
  }
}

static enum mortar_status join_children(struct join *j, const struct mtr_arrow_field *field,
                                        const struct piece *pieces, struct ArrowArray *out)
{
  struct piece *inner = mtr_arena_alloc(j->scratch, j->n, sizeof *inner);
  int64_t k;

  if (!inner) return mtr_fail_nomem(j->err, "pieces of batches");
  for (k = 0; k < field->child_count; k++) {
    look_into(j, field, pieces, k, inner);
    MTR_TRY(join_field(j, &field->children[k], inner, out ? out->children[k] : NULL));
  }
  return MORTAR_OK;
}

static enum mortar_status join_field(struct join *j, const struct mtr_arrow_field *field,
                                     const struct piece *pieces, struct ArrowArray *out)
{
  const enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);
  int64_t items;

  if (out) {
    mtr_batch_block_begin(&j->parts, field, out);
    out->length = total(j, pieces);
    if (layout == MTR_LAYOUT_NONE) out->null_count = out->length;
  }
  if (layout == MTR_LAYOUT_NONE) return MORTAR_OK;
  join_validity(j, pieces, out);
  switch (layout) {
    case MTR_LAYOUT_BITS:
      join_bits(j, pieces, out);
      return MORTAR_OK;
    case MTR_LAYOUT_FIXED:
      join_fixed(j, pieces, field->byte_width, out);
      return MORTAR_OK;
    case MTR_LAYOUT_BINARY32:
    case MTR_LAYOUT_BINARY64:
      return join_text(j, pieces, layout == MTR_LAYOUT_BINARY64, out);
    case MTR_LAYOUT_LIST32:
    case MTR_LAYOUT_LIST64:
      MTR_TRY(join_offsets(j, pieces, layout == MTR_LAYOUT_LIST64, out, &items));
      return join_children(j, field, pieces, out);
    default:
      return join_children(j, field, pieces, out);
  }
}

static enum mortar_status run(struct join *j, const struct mtr_arrow_schema *schema,
                              const struct ArrowArray *batches, struct mtr_slab *slab,
                              struct ArrowArray *out)
{
  struct piece *pieces = mtr_arena_alloc(j->scratch, j->n, sizeof *pieces);
  size_t i;

  if (!pieces) return mtr_fail_nomem(j->err, "pieces of batches");
  for (i = 0; i < j->n; i++)
    pieces[i] = (struct piece){&batches[i], batches[i].offset, batches[i].length};
  MTR_TRY(join_field(j, &schema->root, pieces, NULL));
  /* The block goes behind the buffers. */
  MTR_TRY(mtr_buf_reserve(
      &slab->buf, j->size + mtr_slab_align(mtr_batch_block_size(schema)) + MTR_SLAB_ALIGNMENT,
      j->err));
  slab->buf.size = j->size;
  MTR_TRY(mtr_batch_block_new(schema, slab, &j->parts, j->err));
  j->room = slab->buf.data;
  return join_field(j, &schema->root, pieces, out);
}

void mtr_joiner_init(struct mtr_joiner *joiner, const struct mortar_alloc *alloc)
{
  joiner->alloc = alloc;
  joiner->slab = NULL;
  mtr_arena_init(&joiner->scratch, alloc, SCRATCH_MAX);
}

void mtr_joiner_rest(struct mtr_joiner *joiner)
{
  mtr_slab_rest(&joiner->slab);
  if (joiner->scratch.total > KEEP_SCRATCH) mtr_arena_fini(&joiner->scratch);
}

void mtr_joiner_fini(struct mtr_joiner *joiner)
{
  mtr_slab_unref(joiner->slab);
  joiner->slab = NULL;
  mtr_arena_fini(&joiner->scratch);
}

enum mortar_status mtr_joiner_join(struct mtr_joiner *joiner, const struct mtr_arrow_schema *schema,
                                   const struct ArrowArray *batches, size_t n,
                                   struct ArrowArray *out, struct mortar_error *err)
{
  struct join j = {.n = n, .scratch = &joiner->scratch, .err = err};
  enum mortar_status st;

  memset(out, 0, sizeof *out);
  mtr_arena_reset(&joiner->scratch);
  MTR_TRY(mtr_slab_renew(&joiner->slab, joiner->alloc, JOIN_MAX, err));
  st = run(&j, schema, batches, joiner->slab, out);
  if (st == MORTAR_OK) return MORTAR_OK;
  mtr_batch_block_free(j.parts.block);
  out->release = NULL;
  return st;
}

enum mortar_status mtr_arrow_join(const struct mtr_arrow_schema *schema,
                                  const struct ArrowArray *batches, size_t n,
                                  const struct mortar_alloc *alloc, struct ArrowArray *out,
                                  struct mortar_error *err)
{
  struct mtr_joiner joiner;
  enum mortar_status st;

  mtr_joiner_init(&joiner, alloc);
  st = mtr_joiner_join(&joiner, schema, batches, n, out, err);
  mtr_joiner_fini(&joiner); /* the batch keeps its own count */
  return st;
}
