/* Files of a folder, lines of a file. */
#include "kiln/recordings/walk.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

/* Recordings nest one folder deep; the bound keeps the stack small. */
enum { MAX_FOLDERS = 32 };

struct walk {
  const struct kiln_recording_visitor *visitor;
  struct kiln_recorded exchange;
};

static bool walk_folder(struct walk *w, const char *folder, int depth);

static bool is_blank(struct mtr_span line)
{
  size_t i;

  for (i = 0; i < line.size; i++)
    if (line.data[i] != ' ' && line.data[i] != '\t') return false;
  return true;
}

static bool visit_line(struct walk *w, size_t number, struct mtr_span line, const char *folder)
{
  struct mortar_error err = {0};
  enum mortar_status st;

  if (is_blank(line)) return true;
  st = kiln_recorded_parse(&w->exchange, line, folder, &err);
  return w->visitor->exchange(w->visitor->ctx, number, &w->exchange, st == MORTAR_OK ? NULL : &err);
}

static bool visit_lines(struct walk *w, struct mtr_span text, const char *folder)
{
  const uint8_t *end;
  size_t n, number;

  for (number = 1; text.size > 0; number++) {
    end = memchr(text.data, '\n', text.size);
    n = end ? (size_t)(end - text.data) : text.size;
    if (!visit_line(w, number,
                    mtr_span_of(text.data, n > 0 && text.data[n - 1] == '\r' ? n - 1 : n), folder))
      return false;
    n += end ? 1 : 0;
    text = mtr_span_of(text.data + n, text.size - n);
  }
  return true;
}

/* What can't be read at all counts as an exchange that was wanted. */
static bool fail_file(struct walk *w, const struct mortar_error *err)
{
  w->exchange.kind = KILN_RECORDED_THRIFT;
  return w->visitor->exchange(w->visitor->ctx, 0, &w->exchange, err);
}

static bool visit_file(struct walk *w, const char *path, const char *folder)
{
  struct mortar_error err = {0};
  struct mtr_buf text;
  bool go_on;

  w->visitor->file(w->visitor->ctx, path);
  mtr_buf_init(&text, NULL, "recording", KILN_RECORDING_MAX);
  if (kiln_recording_read(path, &text, &err) == MORTAR_OK)
    go_on = visit_lines(w, mtr_buf_span(&text), folder);
  else
    go_on = fail_file(w, &err);
  mtr_buf_fini(&text);
  return go_on;
}

static bool is_recording(const char *name)
{
  size_t n = strlen(name);
  return n > 6 && strcmp(name + n - 6, ".jsonl") == 0;
}

static bool is_link(const char *path)
{
  struct stat st;
  return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Linked folders are not entered, so that a loop of links is no loop of ours. A recording that
 * can't be looked at is opened all the same: that fails, and says why. */
static bool visit_name(struct walk *w, const char *folder, const char *name, int depth)
{
  char path[4096];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  bool seen = n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;

  if (seen && S_ISDIR(st.st_mode))
    return depth >= MAX_FOLDERS || is_link(path) || walk_folder(w, path, depth + 1);
  if (is_recording(name) && (!seen || S_ISREG(st.st_mode))) return visit_file(w, path, folder);
  return true;
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static bool walk_folder(struct walk *w, const char *folder, int depth)
{
  struct mortar_error err = {0};
  struct dirent **names = NULL;
  int i, n = scandir(folder, &names, is_visible, alphasort);
  bool go_on = true;

  if (n < 0) {
    (void)mtr_fail(&err, MORTAR_IO, "%s", strerror(errno));
    w->visitor->file(w->visitor->ctx, folder);
    return fail_file(w, &err);
  }
  for (i = 0; i < n; i++) {
    go_on = go_on && visit_name(w, folder, names[i]->d_name, depth);
    free(names[i]);
  }
  free(names);
  return go_on;
}

/* A file that is named alone has its bodies beside it, too. */
static bool walk_file(struct walk *w, const char *path)
{
  const char *slash = strrchr(path, '/');
  char folder[4096];

  (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
  return visit_file(w, path, folder);
}

void kiln_recording_walk(const char *path, const struct kiln_recording_visitor *visitor)
{
  struct walk w = {.visitor = visitor};
  struct stat st;

  kiln_recorded_init(&w.exchange);
  if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
    (void)walk_file(&w, path);
  else
    (void)walk_folder(&w, path, 0);
  kiln_recorded_fini(&w.exchange);
}
