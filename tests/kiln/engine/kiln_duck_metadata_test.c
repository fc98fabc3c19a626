/* The queries that metadata calls become. What they find is looked at where DuckDB is. */
#include "kiln/engine/duckdb/duck_metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *const two_types[] = {"VIEW", "it's"};

#define FROM(view) "SELECT * FROM kiln.main.metadata_" view " WHERE true"
static const struct {
  struct mortar_metadata what;
  const char *sql;
} cases[] = {
    {{.kind = MORTAR_METADATA_CATALOGS}, FROM("catalogs") " ORDER BY 1"},
    {{.kind = MORTAR_METADATA_SCHEMAS, .catalog = "c", .schema = ""},
     FROM("schemas") " AND TABLE_CATALOG ILIKE 'c' ESCAPE '\\'"
                     " AND TABLE_SCHEM ILIKE '' ESCAPE '\\' ORDER BY 2, 1"},
    /* Every name meets these, so they are no conditions. */
    {{.kind = MORTAR_METADATA_TABLES, .catalog = "%", .schema = ".*", .table = "*"},
     FROM("tables") " ORDER BY 1, 2, 3"},
    {{.kind = MORTAR_METADATA_TABLES,
      .table = "o'br\\_n%",
      .table_types = two_types,
      .table_type_count = 2},
     FROM("tables") " AND TABLE_NAME ILIKE 'o''br\\_n%' ESCAPE '\\'"
                    " AND TABLE_TYPE IN ('VIEW', 'it''s') ORDER BY 1, 2, 3"},
    /* An escape at the end has nothing to escape; a whole pair is a backslash. */
    {{.kind = MORTAR_METADATA_COLUMNS, .table = "a\\", .column = "b\\\\"},
     FROM("columns") " AND TABLE_NAME ILIKE 'a\\' || '\\' ESCAPE '\\'"
                     " AND COLUMN_NAME ILIKE 'b\\\\' ESCAPE '\\'"
                     " ORDER BY 1, 2, 3, ORDINAL_POSITION"},
    {{.kind = MORTAR_METADATA_TABLE_TYPES}, FROM("table_types") " ORDER BY 1"},
    {{.kind = MORTAR_METADATA_TYPE_INFO}, FROM("type_info") " ORDER BY 2, 1"},
    {{.kind = MORTAR_METADATA_FUNCTIONS, .catalog = "main", .schema = "x", .function = "abs"},
     FROM("functions") " AND FUNCTION_NAME ILIKE 'abs' ESCAPE '\\' ORDER BY 3"},
    {{.kind = MORTAR_METADATA_PRIMARY_KEYS, .table = "a%'"},
     FROM("primary_keys") " AND lower(TABLE_NAME) = lower('a%''') ORDER BY 1, 2, 3, KEQ_SEQ"},
    {{.kind = MORTAR_METADATA_CROSS_REFERENCE, .table = "p", .foreign_schema = "f"},
     FROM("cross_reference") " AND lower(PKTABLE_NAME) = lower('p')"
                             " AND lower(FKTABLE_SCHEM) = lower('f')"
                             " ORDER BY 5, 6, 7, FK_NAME, KEQ_SEQ"},
};

static void test_queries(void **state)
{
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_buf sql;

    mtr_buf_init(&sql, NULL, "query", 4096);
    assert_int_equal(duck_metadata_write(&cases[i].what, &sql, NULL), MORTAR_OK);
    assert_string_equal((const char *)sql.data, cases[i].sql);
    mtr_buf_fini(&sql);
  }
}

static void test_samples(void **state)
{
  static const struct {
    enum mortar_metadata_kind kind;
    const char *catalog;
    bool named;
  } ways[] = {
      {MORTAR_METADATA_TABLES, NULL, true},        {MORTAR_METADATA_COLUMNS, "SAMPLES", true},
      {MORTAR_METADATA_SCHEMAS, "s%", true},       {MORTAR_METADATA_TABLES, "_amples", true},
      {MORTAR_METADATA_TABLES, ".*", true},        {MORTAR_METADATA_TABLES, "main", false},
      {MORTAR_METADATA_TABLES, "", false},         {MORTAR_METADATA_CATALOGS, NULL, false},
      {MORTAR_METADATA_PRIMARY_KEYS, NULL, false},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof ways / sizeof *ways; i++) {
    const struct mortar_metadata what = {.kind = ways[i].kind, .catalog = ways[i].catalog};
    assert_int_equal(duck_metadata_names_samples(&what), ways[i].named);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_queries),
                                     cmocka_unit_test(test_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
