/* decode_recordings DIR [--dump] [--values]: reads every recorded exchange below DIR with the
 * library's own decoders, to the last byte, and says what can't be read and where.
 * docs/decode_recordings.md describes format and output. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "tools/recordings/thrift_check.h"

/* Recordings nest one folder deep; the bound keeps the stack small. */
enum { MAX_FOLDERS = 32 };

struct walk {
  struct report report;
  struct thrift_check check;
  struct exchange exchange;
};

static const char usage_text[] =
    "usage: decode_recordings DIR [--dump] [--values]\n"
    "\n"
    "Decodes every exchange of the .jsonl files in DIR and below it, and prints one line for each\n"
    "that can't be decoded.\n"
    "\n"
    "  --dump    print every Thrift request and reply as a line of JSON\n"
    "  --values  print every row of every Arrow batch as a line of JSON\n"
    "  --help    print this text\n"
    "\n"
    "Exit status: 0 all decoded, 1 something was not, 2 wrong usage.\n";

static bool check_body(struct walk *w, struct mtr_span body)
{
  if (arrow_looks_like_file(body)) return arrow_check_file(&w->report, w->check.lz4, body);
  w->report.body_skipped++;
  return true;
}

/* Whatever fails counts as an exchange, so that decoded and failed add up to all. */
static void count(struct report *r, bool thrift, bool ok)
{
  if (!ok || thrift) r->exchanges++;
  if (ok && thrift) r->decoded++;
}

static bool check_exchange(struct walk *w)
{
  switch (w->exchange.kind) {
    case EXCHANGE_THRIFT:
      return thrift_check_exchange(&w->check, &w->exchange);
    case EXCHANGE_BODY:
      return check_body(w, mtr_buf_span(&w->exchange.response));
    case EXCHANGE_JSON:
      w->report.json_skipped++;
      return true;
    case EXCHANGE_EMPTY:
      w->report.empty_skipped++;
      return true;
  }
  return true;
}

static bool is_blank(struct mtr_span line)
{
  size_t i;

  for (i = 0; i < line.size; i++)
    if (line.data[i] != ' ' && line.data[i] != '\t') return false;
  return true;
}

static void check_line(struct walk *w, struct mtr_span line, const char *folder)
{
  struct mortar_error err = {0};
  bool ok;

  if (is_blank(line)) return;
  if (exchange_parse(&w->exchange, line, folder, &err) == MORTAR_OK)
    ok = check_exchange(w);
  else
    ok = report_fail(&w->report, "%s", err.message);
  count(&w->report, w->exchange.kind == EXCHANGE_THRIFT, ok);
}

static void check_lines(struct walk *w, struct mtr_span text, const char *folder)
{
  const uint8_t *end;
  size_t n;

  for (w->report.line = 1; text.size > 0; w->report.line++) {
    end = memchr(text.data, '\n', text.size);
    n = end ? (size_t)(end - text.data) : text.size;
    check_line(w, mtr_span_of(text.data, n > 0 && text.data[n - 1] == '\r' ? n - 1 : n), folder);
    n += end ? 1 : 0;
    text = mtr_span_of(text.data + n, text.size - n);
  }
  w->report.line = 0;
}

static void check_file(struct walk *w, const char *path, const char *folder)
{
  struct mortar_error err = {0};
  struct mtr_buf text;

  w->report.file = path;
  w->report.line = 0;
  w->report.files++;
  thrift_check_new_file(&w->check);
  mtr_buf_init(&text, NULL, "recording", RECORDING_BODY_MAX);
  if (recording_read_file(path, &text, &err) == MORTAR_OK)
    check_lines(w, mtr_buf_span(&text), folder);
  else
    count(&w->report, true, report_fail(&w->report, "%s", err.message));
  mtr_buf_fini(&text);
}

static bool is_recording(const char *name)
{
  size_t n = strlen(name);
  return n > 6 && strcmp(name + n - 6, ".jsonl") == 0;
}

static void walk_folder(struct walk *w, const char *folder, int depth);

static bool is_link(const char *path)
{
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Linked folders are not entered, so that a loop of links is no loop of ours. A recording that
 * can't be looked at is opened all the same: that fails, and says why. */
static void visit(struct walk *w, const char *folder, const char *name, int depth)
{
  char path[4096];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  bool seen = n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;

  if (seen && S_ISDIR(st.st_mode) && depth < MAX_FOLDERS && !is_link(path))
    walk_folder(w, path, depth + 1);
  else if (is_recording(name) && (!seen || S_ISREG(st.st_mode)))
    check_file(w, path, folder);
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void walk_folder(struct walk *w, const char *folder, int depth)
{
  struct dirent **names = NULL;
  int i, n = scandir(folder, &names, is_visible, alphasort);

  if (n < 0) {
    w->report.file = folder;
    w->report.line = 0;
    count(&w->report, true, report_fail(&w->report, "%s", strerror(errno)));
  }
  for (i = 0; i < n; i++) {
    visit(w, folder, names[i]->d_name, depth);
    free(names[i]);
  }
  free(names);
}

/* Success over nothing would hide a folder that was named wrongly. */
static bool found_nothing(const struct report *r)
{
  return r->exchanges + r->json_skipped + r->body_skipped + r->empty_skipped + r->arrow_files == 0;
}

static int run(const char *folder, bool dump, bool values)
{
  struct mtr_lz4 *lz4 = NULL;
  struct walk w = {0};

  if (mtr_lz4_new(NULL, &lz4, NULL) != MORTAR_OK) return 1;
  w.report.dump = dump;
  w.report.values = values;
  thrift_check_init(&w.check, &w.report, lz4);
  exchange_init(&w.exchange);
  walk_folder(&w, folder, 0);
  if (found_nothing(&w.report)) printf("%s: no recorded exchange in it or below it\n", folder);
  report_print(&w.report);
  exchange_fini(&w.exchange);
  thrift_check_fini(&w.check);
  mtr_lz4_free(lz4);
  return w.report.failed || found_nothing(&w.report) ? 1 : 0;
}

static int usage(const char *why, const char *what)
{
  fprintf(stderr, "decode_recordings: %s%s\n%s", why, what, usage_text);
  return 2;
}

int main(int argc, char **argv)
{
  bool dump = false, values = false;
  const char *folder = NULL;
  struct stat st;
  int i;

  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) return fputs(usage_text, stdout) < 0;
    if (strcmp(argv[i], "--dump") == 0)
      dump = true;
    else if (strcmp(argv[i], "--values") == 0)
      values = true;
    else if (argv[i][0] == '-' || folder)
      return usage("not understood: ", argv[i]);
    else
      folder = argv[i];
  }
  if (!folder) return usage("no folder is named", "");
  if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode)) return usage("not a folder: ", folder);
  return run(folder, dump, values);
}
