/* Takes frames apart and watches for the end of the message in them. */
#include "net/binary.h"

#include "base/be.h"
#include "base/error.h"

void mtr_binary_init(struct mtr_binary *binary, bool framed, size_t max_body)
{
  binary->framed = framed;
  binary->size = binary->frame_left = 0;
  binary->head_size = 0;
  mtr_thrift_end_init(&binary->end, max_body);
}

bool mtr_binary_begun(const struct mtr_binary *binary)
{
  return binary->size || binary->frame_left || binary->head_size;
}

/* The length of a frame, once its head is whole. */
static enum mortar_status frame_begins(struct mtr_binary *binary, struct mortar_error *err)
{
  const uint32_t length = mtr_be32(binary->head);

  binary->head_size = 0;
  if (length == 0 || length > INT32_MAX)
    return mtr_fail(err, MORTAR_PROTOCOL, "the reply has a frame of %ld bytes",
                    (long)(int32_t)length);
  if (length > binary->end.max - binary->size)
    return mtr_fail(err, MORTAR_LIMIT, "a reply of %llu bytes crosses the limit of %zu",
                    (unsigned long long)binary->size + length, binary->end.max);
  binary->frame_left = length;
  return MORTAR_OK;
}

/* Moves the contents of frames together, right behind the message so far. */
static enum mortar_status take_frames(struct mtr_binary *binary, uint8_t *message,
                                      const uint8_t *pos, const uint8_t *end,
                                      struct mortar_error *err)
{
  while (pos < end) {
    if (binary->frame_left) {
      const size_t have = (size_t)(end - pos),
                   n = have < binary->frame_left ? have : binary->frame_left;
      memmove(message + binary->size, pos, n);
      binary->size += n;
      binary->frame_left -= n;
      pos += n;
      continue;
    }
    binary->head[binary->head_size++] = *pos++;
    if (binary->head_size == MTR_FRAME_HEAD) MTR_TRY(frame_begins(binary, err));
  }
  return MORTAR_OK;
}

enum mortar_status mtr_binary_feed(struct mtr_binary *binary, struct mtr_buf *buf, size_t fresh,
                                   struct mortar_error *err)
{
  const uint8_t *end = buf->data + buf->size;
  size_t surplus;

  if (binary->framed)
    MTR_TRY(take_frames(binary, buf->data, end - fresh, end, err));
  else
    binary->size = buf->size;
  buf->size = binary->size;
  MTR_TRY(mtr_thrift_end_find(&binary->end, buf->data, buf->size, err));
  surplus = binary->size - binary->end.pos + binary->frame_left + (size_t)binary->head_size;
  if (surplus)
    return mtr_fail(err, MORTAR_PROTOCOL, "%zu bytes follow the end of the reply", surplus);
  return MORTAR_OK;
}

enum mortar_status mtr_binary_eof(const struct mtr_binary *binary, struct mortar_error *err)
{
  if (!mtr_binary_begun(binary))
    return mtr_fail(err, MORTAR_IO, "the server closed the connection without a reply");
  return mtr_fail(err, MORTAR_IO, "the server closed the connection after %zu bytes of a reply",
                  binary->size);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

size_t mtr_binary_room(const struct mtr_binary *binary)
{
  const size_t size = binary->size, end = binary->end.pos;
  const size_t left = larger(binary->frame_left, end > size ? end - size : 0);
  /* Growing by what is there already doubles the buffer, for bytes that really came. */
  const size_t room = left <= MTR_BINARY_EAGER ? larger(left, size) : size;
  const size_t most = binary->end.max > size ? binary->end.max - size : 0;

  return smaller(room, most) + MTR_BINARY_READ_SIZE;
}
