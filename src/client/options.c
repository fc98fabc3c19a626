/* Sets options by the table in options.h and refuses what it does not allow. Opens nothing. */
#include "client/options.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

enum option_kind { TEXT, INT, BOOL, WIRE };

struct option_row {
  const char *name;
  enum option_kind kind;
  size_t offset;
  int64_t min, max;
};

static const struct option_row table[] = {
#define X(kind, name, def, min, max, words)                                                        \
  {#name, kind, offsetof(struct mtr_options, name), min, max},
    MTR_OPTION_MAP(X)
#undef X
};
enum { OPTION_COUNT = sizeof table / sizeof *table };

#define DEFAULT_TEXT(def) NULL
#define DEFAULT_INT(def) (def)
#define DEFAULT_BOOL(def) (def)
#define DEFAULT_WIRE(def) (def)

void mtr_options_init(struct mtr_options *options, const struct mortar_alloc *alloc)
{
  memset(options, 0, sizeof *options);
  options->alloc = alloc;
#define X(kind, name, def, min, max, words) options->name = DEFAULT_##kind(def);
  MTR_OPTION_MAP(X)
#undef X
}

static void *field_of(const struct mtr_options *options, const struct option_row *row)
{
  return (char *)(uintptr_t)options + row->offset;
}

void mtr_options_fini(struct mtr_options *options)
{
  size_t i;

  for (i = 0; i < OPTION_COUNT; i++) {
    if (table[i].kind != TEXT) continue;
    mtr_free_text(options->alloc, *(char **)field_of(options, &table[i]));
    *(char **)field_of(options, &table[i]) = NULL;
  }
}

/* How many letters at the same place differ, a cheap measure of a typing slip. */
static size_t distance(const char *a, const char *b)
{
  size_t la = strlen(a), lb = strlen(b), i, d = la > lb ? la - lb : lb - la;

  for (i = 0; i < la && i < lb; i++)
    d += a[i] != b[i];
  return d;
}

static enum mortar_status fail_unknown(const char *name, struct mortar_error *err)
{
  size_t i, best = 0;

  for (i = 1; i < OPTION_COUNT; i++)
    if (distance(name, table[i].name) < distance(name, table[best].name)) best = i;
  return mtr_fail(err, MORTAR_INVALID, "no option is called '%.64s'; the nearest is '%s'", name,
                  table[best].name);
}

static enum mortar_status set_text(char **field, const char *value,
                                   const struct mortar_alloc *alloc, struct mortar_error *err)
{
  char *copy = NULL;

  if (value) {
    copy = mtr_strndup(alloc, value, strlen(value));
    if (!copy) return mtr_fail_nomem(err, "option");
  }
  mtr_free_text(alloc, *field);
  *field = copy;
  return MORTAR_OK;
}

static enum mortar_status set_int(int64_t *field, const struct option_row *row, const char *value,
                                  struct mortar_error *err)
{
  uint64_t v;

  if (!mtr_text_u64(mtr_span_text(value), (uint64_t)row->max, &v) || (int64_t)v < row->min)
    return mtr_fail(err, MORTAR_INVALID,
                    "option '%s' takes a number from %lld to %lld, not '%.64s'", row->name,
                    (long long)row->min, (long long)row->max, value);
  *field = (int64_t)v;
  return MORTAR_OK;
}

static enum mortar_status set_bool(bool *field, const struct option_row *row, const char *value,
                                   struct mortar_error *err)
{
  struct mtr_span v = mtr_span_text(value);

  if (mtr_text_same(v, mtr_span_text("true")) || strcmp(value, "1") == 0)
    *field = true;
  else if (mtr_text_same(v, mtr_span_text("false")) || strcmp(value, "0") == 0)
    *field = false;
  else
    return mtr_fail(err, MORTAR_INVALID, "option '%s' takes true or false, not '%.64s'", row->name,
                    value);
  return MORTAR_OK;
}

static enum mortar_status set_wire(enum mtr_wire *field, const struct option_row *row,
                                   const char *value, struct mortar_error *err)
{
  enum mtr_wire wire;

  for (wire = MTR_WIRE_HTTP; wire <= MTR_WIRE_SASL; wire++) {
    if (strcmp(value, mtr_wire_name(wire)) != 0) continue;
    *field = wire;
    return MORTAR_OK;
  }
  return mtr_fail(err, MORTAR_INVALID, "option '%s' takes http, nosasl or sasl, not '%.64s'",
                  row->name, value);
}

static void set_default(struct mtr_options *options, const struct option_row *row)
{
  struct mtr_options fresh;

  mtr_options_init(&fresh, options->alloc);
  if (row->kind == INT) *(int64_t *)field_of(options, row) = *(int64_t *)field_of(&fresh, row);
  if (row->kind == BOOL) *(bool *)field_of(options, row) = *(bool *)field_of(&fresh, row);
  if (row->kind == WIRE)
    *(enum mtr_wire *)field_of(options, row) = *(enum mtr_wire *)field_of(&fresh, row);
}

enum mortar_status mtr_options_set(struct mtr_options *options, const char *name, const char *value,
                                   struct mortar_error *err)
{
  const struct option_row *row = NULL;
  size_t i;

  for (i = 0; i < OPTION_COUNT && !row; i++)
    if (strcmp(table[i].name, name) == 0) row = &table[i];
  if (!row) return fail_unknown(name, err);
  if (row->kind == TEXT) return set_text(field_of(options, row), value, options->alloc, err);
  if (!value) {
    set_default(options, row);
    return MORTAR_OK;
  }
  if (row->kind == INT) return set_int(field_of(options, row), row, value, err);
  if (row->kind == WIRE) return set_wire(field_of(options, row), row, value, err);
  return set_bool(field_of(options, row), row, value, err);
}

enum mortar_status mtr_options_copy(struct mtr_options *to, const struct mtr_options *from,
                                    struct mortar_error *err)
{
  size_t i;

  *to = *from;
  for (i = 0; i < OPTION_COUNT; i++)
    if (table[i].kind == TEXT) *(char **)field_of(to, &table[i]) = NULL;
  for (i = 0; i < OPTION_COUNT; i++) {
    enum mortar_status st;
    if (table[i].kind != TEXT) continue;
    st = set_text(field_of(to, &table[i]), *(char **)field_of(from, &table[i]), to->alloc, err);
    if (st != MORTAR_OK) {
      mtr_options_fini(to);
      return st;
    }
  }
  return MORTAR_OK;
}

int mtr_options_port(const struct mtr_options *options)
{
  if (options->port) return (int)options->port;
  if (options->transport != MTR_WIRE_HTTP) return 10000;
  return options->tls ? 443 : 80;
}

struct mtr_retry_policy mtr_options_retry(const struct mtr_options *options)
{
  return (struct mtr_retry_policy){options->retry_attempts, options->retry_delay_min_ms,
                                   options->retry_delay_max_ms, options->retry_total_ms};
}

enum mortar_status mtr_options_user_agent(const struct mtr_options *options, struct mtr_buf *out,
                                          struct mortar_error *err)
{
  if (!options->user_agent) return mtr_buf_printf(out, err, "Mortar/%s", MORTAR_VERSION);
  return mtr_buf_printf(out, err, "Mortar/%s (%s)", MORTAR_VERSION, options->user_agent);
}
