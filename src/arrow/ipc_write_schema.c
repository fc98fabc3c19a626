/* Writes Schema messages. Numbers are those of Schema.fbs; ipc_schema.c reads the same tables.
 * Refuses nothing: every type of the model has a place in the format. */
#include "arrow/ipc_writer.h"

#include "arrow/flatbuf_writer.h"
#include "base/error.h"

enum { V5 = 4, HEADER_SCHEMA = 1 };

/* A type's number in the Type union, and its table. */
struct type_table {
  int64_t id;
  struct mtr_flat_slot slots[3];
  unsigned count;
};

static void set_slot(struct type_table *t, unsigned id, unsigned width, int64_t value)
{
  t->slots[id].width = width;
  t->slots[id].value = value;
  if (t->count <= id) t->count = id + 1;
}

static void describe_int(const struct mtr_arrow_field *field, bool is_signed, struct type_table *t)
{
  t->id = 2;
  set_slot(t, 0, 4, field->byte_width * 8);
  set_slot(t, 1, 1, is_signed);
}

static void describe_choice(int64_t id, int64_t number, struct type_table *t)
{
  t->id = id;
  set_slot(t, 0, 2, number);
}

static void describe_time(const struct mtr_arrow_field *field, struct type_table *t)
{
  describe_choice(9, field->unit, t);
  set_slot(t, 1, 4, field->byte_width * 8);
}

static void describe_decimal(const struct mtr_arrow_field *field, struct type_table *t)
{
  t->id = 7;
  set_slot(t, 0, 4, field->precision);
  set_slot(t, 1, 4, field->scale);
  set_slot(t, 2, 4, field->byte_width * 8);
}

static void describe_sized(int64_t id, const struct mtr_arrow_field *field, struct type_table *t)
{
  t->id = id;
  set_slot(t, 0, 4, field->byte_width);
}

static void describe_timestamp(const struct mtr_arrow_field *field, struct type_table *t)
{
  describe_choice(10, field->unit, t);
  if (field->timezone) set_slot(t, 1, 4, 0);
}

static void describe_map(const struct mtr_arrow_field *field, struct type_table *t)
{
  t->id = 17;
  set_slot(t, 0, 1, field->keys_sorted);
}

static void describe(const struct mtr_arrow_field *field, struct type_table *t)
{
  memset(t, 0, sizeof *t);
  switch (field->type) {
    case MTR_ARROW_NULL:
      t->id = 1;
      break;
    case MTR_ARROW_INT8:
    case MTR_ARROW_INT16:
    case MTR_ARROW_INT32:
    case MTR_ARROW_INT64:
      describe_int(field, true, t);
      break;
    case MTR_ARROW_UINT8:
    case MTR_ARROW_UINT16:
    case MTR_ARROW_UINT32:
    case MTR_ARROW_UINT64:
      describe_int(field, false, t);
      break;
    case MTR_ARROW_HALF:
      describe_choice(3, 0, t);
      break;
    case MTR_ARROW_FLOAT:
      describe_choice(3, 1, t);
      break;
    case MTR_ARROW_DOUBLE:
      describe_choice(3, 2, t);
      break;
    case MTR_ARROW_BINARY:
      t->id = 4;
      break;
    case MTR_ARROW_UTF8:
      t->id = 5;
      break;
    case MTR_ARROW_BOOL:
      t->id = 6;
      break;
    case MTR_ARROW_DECIMAL:
      describe_decimal(field, t);
      break;
    case MTR_ARROW_DATE32:
      describe_choice(8, 0, t);
      break;
    case MTR_ARROW_DATE64:
      describe_choice(8, 1, t);
      break;
    case MTR_ARROW_TIME32:
    case MTR_ARROW_TIME64:
      describe_time(field, t);
      break;
    case MTR_ARROW_TIMESTAMP:
      describe_timestamp(field, t);
      break;
    case MTR_ARROW_INTERVAL_MONTHS:
      describe_choice(11, 0, t);
      break;
    case MTR_ARROW_INTERVAL_DAY_TIME:
      describe_choice(11, 1, t);
      break;
    case MTR_ARROW_INTERVAL_MONTH_DAY_NANO:
      describe_choice(11, 2, t);
      break;
    case MTR_ARROW_LIST:
      t->id = 12;
      break;
    case MTR_ARROW_STRUCT:
      t->id = 13;
      break;
    case MTR_ARROW_FIXED_BINARY:
      describe_sized(15, field, t);
      break;
    case MTR_ARROW_FIXED_LIST:
      describe_sized(16, field, t);
      break;
    case MTR_ARROW_MAP:
      describe_map(field, t);
      break;
    case MTR_ARROW_DURATION:
      describe_choice(18, field->unit, t);
      break;
    case MTR_ARROW_LARGE_BINARY:
      t->id = 19;
      break;
    case MTR_ARROW_LARGE_UTF8:
      t->id = 20;
      break;
    case MTR_ARROW_LARGE_LIST:
      t->id = 21;
      break;
  }
}

static enum mortar_status put_type(struct mtr_flat_writer *w, size_t link, struct type_table *t,
                                   const struct mtr_arrow_field *field)
{
  MTR_TRY(mtr_flat_put_table(w, link, t->slots, t->count));
  if (!field->timezone || field->type != MTR_ARROW_TIMESTAMP) return MORTAR_OK;
  return mtr_flat_put_text(w, t->slots[1].at, field->timezone, strlen(field->timezone));
}

static enum mortar_status put_pair(struct mtr_flat_writer *w, size_t link,
                                   const struct mtr_arrow_metadata *pair)
{
  struct mtr_flat_slot slots[2] = {{4, 0, 0}, {4, 0, 0}};

  MTR_TRY(mtr_flat_put_table(w, link, slots, 2));
  MTR_TRY(mtr_flat_put_text(w, slots[0].at, pair->key, pair->key_size));
  return mtr_flat_put_text(w, slots[1].at, pair->value, pair->value_size);
}

static enum mortar_status put_metadata(struct mtr_flat_writer *w, size_t link,
                                       const struct mtr_arrow_metadata *pairs, int64_t count)
{
  size_t at;
  int64_t i;

  if (count == 0) return MORTAR_OK;
  MTR_TRY(mtr_flat_put_vector(w, link, (size_t)count, 4, &at));
  for (i = 0; i < count; i++)
    MTR_TRY(put_pair(w, at + 4 * (size_t)i, &pairs[i]));
  return MORTAR_OK;
}

static enum mortar_status put_field(struct mtr_flat_writer *w, size_t link,
                                    const struct mtr_arrow_field *field);

static enum mortar_status put_fields(struct mtr_flat_writer *w, size_t link,
                                     const struct mtr_arrow_field *parent)
{
  size_t at;
  int64_t i;

  MTR_TRY(mtr_flat_put_vector(w, link, (size_t)parent->child_count, 4, &at));
  for (i = 0; i < parent->child_count; i++)
    MTR_TRY(put_field(w, at + 4 * (size_t)i, &parent->children[i]));
  return MORTAR_OK;
}

static enum mortar_status put_field(struct mtr_flat_writer *w, size_t link,
                                    const struct mtr_arrow_field *field)
{
  enum { NAME, NULLABLE, TYPE_ID, TYPE, DICTIONARY, CHILDREN, METADATA, SLOTS };
  struct mtr_flat_slot slots[SLOTS] = {{0}};
  struct type_table type;

  describe(field, &type);
  slots[NAME].width = slots[TYPE].width = slots[CHILDREN].width = 4;
  slots[NULLABLE].width = slots[TYPE_ID].width = 1;
  slots[NULLABLE].value = field->nullable;
  slots[TYPE_ID].value = type.id;
  slots[METADATA].width = field->metadata_count ? 4 : 0;
  MTR_TRY(mtr_flat_put_table(w, link, slots, SLOTS));
  MTR_TRY(mtr_flat_put_text(w, slots[NAME].at, field->name, strlen(field->name)));
  MTR_TRY(put_type(w, slots[TYPE].at, &type, field));
  MTR_TRY(put_fields(w, slots[CHILDREN].at, field));
  return put_metadata(w, slots[METADATA].at, field->metadata, field->metadata_count);
}

static enum mortar_status put_message(struct mtr_flat_writer *w,
                                      const struct mtr_arrow_schema *schema)
{
  struct mtr_flat_slot message[3] = {{2, V5, 0}, {1, HEADER_SCHEMA, 0}, {4, 0, 0}};
  struct mtr_flat_slot slots[3] = {{0, 0, 0}, {4, 0, 0}, {0, 0, 0}};

  slots[2].width = schema->metadata_count ? 4 : 0;
  MTR_TRY(mtr_flat_put_table(w, w->begin, message, 3));
  MTR_TRY(mtr_flat_put_table(w, message[2].at, slots, 3));
  MTR_TRY(put_fields(w, slots[1].at, &schema->root));
  return put_metadata(w, slots[2].at, schema->metadata, schema->metadata_count);
}

enum mortar_status mtr_ipc_write_schema(const struct mtr_arrow_schema *schema, struct mtr_buf *out,
                                        struct mortar_error *err)
{
  struct mtr_flat_writer w;
  size_t size = out->size;
  enum mortar_status st;

  MTR_GOTO(mtr_flat_begin(&w, out, err));
  MTR_GOTO(put_message(&w, schema));
  MTR_GOTO(mtr_flat_end(&w));
done:
  if (st != MORTAR_OK) out->size = size;
  return st;
}

enum mortar_status mtr_ipc_write_end(struct mtr_buf *out, struct mortar_error *err)
{
  static const uint8_t marker[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0};

  return mtr_buf_append(out, marker, sizeof marker, err);
}
