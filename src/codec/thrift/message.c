/* The envelope around requests and replies. Writes the strict form only; reads the old one too.
 * Refuses one-way messages, which TCLIService does not have, and names that no call can have. */
#include "codec/thrift/message.h"

#include <string.h>

#include "base/error.h"

/* The longest call name has 21 letters. The bound makes the first bytes of a HTML page, taken for
 * the length of a name, an error at once instead of a wish for a gigabyte more. */
enum { MAX_NAME = 256 };

static const uint32_t version_mask = 0xFFFF0000, version_1 = 0x80010000, type_mask = 0xFF;

static void write_head(struct mtr_tw *wr, enum mtr_message_type type, const char *name,
                       int32_t seqid)
{
  mtr_tw_i32(wr, (int32_t)(version_1 | (uint32_t)type));
  mtr_tw_string(wr, mtr_span_text(name));
  mtr_tw_i32(wr, seqid);
}

/* A message is there as a whole or not at all. */
static enum mortar_status finish(const struct mtr_tw *wr, size_t start)
{
  enum mortar_status st = mtr_tw_finish(wr);

  if (st != MORTAR_OK) wr->buf->size = start;
  return st;
}

static int16_t body_field(enum mtr_message_type type) { return type == MTR_MESSAGE_CALL ? 1 : 0; }

enum mortar_status mtr_message_write(struct mtr_buf *out, enum mtr_message_type type,
                                     const char *name, int32_t seqid,
                                     const struct mtr_struct_info *info, const void *body,
                                     struct mortar_error *err)
{
  size_t start = out->size;
  struct mtr_tw wr;

  mtr_tw_init(&wr, out, err);
  write_head(&wr, type, name, seqid);
  mtr_tw_field(&wr, MTR_T_STRUCT, body_field(type));
  mtr_thrift_write_struct(&wr, info, body);
  mtr_tw_u8(&wr, MTR_T_STOP);
  return finish(&wr, start);
}

enum mortar_status mtr_message_write_exception(struct mtr_buf *out, const char *name, int32_t seqid,
                                               int32_t type, const char *text,
                                               struct mortar_error *err)
{
  size_t start = out->size;
  struct mtr_tw wr;

  mtr_tw_init(&wr, out, err);
  write_head(&wr, MTR_MESSAGE_EXCEPTION, name, seqid);
  mtr_tw_field(&wr, MTR_T_STRING, 1);
  mtr_tw_string(&wr, mtr_span_text(text));
  mtr_tw_field(&wr, MTR_T_I32, 2);
  mtr_tw_i32(&wr, type);
  mtr_tw_u8(&wr, MTR_T_STOP);
  return finish(&wr, start);
}

static struct mtr_span read_name(struct mtr_tr *rd, int32_t size)
{
  const uint8_t *p;

  if (size < 0 || size > MAX_NAME) {
    rd->pos -= mtr_tr_ok(rd) ? 4 : 0;
    mtr_tr_bad(rd, "not a Thrift message: no call has a name of such length");
    return mtr_span_of(NULL, 0);
  }
  p = mtr_tr_take(rd, (size_t)size);
  return mtr_span_of(p, p ? (size_t)size : 0);
}

static void check_type(struct mtr_tr *rd, uint32_t type, struct mtr_message *head)
{
  if (type < MTR_MESSAGE_CALL || type > MTR_MESSAGE_EXCEPTION)
    mtr_tr_bad(rd, "neither a call nor a reply nor an exception");
  else
    head->type = (enum mtr_message_type)type;
}

static void read_strict(struct mtr_tr *rd, uint32_t word, struct mtr_message *head)
{
  if ((word & version_mask) != version_1) {
    mtr_tr_bad(rd, "not a Thrift message of binary protocol version 1");
    return;
  }
  check_type(rd, word & type_mask, head);
  head->name = read_name(rd, mtr_tr_i32(rd));
}

static void read_old(struct mtr_tr *rd, int32_t size, struct mtr_message *head)
{
  uint8_t type;

  head->name = read_name(rd, size);
  type = mtr_tr_u8(rd);
  if (mtr_tr_ok(rd)) check_type(rd, type, head);
}

enum mortar_status mtr_message_read_head(struct mtr_tr *rd, struct mtr_message *head,
                                         struct mortar_error *err)
{
  int32_t word = mtr_tr_i32(rd);

  memset(head, 0, sizeof *head);
  if (word < 0)
    read_strict(rd, (uint32_t)word, head);
  else
    read_old(rd, word, head);
  head->seqid = mtr_tr_i32(rd);
  return mtr_tr_status(rd, "Thrift message head", err);
}

static void read_exception(struct mtr_tr *rd, struct mtr_message *head)
{
  uint8_t type;
  int16_t id;

  while (mtr_tr_field(rd, &type, &id)) {
    if (id == 1 && type == MTR_T_STRING)
      head->exception_text = mtr_tr_string(rd);
    else if (id == 2 && type == MTR_T_I32)
      head->exception_type = mtr_tr_i32(rd);
    else
      mtr_tr_skip(rd, type, 0);
  }
}

/* The struct of arguments, or of the result, holds the one field that we want. */
static void read_body(struct mtr_struct_reader *sr, int16_t want,
                      const struct mtr_struct_info *info, void *body)
{
  struct mtr_tr *rd = &sr->rd;
  bool found = false;
  uint8_t type;
  int16_t id;

  while (mtr_tr_field(rd, &type, &id)) {
    if (id == want && type == MTR_T_STRUCT) {
      mtr_thrift_read_struct(sr, info, body);
      found = true;
    } else {
      mtr_tr_skip(rd, type, 0);
    }
  }
  if (!found) mtr_tr_bad(rd, want ? "a call without its request" : "a reply without its result");
}

enum mortar_status mtr_message_read(struct mtr_span bytes, const struct mtr_struct_info *info,
                                    void *body, struct mtr_arena *arena, struct mtr_message *head,
                                    struct mortar_error *err)
{
  return mtr_message_read_leaving(bytes, info, NULL, body, arena, head, err);
}

enum mortar_status mtr_message_read_leaving(struct mtr_span bytes,
                                            const struct mtr_struct_info *info,
                                            const struct mtr_struct_info *leave, void *body,
                                            struct mtr_arena *arena, struct mtr_message *head,
                                            struct mortar_error *err)
{
  struct mtr_struct_reader sr = {.arena = arena, .leave = leave, .depth = 1};

  memset(body, 0, info->size);
  mtr_tr_init(&sr.rd, bytes);
  MTR_TRY(mtr_message_read_head(&sr.rd, head, err));
  if (head->type == MTR_MESSAGE_EXCEPTION)
    read_exception(&sr.rd, head);
  else
    read_body(&sr, body_field(head->type), info, body);
  if (sr.nomem) return mtr_arena_fail(arena, err, info->name);
  if (mtr_tr_left(&sr.rd) > 0) mtr_tr_bad(&sr.rd, "bytes behind the message");
  return mtr_tr_status(&sr.rd, info->name, err);
}
