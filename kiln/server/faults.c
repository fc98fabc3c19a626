/* Reads scripts, keeps the rules and finds the one that a request meets. What a rule does is not
 * known here (fault_apply.c). */
#include "kiln/server/faults.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/server/json.h"

enum mortar_status kiln_faults_new(struct kiln_faults **out, struct mortar_error *err)
{
  struct kiln_faults *faults = mtr_calloc(NULL, 1, sizeof *faults);

  *out = faults;
  if (!faults) return mtr_fail_nomem(err, "fault rules");
  kiln_list_init(&faults->rules);
  kiln_list_init(&faults->runs);
  return MORTAR_OK;
}

static struct kiln_fault_rule *rule_at(struct kiln_link *link)
{
  return KILN_OWNER(link, struct kiln_fault_rule, link);
}

static void drop_all(struct kiln_link *rules)
{
  while (!kiln_list_empty(rules)) {
    struct kiln_fault_rule *rule = rule_at(rules->next);
    kiln_list_remove(&rule->link);
    kiln_fault_rule_unref(rule);
  }
}

void kiln_faults_clear(struct kiln_faults *faults)
{
  drop_all(&faults->rules);
  faults->rule_count = 0;
}

/* ---- Scripts ----------------------------------------------------------------------------------
 */

static enum mortar_status read_rules(const json_t *list, struct kiln_link *out,
                                     struct mortar_error *err)
{
  struct kiln_fault_rule *rule;
  size_t i;

  for (i = 0; i < json_array_size(list); i++) {
    if (kiln_fault_rule_new(json_array_get(list, i), &rule, err) != MORTAR_OK) {
      mtr_error_prefix(err, "rule %zu", i + 1);
      return MORTAR_INVALID;
    }
    kiln_list_append(out, &rule->link);
  }
  return MORTAR_OK;
}

/* An object holds the list under "rules", and nothing but "replace" beside it. */
static enum mortar_status open_script(const json_t *script, const json_t **list, bool *replace,
                                      struct mortar_error *err)
{
  const json_t *flag = json_object_get(script, "replace");

  *list = json_is_object(script) ? json_object_get(script, "rules") : script;
  *replace = json_is_true(flag);
  if (!json_is_array(*list) || (flag && !json_is_boolean(flag)) ||
      (json_is_object(script) && json_object_size(script) != (flag ? 2U : 1U)))
    return mtr_fail(err, MORTAR_INVALID,
                    "a list of rules, or {\"rules\": [...], \"replace\": true or false}, is "
                    "wanted");
  return MORTAR_OK;
}

static void adopt(struct kiln_faults *faults, struct kiln_link *fresh)
{
  while (!kiln_list_empty(fresh)) {
    struct kiln_fault_rule *rule = rule_at(fresh->next);
    kiln_list_remove(&rule->link);
    rule->id = ++faults->last_id;
    kiln_list_append(&faults->rules, &rule->link);
    faults->rule_count++;
  }
}

static enum mortar_status take_script(struct kiln_faults *faults, const json_t *script,
                                      struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  const json_t *list = NULL;
  struct kiln_link fresh;
  bool replace = false;
  size_t kept;

  kiln_list_init(&fresh);
  MTR_GOTO(open_script(script, &list, &replace, err));
  kept = replace ? 0 : faults->rule_count;
  if (json_array_size(list) > KILN_FAULT_RULES - kept) {
    st = mtr_fail(err, MORTAR_LIMIT, "a script has %d rules at most", KILN_FAULT_RULES);
    goto done;
  }
  MTR_GOTO(read_rules(list, &fresh, err));
  if (replace) kiln_faults_clear(faults);
  adopt(faults, &fresh);
done:
  drop_all(&fresh);
  return st;
}

static enum mortar_status take_parsed(struct kiln_faults *faults, json_t *script,
                                      const json_error_t *where, struct mortar_error *err)
{
  enum mortar_status st;

  if (!script && where->line < 1) return mtr_fail(err, MORTAR_INVALID, "%s", where->text);
  if (!script)
    return mtr_fail(err, MORTAR_INVALID, "line %d, column %d: %s", where->line, where->column,
                    where->text);
  st = take_script(faults, script, err);
  json_decref(script);
  return st;
}

enum mortar_status kiln_faults_load(struct kiln_faults *faults, struct mtr_span script,
                                    struct mortar_error *err)
{
  json_error_t where = {0};
  json_t *json = json_loadb((const char *)script.data, script.size, JSON_REJECT_DUPLICATES, &where);

  return take_parsed(faults, json, &where, err);
}

enum mortar_status kiln_faults_load_file(struct kiln_faults *faults, const char *path,
                                         struct mortar_error *err)
{
  json_error_t where = {0};
  enum mortar_status st;
  FILE *file = fopen(path, "r");

  if (!file) return mtr_fail(err, MORTAR_INVALID, "%s: %s", path, strerror(errno));
  st = take_parsed(faults, json_loadf(file, JSON_REJECT_DUPLICATES, &where), &where, err);
  (void)fclose(file);
  if (st != MORTAR_OK) mtr_error_prefix(err, "%s", path);
  return st;
}

/* ---- Matching ---------------------------------------------------------------------------------
 */

static bool contains(struct mtr_span text, const char *part)
{
  size_t n = strlen(part), i;

  for (i = 0; i + n <= text.size; i++)
    if (memcmp(text.data + i, part, n) == 0) return true;
  return false;
}

/* "*" is any call, but no new connection. */
static bool fits(const struct kiln_fault_rule *rule, const char *call, const char *path,
                 struct mtr_span text)
{
  const char *want = call ? rule->call : rule->path, *have = call ? call : path;
  bool any = want && strcmp(want, "*") == 0 && strcmp(have, "connect") != 0;

  if (!want || !(any || strcmp(want, have) == 0)) return false;
  return !rule->text || contains(text, rule->text);
}

struct kiln_fault_rule *kiln_faults_meet(struct kiln_faults *faults, const char *call,
                                         const char *path, struct mtr_span text)
{
  struct kiln_fault_rule *met = NULL;
  struct kiln_link *link;

  for (link = faults->rules.next; link != &faults->rules; link = link->next) {
    struct kiln_fault_rule *rule = rule_at(link);
    if (!fits(rule, call, path, text)) continue;
    rule->seen++;
    if (!met && kiln_fault_rule_due(rule)) met = rule;
  }
  if (met) {
    met->hits++;
    met->users++;
  }
  return met;
}

/* ---- Showing ----------------------------------------------------------------------------------
 */

static json_t *rule_json(const struct kiln_fault_rule *rule)
{
  int64_t left = kiln_fault_rule_left(rule);

  return json_pack("{s:I,s:I,s:I,s:o,s:I,s:O}", "id", (json_int_t)rule->id, "seen",
                   (json_int_t)rule->seen, "hits", (json_int_t)rule->hits, "left",
                   left < 0 ? json_null() : json_integer(left), "missed", (json_int_t)rule->missed,
                   "rule", rule->json);
}

enum mortar_status kiln_faults_json(const struct kiln_faults *faults, struct mtr_buf *out,
                                    struct mortar_error *err)
{
  json_t *root = json_object(), *list = json_array();
  const struct kiln_link *link;
  bool ok = json_object_set(root, "rules", list) == 0;

  for (link = faults->rules.next; ok && link != &faults->rules; link = link->next)
    ok = json_array_append_new(list, rule_json(rule_at((struct kiln_link *)link))) == 0;
  if (ok) ok = kiln_json_append(root, out);
  json_decref(list);
  json_decref(root);
  return ok ? MORTAR_OK : mtr_fail_nomem(err, "fault rules");
}

void kiln_faults_free(struct kiln_faults *faults)
{
  if (!faults) return;
  kiln_faults_clear(faults);
  kiln_attempts_fini(&faults->attempts);
  mtr_free(NULL, faults, sizeof *faults);
}
