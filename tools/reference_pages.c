/* Prints the reference pages that are made from the code's tables, as Markdown:
 *
 *     reference_pages options > docs/options.md
 *     reference_pages errors  > docs/errors.md
 *     reference_pages retries > docs/retries.md
 *
 * A test fails when a page and its table differ. */
#include <stdio.h>
#include <string.h>

#include "client/options.h"
#include "net/retry.h"

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

static void row_wire(const char *name, enum mtr_wire def, const char *words)
{
  printf("| `%s` | http, nosasl or sasl | %s | %s |\n", name, mtr_wire_name(def), words);
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
#define ROW_WIRE(name, def, min, max, words) row_wire(#name, def, words);
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
      "the HTTP status, the system's error number where a file was the matter, the server's own\n"
      "number and its words. This page is made from the table "
      "in\n"
      "`include/mortar/mortar.h`.\n\n"
      "| status | what it means | SQLSTATE, unless the server gave one |\n|---|---|---|\n");
#define X(name, text, sqlstate)                                                                    \
  if (MORTAR_##name != MORTAR_MORE) printf("| `MORTAR_%s` | %s | `%s` |\n", #name, text, sqlstate);
  MORTAR_STATUS_MAP(X)
#undef X
  printf(
      "\n## Outcomes\n\n"
      "What became of the request. Only `not_sent` and `rejected` are safe to send again;\n"
      "[retries](retries.md) says what the library sends again by itself.\n\n"
      "| outcome | what it means |\n|---|---|\n");
  for (i = MORTAR_OUTCOME_NONE; i <= MORTAR_OUTCOME_DONE; i++) {
    static const char *const words[] = {
        "no request was involved", "no byte of it left this machine",
        "the server said that it did not start it", "it may have run", "the server answered it"};
    printf("| `%s` | %s |\n", mortar_outcome_name((enum mortar_outcome)i), words[i]);
  }
}

static void print_retry_rules(void)
{
  printf(
      "# What is sent again\n\n"
      "One table decides it for every request: what the call does on the server, and what "
      "happened.\n"
      "The rule behind it: a write is sent again only when it is certain that the server did not\n"
      "start it, which is outcome `not_sent` or `rejected`. This page is made from the table in\n"
      "`src/net/retry.h`.\n\n"
      "A statement is a **write** unless its text plainly reads: its first word, behind blanks,\n"
      "comments and brackets, is SELECT, VALUES, TABLE, SHOW, DESCRIBE, DESC or LIST, or WITH or\n"
      "EXPLAIN and no word that writes stands outside quotes and comments; and it is one "
      "statement.\n"
      "`mortar_statement_set_idempotent` makes any statement a **read** in this sense, and "
      "metadata\n"
      "calls (GetTables and its like) are reads. So is the request to a store with which GET or\n"
      "REMOVE moves a file of a volume; that of PUT is a write.\n\n"
      "- **open**: OpenSession. Sent again although nobody knows what became of the first request: "
      "a\n"
      "  session that nobody holds is closed by the server when it has been idle, a session that "
      "can\n"
      "  not be had stops the program. Not after a time-out, which would make one more each time.\n"
      "- **fetch**: FetchResults. The server's cursor may have moved, so a page that is lost is "
      "an\n"
      "  error.\n"
      "- **close**: CloseOperation and CloseSession; **metadata**: GetResultSetMetadata.\n\n");
}

static const char *cell(enum mtr_retry_action action)
{
  switch (action) {
    case MTR_RETRY_AGAIN:
      return "again";
    case MTR_RETRY_BRIEFLY:
      return "briefly";
    case MTR_RETRY_SWALLOW:
      return "success";
    default:
      return "-";
  }
}

static void print_retry_table(void)
{
  int kind, event;

  printf("| what happened | outcome |");
  for (kind = 0; kind < MTR_CALL_KINDS; kind++)
    printf(" %s |", mtr_call_kind_name((enum mtr_call_kind)kind));
  printf("\n|---|---|");
  for (kind = 0; kind < MTR_CALL_KINDS; kind++)
    printf("---|");
  printf("\n");
  for (event = 0; event < MTR_EVENTS; event++) {
    const enum mtr_retry_event e = (enum mtr_retry_event)event;
    const enum mortar_outcome outcome = mtr_retry_outcome(e);
    printf("| %s | %s |", mtr_retry_words(e),
           outcome == MORTAR_OUTCOME_NONE ? "as it stands" : mortar_outcome_name(outcome));
    for (kind = 0; kind < MTR_CALL_KINDS; kind++)
      printf(" %s |", cell(mtr_retry_action((enum mtr_call_kind)kind, e)));
    printf("\n");
  }
}

static void print_retry_budgets(void)
{
  printf(
      "\n`again`: within the budget below. `briefly`: the same, but at most %d times. `success`: "
      "what\n"
      "was to be closed is gone, which is what was wanted. `-`: the call fails.\n\n"
      "An idle connection that the server has closed is noticed before anything is sent and "
      "replaced;\n"
      "that is no attempt.\n\n"
      "## Waits and budgets\n\n"
      "- `retry_attempts`: times a request is sent again at most; 0 turns it off.\n"
      "- The n-th wait lies between `retry_delay_min_ms` * 2^(n-1) and twice that, chosen by "
      "chance,\n"
      "  both at most `retry_delay_max_ms`.\n"
      "- `Retry-After` takes the place of that wait, in seconds or as a date; 0 and a date that "
      "has\n"
      "  passed say nothing.\n"
      "- `retry_total_ms`: no attempt begins later than this after the first one.\n"
      "- A wait that would end behind the total or the caller's deadline is not begun: the call "
      "fails\n"
      "  at once with what the last attempt said.\n"
      "- A wake-up, a tick or closing the session ends a wait.\n\n"
      "While it waits, a call shows in `retries` and `retry_wait_ms` of "
      "`mortar_session_get_stats`,\n"
      "and as a line of level INFO in the log (`mortar_config_set_log`).\n\n"
      "## The error\n\n"
      "It is that of the last attempt, with \"after N attempts\" before it. Its outcome is "
      "`unknown` if\n"
      "any attempt may have run. `session_lost` says that the server no longer knows the session:\n"
      "open another one. An operation that the server no longer knows leaves it false.\n\n"
      "The outcome is always the statement's: a poll that was not sent leaves it `unknown`, a "
      "fetch\n"
      "that was not sent leaves it `done`.\n",
      (int)MTR_RETRY_BRIEF);
}

static void print_retries(void)
{
  print_retry_rules();
  print_retry_table();
  print_retry_budgets();
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "options") == 0)
    print_options();
  else if (argc == 2 && strcmp(argv[1], "errors") == 0)
    print_errors();
  else if (argc == 2 && strcmp(argv[1], "retries") == 0)
    print_retries();
  else {
    fprintf(stderr, "usage: reference_pages options|errors|retries\n");
    return 2;
  }
  return 0;
}
