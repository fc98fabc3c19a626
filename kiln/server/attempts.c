/* Attempts by statement text. A text is kept whole up to the length that the statistics show; texts
 * that are cut there are counted together. When memory or the table runs out an attempt is not
 * counted. */
#include "kiln/server/attempts.h"

#include <event2/keyvalq_struct.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"

static struct mtr_span shown_part(struct mtr_span sql)
{
  if (sql.size > KILN_STATS_TEXT) sql.size = mtr_utf8_cut((const char *)sql.data, KILN_STATS_TEXT);
  return sql;
}

static struct kiln_attempt *find(const struct kiln_attempts *attempts, struct mtr_span text)
{
  struct kiln_attempt *item = attempts->first;

  while (item && !mtr_span_equal(mtr_span_of(item->text, item->size), text))
    item = item->next;
  return item;
}

static struct kiln_attempt *add(struct kiln_attempts *attempts, struct mtr_span text)
{
  struct kiln_attempt *item;

  if (attempts->count == KILN_ATTEMPT_TEXTS || !mtr_utf8_valid(text)) return NULL;
  item = mtr_calloc(NULL, 1, sizeof *item);
  if (!item) return NULL;
  item->text = mtr_strndup(NULL, (const char *)text.data, text.size);
  if (!item->text) {
    mtr_free(NULL, item, sizeof *item);
    return NULL;
  }
  item->size = text.size;
  item->next = attempts->first;
  attempts->first = item;
  attempts->count++;
  return item;
}

/* ---- Headers and settings ---------------------------------------------------------------------
 */

static bool has_part(const char *name, const char *part)
{
  size_t n = strlen(part);

  for (; *name; name++)
    if (strlen(name) >= n && mtr_text_same(mtr_span_of(name, n), mtr_span_text(part))) return true;
  return false;
}

static bool is_secret(const char *name)
{
  static const char *const parts[] = {"auth", "token", "cookie", "secret", "password", "key"};
  size_t i;

  for (i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (has_part(name, parts[i])) return true;
  return false;
}

/* Of a secret only the scheme stays: "Bearer ***". */
static json_t *shown_value(const char *name, const char *value)
{
  const char *blank = strchr(value, ' ');

  if (!is_secret(name)) return json_string(value);
  if (!blank) return json_string("***");
  return json_sprintf("%.*s ***", (int)(blank - value), value);
}

static json_t *headers_json(struct evhttp_request *http)
{
  const struct evkeyvalq *headers = evhttp_request_get_input_headers(http);
  const struct evkeyval *header;
  json_t *out = json_object();

  for (header = headers->tqh_first; out && header; header = header->next.tqe_next)
    (void)json_object_set_new(out, header->key, shown_value(header->key, header->value));
  return out;
}

/* Of the statement alone, its confOverlay. What can't stand in JSON is left out. */
static json_t *settings_json(const struct mtr_thrift_values *settings)
{
  json_t *out = json_object();
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, settings->bytes);
  for (i = 0; out && i < settings->count; i++) {
    const struct mtr_span name = mtr_tr_string(&rd), value = mtr_tr_string(&rd);
    char *key = mtr_strndup(NULL, (const char *)name.data, name.size);
    if (key)
      (void)json_object_set_new(
          out, key,
          is_secret(key) ? json_string("***") : json_stringn((const char *)value.data, value.size));
    mtr_free_text(NULL, key);
  }
  return out;
}

/* ---- Counting ---------------------------------------------------------------------------------
 */

/* The oldest gap makes room. */
static void note_gap(struct kiln_gaps *gaps)
{
  const int64_t now = mtr_clock_now();

  if (gaps->count == KILN_ATTEMPT_GAPS) {
    gaps->count--;
    memmove(gaps->ms, gaps->ms + 1, gaps->count * sizeof gaps->ms[0]);
  }
  if (gaps->last) gaps->ms[gaps->count++] = (double)(now - gaps->last) / (double)MTR_MS;
  gaps->last = now;
}

void kiln_attempts_called(struct kiln_attempts *attempts, enum kiln_call_kind kind)
{
  note_gap(&attempts->gaps[kind]);
}

void kiln_attempts_note(struct kiln_attempts *attempts, const struct mtr_TExecuteStatementReq *req,
                        struct evhttp_request *http)
{
  struct mtr_span text = shown_part(req->statement);
  struct kiln_attempt *item = find(attempts, text);

  if (!item) item = add(attempts, text);
  if (!item) return;
  item->attempts++;
  note_gap(&item->gaps);
  json_decref(item->headers);
  item->headers = headers_json(http);
  json_decref(item->settings);
  item->settings = settings_json(&req->conf_overlay);
}

void kiln_attempts_executed(struct kiln_attempts *attempts, struct mtr_span sql, int by)
{
  struct kiln_attempt *item = find(attempts, shown_part(sql));

  if (item) item->executed += (uint64_t)by;
}

/* ---- Showing ----------------------------------------------------------------------------------
 */

static json_t *gaps_json(const struct kiln_gaps *from)
{
  json_t *gaps = json_array();
  size_t i;

  for (i = 0; gaps && i < from->count; i++)
    (void)json_array_append_new(gaps, json_real(from->ms[i]));
  return gaps;
}

static json_t *item_json(const struct kiln_attempt *item)
{
  return json_pack("{s:I,s:I,s:o,s:O?,s:O?}", "attempts", (json_int_t)item->attempts, "executed",
                   (json_int_t)item->executed, "gaps_ms", gaps_json(&item->gaps), "headers",
                   item->headers, "settings", item->settings);
}

static json_t *texts_json(const struct kiln_attempts *attempts)
{
  json_t *texts = json_object();
  const struct kiln_attempt *item;

  for (item = attempts->first; texts && item; item = item->next) {
    if (json_object_set_new(texts, item->text, item_json(item)) == 0) continue;
    json_decref(texts);
    texts = NULL;
  }
  return texts;
}

static json_t *calls_json(const struct kiln_attempts *attempts, const struct kiln_stats *stats)
{
  json_t *calls = json_object();
  int i;

  for (i = 0; calls && i < KILN_CALL_COUNT; i++) {
    json_t *call =
        json_pack("{s:I,s:I,s:o}", "attempts", (json_int_t)stats->calls[i], "faults",
                  (json_int_t)attempts->faults[i], "gaps_ms", gaps_json(&attempts->gaps[i]));
    if (json_object_set_new(calls, kiln_stats_call_name(i), call) == 0) continue;
    json_decref(calls);
    calls = NULL;
  }
  return calls;
}

bool kiln_attempts_show(const struct kiln_attempts *attempts, const struct kiln_stats *stats,
                        json_t *root)
{
  return json_object_set_new(root, "texts", texts_json(attempts)) == 0 &&
         json_object_set_new(root, "calls", calls_json(attempts, stats)) == 0 &&
         json_object_set_new(root, "other_faults",
                             json_integer((json_int_t)attempts->other_faults)) == 0;
}

void kiln_attempts_fini(struct kiln_attempts *attempts)
{
  struct kiln_attempt *item;

  while ((item = attempts->first)) {
    attempts->first = item->next;
    json_decref(item->headers);
    json_decref(item->settings);
    mtr_free_text(NULL, item->text);
    mtr_free(NULL, item, sizeof *item);
  }
  memset(attempts, 0, sizeof *attempts);
}
