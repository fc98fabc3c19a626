/* What the library tells a program's log. Nothing unless a function was given; never a token, a
 * password or a signed link; SQL text only at the level that asks for it. */
#ifndef MTR_CLIENT_LOG_H
#define MTR_CLIENT_LOG_H

#include "mortar/mortar.h"

struct mtr_log {
  mortar_log_fn fn; /* NULL: no log */
  void *ctx;
  enum mortar_log_level level;
  void (*hold)(void *ctx), (*release)(void *ctx); /* both NULL: ctx is not counted */
};

static inline bool mtr_log_wants(const struct mtr_log *log, enum mortar_log_level level)
{
  return log->fn && level <= log->level;
}

/* A text of any length for "%.*s". */
#define MTR_LOG_SQL_ARG(s) (int)((s).size > 1024 ? 1024 : (s).size), (const char *)(s).data

/* One line, cut where it would be longer than a struct mortar_error's. */
MORTAR_PRINTF(3, 4)
void mtr_log(const struct mtr_log *log, enum mortar_log_level level, const char *fmt, ...);

#endif
