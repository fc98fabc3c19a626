/* Reads a rule by a table of its fields. Refuses fields that it does not know, values of another
 * kind, and combinations that can't be. */
#include "kiln/server/fault_rule.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/exchange.h"
#include "kiln/server/fault_place.h"

/* A day: a longer wait is a mistake. The others keep arithmetic far from its limits. */
enum { MAX_MS = 24 * 3600 * 1000, MAX_BYTES = 1 << 30, MAX_STATUS = 999 };

enum kind { TEXT, NUMBER, FLAG, OTHER };

struct field {
  const char *key;
  enum kind kind;
  size_t offset;
  int64_t min, max;
  enum mortar_status (*take)(struct kiln_fault_rule *rule, json_t *value, struct mortar_error *err);
};

static enum mortar_status wanted(struct mortar_error *err, const char *key, const char *what)
{
  return mtr_fail(err, MORTAR_INVALID, "\"%s\": %s is wanted", key, what);
}

static bool whole(const json_t *value, int64_t min, int64_t max, int64_t *out)
{
  if (!json_is_integer(value)) return false;
  *out = json_integer_value(value);
  return *out >= min && *out <= max;
}

static void *member(struct kiln_fault_rule *rule, size_t offset) { return (char *)rule + offset; }

/* Header lines are written as they are, so what would end one is refused. */
static bool plain_line(const char *text) { return text && strpbrk(text, "\r\n") == NULL; }

/* ---- Fields that are more than one value ------------------------------------------------------
 */

static enum mortar_status take_nth(struct kiln_fault_rule *rule, json_t *value,
                                   struct mortar_error *err)
{
  static const char form[] = "a number from 1 on, a list of up to 64 of them, or \"every\"";
  size_t i, count = json_is_array(value) ? json_array_size(value) : 1;
  const char *text = json_string_value(value);

  rule->every = text && strcmp(text, "every") == 0;
  rule->nth_count = 0;
  if (rule->every) return MORTAR_OK;
  if (count == 0 || count > KILN_FAULT_NTH) return wanted(err, "nth", form);
  for (i = 0; i < count; i++) {
    const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
    if (!whole(item, 1, INT32_MAX, &rule->nth[i])) return wanted(err, "nth", form);
  }
  rule->nth_count = count;
  return MORTAR_OK;
}

static enum mortar_status take_when(struct kiln_fault_rule *rule, json_t *value,
                                    struct mortar_error *err)
{
  const char *text = json_string_value(value);

  rule->before = text && strcmp(text, "before") == 0;
  if (!rule->before && !(text && strcmp(text, "after") == 0))
    return wanted(err, "when", "\"before\" or \"after\"");
  return MORTAR_OK;
}

static enum mortar_status take_lose(struct kiln_fault_rule *rule, json_t *value,
                                    struct mortar_error *err)
{
  rule->lose = json_string_value(value);
  if (!rule->lose || (strcmp(rule->lose, "session") != 0 && strcmp(rule->lose, "operation") != 0))
    return wanted(err, "lose", "\"session\" or \"operation\"");
  return MORTAR_OK;
}

static enum mortar_status take_headers(struct kiln_fault_rule *rule, json_t *value,
                                       struct mortar_error *err)
{
  static const char form[] = "an object of names and texts, or numbers, without line ends";
  const char *name;
  json_t *item;

  if (!json_is_object(value)) return wanted(err, "headers", form);
  json_object_foreach(value, name, item)
  {
    if (name[0] == '\0' || !plain_line(name) ||
        (!json_is_integer(item) && !plain_line(json_string_value(item))))
      return wanted(err, "headers", form);
  }
  rule->headers = value;
  return MORTAR_OK;
}

static bool is_text_or_absent(const json_t *object, const char *key)
{
  const json_t *value = json_object_get(object, key);

  return !value || json_is_string(value);
}

static enum mortar_status take_error(struct kiln_fault_rule *rule, json_t *value,
                                     struct mortar_error *err)
{
  const char *sqlstate = json_string_value(json_object_get(value, "sqlstate"));
  const json_t *code = json_object_get(value, "code");
  int64_t number;

  rule->error = value;
  if (!json_is_object(value) || !json_is_string(json_object_get(value, "message")) || !sqlstate ||
      strlen(sqlstate) != 5 || (code && !whole(code, 0, INT32_MAX, &number)) ||
      json_object_size(value) != (code ? 3U : 2U))
    return wanted(err, "error",
                  "{\"sqlstate\": five characters, \"message\": text, and if need be \"code\": "
                  "TStatusCode}");
  return MORTAR_OK;
}

static enum mortar_status take_exception(struct kiln_fault_rule *rule, json_t *value,
                                         struct mortar_error *err)
{
  const json_t *type = json_object_get(value, "type");
  int64_t number;

  rule->exception = value;
  if (!json_is_object(value) || !json_is_string(json_object_get(value, "message")) ||
      (type && !whole(type, 0, INT32_MAX, &number)) || json_object_size(value) != (type ? 2U : 1U))
    return wanted(err, "exception", "{\"message\": text, and if need be \"type\": number}");
  return MORTAR_OK;
}

static enum mortar_status take_trickle(struct kiln_fault_rule *rule, json_t *value,
                                       struct mortar_error *err)
{
  if (!json_is_object(value) || json_object_size(value) != 2 ||
      !whole(json_object_get(value, "bytes"), 1, MAX_BYTES, &rule->trickle_bytes) ||
      !whole(json_object_get(value, "every_ms"), 0, MAX_MS, &rule->trickle_ms))
    return wanted(err, "trickle", "{\"bytes\": from 1 on, \"every_ms\": number}");
  return MORTAR_OK;
}

/* An edit has a place, an offset, or both; one of a number has something to add, too. */
static bool read_edit(const json_t *value, bool flips, struct kiln_fault_edit *out)
{
  const json_t *place = json_object_get(value, "place"), *offset = json_object_get(value, "offset"),
               *add = json_object_get(value, "add");
  size_t known = (place ? 1U : 0U) + (offset ? 1U : 0U) + (add ? 1U : 0U);

  memset(out, 0, sizeof *out);
  out->flips = flips;
  out->place = json_string_value(place);
  if (!is_text_or_absent(value, "place") || (!place && !offset)) return false;
  if (offset && !whole(offset, -MAX_BYTES, MAX_BYTES, &out->offset)) return false;
  if (flips ? add != NULL : !whole(add, INT32_MIN, INT32_MAX, &out->add)) return false;
  if (!flips && place && offset) return false;
  return json_object_size(value) == known;
}

static enum mortar_status take_edits(struct kiln_fault_rule *rule, json_t *value, bool flips,
                                     struct mortar_error *err)
{
  const char *key = flips ? "flip" : "lengths";
  const char *form = flips ? "a list of {\"offset\": n} and {\"place\": p, \"offset\": n}"
                           : "a list of {\"place\": p, \"add\": k} and {\"offset\": n, \"add\": k}";
  size_t i;

  if (!json_is_array(value) || json_array_size(value) == 0) return wanted(err, key, form);
  for (i = 0; i < json_array_size(value); i++) {
    if (rule->edit_count == KILN_FAULT_EDITS)
      return mtr_fail(err, MORTAR_LIMIT, "\"%s\": a rule makes %d changes at most", key,
                      KILN_FAULT_EDITS);
    if (!read_edit(json_array_get(value, i), flips, &rule->edits[rule->edit_count++]))
      return wanted(err, key, form);
  }
  return MORTAR_OK;
}

static enum mortar_status take_flip(struct kiln_fault_rule *rule, json_t *value,
                                    struct mortar_error *err)
{
  return take_edits(rule, value, true, err);
}

static enum mortar_status take_lengths(struct kiln_fault_rule *rule, json_t *value,
                                       struct mortar_error *err)
{
  return take_edits(rule, value, false, err);
}

/* ---- The table --------------------------------------------------------------------------------
 */

#define RULE(member_) offsetof(struct kiln_fault_rule, member_)

static const struct field fields[] = {
    {"call", TEXT, RULE(call), 0, 0, NULL},
    {"path", TEXT, RULE(path), 0, 0, NULL},
    {"text", TEXT, RULE(text), 0, 0, NULL},
    {"nth", OTHER, 0, 0, 0, take_nth},
    {"when", OTHER, 0, 0, 0, take_when},
    {"delay_before_ms", NUMBER, RULE(delay_before_ms), 0, MAX_MS, NULL},
    {"delay_after_ms", NUMBER, RULE(delay_after_ms), 0, MAX_MS, NULL},
    {"lose", OTHER, 0, 0, 0, take_lose},
    {"status", NUMBER, RULE(status), 200, MAX_STATUS, NULL},
    {"headers", OTHER, 0, 0, 0, take_headers},
    {"body", TEXT, RULE(body), 0, 0, NULL},
    {"error", OTHER, 0, 0, 0, take_error},
    {"exception", OTHER, 0, 0, 0, take_exception},
    {"content_length_add", NUMBER, RULE(content_length_add), -MAX_BYTES, MAX_BYTES, NULL},
    {"lengths", OTHER, 0, 0, 0, take_lengths},
    {"flip", OTHER, 0, 0, 0, take_flip},
    {"cut", NUMBER, RULE(cut), 0, MAX_BYTES, NULL},
    {"reset", FLAG, RULE(reset), 0, 0, NULL},
    {"hang", FLAG, RULE(hang), 0, 0, NULL},
    {"trickle", OTHER, 0, 0, 0, take_trickle},
    {"close_after_ms", NUMBER, RULE(close_after_ms), 0, MAX_MS, NULL},
};

static const struct field *field_of(const char *key)
{
  size_t i;

  for (i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(fields[i].key, key) == 0) return &fields[i];
  return NULL;
}

static enum mortar_status take_number(struct kiln_fault_rule *rule, const struct field *field,
                                      const json_t *value, struct mortar_error *err)
{
  if (!whole(value, field->min, field->max, member(rule, field->offset)))
    return mtr_fail(err, MORTAR_INVALID, "\"%s\": a number from %lld to %lld is wanted", field->key,
                    (long long)field->min, (long long)field->max);
  return MORTAR_OK;
}

static enum mortar_status take(struct kiln_fault_rule *rule, const char *key, json_t *value,
                               struct mortar_error *err)
{
  const struct field *field = field_of(key);

  if (!field) return mtr_fail(err, MORTAR_INVALID, "\"%s\" is no field of a rule", key);
  switch (field->kind) {
    case TEXT:
      if (!json_is_string(value)) return wanted(err, key, "a text");
      *(const char **)member(rule, field->offset) = json_string_value(value);
      return MORTAR_OK;
    case FLAG:
      if (!json_is_boolean(value)) return wanted(err, key, "true or false");
      *(bool *)member(rule, field->offset) = json_is_true(value);
      return MORTAR_OK;
    case NUMBER:
      return take_number(rule, field, value, err);
    default:
      return field->take(rule, value, err);
  }
}

/* ---- What goes together -----------------------------------------------------------------------
 */

static bool has(const struct kiln_fault_rule *rule, const char *key)
{
  return json_object_get(rule->json, key) != NULL;
}

static bool answers(const struct kiln_fault_rule *rule)
{
  return rule->status || rule->body || rule->error || rule->exception;
}

/* Ends without a byte of a reply. */
static bool silent(const struct kiln_fault_rule *rule)
{
  return (rule->reset || rule->hang) && rule->cut < 0;
}

static bool is_call(const char *name)
{
  return strcmp(name, "*") == 0 || strcmp(name, "connect") == 0 ||
         kiln_call_find(mtr_span_text(name)) != NULL;
}

static enum mortar_status check_target(const struct kiln_fault_rule *rule, struct mortar_error *err)
{
  if ((rule->call != NULL) == (rule->path != NULL))
    return mtr_fail(err, MORTAR_INVALID, "either \"call\" or \"path\" is wanted");
  if (rule->call && !is_call(rule->call))
    return mtr_fail(err, MORTAR_INVALID,
                    "\"call\": \"%s\" is no call; calls are ExecuteStatement and the like, \"*\" "
                    "and \"connect\"",
                    rule->call);
  if (rule->path && rule->path[0] != '/' && strcmp(rule->path, "*") != 0)
    return wanted(err, "path", "a path that begins with /, or \"*\",");
  return MORTAR_OK;
}

/* A new connection can only be ended; a plain request knows nothing of Thrift. */
static enum mortar_status check_reach(const struct kiln_fault_rule *rule, struct mortar_error *err)
{
  static const char *const connect[] = {"call", "nth", "reset", "close_after_ms"};
  static const char *const thrift[] = {"text", "lose", "error", "exception"};
  size_t i, known = 0;

  if (rule->path)
    for (i = 0; i < sizeof thrift / sizeof thrift[0]; i++)
      if (has(rule, thrift[i]))
        return mtr_fail(err, MORTAR_INVALID, "\"%s\" goes with \"call\" only", thrift[i]);
  if (!rule->call || strcmp(rule->call, "connect") != 0) return MORTAR_OK;
  for (i = 0; i < sizeof connect / sizeof connect[0]; i++)
    if (has(rule, connect[i])) known++;
  if (known != json_object_size(rule->json) || rule->reset == (rule->close_after_ms >= 0))
    return mtr_fail(err, MORTAR_INVALID,
                    "\"connect\" goes with \"nth\" and one of \"reset\" and \"close_after_ms\"");
  return MORTAR_OK;
}

static enum mortar_status check_reply(const struct kiln_fault_rule *rule, struct mortar_error *err)
{
  int replaced = (rule->error ? 1 : 0) + (rule->exception ? 1 : 0) + (rule->body ? 1 : 0);

  if (replaced > 1 || (rule->status && (rule->error || rule->exception)))
    return mtr_fail(err, MORTAR_INVALID,
                    "\"status\" with \"body\", \"error\" and \"exception\" exclude each other");
  if ((rule->reset ? 1 : 0) + (rule->hang ? 1 : 0) + (rule->close_after_ms >= 0 ? 1 : 0) > 1)
    return mtr_fail(err, MORTAR_INVALID,
                    "\"reset\", \"hang\" and \"close_after_ms\" exclude each other");
  if (silent(rule) && (answers(rule) || rule->trickle_bytes))
    return mtr_fail(err, MORTAR_INVALID,
                    "without \"cut\" nothing is sent before \"reset\" or \"hang\"");
  if (rule->before && !answers(rule) && !silent(rule))
    return mtr_fail(err, MORTAR_INVALID,
                    "\"when\": \"before\" has no reply: \"status\", \"error\", \"exception\", "
                    "\"reset\" or \"hang\" is wanted");
  return MORTAR_OK;
}

static enum mortar_status check_edits(const struct kiln_fault_rule *rule, struct mortar_error *err)
{
  const struct kiln_call *call = rule->call ? kiln_call_find(mtr_span_text(rule->call)) : NULL;
  size_t i;

  for (i = 0; i < rule->edit_count; i++) {
    const char *place = rule->edits[i].place;
    if (!place || (rule->call && !call)) continue; /* "*": whatever reply has such a place */
    if (!call || !kiln_place_valid(call->reply, place))
      return mtr_fail(err, MORTAR_INVALID, "\"place\": %s is no text, list or i32 of %s", place,
                      call ? call->reply->name : "a plain reply");
  }
  return MORTAR_OK;
}

static enum mortar_status read_rule(struct kiln_fault_rule *rule, struct mortar_error *err)
{
  const char *key;
  json_t *value;

  json_object_foreach(rule->json, key, value) MTR_TRY(take(rule, key, value, err));
  if (!has(rule, "when")) rule->before = answers(rule) || silent(rule);
  MTR_TRY(check_target(rule, err));
  MTR_TRY(check_reach(rule, err));
  MTR_TRY(check_reply(rule, err));
  return check_edits(rule, err);
}

enum mortar_status kiln_fault_rule_new(json_t *json, struct kiln_fault_rule **out,
                                       struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_fault_rule *rule = NULL;

  *out = NULL;
  if (!json_is_object(json)) return mtr_fail(err, MORTAR_INVALID, "an object is wanted");
  rule = mtr_calloc(NULL, 1, sizeof *rule);
  if (!rule) return mtr_fail_nomem(err, "fault rule");
  kiln_list_init(&rule->link);
  rule->json = json_incref(json);
  rule->users = 1;
  rule->nth[0] = 1;
  rule->nth_count = 1;
  rule->cut = rule->close_after_ms = -1;
  MTR_GOTO(read_rule(rule, err));
  *out = rule;
  rule = NULL;
done:
  kiln_fault_rule_unref(rule);
  return st;
}

bool kiln_fault_rule_due(const struct kiln_fault_rule *rule)
{
  size_t i;

  if (rule->every) return true;
  for (i = 0; i < rule->nth_count; i++)
    if (rule->nth[i] == rule->seen) return true;
  return false;
}

int64_t kiln_fault_rule_left(const struct kiln_fault_rule *rule)
{
  int64_t left = 0;
  size_t i;

  if (rule->every) return -1;
  for (i = 0; i < rule->nth_count; i++)
    if (rule->nth[i] > rule->seen) left++;
  return left;
}

void kiln_fault_rule_unref(struct kiln_fault_rule *rule)
{
  if (!rule || --rule->users > 0) return;
  json_decref(rule->json);
  mtr_free(NULL, rule, sizeof *rule);
}
