/* decode_recordings DIR [--dump] [--values]: reads every recorded exchange below DIR with the
 * library's own decoders, to the last byte, and says what can't be read and where.
 * docs/decode_recordings.md describes format and output. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kiln/recordings/walk.h"
#include "tools/recordings/thrift_check.h"

struct walk {
  struct report report;
  struct thrift_check check;
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

static bool check_exchange(struct walk *w, const struct kiln_recorded *x)
{
  switch (x->kind) {
    case KILN_RECORDED_THRIFT:
      return thrift_check_exchange(&w->check, x);
    case KILN_RECORDED_BODY:
      return check_body(w, mtr_buf_span(&x->response));
    case KILN_RECORDED_JSON:
      w->report.json_skipped++;
      return true;
    case KILN_RECORDED_EMPTY:
      w->report.empty_skipped++;
      return true;
  }
  return true;
}

static void begin_file(void *ctx, const char *path)
{
  struct walk *w = ctx;

  w->report.file = path;
  w->report.line = 0;
  w->report.files++;
  thrift_check_new_file(&w->check);
}

static bool check_line(void *ctx, size_t line, const struct kiln_recorded *x,
                       const struct mortar_error *err)
{
  struct walk *w = ctx;
  bool ok;

  w->report.line = line;
  ok = err ? report_fail(&w->report, "%s", err->message) : check_exchange(w, x);
  count(&w->report, x->kind == KILN_RECORDED_THRIFT, ok);
  return true;
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
  struct kiln_recording_visitor visitor = {.file = begin_file, .exchange = check_line};

  if (mtr_lz4_new(NULL, &lz4, NULL) != MORTAR_OK) return 1;
  w.report.dump = dump;
  w.report.values = values;
  visitor.ctx = &w;
  thrift_check_init(&w.check, &w.report, lz4);
  kiln_recording_walk(folder, &visitor);
  if (found_nothing(&w.report)) printf("%s: no recorded exchange in it or below it\n", folder);
  report_print(&w.report);
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
