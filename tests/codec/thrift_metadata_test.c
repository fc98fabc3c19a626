/* Metadata requests: each filter in the field that it is named by, and back again. */
#include "codec/thrift/metadata.h"

#include <stdio.h>

#include "base/buf.h"
#include "codec/thrift/message.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { ARENA_MAX = 1 << 20 };

static const char *const two_types[] = {"TABLE", "VIEW"};

/* Every filter there is; what a kind does not take has to stay out. */
static const struct mortar_metadata everything = {.catalog = "c",
                                                  .schema = "s%",
                                                  .table = "",
                                                  .column = "\\_x",
                                                  .function = "f'",
                                                  .table_types = two_types,
                                                  .table_type_count = 2,
                                                  .foreign_catalog = "fc",
                                                  .foreign_schema = "fs",
                                                  .foreign_table = "gr\xc3\xb6\xc3\x9f"};

static const struct expected {
  const char *call, *filters; /* behind the session and before the rest */
} all[] = {
    [MORTAR_METADATA_CATALOGS] = {"GetCatalogs", ""},
    [MORTAR_METADATA_SCHEMAS] = {"GetSchemas", ",\"catalog_name\":\"c\",\"schema_name\":\"s%\""},
    [MORTAR_METADATA_TABLES] = {"GetTables",
                                ",\"catalog_name\":\"c\",\"schema_name\":\"s%\",\"table_name\":\"\""
                                ",\"table_types\":[\"TABLE\",\"VIEW\"]"},
    [MORTAR_METADATA_COLUMNS] = {"GetColumns",
                                 ",\"catalog_name\":\"c\",\"schema_name\":\"s%\",\"table_name\":"
                                 "\"\",\"column_name\":\"\\\\_x\""},
    [MORTAR_METADATA_TABLE_TYPES] = {"GetTableTypes", ""},
    [MORTAR_METADATA_TYPE_INFO] = {"GetTypeInfo", ""},
    [MORTAR_METADATA_FUNCTIONS] = {"GetFunctions",
                                   ",\"catalog_name\":\"c\",\"schema_name\":\"s%\","
                                   "\"function_name\":\"f'\""},
    [MORTAR_METADATA_PRIMARY_KEYS] = {"GetPrimaryKeys",
                                      ",\"catalog_name\":\"c\",\"schema_name\":\"s%\","
                                      "\"table_name\":\"\""},
    [MORTAR_METADATA_CROSS_REFERENCE] =
        {"GetCrossReference",
         ",\"parent_catalog_name\":\"c\",\"parent_schema_name\":\"s%\",\"parent_table_name\":\"\""
         ",\"foreign_catalog_name\":\"fc\",\"foreign_schema_name\":\"fs\","
         "\"foreign_table_name\":\"gr\xc3\xb6\xc3\x9f\""},
};
enum { KINDS = sizeof all / sizeof *all };

struct rig {
  struct mtr_arena arena;
  struct mtr_metadata_call call;
  struct mtr_TSessionHandle session;
  struct mtr_THandleIdentifier id;
  struct mtr_TSparkGetDirectResults direct;
  const struct mtr_struct_info *info;
  void *request;
};

static void rig_init(struct rig *r, int kind, const struct mortar_metadata *what)
{
  char name[64];

  memset(r, 0, sizeof *r);
  mtr_arena_init(&r->arena, NULL, ARENA_MAX);
  MTR_SET(&r->id, THandleIdentifier, guid, mtr_span_text("guid"));
  MTR_SET(&r->session, TSessionHandle, session_id, &r->id);
  MTR_SET(&r->direct, TSparkGetDirectResults, max_rows, 7);
  r->call.what = *what;
  r->call.what.kind = (enum mortar_metadata_kind)kind;
  r->call.session = &r->session;
  r->call.direct = &r->direct;
  r->call.run_async = true;
  (void)snprintf(name, sizeof name, "T%sReq", all[kind].call);
  r->info = mtr_tcli_find(mtr_span_text(name));
  assert_non_null(r->info);
}

static void check_json(struct rig *r, const char *filters, const char *rest)
{
  struct mtr_buf have, want;

  mtr_buf_init(&have, NULL, "have", ARENA_MAX);
  mtr_buf_init(&want, NULL, "want", ARENA_MAX);
  assert_int_equal(mtr_metadata_to_request(&r->call, &r->arena, &r->request, NULL), MORTAR_OK);
  assert_int_equal(mtr_thrift_dump(r->info, r->request, &have, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&have, "", 1, NULL), MORTAR_OK);
  assert_int_equal(
      mtr_buf_printf(&want, NULL,
                     "{\"session_handle\":{\"session_id\":{\"guid\":\"hex:67756964\"}}%s%s}",
                     filters, rest),
      MORTAR_OK);
  assert_string_equal((const char *)have.data, (const char *)want.data);
  mtr_buf_fini(&have);
  mtr_buf_fini(&want);
}

#define DIRECT ",\"get_direct_results\":{\"max_rows\":7}"

static void each_filter_goes_into_the_field_of_its_kind(void **state)
{
  struct rig r;
  int kind;

  (void)state;
  for (kind = 0; kind < KINDS; kind++) {
    rig_init(&r, kind, &everything);
    check_json(&r, all[kind].filters, DIRECT ",\"run_async\":true");
    mtr_arena_fini(&r.arena);
  }
}

/* NULL is no filter and no field; only functions can't be asked for without one. */
static void what_is_null_is_left_out(void **state)
{
  static const struct mortar_metadata nothing;
  struct rig r;
  int kind;

  (void)state;
  for (kind = 0; kind < KINDS; kind++) {
    rig_init(&r, kind, &nothing);
    r.call.run_async = false;
    check_json(&r, kind == MORTAR_METADATA_FUNCTIONS ? ",\"function_name\":\"%\"" : "", DIRECT);
    r.call.direct = NULL;
    r.call.run_async = true; /* servers that give no direct results do not know this one either */
    check_json(&r, kind == MORTAR_METADATA_FUNCTIONS ? ",\"function_name\":\"%\"" : "", "");
    mtr_arena_fini(&r.arena);
  }
}

static void same_text(const char *have, const char *want)
{
  assert_true(!have == !want);
  if (want) assert_string_equal(have, want);
}

static void back_from_the_wire(void **state)
{
  struct mtr_metadata_call back;
  enum mortar_metadata_kind kind;
  struct mtr_message head;
  struct mtr_buf bytes;
  struct rig r;
  void *read;
  int i;

  (void)state;
  mtr_buf_init(&bytes, NULL, "bytes", ARENA_MAX);
  for (i = 0; i < KINDS; i++) {
    rig_init(&r, i, &everything);
    assert_int_equal(mtr_metadata_to_request(&r.call, &r.arena, &r.request, NULL), MORTAR_OK);
    mtr_buf_reset(&bytes);
    assert_int_equal(mtr_message_write(&bytes, MTR_MESSAGE_CALL,
                                       mtr_metadata_call_name((enum mortar_metadata_kind)i), 1,
                                       r.info, r.request, NULL),
                     MORTAR_OK);
    read = mtr_arena_alloc(&r.arena, 1, r.info->size);
    assert_int_equal(mtr_message_read(mtr_buf_span(&bytes), r.info, read, &r.arena, &head, NULL),
                     MORTAR_OK);
    assert_true(mtr_metadata_kind_of(head.name, &kind));
    assert_int_equal(kind, i);
    assert_int_equal(mtr_metadata_from_request(kind, read, &r.arena, &back, NULL), MORTAR_OK);
    assert_true(mtr_span_equal(back.session->session_id->guid, mtr_span_text("guid")));
    assert_int_equal(back.direct->max_rows, 7);
    assert_true(back.run_async);
    same_text(back.what.catalog, strstr(all[i].filters, "catalog_name\":\"c") ? "c" : NULL);
    same_text(back.what.table, strstr(all[i].filters, "table_name\":\"\"") ? "" : NULL);
    same_text(back.what.column, i == MORTAR_METADATA_COLUMNS ? "\\_x" : NULL);
    same_text(back.what.function, i == MORTAR_METADATA_FUNCTIONS ? "f'" : NULL);
    same_text(back.what.foreign_schema, i == MORTAR_METADATA_CROSS_REFERENCE ? "fs" : NULL);
    assert_int_equal(back.what.table_type_count, i == MORTAR_METADATA_TABLES ? 2 : 0);
    if (back.what.table_type_count) assert_string_equal(back.what.table_types[1], "VIEW");
    mtr_arena_fini(&r.arena);
  }
  mtr_buf_fini(&bytes);
}

static void what_is_no_text_is_refused(void **state)
{
  struct mtr_TGetTablesReq req = {0};
  struct mtr_thrift_values types = {1, MTR_T_I32, MTR_T_STOP, {NULL, 0}};
  struct mtr_metadata_call call;
  struct mortar_error err;
  struct mtr_arena arena;

  (void)state;
  mtr_arena_init(&arena, NULL, ARENA_MAX);
  types.bytes = mtr_span_of("\0\0\0\0", 4);
  MTR_SET(&req, TGetTablesReq, table_types, types);
  assert_int_equal(mtr_metadata_from_request(MORTAR_METADATA_TABLES, &req, &arena, &call, &err),
                   MORTAR_INVALID);
  memset(&req, 0, sizeof req);
  MTR_SET(&req, TGetTablesReq, table_name, mtr_span_of("a\0b", 3));
  assert_int_equal(mtr_metadata_from_request(MORTAR_METADATA_TABLES, &req, &arena, &call, &err),
                   MORTAR_INVALID);
  assert_non_null(strstr(err.message, "NUL"));
  mtr_arena_fini(&arena);
}

static void names_of_calls(void **state)
{
  enum mortar_metadata_kind kind;
  int i;

  (void)state;
  for (i = 0; i < KINDS; i++)
    assert_string_equal(mtr_metadata_call_name((enum mortar_metadata_kind)i), all[i].call);
  assert_null(mtr_metadata_call_name((enum mortar_metadata_kind)KINDS));
  assert_false(mtr_metadata_kind_of(mtr_span_text("GetTable"), &kind));
  assert_false(mtr_metadata_kind_of(mtr_span_text("ExecuteStatement"), &kind));
}

static void memory_that_runs_out(void **state)
{
  struct failing_alloc fa;
  struct mtr_metadata_call back;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct rig r;
    enum mortar_status st;
    rig_init(&r, MORTAR_METADATA_TABLES, &everything);
    mtr_arena_init(&r.arena, &fa.alloc, ARENA_MAX);
    st = mtr_metadata_to_request(&r.call, &r.arena, &r.request, NULL);
    if (st == MORTAR_OK)
      st = mtr_metadata_from_request(MORTAR_METADATA_TABLES, r.request, &r.arena, &back, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_arena_fini(&r.arena);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_filter_goes_into_the_field_of_its_kind),
      cmocka_unit_test(what_is_null_is_left_out),
      cmocka_unit_test(back_from_the_wire),
      cmocka_unit_test(what_is_no_text_is_refused),
      cmocka_unit_test(names_of_calls),
      cmocka_unit_test(memory_that_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
