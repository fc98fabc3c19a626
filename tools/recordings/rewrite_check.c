/* Thrift leaves a writer some freedom: the order of fields, and fields that its reader skips. Where
 * a message makes no use of it, what the codec read and writes again must be the same bytes:
 * nothing was lost and nothing misread. */
#include "tools/recordings/rewrite_check.h"

#include <stdio.h>

#include "base/error.h"

/* No message is larger than the line that it came in. */
enum { MESSAGE_MAX = 1 << 30 };

static bool struct_is_plain(struct mtr_tr *rd, const struct mtr_struct_info *info);

static bool list_is_plain(struct mtr_tr *rd, const struct mtr_field_info *f)
{
  uint8_t element;
  uint32_t i, count = mtr_tr_list(rd, &element);

  if (element != f->element) return false;
  if (f->kind == MTR_KIND_LIST) {
    mtr_tr_skip_values(rd, element, count, 0);
    return true;
  }
  for (i = 0; i < count; i++)
    if (!struct_is_plain(rd, f->sub)) return false;
  return true;
}

static bool map_is_plain(struct mtr_tr *rd, const struct mtr_field_info *f)
{
  uint8_t key, value;
  uint32_t count = mtr_tr_map(rd, &key, &value);

  mtr_tr_skip_pairs(rd, key, value, count, 0);
  return key == MTR_T_STRING && value == f->element;
}

static bool value_is_plain(struct mtr_tr *rd, const struct mtr_field_info *f)
{
  switch (f->wire) {
    case MTR_T_BOOL:
      return mtr_tr_u8(rd) <= 1;
    case MTR_T_STRUCT:
      return struct_is_plain(rd, f->sub);
    case MTR_T_LIST:
      return list_is_plain(rd, f);
    case MTR_T_MAP:
      return map_is_plain(rd, f);
    default:
      mtr_tr_skip(rd, f->wire, 0);
      return true;
  }
}

/* Only known fields, by ascending id. It was decoded, so it is whole and not too deep. */
static bool struct_is_plain(struct mtr_tr *rd, const struct mtr_struct_info *info)
{
  const struct mtr_field_info *f = info->fields, *end = f + info->field_count;
  uint8_t type;
  int16_t id;

  while (mtr_tr_field(rd, &type, &id)) {
    while (f < end && f->id < id)
      f++;
    if (f == end || f->id != id || f->wire != type || !value_is_plain(rd, f++)) return false;
  }
  return true;
}

/* The envelope's struct holds one field, the body. */
static bool message_is_plain(struct mtr_span bytes, const struct mtr_struct_info *info)
{
  struct mtr_message head;
  struct mtr_tr rd;
  uint8_t type;
  int16_t id;

  mtr_tr_init(&rd, bytes);
  return mtr_message_read_head(&rd, &head, NULL) == MORTAR_OK && bytes.data[0] == 0x80 &&
         mtr_tr_field(&rd, &type, &id) && struct_is_plain(&rd, info) &&
         !mtr_tr_field(&rd, &type, &id);
}

static enum mortar_status write_again(struct mtr_buf *out, const struct mtr_message *head,
                                      const struct mtr_struct_info *info, const void *body,
                                      struct mortar_error *err)
{
  char name[64];

  /* The name of a call that was found in the table is short. */
  (void)snprintf(name, sizeof name, "%.*s", MTR_SPAN_ARG(head->name));
  return mtr_message_write(out, head->type, name, head->seqid, info, body, err);
}

static size_t first_difference(struct mtr_span a, struct mtr_span b)
{
  size_t i = 0;

  while (i < a.size && i < b.size && a.data[i] == b.data[i])
    i++;
  return i;
}

bool rewrite_check(struct report *r, const char *what, struct mtr_span bytes,
                   const struct mtr_message *head, const struct mtr_struct_info *info,
                   const void *body)
{
  struct mortar_error err = {0};
  struct mtr_span again;
  struct mtr_buf buf;
  bool ok = true;

  mtr_buf_init(&buf, NULL, "message", MESSAGE_MAX);
  if (write_again(&buf, head, info, body, &err) != MORTAR_OK)
    ok = report_fail(r, "%s: can't be written again: %s", what, err.message);
  again = mtr_buf_span(&buf);
  if (ok && mtr_span_equal(again, bytes))
    r->same++;
  else if (ok && !message_is_plain(bytes, info))
    r->other_form++;
  else if (ok)
    ok = report_fail(r, "%s: written again it differs at byte %zu", what,
                     first_difference(again, bytes));
  mtr_buf_fini(&buf);
  return ok;
}
