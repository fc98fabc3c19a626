/* Prints the reference pages that are made from the code's tables, as Markdown:
 *
 *     reference_pages options > docs/options.md
 *     reference_pages errors  > docs/errors.md
 *
 * A test fails when a page and its table differ. */
#include <stdio.h>
#include <string.h>

#include "client/options.h"

static void print_default(const char *name, int64_t value)
{
  const char *bytes = strstr(name, "bytes");

  if (bytes && value >= MTR_GIB && value % MTR_GIB == 0)
    printf("%lld (%lld GiB)", (long long)value, (long long)(value / MTR_GIB));
  else if (bytes && value >= MTR_MIB && value % MTR_MIB == 0)
    printf("%lld (%lld MiB)", (long long)value, (long long)(value / MTR_MIB));
  else
    printf("%lld", (long long)value);
}

static void row_text(const char *name, const char *def, const char *words)
{
  printf("| `%s` | text | %s | %s |\n", name, def ? def : "not set", words);
}

static void row_int(const char *name, int64_t def, int64_t min, int64_t max, const char *words)
{
  printf("| `%s` | %lld to %lld | ", name, (long long)min, (long long)max);
  print_default(name, def);
  printf(" | %s |\n", words);
}

static void row_bool(const char *name, bool def, const char *words)
{
  printf("| `%s` | true or false | %s | %s |\n", name, def ? "true" : "false", words);
}

static void print_options(void)
{
  printf(
      "# Options\n\n"
      "Set with `mortar_config_set(config, name, value, &err)`; every value is text. A URI sets\n"
      "`host`, `port`, `tls` and `http_path` at once: `mortar_config_set_uri`. This page is made\n"
      "from the table in `src/client/options.h`.\n\n"
      "| option | takes | default | what it is |\n|---|---|---|---|\n");
#define ROW_TEXT(name, def, min, max, words) row_text(#name, def, words);
#define ROW_INT(name, def, min, max, words) row_int(#name, def, min, max, words);
#define ROW_BOOL(name, def, min, max, words) row_bool(#name, def, words);
#define X(kind, name, def, min, max, words) ROW_##kind(name, def, min, max, words)
  MTR_OPTION_MAP(X)
#undef X
}

static void print_errors(void)
{
  int i;

  printf(
      "# Errors\n\n"
      "Every function that can fail returns a status and fills a `mortar_error`. Besides the\n"
      "status it carries the outcome of the request, SQLSTATE, the ids of session and statement,\n"
      "the HTTP status, the server's own number and its words. This page is made from the table "
      "in\n"
      "`include/mortar/mortar.h`.\n\n"
      "| status | what it means | SQLSTATE, unless the server gave one |\n|---|---|---|\n");
#define X(name, text, sqlstate)                                                                    \
  if (MORTAR_##name != MORTAR_MORE) printf("| `MORTAR_%s` | %s | `%s` |\n", #name, text, sqlstate);
  MORTAR_STATUS_MAP(X)
#undef X
  printf(
      "\n## Outcomes\n\n"
      "What became of the request. Only `not_sent` and `rejected` are safe to send again.\n\n"
      "| outcome | what it means |\n|---|---|\n");
  for (i = MORTAR_OUTCOME_NONE; i <= MORTAR_OUTCOME_DONE; i++) {
    static const char *const words[] = {
        "no request was involved", "no byte of it left this machine",
        "the server said that it did not start it", "it may have run", "the server answered it"};
    printf("| `%s` | %s |\n", mortar_outcome_name((enum mortar_outcome)i), words[i]);
  }
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "options") == 0)
    print_options();
  else if (argc == 2 && strcmp(argv[1], "errors") == 0)
    print_errors();
  else {
    fprintf(stderr, "usage: reference_pages options|errors\n");
    return 2;
  }
  return 0;
}
