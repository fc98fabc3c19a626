/* Frames of the IPC stream format: where a message begins and ends, and what kind it is.
 *
 *     [0xFFFFFFFF] [i32 size of the head] [head, a flatbuffer] [body]      size 0: end of stream
 *
 * The first word is missing in streams written before 2019. Does not look into schema or batch. */
#include "arrow/ipc_head.h"

#include <inttypes.h>

#include "base/error.h"

enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3, HEADER_TENSOR = 4 };

static int32_t load_i32(const uint8_t *p)
{
  int32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static enum mortar_status check_version(int64_t version, struct mortar_error *err)
{
  if (version == MTR_IPC_V4 || version == MTR_IPC_V5) return MORTAR_OK;
  return mtr_fail(err, MORTAR_UNSUPPORTED, "Arrow metadata version V%" PRId64 " is not supported",
                  version + 1);
}

enum mortar_status mtr_ipc_head_read(struct mtr_span bytes, struct mtr_ipc_head *out,
                                     struct mortar_error *err)
{
  struct mtr_flat_table message;
  int64_t version;

  memset(out, 0, sizeof *out);
  out->flat.bytes = bytes;
  message = mtr_flat_root(&out->flat);
  version = mtr_flat_int(&out->flat, &message, 0, 2, 0);
  out->header_type = mtr_flat_int(&out->flat, &message, 1, 1, 0);
  out->header = mtr_flat_child(&out->flat, &message, 2);
  out->body_size = mtr_flat_int(&out->flat, &message, 3, 8, 0);
  if (out->flat.bad) return mtr_fail(err, MORTAR_CORRUPT, "Arrow message head is malformed");
  MTR_TRY(check_version(version, err));
  if (out->body_size < 0)
    return mtr_fail(err, MORTAR_CORRUPT, "Arrow message body of %" PRId64 " bytes", out->body_size);
  return MORTAR_OK;
}

static enum mortar_status kind_of(int64_t header_type, enum mtr_ipc_kind *out,
                                  struct mortar_error *err)
{
  switch (header_type) {
    case HEADER_SCHEMA:
      *out = MTR_IPC_SCHEMA;
      return MORTAR_OK;
    case HEADER_DICTIONARY:
      *out = MTR_IPC_DICTIONARY;
      return MORTAR_OK;
    case HEADER_BATCH:
      *out = MTR_IPC_BATCH;
      return MORTAR_OK;
    default:
      break;
  }
  if (header_type == HEADER_TENSOR || header_type == HEADER_TENSOR + 1)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "Arrow tensor messages are not supported");
  return mtr_fail(err, MORTAR_CORRUPT, "Arrow message of unknown kind %" PRId64, header_type);
}

enum mortar_status mtr_ipc_next(struct mtr_span stream, struct mtr_ipc_message *out,
                                struct mortar_error *err)
{
  struct mtr_ipc_head head;
  size_t prefix = 4, size;
  int32_t word;

  memset(out, 0, sizeof *out);
  if (stream.size < prefix) return MORTAR_MORE;
  word = load_i32(stream.data);
  if (word == -1) {
    prefix = 8;
    if (stream.size < prefix) return MORTAR_MORE;
    word = load_i32(stream.data + 4);
  }
  if (word < 0) return mtr_fail(err, MORTAR_CORRUPT, "Arrow message head of %d bytes", (int)word);
  size = prefix + (size_t)word;
  out->kind = MTR_IPC_END;
  out->size = size;
  if (word == 0) return MORTAR_OK;
  if (stream.size < size) return MORTAR_MORE;
  out->head = mtr_span_of(stream.data + prefix, (size_t)word);
  MTR_TRY(mtr_ipc_head_read(out->head, &head, err));
  MTR_TRY(kind_of(head.header_type, &out->kind, err));
  if ((uint64_t)head.body_size > stream.size - size) return MORTAR_MORE;
  out->body = mtr_span_of(stream.data + size, (size_t)head.body_size);
  out->size += (size_t)head.body_size;
  return MORTAR_OK;
}
