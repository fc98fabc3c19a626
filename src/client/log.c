/* Formats a line for the program's log function. Refuses to keep anything: no buffer, no thread. */
#include "client/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

void mtr_log(const struct mtr_log *log, enum mortar_log_level level, const char *fmt, ...)
{
  char line[sizeof((struct mortar_error *)0)->message];
  va_list args;
  int n;

  if (!mtr_log_wants(log, level)) return;
  va_start(args, fmt);
  n = vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  if (n >= (int)sizeof line) line[mtr_utf8_cut(line, sizeof line - 1)] = '\0';
  if (n >= 0) log->fn(log->ctx, level, line);
}
