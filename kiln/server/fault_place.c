/* Walks a reply's bytes along a path of field names. Trusts nothing: the reply may be an engine's
 * own bytes. */
#include "kiln/server/fault_place.h"

/* One part of a path. */
struct step {
  struct mtr_span name;
  bool indexed, last;
  uint64_t index;
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The tables write hasMoreRows as has_more_rows; people may write either. */
static bool same_name(struct mtr_span given, const char *field)
{
  size_t i = 0;

  for (;;) {
    while (i < given.size && given.data[i] == '_')
      i++;
    while (*field == '_')
      field++;
    if (i == given.size || *field == '\0') return i == given.size && *field == '\0';
    if (lower((char)given.data[i++]) != lower(*field++)) return false;
  }
}

static const struct mtr_field_info *field_of(const struct mtr_struct_info *info,
                                             struct mtr_span name)
{
  uint16_t i;

  for (i = 0; i < info->field_count; i++)
    if (same_name(name, info->fields[i].name)) return &info->fields[i];
  return NULL;
}

static bool read_index(const char **at, struct step *out)
{
  enum { MAX_DIGITS = 9 };
  int digits = 0;

  for (++*at; **at >= '0' && **at <= '9' && digits < MAX_DIGITS; ++*at, digits++)
    out->index = out->index * 10 + (uint64_t)(**at - '0');
  if (digits == 0 || **at != ']') return false;
  ++*at;
  out->indexed = true;
  return true;
}

/* Takes one part off the path. */
static bool next_step(const char **at, struct step *out)
{
  size_t n = strcspn(*at, ".[");

  memset(out, 0, sizeof *out);
  out->name = mtr_span_of(*at, n);
  *at += n;
  if (**at == '[' && !read_index(at, out)) return false;
  out->last = **at == '\0';
  if (!out->last && *(*at)++ != '.') return false;
  return n > 0;
}

static bool ends_well(uint8_t type)
{
  return type == MTR_T_STRING || type == MTR_T_LIST || type == MTR_T_I32;
}

bool kiln_place_valid(const struct mtr_struct_info *reply, const char *place)
{
  const struct mtr_field_info *field;
  struct step step;
  uint8_t type;

  do {
    if (!reply || !next_step(&place, &step)) return false;
    field = field_of(reply, step.name);
    if (!field || (step.indexed && field->wire != MTR_T_LIST)) return false;
    type = step.indexed ? field->element : field->wire;
    if (!step.last && type != MTR_T_STRUCT) return false;
    reply = field->sub;
  } while (!step.last);
  return ends_well(type);
}

/* Stands before the value of the field afterwards. */
static bool go_to_field(struct mtr_tr *rd, int16_t want, uint8_t wire)
{
  uint8_t type;
  int16_t id;

  while (mtr_tr_field(rd, &type, &id)) {
    if (id == want) return type == wire;
    mtr_tr_skip(rd, type, 0);
  }
  return false;
}

static bool go_to_element(struct mtr_tr *rd, uint64_t index)
{
  uint8_t element = MTR_T_STOP;
  uint32_t count = mtr_tr_list(rd, &element);

  if (!mtr_tr_ok(rd) || index >= count) return false;
  mtr_tr_skip_values(rd, element, (uint32_t)index, 0);
  return mtr_tr_ok(rd);
}

static bool describe(struct mtr_tr *rd, struct mtr_span message, uint8_t type,
                     struct kiln_place *out)
{
  size_t at = (size_t)(rd->pos - message.data);
  struct mtr_span text;

  out->number = type == MTR_T_LIST ? at + 1 : at; /* behind the type of the elements */
  out->bytes = out->size = 0;
  if (type != MTR_T_STRING) return mtr_tr_pass(rd, type == MTR_T_LIST ? 5 : 4);
  text = mtr_tr_string(rd);
  out->bytes = at + 4;
  out->size = text.size;
  return mtr_tr_ok(rd);
}

static bool walk(struct mtr_tr *rd, const struct mtr_struct_info *info, const char *place,
                 uint8_t *type)
{
  const struct mtr_field_info *field;
  struct step step;

  do {
    if (!next_step(&place, &step)) return false;
    field = field_of(info, step.name);
    if (!field || !go_to_field(rd, field->id, field->wire)) return false;
    if (step.indexed && !go_to_element(rd, step.index)) return false;
    *type = step.indexed ? field->element : field->wire;
    info = field->sub;
  } while (!step.last);
  return true;
}

bool kiln_place_find(struct mtr_span message, const struct mtr_struct_info *reply,
                     const char *place, struct kiln_place *out)
{
  struct mtr_message head;
  uint8_t type = MTR_T_STOP;
  struct mtr_tr rd;

  mtr_tr_init(&rd, message);
  if (!kiln_place_valid(reply, place)) return false;
  if (mtr_message_read_head(&rd, &head, NULL) != MORTAR_OK || head.type != MTR_MESSAGE_REPLY)
    return false;
  return go_to_field(&rd, 0, MTR_T_STRUCT) && walk(&rd, reply, place, &type) &&
         describe(&rd, message, type, out);
}
