/* Bound values: which shapes are taken, what goes over the wire, when they are forgotten, and that
 * a statement with them counts as what its text says. */
#include "client/parameters.h"
#include "client/thrift/parameters.h"
#include "tests/client/client_fixture.h"
#include "tests/support/failing_alloc.h"

#define TEXT(s) .value = (s), .value_size = sizeof(s) - 1

static enum mortar_status set(const struct mortar_parameter *list, size_t count,
                              struct mortar_error *err)
{
  struct mtr_parameters parameters;
  enum mortar_status st;

  mtr_parameters_init(&parameters, NULL);
  st = mtr_parameters_set(&parameters, list, count, err);
  assert_int_equal(parameters.count, st == MORTAR_OK ? count : 0);
  mtr_parameters_fini(&parameters);
  return st;
}

struct shape_case {
  const char *words; /* of the error */
  enum mortar_status st;
  size_t count;
  struct mortar_parameter list[2];
};

static void wrong_shapes_are_refused(void **state)
{
  static const struct mortar_parameter one = {.type = "INT", TEXT("1")};
  static const struct shape_case cases[] = {
      {"2 differs", MORTAR_INVALID, 2, {{.name = "a", .type = "INT"}, {.type = "INT"}}},
      {"2 differs", MORTAR_INVALID, 2, {{.type = "INT"}, {.name = "a", .type = "INT"}}},
      {"1 has an empty name", MORTAR_INVALID, 1, {{.name = "", .type = "INT"}}},
      {"1 has no type", MORTAR_INVALID, 1, {{.name = "a"}}},
      {"2 has no type", MORTAR_INVALID, 2, {{.type = "INT"}, {.type = ""}}},
      {"no value", MORTAR_INVALID, 1, {{.type = "INT", .value_size = 1}}},
      {"no arguments", MORTAR_INVALID, 1, {{.type = "ARRAY", .argument_count = 1}}},
      {"both", MORTAR_INVALID, 1, {{.type = "ARRAY", TEXT("1"), .arguments = &one}}},
  };
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(set(cases[i].list, cases[i].count, &err), cases[i].st);
    assert_non_null(strstr(err.message, cases[i].words));
  }
  assert_int_equal(set(NULL, 1, &err), MORTAR_INVALID);
  assert_int_equal(set(NULL, 0, &err), MORTAR_OK);
  assert_int_equal(set(&one, 1, NULL), MORTAR_OK);
}

static void too_much_is_refused(void **state)
{
  struct mortar_parameter list[257], nested[34];
  struct mortar_parameter huge = {.type = "STRING", .value = "", .value_size = SIZE_MAX};
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < 257; i++)
    list[i] = (struct mortar_parameter){.type = "INT", TEXT("1")};
  assert_int_equal(set(list, 256, &err), MORTAR_OK);
  assert_int_equal(set(list, 257, &err), MORTAR_LIMIT);
  assert_string_equal(err.message, "257 parameters: a statement takes at most 256");
  assert_int_equal(set(&huge, 1, &err), MORTAR_LIMIT);
  huge = (struct mortar_parameter){.type = "ARRAY", .arguments = list, .argument_count = SIZE_MAX};
  assert_int_equal(set(&huge, 1, &err), MORTAR_LIMIT);
  nested[33] = list[0];
  for (i = 33; i > 0; i--)
    nested[i - 1] =
        (struct mortar_parameter){.type = "ARRAY", .arguments = &nested[i], .argument_count = 1};
  assert_int_equal(set(&nested[1], 1, &err), MORTAR_OK);
  assert_int_equal(set(&nested[0], 1, &err), MORTAR_LIMIT);
  assert_non_null(strstr(err.message, "more than 32 deep"));
}

/* The caller's memory is of no use to it afterwards, and a value may hold any byte. */
static void copies_are_kept(void **state)
{
  char name[] = "n", type[] = "ARRAY", inner[] = "INT", value[] = "a\0b";
  struct mortar_parameter element = {.type = inner, .value = value, .value_size = 3};
  struct mortar_parameter one = {
      .name = name, .type = type, .arguments = &element, .argument_count = 1};
  struct mtr_parameters parameters;

  (void)state;
  mtr_parameters_init(&parameters, NULL);
  assert_int_equal(mtr_parameters_set(&parameters, &one, 1, NULL), MORTAR_OK);
  *name = *type = *inner = *value = 'x';
  memset(&element, 0, sizeof element);
  memset(&one, 0, sizeof one);
  assert_string_equal(parameters.items->name, "n");
  assert_string_equal(parameters.items->type, "ARRAY");
  assert_null(parameters.items->value);
  assert_string_equal(parameters.items->arguments->type, "INT");
  assert_int_equal(parameters.items->arguments->value_size, 3);
  assert_memory_equal(parameters.items->arguments->value, "a\0b", 3);
  mtr_parameters_fini(&parameters);
}

static void memory_that_runs_out_binds_nothing(void **state)
{
  static const struct mortar_parameter element = {.type = "INT", TEXT("1")};
  static const struct mortar_parameter one = {
      .type = "ARRAY", .arguments = &element, .argument_count = 1};
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_parameters parameters;
    enum mortar_status st;
    mtr_parameters_init(&parameters, &fa.alloc);
    st = mtr_parameters_set(&parameters, &one, 1, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_int_equal(parameters.count, fa.failed ? 0 : 1);
    mtr_parameters_fini(&parameters);
  }
  assert_true(fa.rounds > 1);
}

/* ---- On the wire ---- */

/* The parameters of a request, as JSON. */
static void check_wire(const struct mortar_parameter *list, size_t count, const char *wanted)
{
  struct mtr_run run = {.parameters = list, .parameter_count = count};
  struct mtr_TExecuteStatementReq req = {0}, back;
  struct mtr_buf bytes, text;
  struct mtr_arena arena;
  struct mtr_tw wr;

  mtr_arena_init(&arena, NULL, 1 << 20);
  mtr_buf_init(&bytes, NULL, "request", 1 << 20);
  mtr_buf_init(&text, NULL, "dump", 1 << 20);
  assert_int_equal(mtr_thrift_put_parameters(&run, &arena, &req, NULL), MORTAR_OK);
  mtr_tw_init(&wr, &bytes, NULL);
  mtr_thrift_write_struct(&wr, &mtr_TExecuteStatementReq_info, &req);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  assert_int_equal(
      mtr_thrift_decode(mtr_buf_span(&bytes), &mtr_TExecuteStatementReq_info, &back, &arena, NULL),
      MORTAR_OK);
  assert_int_equal(mtr_thrift_dump(&mtr_TExecuteStatementReq_info, &back, &text, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&text, "", 1, NULL), MORTAR_OK);
  assert_string_equal((const char *)text.data, wanted);
  mtr_buf_fini(&text);
  mtr_buf_fini(&bytes);
  mtr_arena_fini(&arena);
}

static void the_wire_has_names_or_places(void **state)
{
  static const struct mortar_parameter named[] = {{.name = "a", .type = "INT", TEXT("1")},
                                                  {.name = "b", .type = "VOID"}};
  static const struct mortar_parameter placed[] = {{.type = "STRING", TEXT("")},
                                                   {.type = "DECIMAL(4,2)", TEXT("-1.50")}};

  (void)state;
  check_wire(
      named, 2,
      "{\"parameters\":[{\"name\":\"a\",\"type\":\"INT\",\"value\":{\"string_value\":\"1\"}},"
      "{\"name\":\"b\",\"type\":\"VOID\"}]}");
  check_wire(
      placed, 2,
      "{\"parameters\":[{\"ordinal\":1,\"type\":\"STRING\",\"value\":{\"string_value\":\"\"}},"
      "{\"ordinal\":2,\"type\":\"DECIMAL(4,2)\",\"value\":{\"string_value\":\"-1.50\"}}]}");
}

static void the_wire_has_arguments(void **state)
{
  static const struct mortar_parameter elements[] = {{.type = "INT", TEXT("1")}, {.type = "VOID"}};
  static const struct mortar_parameter pair[] = {
      {.type = "STRING", TEXT("k")}, {.type = "ARRAY", .arguments = elements, .argument_count = 2}};
  static const struct mortar_parameter list[] = {
      {.type = "MAP", .arguments = pair, .argument_count = 2},
      {.type = "ARRAY", .arguments = elements, .argument_count = 0}};

  (void)state;
  check_wire(list, 2,
             "{\"parameters\":[{\"ordinal\":1,\"type\":\"MAP\",\"arguments\":["
             "{\"type\":\"STRING\",\"value\":\"k\"},{\"type\":\"ARRAY\",\"arguments\":["
             "{\"type\":\"INT\",\"value\":\"1\"},{\"type\":\"VOID\"}]}]},"
             "{\"ordinal\":2,\"type\":\"ARRAY\",\"arguments\":[]}]}");
}

/* ---- Through a session ---- */

static const struct mortar_parameter bound = {.type = "INT", TEXT("7")};

static enum mortar_status run(struct client *c, struct mortar_statement *stmt)
{
  struct mortar_result *res = NULL;
  const enum mortar_status st = mortar_statement_execute(stmt, NULL, &res, &c->err);

  mortar_result_free(res);
  return st;
}

static struct mortar_statement *new_statement(struct client *c, const char *sql)
{
  struct mortar_statement *stmt;

  assert_int_equal(mortar_statement_new(c->session, &stmt, &c->err), MORTAR_OK);
  assert_int_equal(mortar_statement_set_sql(stmt, sql, strlen(sql), &c->err), MORTAR_OK);
  return stmt;
}

static void values_stay_until_the_next_text(void **state)
{
  struct mortar_statement *stmt;
  struct client c;

  (void)state;
  client_start(&c);
  stmt = new_statement(&c, "SELECT ?");
  assert_int_equal(mortar_statement_bind(NULL, &bound, 1, &c.err), MORTAR_INVALID);
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 1);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 1);
  assert_int_equal(mortar_statement_set_timeout(stmt, 60, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 1);
  assert_int_equal(mortar_statement_set_sql(stmt, "SELECT 1", 8, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 0);
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  assert_int_equal(mortar_statement_bind(stmt, NULL, 0, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 0);
  /* The next statement may be the same one again. */
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  mortar_statement_free(stmt);
  stmt = new_statement(&c, "SELECT 1");
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.parameters, 0);
  mortar_statement_free(stmt);
  client_stop(&c);
}

static void an_old_server_gets_nothing(void **state)
{
  struct client c = {.session = NULL};
  struct mortar_statement *stmt;

  (void)state;
  fake_server_start(&c.fs);
  c.fs.version = MTR_PROTOCOL_SPARK_V8 - 1;
  assert_int_equal(client_open(&c, NULL, NULL, NULL), MORTAR_OK);
  stmt = new_statement(&c, "SELECT ?");
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_UNSUPPORTED);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_NOT_SENT);
  assert_non_null(strstr(c.err.message, "0xA507, which has no parameters"));
  assert_int_equal(c.fs.executed, 0);
  assert_int_equal(mortar_statement_bind(stmt, NULL, 0, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  mortar_statement_free(stmt);
  client_stop(&c);
}

/* What a session keeps of a statement for the next one does not hold a caller's values. */
static void a_freed_statement_keeps_no_values(void **state)
{
  static char value[1 << 20];
  const struct mortar_parameter large = {
      .type = "STRING", .value = value, .value_size = sizeof value};
  struct client c = {.session = NULL};
  struct mortar_statement *stmt;
  struct failing_alloc fa;

  (void)state;
  failing_alloc_init(&fa, 0);
  fake_server_start(&c.fs);
  assert_int_equal(client_open(&c, &fa.alloc, NULL, NULL), MORTAR_OK);
  stmt = new_statement(&c, "SELECT ?");
  assert_int_equal(mortar_statement_bind(stmt, &large, 1, &c.err), MORTAR_OK);
  assert_true(fa.live_bytes > (long)sizeof value);
  mortar_statement_free(stmt);
  assert_true(fa.live_bytes < (long)sizeof value);
  client_stop(&c);
  assert_int_equal(fa.live, 0);
}

static enum mortar_status life(struct client *c, const struct mortar_alloc *alloc)
{
  struct mortar_statement *stmt = NULL;
  struct mortar_result *res = NULL;
  enum mortar_status st = client_open(c, alloc, NULL, NULL);

  if (st == MORTAR_OK) st = mortar_statement_new(c->session, &stmt, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_set_sql(stmt, "INSERT INTO t VALUES (?)", 24, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_bind(stmt, &bound, 1, &c->err);
  if (st == MORTAR_OK) st = mortar_statement_execute(stmt, NULL, &res, &c->err);
  mortar_result_free(res);
  mortar_statement_free(stmt);
  mortar_session_free(c->session);
  c->session = NULL;
  return st;
}

static void memory_that_runs_out_on_the_way(void **state)
{
  struct client c = {.session = NULL};
  struct failing_alloc fa;

  (void)state;
  fake_server_start(&c.fs);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st;
    c.fs.ran = 0;
    st = life(&c, &fa.alloc);
    assert_true(mortar_background_wait(5000)); /* it uses the allocator, too */
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_true(c.fs.ran <= 1);
  }
  assert_true(fa.rounds > 20);
  fake_server_stop(&c.fs);
}

/* A reset behind the request: a read goes out again, a write does not. */
static void the_text_says_what_may_run_twice(void **state)
{
  static const struct fake_fault reset = {
      .call = "ExecuteStatement", .event = FAKE_RESET, .last = 1, .runs = true};
  struct mortar_statement *stmt;
  struct client c;

  (void)state;
  client_start(&c);
  fake_server_fault(&c.fs, &reset);
  stmt = new_statement(&c, "INSERT INTO t VALUES (?)");
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_IO);
  assert_int_equal(c.err.outcome, MORTAR_OUTCOME_UNKNOWN);
  assert_int_equal(c.fs.ran, 1);
  mortar_statement_free(stmt);
  fake_server_fault(&c.fs, &reset);
  stmt = new_statement(&c, "SELECT ?");
  assert_int_equal(mortar_statement_bind(stmt, &bound, 1, &c.err), MORTAR_OK);
  assert_int_equal(run(&c, stmt), MORTAR_OK);
  assert_int_equal(c.fs.ran, 3);
  assert_int_equal(c.fs.parameters, 1);
  mortar_statement_free(stmt);
  client_stop(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_shapes_are_refused),
      cmocka_unit_test(too_much_is_refused),
      cmocka_unit_test(copies_are_kept),
      cmocka_unit_test(memory_that_runs_out_binds_nothing),
      cmocka_unit_test(the_wire_has_names_or_places),
      cmocka_unit_test(the_wire_has_arguments),
      cmocka_unit_test(values_stay_until_the_next_text),
      cmocka_unit_test(an_old_server_gets_nothing),
      cmocka_unit_test(a_freed_statement_keeps_no_values),
      cmocka_unit_test(memory_that_runs_out_on_the_way),
      cmocka_unit_test(the_text_says_what_may_run_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
