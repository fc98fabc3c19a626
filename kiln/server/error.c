/* Fills a kiln_error: what an engine says when a statement fails. Cuts at a whole character. */
#include "kiln/server/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void kiln_fail(struct kiln_error *err, const char *sqlstate, const char *fmt, ...)
{
  va_list args;
  int n;

  if (!err) return;
  memset(err, 0, sizeof *err);
  (void)snprintf(err->sqlstate, sizeof err->sqlstate, "%s", sqlstate);
  va_start(args, fmt);
  n = vsnprintf(err->message, sizeof err->message, fmt, args);
  va_end(args);
  if (n >= (int)sizeof err->message)
    err->message[mtr_utf8_cut(err->message, sizeof err->message - 1)] = '\0';
}
