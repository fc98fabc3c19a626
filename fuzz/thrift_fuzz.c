/* Any bytes as a Thrift message: what is accepted must be written, read again and written the same,
 * and dumped. The body is the struct of the message's own name; a name that no call has takes the
 * struct that its sequence id points at, so that every struct can be reached. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/thrift/message.h"

enum { MEMORY_MAX = 64 << 20, LARGEST_STRUCT = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
  struct mtr_arena arena;
  struct mtr_buf first, second, json;
};

static const struct mtr_struct_info *body_of(const struct mtr_message *head)
{
  const char *suffix = head->type == MTR_MESSAGE_CALL ? "Req" : "Resp";
  size_t n, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  size_t i = (uint32_t)head->seqid % count;
  char name[300];

  n = (size_t)snprintf(name, sizeof name, "T%.*s%s", MTR_SPAN_ARG(head->name), suffix);
  if (mtr_tcli_find(mtr_span_of(name, n))) return mtr_tcli_find(mtr_span_of(name, n));
  return all[i];
}

/* A whole message again, under the name and number it came with. */
static void write_again(const struct mtr_message *head, const struct mtr_struct_info *info,
                        const void *body, struct mtr_buf *out)
{
  char name[300];

  snprintf(name, sizeof name, "%.*s", MTR_SPAN_ARG(head->name));
  if (mtr_message_write(out, head->type, name, head->seqid, info, body, NULL) != MORTAR_OK) abort();
}

static void check(struct state *s, const struct mtr_message *head,
                  const struct mtr_struct_info *info, const void *body)
{
  _Alignas(16) uint8_t again[LARGEST_STRUCT];
  struct mtr_message second;

  write_again(head, info, body, &s->first);
  if (mtr_message_read(mtr_buf_span(&s->first), info, again, &s->arena, &second, NULL) != MORTAR_OK)
    abort();
  write_again(&second, info, again, &s->second);
  if (!mtr_span_equal(mtr_buf_span(&s->first), mtr_buf_span(&s->second))) abort();
  if (mtr_thrift_dump(info, body, &s->json, NULL) != MORTAR_OK) abort();
}

static void run(struct state *s, struct mtr_span bytes)
{
  _Alignas(16) uint8_t body[LARGEST_STRUCT];
  const struct mtr_struct_info *info;
  struct mtr_message head;
  struct mtr_tr rd;

  mtr_tr_init(&rd, bytes);
  if (mtr_message_read_head(&rd, &head, NULL) != MORTAR_OK) return;
  info = body_of(&head);
  if (info->size > sizeof body) abort();
  if (mtr_message_read(bytes, info, body, &s->arena, &head, NULL) == MORTAR_OK &&
      head.type != MTR_MESSAGE_EXCEPTION)
    check(s, &head, info, body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct state s;

  mtr_arena_init(&s.arena, NULL, MEMORY_MAX);
  mtr_buf_init(&s.first, NULL, "first", MEMORY_MAX);
  mtr_buf_init(&s.second, NULL, "second", MEMORY_MAX);
  mtr_buf_init(&s.json, NULL, "dump", MEMORY_MAX);
  run(&s, mtr_span_of(data, size));
  mtr_arena_fini(&s.arena);
  mtr_buf_fini(&s.first);
  mtr_buf_fini(&s.second);
  mtr_buf_fini(&s.json);
  return 0;
}
