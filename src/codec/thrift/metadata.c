/* Metadata requests and their filters, field by field with the structs' own descriptors. */
#include "codec/thrift/metadata.h"

#include "base/error.h"

static const struct call {
  const char *name;
  const struct mtr_struct_info *request;
  int32_t operation_type;
} calls[] = {
#define X(kind, call, type) [MORTAR_METADATA_##kind] = {#call, &mtr_T##call##Req_info, type},
    MTR_METADATA_MAP(X)
#undef X
};
enum { CALLS = sizeof calls / sizeof *calls };

const char *mtr_metadata_call_name(enum mortar_metadata_kind kind)
{
  return (unsigned)kind < CALLS ? calls[kind].name : NULL;
}

bool mtr_metadata_kind_of(struct mtr_span call_name, enum mortar_metadata_kind *out)
{
  int i;

  for (i = 0; i < CALLS; i++) {
    if (!mtr_span_equal(call_name, mtr_span_text(calls[i].name))) continue;
    *out = (enum mortar_metadata_kind)i;
    return true;
  }
  return false;
}

int32_t mtr_metadata_operation_type(enum mortar_metadata_kind kind)
{
  return calls[kind].operation_type;
}

/* The filters that are texts. The table with the primary key is the parent in a cross reference,
 * and a table like any other elsewhere. */
static const struct text {
  const char *field;
  size_t offset;
} texts[] = {
    {"catalog_name", offsetof(struct mortar_metadata, catalog)},
    {"schema_name", offsetof(struct mortar_metadata, schema)},
    {"table_name", offsetof(struct mortar_metadata, table)},
    {"column_name", offsetof(struct mortar_metadata, column)},
    {"function_name", offsetof(struct mortar_metadata, function)},
    {"parent_catalog_name", offsetof(struct mortar_metadata, catalog)},
    {"parent_schema_name", offsetof(struct mortar_metadata, schema)},
    {"parent_table_name", offsetof(struct mortar_metadata, table)},
    {"foreign_catalog_name", offsetof(struct mortar_metadata, foreign_catalog)},
    {"foreign_schema_name", offsetof(struct mortar_metadata, foreign_schema)},
    {"foreign_table_name", offsetof(struct mortar_metadata, foreign_table)},
};
enum { TEXTS = sizeof texts / sizeof *texts };

static const struct mtr_field_info *field_of(const struct mtr_struct_info *info, const char *name)
{
  uint16_t i;

  for (i = 0; i < info->field_count; i++)
    if (strcmp(info->fields[i].name, name) == 0) return &info->fields[i];
  return NULL;
}

/* ---- To a request ---- */

static void put(const struct mtr_struct_info *info, void *request, const char *name,
                const void *value, size_t size)
{
  const struct mtr_field_info *field = field_of(info, name);
  struct mtr_struct_head *head = request;

  if (!field) return;
  head->has |= field->bit;
  memcpy((char *)request + field->offset, value, size);
}

static void put_texts(const struct mtr_struct_info *info, void *request,
                      const struct mortar_metadata *what)
{
  int i;

  for (i = 0; i < TEXTS; i++) {
    const char *text;
    struct mtr_span span;
    memcpy(&text, (const char *)what + texts[i].offset, sizeof text);
    span = mtr_span_text(text);
    if (text) put(info, request, texts[i].field, &span, sizeof span);
  }
}

static enum mortar_status put_types(const struct mtr_struct_info *info, void *request,
                                    const struct mortar_metadata *what, struct mtr_arena *arena,
                                    struct mortar_error *err)
{
  struct mtr_thrift_values types = {
      (uint32_t)what->table_type_count, MTR_T_STRING, MTR_T_STOP, {NULL, 0}};
  size_t i, size = 0;
  uint8_t *at;

  for (i = 0; i < what->table_type_count; i++)
    size += 4 + strlen(what->table_types[i]);
  at = mtr_arena_alloc(arena, 1, size);
  if (!at) return mtr_fail_nomem(err, "table types");
  types.bytes = mtr_span_of(at, size);
  for (i = 0; i < what->table_type_count; i++) {
    const size_t length = strlen(what->table_types[i]);
    mtr_put_be32(at, (uint32_t)length);
    memcpy(at + 4, what->table_types[i], length);
    at += 4 + length;
  }
  put(info, request, "table_types", &types, sizeof types);
  return MORTAR_OK;
}

enum mortar_status mtr_metadata_to_request(const struct mtr_metadata_call *call,
                                           struct mtr_arena *arena, void **request,
                                           struct mortar_error *err)
{
  const struct mtr_struct_info *info = calls[call->what.kind].request;
  const struct mtr_span all = mtr_span_text("%");

  *request = mtr_arena_alloc(arena, 1, info->size);
  if (!*request) return mtr_fail_nomem(err, "request");
  put(info, *request, "session_handle", &call->session, sizeof call->session);
  put_texts(info, *request, &call->what);
  if (!call->what.function) put(info, *request, "function_name", &all, sizeof all);
  if (call->what.table_type_count) MTR_TRY(put_types(info, *request, &call->what, arena, err));
  if (!call->direct) return MORTAR_OK;
  put(info, *request, "get_direct_results", &call->direct, sizeof call->direct);
  if (call->run_async) put(info, *request, "run_async", &call->run_async, sizeof call->run_async);
  return MORTAR_OK;
}

/* ---- From a request ---- */

/* Leaves out as it was when the field is not there. */
static void take(const struct mtr_struct_info *info, const void *request, const char *name,
                 void *out, size_t size)
{
  const struct mtr_field_info *field = field_of(info, name);
  const struct mtr_struct_head *head = request;

  if (field && head->has & field->bit) memcpy(out, (const char *)request + field->offset, size);
}

static enum mortar_status copy_text(struct mtr_span span, struct mtr_arena *arena, const char **out,
                                    struct mortar_error *err)
{
  if (span.size && memchr(span.data, 0, span.size))
    return mtr_fail(err, MORTAR_INVALID, "a filter holds a NUL character");
  *out = mtr_arena_text(arena, span.data, span.size);
  return *out ? MORTAR_OK : mtr_fail_nomem(err, "filter");
}

static enum mortar_status take_texts(const struct mtr_struct_info *info, const void *request,
                                     struct mtr_arena *arena, struct mortar_metadata *what,
                                     struct mortar_error *err)
{
  int i;

  for (i = 0; i < TEXTS; i++) {
    struct mtr_span span = mtr_span_of(NULL, 0);
    const struct mtr_field_info *field = field_of(info, texts[i].field);
    const char *text;
    if (!field || !(((const struct mtr_struct_head *)request)->has & field->bit)) continue;
    take(info, request, texts[i].field, &span, sizeof span);
    MTR_TRY(copy_text(span, arena, &text, err));
    memcpy((char *)what + texts[i].offset, &text, sizeof text);
  }
  return MORTAR_OK;
}

static enum mortar_status take_types(const struct mtr_struct_info *info, const void *request,
                                     struct mtr_arena *arena, struct mortar_metadata *what,
                                     struct mortar_error *err)
{
  struct mtr_thrift_values types = {0, MTR_T_STRING, MTR_T_STOP, {NULL, 0}};
  const char **words;
  struct mtr_tr rd;
  uint32_t i;

  take(info, request, "table_types", &types, sizeof types);
  if (types.count == 0) return MORTAR_OK;
  if (types.element != MTR_T_STRING)
    return mtr_fail(err, MORTAR_INVALID, "table types must be texts");
  words = mtr_arena_alloc(arena, types.count, sizeof *words);
  if (!words) return mtr_fail_nomem(err, "table types");
  mtr_tr_init(&rd, types.bytes);
  for (i = 0; i < types.count; i++)
    MTR_TRY(copy_text(mtr_tr_string(&rd), arena, &words[i], err));
  what->table_types = words;
  what->table_type_count = types.count;
  return MORTAR_OK;
}

enum mortar_status mtr_metadata_from_request(enum mortar_metadata_kind kind, const void *request,
                                             struct mtr_arena *arena, struct mtr_metadata_call *out,
                                             struct mortar_error *err)
{
  const struct mtr_struct_info *info = calls[kind].request;

  memset(out, 0, sizeof *out);
  out->what.kind = kind;
  take(info, request, "session_handle", &out->session, sizeof out->session);
  take(info, request, "get_direct_results", &out->direct, sizeof out->direct);
  take(info, request, "run_async", &out->run_async, sizeof out->run_async);
  MTR_TRY(take_texts(info, request, arena, &out->what, err));
  return take_types(info, request, arena, &out->what, err);
}
