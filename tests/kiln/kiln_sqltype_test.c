/* Names of SQL types for Arrow columns, against what recorded replies hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "kiln/server/node.h"
#include "kiln/server/sqltype.h"

struct checked {
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct mtr_TTableSchema table;
  struct mortar_error err;
};

/* Takes one column through import, annotation and description. */
static enum mortar_status describe(struct checked *c, struct kiln_node *column)
{
  struct kiln_node *root = kiln_node_new(&c->arena, "", "+s", 0, 1, 1);
  enum mortar_status st;

  assert_non_null(root);
  assert_non_null(column);
  kiln_node_adopt(root, 0, column);
  st = mtr_arrow_schema_import(&root->schema, &c->arena, &c->schema, &c->err);
  if (st == MORTAR_OK) st = kiln_sqltype_annotate(&c->schema, &c->arena, &c->err);
  if (st == MORTAR_OK) st = kiln_sqltype_table(&c->schema, &c->arena, &c->table, &c->err);
  return st;
}

static void begin(struct checked *c)
{
  memset(c, 0, sizeof *c);
  mtr_arena_init(&c->arena, NULL, 1 << 20);
}

static void assert_metadata(const struct checked *c, const char *key, const char *value)
{
  struct mtr_span got = mtr_arrow_metadata_get(&c->schema.root.children[0], key);

  if (!mtr_span_equal(got, mtr_span_text(value)))
    fail_msg("%s is %.*s, not %s", key, MTR_SPAN_ARG(got), value);
}

static const struct mtr_TPrimitiveTypeEntry *primitive(const struct checked *c)
{
  return c->table.columns.items[0].type_desc->types.items[0].primitive_entry;
}

static void check(const char *format, const char *sql, const char *json, int32_t id)
{
  struct checked c;

  begin(&c);
  if (describe(&c, kiln_node_new(&c.arena, "c", format, 0, 3, 0)) != MORTAR_OK)
    fail_msg("%s: %s", format, c.err.message);
  assert_metadata(&c, "Spark:DataType:SqlName", sql);
  assert_metadata(&c, "Spark:DataType:JsonType", json);
  assert_int_equal(primitive(&c)->type, id);
  mtr_arena_fini(&c.arena);
}

static void plain_types_have_their_names(void **state)
{
  (void)state;
  check("n", "VOID", "\"void\"", MTR_TYPE_NULL);
  check("b", "BOOLEAN", "\"boolean\"", MTR_TYPE_BOOLEAN);
  check("c", "TINYINT", "\"byte\"", MTR_TYPE_TINYINT);
  check("s", "SMALLINT", "\"short\"", MTR_TYPE_SMALLINT);
  check("i", "INT", "\"integer\"", MTR_TYPE_INT);
  check("l", "BIGINT", "\"long\"", MTR_TYPE_BIGINT);
  check("f", "FLOAT", "\"float\"", MTR_TYPE_FLOAT);
  check("g", "DOUBLE", "\"double\"", MTR_TYPE_DOUBLE);
  check("u", "STRING", "\"string\"", MTR_TYPE_STRING);
  check("z", "BINARY", "\"binary\"", MTR_TYPE_BINARY);
  check("tdD", "DATE", "\"date\"", MTR_TYPE_DATE);
  check("tsu:Etc/UTC", "TIMESTAMP", "\"timestamp\"", MTR_TYPE_TIMESTAMP);
  check("tsu:", "TIMESTAMP_NTZ", "\"timestamp_ntz\"", MTR_TYPE_TIMESTAMP);
  check("tDu", "INTERVAL DAY TO SECOND", "\"interval day to second\"", MTR_TYPE_INTERVAL_DAY_TIME);
  check("tiM", "INTERVAL YEAR TO MONTH", "\"interval year to month\"",
        MTR_TYPE_INTERVAL_YEAR_MONTH);
  check("d:10,2", "DECIMAL(10,2)", "\"decimal(10,2)\"", MTR_TYPE_DECIMAL);
}

static void decimals_have_both_qualifiers(void **state)
{
  static const uint8_t wire[] = {0,   0,   0,   9,   'p', 'r', 'e', 'c', 'i', 's', 'i', 'o', 'n',
                                 8,   0,   1,   0,   0,   0,   38,  0,   0,   0,   0,   5,   's',
                                 'c', 'a', 'l', 'e', 8,   0,   1,   0,   0,   0,   18,  0};
  struct checked c;
  const struct mtr_thrift_values *map;

  (void)state;
  begin(&c);
  assert_int_equal(describe(&c, kiln_node_new(&c.arena, "c", "d:38,18", 0, 2, 0)), MORTAR_OK);
  assert_true(MTR_HAS(primitive(&c), TPrimitiveTypeEntry, type_qualifiers));
  map = &primitive(&c)->type_qualifiers->qualifiers;
  assert_int_equal(map->count, 2);
  assert_int_equal(map->bytes.size, sizeof wire);
  assert_memory_equal(map->bytes.data, wire, sizeof wire);
  mtr_arena_fini(&c.arena);
}

static struct kiln_node *nested(struct mtr_arena *arena, const char *format, struct kiln_node *a,
                                struct kiln_node *b)
{
  struct kiln_node *node = kiln_node_new(arena, "c", format, 0, 2, b ? 2 : 1);

  assert_non_null(node);
  assert_non_null(a);
  kiln_node_adopt(node, 0, a);
  if (b) kiln_node_adopt(node, 1, b);
  return node;
}

static struct kiln_node *leaf(struct mtr_arena *arena, const char *name, const char *format,
                              bool nullable)
{
  struct kiln_node *node = kiln_node_new(arena, name, format, 0, 3, 0);

  assert_non_null(node);
  if (!nullable) node->schema.flags = 0;
  return node;
}

static void arrays_maps_and_structs_are_spelled_out(void **state)
{
  struct checked c;
  struct kiln_node *entries;

  (void)state;
  begin(&c);
  assert_int_equal(
      describe(&c, nested(&c.arena, "+l", leaf(&c.arena, "element", "i", false), NULL)), MORTAR_OK);
  assert_metadata(&c, "Spark:DataType:SqlName", "ARRAY<INT>");
  assert_metadata(&c, "Spark:DataType:JsonType",
                  "{\"type\":\"array\",\"elementType\":\"integer\",\"containsNull\":false}");
  assert_int_equal(primitive(&c)->type, MTR_TYPE_ARRAY);

  entries =
      nested(&c.arena, "+s", leaf(&c.arena, "key", "u", false), leaf(&c.arena, "value", "l", true));
  entries->schema.flags = 0;
  assert_int_equal(describe(&c, nested(&c.arena, "+m", entries, NULL)), MORTAR_OK);
  assert_metadata(&c, "Spark:DataType:SqlName", "MAP<STRING, BIGINT>");
  assert_metadata(&c, "Spark:DataType:JsonType",
                  "{\"type\":\"map\",\"keyType\":\"string\",\"valueType\":\"long\","
                  "\"valueContainsNull\":true}");

  assert_int_equal(describe(&c, nested(&c.arena, "+s", leaf(&c.arena, "a", "i", true),
                                       leaf(&c.arena, "b\"", "d:5,1", true))),
                   MORTAR_OK);
  assert_metadata(&c, "Spark:DataType:SqlName", "STRUCT<a: INT, b\": DECIMAL(5,1)>");
  assert_metadata(&c, "Spark:DataType:JsonType",
                  "{\"type\":\"struct\",\"fields\":["
                  "{\"name\":\"a\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},"
                  "{\"name\":\"b\\\"\",\"type\":\"decimal(5,1)\",\"nullable\":true,"
                  "\"metadata\":{}}]}");
  mtr_arena_fini(&c.arena);
}

/* Metadata of the C data interface: a count, then lengths and texts, native byte order. */
static size_t put(char *out, const char *text)
{
  int32_t size = (int32_t)strlen(text);

  memcpy(out, &size, sizeof size);
  memcpy(out + sizeof size, text, (size_t)size);
  return sizeof size + (size_t)size;
}

static void an_engine_knows_better(void **state)
{
  struct checked c;
  struct kiln_node *column;
  char metadata[256];
  int32_t count = 2;
  size_t at = sizeof count;

  (void)state;
  begin(&c);
  memcpy(metadata, &count, sizeof count);
  at += put(metadata + at, "Spark:DataType:SqlName");
  at += put(metadata + at, "VARIANT");
  at += put(metadata + at, "other");
  at += put(metadata + at, "kept");
  assert_true(at < sizeof metadata);
  column = leaf(&c.arena, "c", "u", true);
  column->schema.metadata = metadata;
  assert_int_equal(describe(&c, column), MORTAR_OK);
  assert_metadata(&c, "Spark:DataType:SqlName", "VARIANT");
  assert_metadata(&c, "Spark:DataType:JsonType", "\"variant\"");
  assert_metadata(&c, "other", "kept");
  assert_int_equal(c.schema.root.children[0].metadata_count, 3);
  assert_int_equal(primitive(&c)->type, MTR_TYPE_STRING);
  mtr_arena_fini(&c.arena);
}

static void types_without_a_sql_name_are_refused(void **state)
{
  static const char *const formats[] = {"C", "S", "I", "L", "e", "ttu", "tin", "tdm"};
  struct checked c;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    begin(&c);
    assert_int_equal(describe(&c, leaf(&c.arena, "odd", formats[i], true)), MORTAR_UNSUPPORTED);
    assert_non_null(strstr(c.err.message, "\"odd\""));
    assert_int_equal(
        describe(&c, nested(&c.arena, "+l", leaf(&c.arena, "element", formats[i], true), NULL)),
        MORTAR_UNSUPPORTED);
    mtr_arena_fini(&c.arena);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_types_have_their_names),
      cmocka_unit_test(decimals_have_both_qualifiers),
      cmocka_unit_test(arrays_maps_and_structs_are_spelled_out),
      cmocka_unit_test(an_engine_knows_better),
      cmocka_unit_test(types_without_a_sql_name_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
