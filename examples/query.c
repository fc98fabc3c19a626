/* Runs one SQL statement and prints its rows: the whole of the C API in one small program.
 *
 *     query http://127.0.0.1:8080/sql/1.0/warehouses/kiln "SELECT 1 + 1"
 *
 * Ctrl-C ends the wait. Rows go to stdout, everything else to stderr. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mortar/mortar.h"

enum { WIDEST = 60, CELL = 4096 };

static struct mortar_wake *wake;

static void on_interrupt(int number)
{
  (void)number;
  mortar_wake_signal(wake);
}

static int usage(FILE *to)
{
  fprintf(to,
          "usage: query URI SQL\n\n"
          "Runs SQL on the warehouse at URI and prints the rows.\n"
          "  URI  http://HOST[:PORT]/PATH or https://...\n"
          "environment:\n"
          "  MORTAR_TOKEN    access token\n"
          "  MORTAR_CA_FILE  PEM file of certificates to trust instead of the system's\n"
          "exit status: 0 done, 1 the statement failed, 2 wrong usage\n");
  return to == stdout ? 0 : 2;
}

static int report(const struct mortar_error *err)
{
  fprintf(stderr, "query: %s [%s, SQLSTATE %s]\n", err->message, mortar_status_name(err->status),
          err->sqlstate);
  if (err->query_id[0]) fprintf(stderr, "query: statement %s\n", err->query_id);
  return 1;
}

static double seconds(void)
{
  struct timespec ts;

  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Characters of UTF-8 text, near enough to columns on a screen. */
static int width_of(const char *text)
{
  int n = 0;

  for (; *text; text++)
    n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void print_cell(const char *text, int width, int64_t column)
{
  printf("%s%s%*s", column ? "  " : "", text, width > width_of(text) ? width - width_of(text) : 0,
         "");
}

struct table {
  struct ArrowSchema schema;
  int64_t columns;
  int *widths;
};

static enum mortar_status cell_text(const struct table *t, const struct ArrowArray *batch,
                                    int64_t column, int64_t row, char *text,
                                    struct mortar_error *err)
{
  size_t size;
  return mortar_format_cell(&t->schema, batch, column, row, text, CELL, &size, err);
}

/* The first batch decides how wide the columns are. */
static enum mortar_status measure(struct table *t, const struct ArrowArray *batch,
                                  struct mortar_error *err)
{
  char text[CELL];
  int64_t i, row;

  for (i = 0; i < t->columns; i++) {
    t->widths[i] = width_of(t->schema.children[i]->name);
    for (row = 0; row < batch->length; row++) {
      enum mortar_status st = cell_text(t, batch, i, row, text, err);
      if (st != MORTAR_OK) return st;
      if (width_of(text) > t->widths[i]) t->widths[i] = width_of(text);
    }
    if (t->widths[i] > WIDEST) t->widths[i] = WIDEST;
  }
  return MORTAR_OK;
}

static void print_head(const struct table *t)
{
  int64_t i;
  int n;

  for (i = 0; i < t->columns; i++)
    print_cell(t->schema.children[i]->name, t->widths[i], i);
  putchar('\n');
  for (i = 0; i < t->columns; i++) {
    if (i) fputs("  ", stdout);
    for (n = 0; n < t->widths[i]; n++)
      putchar('-');
  }
  putchar('\n');
}

static enum mortar_status print_batch(const struct table *t, const struct ArrowArray *batch,
                                      struct mortar_error *err)
{
  char text[CELL];
  int64_t i, row;

  for (row = 0; row < batch->length; row++) {
    for (i = 0; i < t->columns; i++) {
      enum mortar_status st = cell_text(t, batch, i, row, text, err);
      if (st != MORTAR_OK) return st;
      print_cell(text, i + 1 < t->columns ? t->widths[i] : 0, i);
    }
    putchar('\n');
  }
  return MORTAR_OK;
}

static enum mortar_status print_result(struct mortar_result *result, const struct mortar_call *call,
                                       int64_t *rows, struct mortar_error *err)
{
  struct table t = {0};
  enum mortar_status st = mortar_result_schema(result, &t.schema, err);
  bool first = true;

  if (st != MORTAR_OK) return st;
  t.columns = t.schema.n_children;
  t.widths = calloc((size_t)t.columns + 1, sizeof *t.widths);
  while (st == MORTAR_OK && t.widths) {
    struct ArrowArray batch;
    st = mortar_result_next(result, call, &batch, err);
    if (st != MORTAR_OK) break;
    if (first && t.columns) {
      static const struct ArrowArray none = {0};
      st = measure(&t, batch.release ? &batch : &none, err);
      print_head(&t);
    }
    first = false;
    if (!batch.release) break; /* the end */
    if (st == MORTAR_OK) st = print_batch(&t, &batch, err);
    *rows += batch.length;
    batch.release(&batch);
  }
  free(t.widths);
  t.schema.release(&t.schema);
  return st;
}

static enum mortar_status connect_to(const char *uri, const struct mortar_call *call,
                                     struct mortar_session **session, struct mortar_error *err)
{
  struct mortar_config *config = NULL;
  enum mortar_status st = mortar_config_new(NULL, &config, err);

  if (st == MORTAR_OK) st = mortar_config_set_uri(config, uri, err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "access_token", getenv("MORTAR_TOKEN"), err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "tls_ca_file", getenv("MORTAR_CA_FILE"), err);
  if (st == MORTAR_OK) st = mortar_session_open(config, call, session, err);
  mortar_config_free(config);
  return st;
}

static void sum_up(const struct mortar_result *result, int64_t rows, double first, double all)
{
  const long long changed = mortar_result_rows_affected(result);

  if (changed >= 0)
    fprintf(stderr, "%lld row%s changed in %.1f ms\n", changed, changed == 1 ? "" : "s", all * 1e3);
  else
    fprintf(stderr, "%lld row%s in %.1f ms (first answer after %.1f ms)\n", (long long)rows,
            rows == 1 ? "" : "s", all * 1e3, first * 1e3);
}

int main(int argc, char **argv)
{
  struct mortar_session *session = NULL;
  struct mortar_result *result = NULL;
  struct mortar_error err = {0};
  struct mortar_call call = {.timeout_ms = -1};
  enum mortar_status st;
  int64_t rows = 0;
  double start, answered;

  if (argc == 2 && strcmp(argv[1], "--help") == 0) return usage(stdout);
  if (argc != 3) return usage(stderr);
  st = mortar_wake_new(&wake, &err);
  if (st != MORTAR_OK) return report(&err);
  call.wake = wake;
  signal(SIGINT, on_interrupt);

  st = connect_to(argv[1], &call, &session, &err);
  start = seconds();
  if (st == MORTAR_OK) st = mortar_query(session, argv[2], &call, &result, &err);
  answered = seconds();
  if (st == MORTAR_OK) st = print_result(result, &call, &rows, &err);
  (void)fflush(stdout); /* the rows first, then what is said about them */
  if (st != MORTAR_OK)
    (void)report(&err);
  else
    sum_up(result, rows, answered - start, seconds() - start);
  mortar_result_free(result);
  mortar_session_free(session);
  signal(SIGINT, SIG_DFL);
  mortar_wake_free(wake);
  return st == MORTAR_OK ? 0 : 1;
}
