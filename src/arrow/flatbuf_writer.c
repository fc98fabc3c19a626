/* The flatbuffer writer, see flatbuf_writer.h. Fails only for memory or the buffer's limit. */
#include "arrow/flatbuf_writer.h"

#include "base/error.h"

enum { PREFIX = 8, MAX_SLOTS = 8, MAX_PAD = 64 };

static enum mortar_status put_zeros(struct mtr_flat_writer *w, size_t n)
{
  MTR_TRY(mtr_buf_reserve(w->out, n, w->err));
  if (n) memset(w->out->data + w->out->size, 0, n);
  w->out->size += n;
  return MORTAR_OK;
}

/* Little-endian hosts only, as flatbuf.c asserts. */
static void patch(struct mtr_flat_writer *w, size_t at, int64_t value, unsigned width)
{
  memcpy(w->out->data + at, &value, width);
}

enum mortar_status mtr_flat_pad(struct mtr_buf *out, size_t begin, size_t alignment,
                                struct mortar_error *err)
{
  static const uint8_t zeros[MAX_PAD];
  size_t over = (out->size - begin) % alignment;

  return mtr_buf_append(out, zeros, over ? alignment - over : 0, err);
}

enum mortar_status mtr_flat_begin(struct mtr_flat_writer *w, struct mtr_buf *out,
                                  struct mortar_error *err)
{
  w->out = out;
  w->err = err;
  MTR_TRY(put_zeros(w, PREFIX + 4));
  w->begin = out->size - 4;
  patch(w, w->begin - PREFIX, -1, 4);
  return MORTAR_OK;
}

enum mortar_status mtr_flat_end(struct mtr_flat_writer *w)
{
  size_t size;

  MTR_TRY(mtr_flat_pad(w->out, w->begin, 8, w->err));
  size = w->out->size - w->begin;
  if (size > INT32_MAX)
    return mtr_fail(w->err, MORTAR_LIMIT, "Arrow message head of %zu bytes", size);
  patch(w, w->begin - 4, (int64_t)size, 4);
  return MORTAR_OK;
}

static void link_here(struct mtr_flat_writer *w, size_t link)
{
  patch(w, link, (int64_t)(w->out->size - link), 4);
}

/* Places the slots of one width behind the others, widest first, so that all are aligned. */
static unsigned lay_out(const struct mtr_flat_slot *slots, unsigned count, unsigned width,
                        unsigned at, uint16_t *places)
{
  unsigned i;

  for (i = 0; i < count; i++) {
    if (slots[i].width != width) continue;
    at = (at + width - 1) / width * width;
    places[i] = (uint16_t)at;
    at += width;
  }
  return at;
}

enum mortar_status mtr_flat_put_table(struct mtr_flat_writer *w, size_t link,
                                      struct mtr_flat_slot *slots, unsigned count)
{
  uint16_t places[MAX_SLOTS] = {0};
  unsigned i, width, size = 4, vtable = 4 + 2 * count;
  size_t at;

  MTR_ASSERT(count <= MAX_SLOTS);
  for (width = 8; width; width /= 2)
    size = lay_out(slots, count, width, size, places);
  /* The table is 8-aligned and its vtable lies before it, which is at least 2-aligned then. */
  MTR_TRY(put_zeros(w, vtable));
  MTR_TRY(mtr_flat_pad(w->out, w->begin, 8, w->err));
  at = w->out->size;
  link_here(w, link);
  MTR_TRY(put_zeros(w, size));
  patch(w, at - vtable, vtable, 2);
  patch(w, at - vtable + 2, size, 2);
  patch(w, at, vtable, 4);
  for (i = 0; i < count; i++) {
    patch(w, at - vtable + 4 + 2 * i, places[i], 2);
    slots[i].at = at + places[i];
    if (slots[i].width) patch(w, slots[i].at, slots[i].value, slots[i].width);
  }
  return MORTAR_OK;
}

enum mortar_status mtr_flat_put_vector(struct mtr_flat_writer *w, size_t link, size_t count,
                                       unsigned width, size_t *at)
{
  size_t over = (w->out->size + 4 - w->begin) % 8;

  if (count > UINT32_MAX / 16)
    return mtr_fail(w->err, MORTAR_LIMIT, "Arrow schema with a list of %zu elements", count);
  MTR_TRY(
      put_zeros(w, over ? 8 - over : 0)); /* the elements are 8-aligned, the count before them */
  link_here(w, link);
  MTR_TRY(put_zeros(w, 4 + count * width));
  *at = w->out->size - count * width;
  patch(w, *at - 4, (int64_t)count, 4);
  return MORTAR_OK;
}

enum mortar_status mtr_flat_put_text(struct mtr_flat_writer *w, size_t link, const char *text,
                                     size_t size)
{
  size_t at = 0;

  MTR_TRY(mtr_flat_put_vector(w, link, size, 1, &at));
  if (size) memcpy(w->out->data + at, text, size);
  return put_zeros(w, 1); /* flatbuffer strings end with a NUL that is not counted */
}
