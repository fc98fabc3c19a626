/* Scripts and rules without a connection: what is read, what is refused with which words, which
 * request meets which rule; and places in replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "kiln/server/fault_place.h"
#include "kiln/server/faults.h"

static struct kiln_faults *make(const char *script)
{
  struct mortar_error err = {0};
  struct kiln_faults *faults;

  assert_int_equal(kiln_faults_new(&faults, &err), MORTAR_OK);
  if (kiln_faults_load(faults, mtr_span_text(script), &err) != MORTAR_OK)
    fail_msg("%s", err.message);
  return faults;
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void bad_scripts_say_why(void **state)
{
  static const char *const bad[][2] = {
      {"[{\"call\": \"*\",\n \"cut\": }]", "line 2, column 9"},
      {"{\"rule\": []}", "a list of rules"},
      {"{\"rules\": [], \"replace\": 1}", "a list of rules"},
      {"{\"rules\": [], \"more\": 1}", "a list of rules"},
      {"[{\"call\": \"*\", \"call\": \"*\"}]", "line 1"},
      {"[7]", "rule 1: an object is wanted"},
      {"[{\"call\": \"*\", \"cut\": 1}, {\"call\": \"*\", \"stauts\": 503}]",
       "rule 2: \"stauts\" is no field of a rule"},
      {"[{\"cut\": 1}]", "either \"call\" or \"path\""},
      {"[{\"call\": \"*\", \"path\": \"*\", \"cut\": 1}]", "either \"call\" or \"path\""},
      {"[{\"call\": \"executeStatement\", \"cut\": 1}]", "\"executeStatement\" is no call"},
      {"[{\"path\": \"file\", \"cut\": 1}]", "begins with /"},
      {"[{\"call\": 1, \"cut\": 1}]", "\"call\": a text is wanted"},
      {"[{\"call\": \"*\", \"nth\": 0}]", "\"nth\": a number from 1 on"},
      {"[{\"call\": \"*\", \"nth\": []}]", "\"nth\": a number from 1 on"},
      {"[{\"call\": \"*\", \"nth\": [1, \"2\"]}]", "\"nth\": a number from 1 on"},
      {"[{\"call\": \"*\", \"nth\": \"all\"}]", "\"nth\": a number from 1 on"},
      {"[{\"call\": \"*\", \"when\": \"during\"}]", "\"when\": \"before\" or \"after\""},
      {"[{\"call\": \"*\", \"status\": 99}]", "\"status\": a number from 200 to 999"},
      {"[{\"call\": \"*\", \"status\": \"503\"}]", "\"status\": a number from 200 to 999"},
      {"[{\"call\": \"*\", \"headers\": {\"A\": \"b\\r\\nC: d\"}}]", "\"headers\": an object"},
      {"[{\"call\": \"*\", \"headers\": {\"A\": null}}]", "\"headers\": an object"},
      {"[{\"call\": \"*\", \"delay_before_ms\": -1}]", "\"delay_before_ms\": a number from 0"},
      {"[{\"call\": \"*\", \"lose\": \"hope\"}]", "\"lose\": \"session\" or \"operation\""},
      {"[{\"call\": \"*\", \"error\": {\"message\": \"x\"}}]", "\"error\": {\"sqlstate\""},
      {"[{\"call\": \"*\", \"error\": {\"sqlstate\": \"1\", \"message\": \"x\"}}]", "\"error\":"},
      {"[{\"call\": \"*\", \"exception\": \"x\"}]", "\"exception\": {\"message\""},
      {"[{\"call\": \"*\", \"trickle\": {\"bytes\": 0, \"every_ms\": 1}}]", "\"trickle\":"},
      {"[{\"call\": \"*\", \"trickle\": {\"bytes\": 1}}]", "\"trickle\":"},
      {"[{\"call\": \"*\", \"reset\": 1}]", "\"reset\": true or false"},
      {"[{\"call\": \"*\", \"flip\": []}]", "\"flip\": a list"},
      {"[{\"call\": \"*\", \"flip\": [{}]}]", "\"flip\": a list"},
      {"[{\"call\": \"*\", \"flip\": [{\"offset\": 1, \"add\": 2}]}]", "\"flip\": a list"},
      {"[{\"call\": \"*\", \"lengths\": [{\"offset\": 1}]}]", "\"lengths\": a list"},
      {"[{\"call\": \"FetchResults\", \"lengths\": [{\"place\": \"results.arrow\", \"add\": 1}]}]",
       "\"place\": results.arrow is no text, list or i32 of TFetchResultsResp"},
      {"[{\"path\": \"*\", \"lengths\": [{\"place\": \"results.rows\", \"add\": 1}]}]",
       "of a plain reply"},
      {"[{\"path\": \"*\", \"text\": \"x\", \"cut\": 1}]", "\"text\" goes with \"call\" only"},
      {"[{\"call\": \"connect\", \"cut\": 1}]", "\"connect\" goes with"},
      {"[{\"call\": \"connect\"}]", "\"connect\" goes with"},
      {"[{\"call\": \"*\", \"status\": 200, \"error\": {\"sqlstate\": \"HY000\", \"message\": "
       "\"x\"}}]",
       "exclude each other"},
      {"[{\"call\": \"*\", \"reset\": true, \"hang\": true}]", "exclude each other"},
      {"[{\"call\": \"*\", \"reset\": true, \"status\": 503}]", "nothing is sent before"},
      {"[{\"call\": \"*\", \"when\": \"before\", \"cut\": 5}]", "\"before\" has no reply"},
  };
  struct kiln_faults *faults = make("[{\"call\": \"*\", \"cut\": 1}]");
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    memset(&err, 0, sizeof err);
    if (kiln_faults_load(faults, mtr_span_text(bad[i][0]), &err) != MORTAR_INVALID)
      fail_msg("%s was taken", bad[i][0]);
    if (!strstr(err.message, bad[i][1]))
      fail_msg("%s: \"%s\" does not say \"%s\"", bad[i][0], err.message, bad[i][1]);
    assert_int_equal(faults->rule_count, 1);
  }
  kiln_faults_free(faults);
}

static void the_number_of_rules_is_bounded(void **state)
{
  struct kiln_faults *faults = make("[]");
  struct mortar_error err = {0};
  int i;

  (void)state;
  for (i = 0; i < KILN_FAULT_RULES; i++)
    assert_int_equal(
        kiln_faults_load(faults, mtr_span_text("[{\"call\": \"*\", \"cut\": 1}]"), &err),
        MORTAR_OK);
  assert_int_equal(kiln_faults_load(faults, mtr_span_text("[{\"call\": \"*\", \"cut\": 1}]"), &err),
                   MORTAR_LIMIT);
  assert_int_equal(
      kiln_faults_load(
          faults, mtr_span_text("{\"replace\": true, \"rules\": [{\"call\": \"*\", \"cut\": 1}]}"),
          &err),
      MORTAR_OK);
  assert_int_equal(faults->rule_count, 1);
  kiln_faults_free(faults);
}

static void a_file_is_named_in_its_errors(void **state)
{
  static const char text[] = "[\n{\"call\": \"*\"\n";
  struct kiln_faults *faults = make("[]");
  char path[] = "/tmp/kiln-faults-XXXXXX";
  struct mortar_error err = {0};
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
  assert_int_equal(close(fd), 0);
  assert_int_equal(kiln_faults_load_file(faults, path, &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, path));
  assert_non_null(strstr(err.message, "line 3"));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(kiln_faults_load_file(faults, path, &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, path));
  kiln_faults_free(faults);
}

/* ---- Matching ------------------------------------------------------------------------------ */

/* The id of the rule that a call meets, 0: none. */
static int64_t meet(struct kiln_faults *faults, const char *call, const char *text)
{
  struct kiln_fault_rule *rule = kiln_faults_meet(faults, call, NULL, mtr_span_text(text));
  int64_t id = rule ? rule->id : 0;

  kiln_fault_rule_unref(rule);
  return id;
}

static int64_t meet_path(struct kiln_faults *faults, const char *path)
{
  struct kiln_fault_rule *rule = kiln_faults_meet(faults, NULL, path, mtr_span_of(NULL, 0));
  int64_t id = rule ? rule->id : 0;

  kiln_fault_rule_unref(rule);
  return id;
}

static void occurrences_are_counted_by_rule(void **state)
{
  struct kiln_faults *faults = make(
      "[{\"call\": \"FetchResults\", \"nth\": [2, 4], \"cut\": 1}, {\"call\": \"*\", "
      "\"nth\": 3, \"cut\": 1}, {\"call\": \"*\", \"nth\": 2, \"cut\": 1}]");
  static const int64_t want[] = {0, 1, 2, 1, 0};
  size_t i;

  (void)state;
  for (i = 0; i < 5; i++)
    assert_int_equal(meet(faults, "FetchResults", ""), want[i]);
  assert_int_equal(meet(faults, "connect", ""), 0);
  kiln_faults_free(faults);
}

static void every_and_the_first_by_default(void **state)
{
  struct kiln_faults *faults = make(
      "[{\"call\": \"CloseSession\", \"nth\": \"every\", \"cut\": "
      "1}, {\"call\": \"CloseOperation\", \"cut\": 1}]");
  int i;

  (void)state;
  for (i = 0; i < 3; i++) {
    assert_int_equal(meet(faults, "CloseSession", ""), 1);
    assert_int_equal(meet(faults, "CloseOperation", ""), i == 0 ? 2 : 0);
  }
  kiln_faults_free(faults);
}

static void only_statements_with_that_text(void **state)
{
  struct kiln_faults *faults =
      make("[{\"call\": \"ExecuteStatement\", \"text\": \"INSERT\", \"nth\": 2, \"cut\": 1}]");

  (void)state;
  assert_int_equal(meet(faults, "ExecuteStatement", "INSERT 1"), 0);
  assert_int_equal(meet(faults, "ExecuteStatement", "SELECT 1"), 0);
  assert_int_equal(meet(faults, "ExecuteStatement", ""), 0);
  assert_int_equal(meet(faults, "ExecuteStatement", "x INSERT"), 1);
  kiln_faults_free(faults);
}

static void paths_and_calls_are_apart(void **state)
{
  struct kiln_faults *faults =
      make("[{\"path\": \"/a\", \"cut\": 1}, {\"path\": \"*\", \"nth\": 2, \"cut\": 1}]");

  (void)state;
  assert_int_equal(meet(faults, "ExecuteStatement", ""), 0);
  assert_int_equal(meet_path(faults, "/a"), 1);
  assert_int_equal(meet_path(faults, "/b"), 2);
  assert_int_equal(meet_path(faults, "/a"), 0);
  kiln_faults_free(faults);
}

static void a_rule_outlives_its_list(void **state)
{
  struct kiln_faults *faults = make("[{\"call\": \"*\", \"body\": \"still here\"}]");
  struct kiln_fault_rule *rule = kiln_faults_meet(faults, "GetInfo", NULL, mtr_span_of(NULL, 0));

  (void)state;
  assert_non_null(rule);
  kiln_faults_clear(faults);
  assert_int_equal(faults->rule_count, 0);
  assert_int_equal(meet(faults, "GetInfo", ""), 0);
  assert_string_equal(rule->body, "still here");
  kiln_fault_rule_unref(rule);
  kiln_faults_free(faults);
}

static void what_is_left_is_shown(void **state)
{
  struct kiln_faults *faults = make(
      "[{\"call\": \"*\", \"nth\": [1, 3], \"cut\": 1}, {\"call\": \"*\", \"nth\": "
      "\"every\", \"cut\": 2}]");
  struct mtr_buf text;
  json_t *json, *rules;

  (void)state;
  assert_int_equal(meet(faults, "GetInfo", ""), 1);
  assert_int_equal(meet(faults, "GetInfo", ""), 2);
  mtr_buf_init(&text, NULL, "rules", 1 << 20);
  assert_int_equal(kiln_faults_json(faults, &text, NULL), MORTAR_OK);
  json = json_loadb((const char *)text.data, text.size, 0, NULL);
  rules = json_object_get(json, "rules");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(rules, 0), "left")), 1);
  assert_int_equal(json_integer_value(json_object_get(json_array_get(rules, 0), "hits")), 1);
  assert_int_equal(json_integer_value(json_object_get(json_array_get(rules, 0), "seen")), 2);
  assert_true(json_is_null(json_object_get(json_array_get(rules, 1), "left")));
  assert_int_equal(
      json_integer_value(json_object_get(json_object_get(json_array_get(rules, 1), "rule"), "cut")),
      2);
  json_decref(json);
  mtr_buf_fini(&text);
  kiln_faults_free(faults);
}

static void when_follows_from_what_happens(void **state)
{
  static const char *const scripts[][2] = {
      {"{\"call\": \"*\", \"status\": 503}", "before"},
      {"{\"call\": \"*\", \"body\": \"x\"}", "before"},
      {"{\"call\": \"*\", \"reset\": true}", "before"},
      {"{\"call\": \"*\", \"hang\": true}", "before"},
      {"{\"call\": \"*\", \"reset\": true, \"cut\": 0}", "after"},
      {"{\"call\": \"*\", \"cut\": 0}", "after"},
      {"{\"call\": \"*\", \"delay_before_ms\": 5}", "after"},
      {"{\"call\": \"*\", \"lose\": \"session\"}", "after"},
      {"{\"call\": \"*\", \"status\": 503, \"when\": \"after\"}", "after"},
  };
  struct kiln_fault_rule *rule;
  json_t *json;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    json = json_loads(scripts[i][0], 0, NULL);
    assert_int_equal(kiln_fault_rule_new(json, &rule, NULL), MORTAR_OK);
    assert_string_equal(rule->before ? "before" : "after", scripts[i][1]);
    kiln_fault_rule_unref(rule);
    json_decref(json);
  }
}

/* ---- Places -------------------------------------------------------------------------------- */

static void fill_reply(struct mtr_buf *out)
{
  struct mtr_TSparkArrowBatch batches[2] = {{0}};
  struct mtr_TFetchResultsResp resp = {0};
  struct mtr_TStatus status = {0};
  struct mtr_TRowSet rows = {0};

  MTR_SET(&status, TStatus, status_code, 0x01020304);
  MTR_SET(&batches[0], TSparkArrowBatch, batch, mtr_span_text("first"));
  MTR_SET(&batches[0], TSparkArrowBatch, row_count, 1);
  MTR_SET(&batches[1], TSparkArrowBatch, batch, mtr_span_text("the second"));
  MTR_SET(&batches[1], TSparkArrowBatch, row_count, 1);
  MTR_SET(&rows, TRowSet, start_row_offset, 0);
  MTR_SET_LIST(&rows, TRowSet, rows, NULL, 0);
  MTR_SET_LIST(&rows, TRowSet, arrow_batches, batches, 2);
  MTR_SET(&resp, TFetchResultsResp, status, &status);
  MTR_SET(&resp, TFetchResultsResp, results, &rows);
  mtr_buf_init(out, NULL, "reply", 1 << 20);
  assert_int_equal(mtr_message_write(out, MTR_MESSAGE_REPLY, "FetchResults", 1,
                                     &mtr_TFetchResultsResp_info, &resp, NULL),
                   MORTAR_OK);
}

static bool find(const struct mtr_buf *reply, const char *place, struct kiln_place *out)
{
  return kiln_place_find(mtr_buf_span(reply), &mtr_TFetchResultsResp_info, place, out);
}

static uint32_t number_at(const struct mtr_buf *reply, size_t at)
{
  const uint8_t *p = reply->data + at;

  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void places_are_found(void **state)
{
  struct kiln_place place;
  struct mtr_buf reply;

  (void)state;
  fill_reply(&reply);
  assert_true(find(&reply, "results.arrowBatches[1].batch", &place));
  assert_int_equal(number_at(&reply, place.number), 10);
  assert_int_equal(place.size, 10);
  assert_memory_equal(reply.data + place.bytes, "the second", 10);
  assert_true(find(&reply, "RESULTS.arrow_batches", &place));
  assert_int_equal(number_at(&reply, place.number), 2);
  assert_int_equal(place.size, 0);
  assert_true(find(&reply, "status.statusCode", &place));
  assert_int_equal(number_at(&reply, place.number), 0x01020304);
  assert_false(find(&reply, "results.arrowBatches[2].batch", &place));
  assert_false(find(&reply, "status.sqlState", &place));
  assert_false(find(&reply, "resultSetMetadata.arrowSchema", &place));
  mtr_buf_fini(&reply);
}

/* A reply of any length is looked through without harm. */
static void short_replies_have_no_places(void **state)
{
  struct kiln_place place, cut;
  struct mtr_buf reply;
  size_t size, full;

  (void)state;
  fill_reply(&reply);
  assert_true(find(&reply, "results.arrowBatches[1].batch", &place));
  full = reply.size;
  for (size = 0; size < place.bytes + place.size; size++) {
    reply.size = size;
    assert_false(find(&reply, "results.arrowBatches[1].batch", &cut));
  }
  reply.size = full;
  mtr_buf_fini(&reply);
}

static void places_that_can_not_be(void **state)
{
  static const char *const bad[] = {"",
                                    "results",
                                    "nothing",
                                    "results.",
                                    ".results",
                                    "results.arrowBatches[].batch",
                                    "results.x",
                                    "results.arrowBatches[1",
                                    "status[0]",
                                    "results.arrowBatches.batch",
                                    "results.rows[0]",
                                    "hasMoreRows",
                                    "results.arrowBatches[9999999999].batch",
                                    "results.arrowBatches[0].rowCount"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (kiln_place_valid(&mtr_TFetchResultsResp_info, bad[i])) fail_msg("\"%s\"", bad[i]);
  assert_true(kiln_place_valid(&mtr_TFetchResultsResp_info, "status.infoMessages[0]"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_scripts_say_why),
      cmocka_unit_test(the_number_of_rules_is_bounded),
      cmocka_unit_test(a_file_is_named_in_its_errors),
      cmocka_unit_test(occurrences_are_counted_by_rule),
      cmocka_unit_test(every_and_the_first_by_default),
      cmocka_unit_test(only_statements_with_that_text),
      cmocka_unit_test(paths_and_calls_are_apart),
      cmocka_unit_test(a_rule_outlives_its_list),
      cmocka_unit_test(what_is_left_is_shown),
      cmocka_unit_test(when_follows_from_what_happens),
      cmocka_unit_test(places_are_found),
      cmocka_unit_test(short_replies_have_no_places),
      cmocka_unit_test(places_that_can_not_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
