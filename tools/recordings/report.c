/* Printing of failures and of the summary. Texts that come from a recording are printed as they
 * are, but for control characters: they may be anything, and a terminal obeys some. */
#include "tools/recordings/report.h"

#include <stdarg.h>
#include <stdio.h>

bool report_fail(struct report *r, const char *fmt, ...)
{
  char text[1500];
  va_list args;
  char *p;

  va_start(args, fmt);
  (void)vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  for (p = text; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7F) *p = ' ';
  if (r->line)
    printf("%s:%zu: %s\n", r->file, r->line, text);
  else
    printf("%s: %s\n", r->file, text);
  r->failed++;
  return false;
}

static void print_skipped(const struct report *r)
{
  size_t all = r->json_skipped + r->body_skipped + r->empty_skipped;

  if (all)
    printf("%zu skipped: %zu JSON, %zu other bodies, %zu without a body\n", all, r->json_skipped,
           r->body_skipped, r->empty_skipped);
}

void report_print(const struct report *r)
{
  printf("%zu files\n", r->files);
  if (r->exceptions || r->http_errors)
    printf("%zu Thrift exceptions, %zu HTTP errors\n", r->exceptions, r->http_errors);
  printf("%zu messages written again: %zu the same bytes, %zu of another form\n",
         r->same + r->other_form, r->same, r->other_form);
  printf("%zu Arrow batches with %zu rows, %zu column sets with %zu rows\n", r->arrow_batches,
         r->arrow_rows, r->column_sets, r->column_rows);
  if (r->arrow_files)
    printf("%zu Arrow files, %zu batches with %zu rows\n", r->arrow_files, r->file_batches,
           r->file_rows);
  print_skipped(r);
  printf("%zu exchanges, %zu decoded, %zu failed\n", r->exchanges, r->decoded, r->failed);
}
