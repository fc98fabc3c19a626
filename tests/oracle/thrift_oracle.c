/* Answers what our codec makes of bytes that somebody else's wrote. tests/python drives it.
 *
 *     thrift_oracle --tables     the field tables of all structs, as JSON
 *     thrift_oracle              frames on stdin, one answer on stdout for each
 *
 *     frame    u32 big-endian length of the rest, "TStatus\n", the struct's bytes
 *              or "@TCloseSessionReq\n" and a whole message with that body
 *     answer   u32 big-endian length of the rest, then
 *              "OK <size of the JSON> <message type> <seqid> <name>\n", our dump, our re-encoding
 *              or "<status> <text>\n"
 *
 * A frame that is longer than it says, or an unknown struct, ends the program with status 1: those
 * are mistakes of the test. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "codec/thrift/message.h"

enum { MAX_BYTES = 256 << 20 }; /* far above what the test sends */

struct oracle {
  struct mtr_buf frame, json, encoded, answer;
  struct mtr_arena arena;
};

static void oracle_init(struct oracle *o)
{
  mtr_buf_init(&o->frame, NULL, "frame", MAX_BYTES);
  mtr_buf_init(&o->json, NULL, "dump", MAX_BYTES);
  mtr_buf_init(&o->encoded, NULL, "encoding", MAX_BYTES);
  mtr_buf_init(&o->answer, NULL, "answer", MAX_BYTES);
  mtr_arena_init(&o->arena, NULL, MAX_BYTES);
}

static void oracle_fini(struct oracle *o)
{
  mtr_buf_fini(&o->frame);
  mtr_buf_fini(&o->json);
  mtr_buf_fini(&o->encoded);
  mtr_buf_fini(&o->answer);
  mtr_arena_fini(&o->arena);
}

static void print_field(const struct mtr_field_info *f, const char *separator)
{
  printf("%s{\"id\":%d,\"name\":\"%s\",\"required\":%s,\"kind\":%d,\"element\":%d,\"sub\":\"%s\"}",
         separator, f->id, f->name, f->required ? "true" : "false", f->kind, f->element,
         f->sub ? f->sub->name : "");
}

static void print_tables(void)
{
  size_t i, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  unsigned j;

  for (i = 0; i < count; i++) {
    printf("%s\"%s\":[", i ? ",\n" : "{", all[i]->name);
    for (j = 0; j < all[i]->field_count; j++)
      print_field(&all[i]->fields[j], j ? "," : "");
    printf("]");
  }
  printf("}\n");
}

/* False at the end of stdin, also in the middle of a frame. */
static bool read_frame(struct mtr_buf *frame)
{
  uint8_t head[4];
  uint32_t n;

  if (fread(head, 1, 4, stdin) != 4) return false;
  n = mtr_be32(head);
  mtr_buf_reset(frame);
  if (mtr_buf_reserve(frame, n, NULL) != MORTAR_OK) return false;
  frame->size = fread(frame->data, 1, n, stdin);
  return frame->size == n;
}

/* Takes the first line off bytes. */
static struct mtr_span take_line(struct mtr_span *bytes)
{
  const uint8_t *end = memchr(bytes->data, '\n', bytes->size);
  size_t n = end ? (size_t)(end - bytes->data) : bytes->size;
  struct mtr_span line = {bytes->data, n};

  n += end ? 1 : 0;
  bytes->data += n;
  bytes->size -= n;
  return line;
}

static enum mortar_status encode_struct(struct oracle *o, const struct mtr_struct_info *info,
                                        const void *value, struct mortar_error *err)
{
  struct mtr_tw wr;

  mtr_tw_init(&wr, &o->encoded, err);
  mtr_thrift_write_struct(&wr, info, value);
  return mtr_tw_finish(&wr);
}

static enum mortar_status answer_struct(struct oracle *o, const struct mtr_struct_info *info,
                                        struct mtr_span bytes, struct mortar_error *err)
{
  void *value = mtr_arena_alloc(&o->arena, 1, info->size);

  if (!value) return mtr_fail_nomem(err, info->name);
  MTR_TRY(mtr_thrift_decode(bytes, info, value, &o->arena, err));
  MTR_TRY(mtr_thrift_dump(info, value, &o->json, err));
  MTR_TRY(encode_struct(o, info, value, err));
  return mtr_buf_printf(&o->answer, err, "OK %zu 0 0 -\n", o->json.size);
}

static enum mortar_status answer_message(struct oracle *o, const struct mtr_struct_info *info,
                                         struct mtr_span bytes, struct mortar_error *err)
{
  void *value = mtr_arena_alloc(&o->arena, 1, info->size);
  struct mtr_message head;
  const char *name;

  if (!value) return mtr_fail_nomem(err, info->name);
  MTR_TRY(mtr_message_read(bytes, info, value, &o->arena, &head, err));
  MTR_TRY(mtr_thrift_dump(info, value, &o->json, err));
  name = mtr_arena_text(&o->arena, head.name.data, head.name.size);
  if (!name) return mtr_fail_nomem(err, "name");
  MTR_TRY(mtr_message_write(&o->encoded, head.type, name, head.seqid, info, value, err));
  return mtr_buf_printf(&o->answer, err, "OK %zu %d %" PRId32 " %s\n", o->json.size, (int)head.type,
                        head.seqid, name);
}

static enum mortar_status answer_frame(struct oracle *o, struct mortar_error *err)
{
  struct mtr_span bytes = mtr_buf_span(&o->frame), name = take_line(&bytes);
  bool message = name.size > 0 && name.data[0] == '@';
  const struct mtr_struct_info *info;

  if (message) name = mtr_span_of(name.data + 1, name.size - 1);
  info = mtr_tcli_find(name);
  if (!info) return mtr_fail(err, MORTAR_INVALID, "no struct %.*s", MTR_SPAN_ARG(name));
  return message ? answer_message(o, info, bytes, err) : answer_struct(o, info, bytes, err);
}

static void reset(struct oracle *o)
{
  mtr_buf_reset(&o->json);
  mtr_buf_reset(&o->encoded);
  mtr_buf_reset(&o->answer);
  mtr_arena_reset(&o->arena);
}

static enum mortar_status make_answer(struct oracle *o)
{
  struct mortar_error err = {0};
  enum mortar_status st = answer_frame(o, &err);

  if (st == MORTAR_INVALID) return st;
  if (st == MORTAR_OK) {
    MTR_TRY(mtr_buf_append(&o->answer, o->json.data, o->json.size, NULL));
    return mtr_buf_append(&o->answer, o->encoded.data, o->encoded.size, NULL);
  }
  mtr_buf_reset(&o->answer);
  return mtr_buf_printf(&o->answer, NULL, "%s %s\n", mortar_status_name(st), err.message);
}

static bool write_answer(const struct mtr_buf *answer)
{
  uint8_t head[4] = {(uint8_t)(answer->size >> 24), (uint8_t)(answer->size >> 16),
                     (uint8_t)(answer->size >> 8), (uint8_t)answer->size};

  return fwrite(head, 1, 4, stdout) == 4 &&
         fwrite(answer->data, 1, answer->size, stdout) == answer->size && fflush(stdout) == 0;
}

static int serve(void)
{
  struct oracle o;
  bool ok = true;

  oracle_init(&o);
  while (ok && read_frame(&o.frame)) {
    reset(&o);
    ok = make_answer(&o) == MORTAR_OK && write_answer(&o.answer);
  }
  oracle_fini(&o);
  return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
  if (argc < 2) return serve();
  if (strcmp(argv[1], "--tables") != 0) return 2;
  print_tables();
  return 0;
}
