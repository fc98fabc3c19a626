/* The checked flatbuffer reader, see flatbuf.h. Positions are sizes into the bytes, never pointers,
 * so that a hostile offset can't overflow one. */
#include "arrow/flatbuf.h"

/* Metadata and bodies are read as they lie; a big-endian host would need other loads. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the Arrow reader needs little-endian");

static bool inside(struct mtr_flat *flat, size_t at, size_t size)
{
  if (at <= flat->bytes.size && size <= flat->bytes.size - at) return true;
  flat->bad = true;
  return false;
}

static unsigned load_u16(const struct mtr_flat *flat, size_t at)
{
  uint16_t v;
  memcpy(&v, flat->bytes.data + at, sizeof v);
  return v;
}

static uint32_t load_u32(const struct mtr_flat *flat, size_t at)
{
  uint32_t v;
  memcpy(&v, flat->bytes.data + at, sizeof v);
  return v;
}

static struct mtr_flat_table table_at(struct mtr_flat *flat, size_t at)
{
  static const struct mtr_flat_table absent;
  struct mtr_flat_table t = {0};
  int64_t vtable;
  unsigned vsize;

  if (!inside(flat, at, 4)) return absent;
  vtable = (int64_t)at - (int32_t)load_u32(flat, at);
  if (vtable < 0 || !inside(flat, (size_t)vtable, 4)) goto bad;
  vsize = load_u16(flat, (size_t)vtable);
  t.at = at;
  t.vtable = (size_t)vtable;
  t.size = load_u16(flat, t.vtable + 2);
  if (vsize < 4 || t.size < 4) goto bad;
  t.slots = (vsize - 4) / 2;
  if (inside(flat, t.vtable, vsize) && inside(flat, at, t.size)) return t;
bad:
  flat->bad = true;
  return absent;
}

/* The position of the value an offset field points to; 0 when out of bounds. */
static size_t follow(struct mtr_flat *flat, size_t at)
{
  uint32_t off = load_u32(flat, at);

  /* at is inside, off fits 32 bits: no overflow where size_t has 64, checked where it has 32. */
  return off <= SIZE_MAX - at && inside(flat, at + off, 4) ? at + off : 0;
}

struct mtr_flat_table mtr_flat_root(struct mtr_flat *flat)
{
  static const struct mtr_flat_table absent;
  size_t at = inside(flat, 0, 4) ? follow(flat, 0) : 0;

  if (at) return table_at(flat, at);
  flat->bad = true;
  return absent;
}

static unsigned slot(const struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id)
{
  return id < table->slots ? load_u16(flat, table->vtable + 4 + 2 * (size_t)id) : 0;
}

bool mtr_flat_has(const struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id)
{
  return slot(flat, table, id) != 0;
}

/* Where the field lies; 0 when it is absent or outside its table. */
static size_t field_at(struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id,
                       unsigned width)
{
  unsigned off = slot(flat, table, id);

  if (off == 0) return 0;
  if (off >= 4 && off <= table->size && width <= table->size - off) return table->at + off;
  flat->bad = true;
  return 0;
}

int64_t mtr_flat_int(struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id,
                     unsigned width, int64_t absent)
{
  size_t at = field_at(flat, table, id, width);
  uint64_t v = 0;

  if (!at) return absent;
  memcpy(&v, flat->bytes.data + at, width);
  /* The sign bit of a shorter value is spread over the rest. */
  if (width < 8 && v >> (8 * width - 1)) v |= ~UINT64_C(0) << (8 * width);
  return (int64_t)v;
}

struct mtr_flat_table mtr_flat_child(struct mtr_flat *flat, const struct mtr_flat_table *table,
                                     unsigned id)
{
  static const struct mtr_flat_table absent;
  size_t at = field_at(flat, table, id, 4);

  if (at) at = follow(flat, at);
  return at ? table_at(flat, at) : absent;
}

struct mtr_flat_vector mtr_flat_list(struct mtr_flat *flat, const struct mtr_flat_table *table,
                                     unsigned id, unsigned width)
{
  struct mtr_flat_vector list = {0};
  size_t at = field_at(flat, table, id, 4), count;

  if (at) at = follow(flat, at);
  if (!at) return list;
  count = load_u32(flat, at);
  if (count > (flat->bytes.size - at - 4) / width) {
    flat->bad = true;
    return list;
  }
  list.at = at + 4;
  list.count = count;
  return list;
}

struct mtr_span mtr_flat_text(struct mtr_flat *flat, const struct mtr_flat_table *table,
                              unsigned id)
{
  struct mtr_flat_vector list = mtr_flat_list(flat, table, id, 1);

  return mtr_span_of(list.count ? flat->bytes.data + list.at : NULL, list.count);
}

struct mtr_flat_table mtr_flat_item(struct mtr_flat *flat, struct mtr_flat_vector list, size_t i)
{
  static const struct mtr_flat_table absent;
  size_t at = follow(flat, list.at + 4 * i);

  return at ? table_at(flat, at) : absent;
}
