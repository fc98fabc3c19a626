/* An engine for tests: what a statement does is in its words. */
#include "tests/kiln/tiny_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct context {
  _Atomic bool interrupted;
};

static void sleep_ms(int ms)
{
  const struct timespec pause = {0, ms * 1000000L};

  (void)nanosleep(&pause, NULL);
}

/* Ten seconds at the most; gives the milliseconds that it took. */
static int await_interrupt(struct context *context)
{
  int i;

  for (i = 0; i < 10000 && !context->interrupted; i++)
    sleep_ms(1);
  return i;
}

struct source {
  struct tiny_engine *engine;
  const char *format;
  long rows, sent;
  bool breaks;
  struct context *waits_for; /* to be interrupted, when the rows are all sent; NULL: nothing */
};

enum { ARRAY_ROWS = 1000 };

static void release_schema(struct ArrowSchema *schema)
{
  int64_t i;

  for (i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  schema->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct source *source = stream->private_data;
  struct ArrowSchema *child = calloc(1, sizeof *child);

  memset(out, 0, sizeof *out);
  out->children = calloc(1, sizeof *out->children);
  if (!child || !out->children) abort();
  out->format = "+s";
  out->name = "";
  out->n_children = 1;
  out->children[0] = child;
  out->release = release_schema;
  child->format = source->format;
  child->name = "n";
  child->flags = ARROW_FLAG_NULLABLE;
  child->release = release_schema;
  return 0;
}

static void release_array(struct ArrowArray *array)
{
  int64_t i;

  for (i = 0; i < array->n_children; i++) {
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  if (array->n_buffers == 2) free((void *)(uintptr_t)array->buffers[1]);
  free(array->children);
  free(array->buffers);
  array->release = NULL;
}

static void make_column(struct ArrowArray *out, long first, long count)
{
  int32_t *values = calloc((size_t)count, sizeof *values);
  long i;

  out->buffers = calloc(2, sizeof *out->buffers);
  if (!values || !out->buffers) abort();
  for (i = 0; i < count; i++)
    values[i] = (int32_t)(first + i);
  out->buffers[1] = values;
  out->n_buffers = 2;
  out->length = count;
  out->release = release_array;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct source *source = stream->private_data;
  long count = source->rows - source->sent;

  memset(out, 0, sizeof *out);
  if (count == 0 && source->waits_for) (void)await_interrupt(source->waits_for);
  if (count == 0) return source->breaks ? EIO : 0;
  if (count > ARRAY_ROWS) count = ARRAY_ROWS;
  out->children = calloc(1, sizeof *out->children);
  out->buffers = calloc(1, sizeof *out->buffers);
  if (!out->children || !out->buffers) abort();
  out->children[0] = calloc(1, sizeof *out->children[0]);
  if (!out->children[0]) abort();
  make_column(out->children[0], source->sent, count);
  out->n_children = out->n_buffers = 1;
  out->length = count;
  out->release = release_array;
  source->sent += count;
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return "the stream broke";
}

static void release_stream(struct ArrowArrayStream *stream)
{
  struct source *source = stream->private_data;

  source->engine->streams--;
  free(source);
  stream->release = NULL;
}

static struct source *make_stream(struct tiny_engine *engine, const char *format, long rows,
                                  bool breaks, struct ArrowArrayStream *out)
{
  struct source *source = calloc(1, sizeof *source);

  if (!source) abort();
  engine->streams++;
  source->engine = engine;
  source->format = format;
  source->rows = rows;
  source->breaks = breaks;
  out->get_schema = get_schema;
  out->get_next = get_next;
  out->get_last_error = get_last_error;
  out->release = release_stream;
  out->private_data = source;
  return source;
}

static bool open_session(void *engine_ctx, const char *catalog, const char *schema,
                         const struct mtr_thrift_values *settings, void **session,
                         struct kiln_error *err)
{
  struct tiny_engine *engine = engine_ctx;

  (void)schema;
  (void)settings;
  if (strcmp(catalog, "nowhere") == 0) {
    kiln_fail(err, "42704", "[CATALOG_NOT_FOUND] nowhere");
    return false;
  }
  engine->sessions++;
  *session = engine;
  return true;
}

static void close_session(void *engine_ctx, void *session)
{
  struct tiny_engine *engine = engine_ctx;

  (void)session;
  engine->sessions--;
}

static bool run_slow(struct context *context, struct kiln_error *err)
{
  kiln_fail(err, "57014", "interrupted after %d ms", await_interrupt(context));
  return false;
}

static bool starts(const char *sql, const char *word)
{
  return strncmp(sql, word, strlen(word)) == 0;
}

static const char *shown(const char *filter) { return filter ? filter : "-"; }

static bool echo(const struct kiln_statement *statement, struct kiln_error *err)
{
  const struct mortar_metadata *m = statement->metadata;

  if (m)
    kiln_fail(err, "00001", "%d %s.%s.%s %s %zu %s", (int)m->kind, shown(m->catalog),
              shown(m->schema), shown(m->table), shown(m->column), m->table_type_count,
              m->table_type_count ? m->table_types[0] : "-");
  else
    kiln_fail(err, "00001", "%s.%s %zu", statement->catalog, statement->schema,
              statement->parameter_count);
  return false;
}

static const char *text_of(const struct kiln_statement *statement)
{
  if (!statement->metadata) return statement->sql;
  return statement->metadata->table ? statement->metadata->table : "rows 3";
}

static bool execute(void *engine_ctx, void *session, const struct kiln_statement *statement,
                    _Atomic(void *) *statement_ctx, struct kiln_answer *answer,
                    struct kiln_error *err)
{
  struct tiny_engine *engine = engine_ctx;
  struct context *context = calloc(1, sizeof *context);
  const char *sql = text_of(statement);

  (void)session;
  if (!context) abort();
  engine->contexts++;
  engine->executed++;
  *statement_ctx = context;
  if (starts(sql, "SELECT ")) sql += strlen("SELECT ");
  if (starts(sql, "lazy ")) sleep_ms(20);
  if (starts(sql, "slow")) return run_slow(context, err);
  if (starts(sql, "ddl")) return true;
  if (starts(sql, "dml"))
    answer->rows_affected = 3;
  else if (starts(sql, "prepared"))
    answer->prepared = (const uint8_t *)"";
  else if (starts(sql, "rows ") || starts(sql, "lazy "))
    (void)make_stream(engine, "i", atol(sql + 5), false, &answer->stream);
  else if (starts(sql, "half "))
    (void)make_stream(engine, "i", atol(sql + 5), true, &answer->stream);
  else if (starts(sql, "drip "))
    make_stream(engine, "i", atol(sql + 5), true, &answer->stream)->waits_for = context;
  else if (starts(sql, "late ")) {
    (void)await_interrupt(context);
    (void)make_stream(engine, "i", atol(sql + 5), false, &answer->stream);
  } else if (starts(sql, "unsigned"))
    (void)make_stream(engine, "I", 1, false, &answer->stream);
  else if (starts(sql, "echo"))
    return echo(statement, err);
  else {
    kiln_fail(err, "42P01", "[TABLE_OR_VIEW_NOT_FOUND] %s", sql);
    return false;
  }
  return true;
}

static void interrupt(void *engine_ctx, void *statement_ctx)
{
  struct tiny_engine *engine = engine_ctx;
  struct context *context = statement_ctx;

  engine->interrupts++;
  context->interrupted = true;
}

static void finish(void *engine_ctx, void *statement_ctx)
{
  struct tiny_engine *engine = engine_ctx;

  engine->contexts--;
  free(statement_ctx);
}

#define ENGINE(is_inline)                                                                          \
  {                                                                                                \
    .name = "tiny", .inline_ok = (is_inline), .metadata_ok = true, .open_session = open_session,   \
    .close_session = close_session, .execute = execute, .interrupt = interrupt, .finish = finish   \
  }

const struct kiln_engine tiny_engine = ENGINE(false);
const struct kiln_engine tiny_engine_inline = ENGINE(true);
