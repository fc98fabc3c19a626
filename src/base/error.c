/* Fills errors from the one status table. Formats text; translates and logs nothing. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct {
  const char *name, *text, *sqlstate;
} status_table[] = {
#define X(name, text, sqlstate) {#name, text, sqlstate},
    MORTAR_STATUS_MAP(X)
#undef X
        {"UNKNOWN", "a status that this version does not know",
         "HY000"}, /* for numbers of others */
};
enum {
  STATUS_COUNT = sizeof status_table / sizeof *status_table - 1,
  SECRET_MIN = 8 /* a shorter one would be found in the middle of words */
};

static size_t status_index(enum mortar_status status)
{
  size_t i = (size_t)status;
  return i < STATUS_COUNT ? i : STATUS_COUNT;
}

const char *mortar_status_name(enum mortar_status status)
{
  return status_table[status_index(status)].name;
}

const char *mortar_status_text(enum mortar_status status)
{
  return status_table[status_index(status)].text;
}

const char *mortar_outcome_name(enum mortar_outcome outcome)
{
  static const char *const names[] = {"none", "not_sent", "rejected", "unknown", "done"};
  size_t i = (size_t)outcome;
  return i < sizeof names / sizeof *names ? names[i] : names[3];
}

const char *mortar_version(void) { return MORTAR_VERSION; }

/* vsnprintf that ends at a whole character when the text does not fit. */
MORTAR_PRINTF(3, 0)
static void format_cut(char *out, size_t capacity, const char *fmt, va_list args)
{
  int n = vsnprintf(out, capacity, fmt, args);
  if (n < 0) out[0] = '\0';
  if (n >= 0 && (size_t)n >= capacity) out[mtr_utf8_cut(out, capacity - 1)] = '\0';
}

enum mortar_status mtr_fail(struct mortar_error *err, enum mortar_status st, const char *fmt, ...)
{
  va_list args;

  if (!err) return st;
  memset(err, 0, sizeof *err);
  err->status = st;
  memcpy(err->sqlstate, status_table[status_index(st)].sqlstate, sizeof err->sqlstate);
  va_start(args, fmt);
  format_cut(err->message, sizeof err->message, fmt, args);
  va_end(args);
  return st;
}

enum mortar_status mtr_fail_nomem(struct mortar_error *err, const char *what)
{
  return mtr_fail(err, MORTAR_NOMEM, "out of memory: %s", what);
}

void mtr_error_prefix(struct mortar_error *err, const char *fmt, ...)
{
  char text[sizeof err->message];
  va_list args;
  size_t n;

  if (!err || err->status == MORTAR_OK) return;
  va_start(args, fmt);
  format_cut(text, sizeof text, fmt, args);
  va_end(args);
  n = strlen(text);
  if (n + 3 > sizeof text) return;
  memcpy(text + n, ": ", 3);
  n += 2;
  {
    size_t room = sizeof text - 1 - n, have = strlen(err->message);
    if (have > room) have = mtr_utf8_cut(err->message, room);
    memcpy(text + n, err->message, have);
    text[n + have] = '\0';
  }
  memcpy(err->message, text, sizeof text);
}

void mtr_error_sqlstate(struct mortar_error *err, const char *five, size_t size)
{
  if (!err || size != 5) return;
  memcpy(err->sqlstate, five, 5);
  err->sqlstate[5] = '\0';
}

void mtr_error_outcome(struct mortar_error *err, enum mortar_outcome outcome)
{
  if (err) err->outcome = outcome;
}

/* How many bytes of secret the text begins with, if that gives it away; else 0. */
static size_t given_away(const char *text, const char *secret)
{
  size_t n = 0;

  while (secret[n] && text[n] == secret[n])
    n++;
  return n >= SECRET_MIN && (!secret[n] || !text[n]) ? n : 0;
}

void mtr_error_mask(struct mortar_error *err, const char *secret)
{
  char *p;

  if (!err || !secret) return;
  for (p = err->message; *p; p++) {
    const size_t n = given_away(p, secret);
    if (n == 0) continue;
    memcpy(p, "***", 3);
    memmove(p + 3, p + n, strlen(p + n) + 1);
    p += 2;
  }
}
