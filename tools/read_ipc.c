/* read_ipc [--cells] FILE...: reads Arrow IPC streams with the library's reader and prints how many
 * rows each has, or why it can't be read. docs/read_ipc.md describes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tools/ipc_stream.h"

/* A file is held in memory, once. */
enum { FILE_MAX = 2047 << 20, PIECE = 1 << 16, CELL_SHOWN = 256 };

static const char usage_text[] =
    "usage: read_ipc [--cells] FILE...\n"
    "\n"
    "Reads Arrow IPC streams to their end and prints a line for each:\n"
    "\n"
    "  FILE: N rows\n"
    "  FILE: error: why it can't be read\n"
    "\n"
    "  --cells  also makes every cell into text, to see that all of them can be read\n"
    "  --help   print this text\n"
    "\n"
    "Exit status: 0 all were read, 1 one was not, 2 wrong usage.\n";

static enum mortar_status read_stream(FILE *file, struct mtr_buf *out, struct mortar_error *err)
{
  size_t n;

  do {
    MTR_TRY(mtr_buf_reserve(out, PIECE, err));
    n = fread(out->data + out->size, 1, PIECE, file);
    out->size += n;
  } while (n > 0);
  return ferror(file) ? mtr_fail(err, MORTAR_IO, "%s", strerror(errno)) : MORTAR_OK;
}

static enum mortar_status read_file(const char *path, struct mtr_slab *out,
                                    struct mortar_error *err)
{
  FILE *file = fopen(path, "rb");
  enum mortar_status st;

  if (!file) return mtr_fail(err, MORTAR_IO, "%s", strerror(errno));
  st = read_stream(file, &out->buf, err);
  (void)fclose(file);
  return st;
}

static enum mortar_status format_cells(const struct ArrowSchema *schema,
                                       const struct ArrowArray *batch, struct mortar_error *err)
{
  char text[CELL_SHOWN];
  int64_t row, column;
  size_t size;

  for (row = 0; row < batch->length; row++)
    for (column = 0; column < batch->n_children; column++)
      MTR_TRY(mortar_format_cell(schema, batch, column, row, text, sizeof text, &size, err));
  return MORTAR_OK;
}

static enum mortar_status count_rows(struct ipc_stream *s, const struct ArrowSchema *schema,
                                     int64_t *rows, struct mortar_error *err)
{
  struct ArrowArray batch;
  enum mortar_status st;

  for (;;) {
    MTR_TRY(ipc_stream_next(s, &batch, err));
    if (!batch.release) return MORTAR_OK;
    *rows += batch.length;
    st = schema ? format_cells(schema, &batch, err) : MORTAR_OK;
    batch.release(&batch);
    MTR_TRY(st);
  }
}

static enum mortar_status read_rows(const char *path, bool cells, int64_t *rows,
                                    struct mortar_error *err)
{
  struct ArrowSchema schema = {0};
  struct mtr_slab *bytes = NULL;
  struct ipc_stream s = {0};
  enum mortar_status st;

  MTR_GOTO(mtr_slab_new(NULL, FILE_MAX, &bytes, err));
  MTR_GOTO(read_file(path, bytes, err));
  MTR_GOTO(ipc_stream_open(&s, bytes, err));
  if (cells) MTR_GOTO(mtr_arrow_schema_export(&s.schema, NULL, &schema, err));
  MTR_GOTO(count_rows(&s, cells ? &schema : NULL, rows, err));
done:
  if (schema.release) schema.release(&schema);
  ipc_stream_close(&s);
  mtr_slab_unref(bytes);
  return st;
}

static bool report(const char *path, bool cells)
{
  struct mortar_error err = {0};
  int64_t rows = 0;

  if (read_rows(path, cells, &rows, &err) == MORTAR_OK) {
    printf("%s: %" PRId64 " rows\n", path, rows);
    return true;
  }
  printf("%s: error: %s\n", path, err.message);
  return false;
}

static int usage(const char *why, const char *what)
{
  fprintf(stderr, "read_ipc: %s%s\n%s", why, what, usage_text);
  return 2;
}

int main(int argc, char **argv)
{
  bool cells = false, ok = true;
  int i;

  for (i = 1; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--help") == 0) return fputs(usage_text, stdout) < 0;
    if (strcmp(argv[i], "--cells") != 0) return usage("not understood: ", argv[i]);
    cells = true;
  }
  if (i == argc) return usage("no file is named", "");
  for (; i < argc; i++)
    ok = report(argv[i], cells) && ok;
  return ok ? 0 : 1;
}
