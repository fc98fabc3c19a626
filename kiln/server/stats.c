/* Counters and their JSON form. Statement texts are cut and bounded; nothing is ever removed. */
#include "kiln/server/stats.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "kiln/server/attempts.h"
#include "kiln/server/json.h"

static const char *const call_names[KILN_CALL_COUNT] = {
    [KILN_CALL_OPEN_SESSION] = "OpenSession",
    [KILN_CALL_CLOSE_SESSION] = "CloseSession",
    [KILN_CALL_EXECUTE] = "ExecuteStatement",
    [KILN_CALL_STATUS] = "GetOperationStatus",
    [KILN_CALL_METADATA] = "GetResultSetMetadata",
    [KILN_CALL_FETCH] = "FetchResults",
    [KILN_CALL_CLOSE] = "CloseOperation",
    [KILN_CALL_CANCEL] = "CancelOperation",
#define X(kind, call, type) [KILN_CALL_##call] = #call,
    MTR_METADATA_MAP(X)
#undef X
        [KILN_CALL_OTHER] = "other",
};

void kiln_stats_init(struct kiln_stats *stats, const char *engine)
{
  memset(stats, 0, sizeof *stats);
  stats->engine = engine;
  stats->started = mtr_clock_now();
}

/* FNV-1a. Only ever compared within this table. */
static uint32_t hash_of(const char *text, size_t size)
{
  uint32_t hash = 2166136261u;
  size_t i;

  for (i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash;
}

/* The place of a text: where it is, or the empty one where it belongs; NULL: the table is full. */
static struct kiln_stats_text *place_of(struct kiln_stats *stats, const char *text, size_t size)
{
  uint32_t hash = hash_of(text, size), i;

  for (i = 0; i < KILN_STATS_TEXTS; i++) {
    struct kiln_stats_text *entry = &stats->texts[(hash + i) % KILN_STATS_TEXTS];
    if (entry->count == 0) {
      entry->hash = hash;
      entry->size = (uint16_t)size;
      memcpy(entry->text, text, size);
      return entry;
    }
    if (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)
      return entry;
  }
  return NULL;
}

void kiln_stats_executed(struct kiln_stats *stats, struct mtr_span sql)
{
  const char *text = (const char *)sql.data;
  size_t size = sql.size;
  struct kiln_stats_text *entry;

  if (size == 0) return;
  if (size > KILN_STATS_TEXT) size = mtr_utf8_cut(text, KILN_STATS_TEXT);
  entry = place_of(stats, text, size);
  if (entry)
    entry->count++;
  else
    stats->other_texts++;
}

/* json_object_set_new takes the value over, also when it fails, and fails on a NULL value. */
static bool put_number(json_t *object, const char *key, uint64_t value)
{
  return json_object_set_new(object, key, json_integer((json_int_t)value)) == 0;
}

static json_t *calls_json(const struct kiln_stats *stats)
{
  json_t *calls = json_object();
  int i;

  for (i = 0; calls && i < KILN_CALL_COUNT; i++) {
    if (put_number(calls, call_names[i], stats->calls[i])) continue;
    json_decref(calls);
    calls = NULL;
  }
  return calls;
}

/* A text that is not UTF-8 can't stand in JSON and is left out. */
static json_t *texts_json(const struct kiln_stats *stats)
{
  json_t *texts = json_object();
  int i;

  for (i = 0; texts && i < KILN_STATS_TEXTS; i++) {
    const struct kiln_stats_text *entry = &stats->texts[i];
    char key[KILN_STATS_TEXT + 1];
    if (entry->count == 0 || !mtr_utf8_valid(mtr_span_of(entry->text, entry->size))) continue;
    memcpy(key, entry->text, entry->size);
    key[entry->size] = '\0';
    if (put_number(texts, key, entry->count)) continue;
    json_decref(texts);
    texts = NULL;
  }
  return texts;
}

static bool fill(json_t *root, const struct kiln_stats *stats)
{
  double uptime = (double)(mtr_clock_now() - stats->started) / (double)MTR_SECOND;

  return json_object_set_new(root, "version", json_string(MORTAR_VERSION)) == 0 &&
         json_object_set_new(root, "engine", json_string(stats->engine)) == 0 &&
         json_object_set_new(root, "uptime_seconds", json_real(uptime)) == 0 &&
         put_number(root, "exchanges_total", stats->exchanges) &&
         json_object_set_new(root, "exchanges", calls_json(stats)) == 0 &&
         put_number(root, "requests", stats->requests) &&
         put_number(root, "tls_handshakes", stats->tls_handshakes) &&
         put_number(root, "tls_resumed", stats->tls_resumed) &&
         put_number(root, "sessions_open", stats->sessions_open) &&
         put_number(root, "sessions_total", stats->sessions_total) &&
         put_number(root, "operations_open", stats->operations_open) &&
         put_number(root, "operations_total", stats->operations_total) &&
         put_number(root, "errors", stats->errors) &&
         put_number(root, "bytes_in", stats->bytes_in) &&
         put_number(root, "bytes_out", stats->bytes_out) &&
         json_object_set_new(root, "statements", texts_json(stats)) == 0 &&
         put_number(root, "statements_other", stats->other_texts);
}

const char *kiln_stats_call_name(int kind) { return call_names[kind]; }

enum mortar_status kiln_stats_json(const struct kiln_stats *stats,
                                   const struct kiln_attempts *attempts, struct mtr_buf *out,
                                   struct mortar_error *err)
{
  json_t *root = json_object();
  bool ok = root && fill(root, stats) && (!attempts || kiln_attempts_show(attempts, stats, root)) &&
            kiln_json_append(root, out);

  json_decref(root);
  return ok ? MORTAR_OK : mtr_fail_nomem(err, "statistics");
}
