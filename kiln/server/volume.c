/* Reads the four statements and makes their rows. */
#include "kiln/server/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kiln/server/node.h"

enum { ARENA_MAX = 256 << 20, ENTRIES_MAX = 100000 };

/* ---- Reading the statement ------------------------------------------------------------------ */

struct reader {
  const char *at, *end;
  struct mtr_arena *arena;
};

static bool at_pair(const struct reader *r, const char *two)
{
  return r->end - r->at >= 2 && r->at[0] == two[0] && r->at[1] == two[1];
}

static void skip_to(struct reader *r, const char *mark)
{
  while (r->at < r->end && strncmp(r->at, mark, strlen(mark)) != 0)
    r->at++;
  if (r->at < r->end) r->at += strlen(mark);
}

/* Blanks and comments. */
static void skip_space(struct reader *r)
{
  while (r->at < r->end)
    if (at_pair(r, "--"))
      skip_to(r, "\n");
    else if (at_pair(r, "/*"))
      skip_to(r, "*/");
    else if ((unsigned char)*r->at <= ' ')
      r->at++;
    else
      return;
}

static struct mtr_span word(struct reader *r)
{
  const char *from;

  skip_space(r);
  from = r->at;
  while (r->at < r->end && ((*r->at | 32) >= 'a' && (*r->at | 32) <= 'z'))
    r->at++;
  return mtr_span_of(from, (size_t)(r->at - from));
}

/* Whether this word comes next; it is taken then. */
static bool take_word(struct reader *r, const char *text)
{
  struct reader ahead = *r;

  if (!mtr_text_same(word(&ahead), mtr_span_text(text))) return false;
  *r = ahead;
  return true;
}

/* A text in single or double quotes, with backslashes; NULL: there is none, or memory ran out. */
static const char *quoted(struct reader *r)
{
  char *text, *to, quote;

  skip_space(r);
  if (r->at == r->end || (*r->at != '\'' && *r->at != '"')) return NULL;
  quote = *r->at++;
  text = to = mtr_arena_alloc(r->arena, (size_t)(r->end - r->at) + 1, 1);
  for (; text && r->at < r->end && *r->at != quote; r->at++) {
    if (*r->at == '\\' && r->end - r->at > 1) r->at++;
    *to++ = *r->at;
  }
  if (!text || r->at == r->end || strlen(text) != (size_t)(to - text)) return NULL;
  r->at++;
  return text;
}

static bool take_number(struct reader *r, int64_t *out)
{
  const char *from;
  uint64_t value;

  skip_space(r);
  from = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
    r->at++;
  if (!mtr_text_u64(mtr_span_of(from, (size_t)(r->at - from)), INT64_MAX, &value)) return false;
  *out = (int64_t)value;
  return true;
}

static bool at_end(struct reader *r)
{
  skip_space(r);
  while (r->at < r->end && *r->at == ';') {
    r->at++;
    skip_space(r);
  }
  return r->at == r->end;
}

struct request {
  const char *operation; /* "PUT", "GET", "REMOVE", "LIST" */
  const char *path, *local;
  bool overwrite;
  int64_t limit; /* of LIST */
};

/* What follows the verb; false: not this. */
static bool read_rest(struct reader *r, struct request *out)
{
  if (strcmp(out->operation, "PUT") == 0) {
    out->local = quoted(r);
    if (!out->local || !take_word(r, "INTO")) return false;
    out->path = quoted(r);
    out->overwrite = take_word(r, "OVERWRITE");
  } else {
    out->path = quoted(r);
    if (strcmp(out->operation, "GET") == 0) {
      if (!out->path || !take_word(r, "TO")) return false;
      out->local = quoted(r);
      if (!out->local) return false;
    }
    if (strcmp(out->operation, "LIST") == 0 && take_word(r, "LIMIT") &&
        !take_number(r, &out->limit))
      return false;
  }
  return out->path && at_end(r);
}

static const char *take_verb(struct reader *r)
{
  static const char *const verbs[] = {"PUT", "GET", "REMOVE", "LIST"};
  size_t i;

  for (i = 0; i < sizeof verbs / sizeof *verbs; i++)
    if (take_word(r, verbs[i])) return verbs[i];
  return NULL;
}

static bool read_request(struct reader r, const char *verb, struct request *out,
                         struct kiln_error *err)
{
  const char *from = r.at;

  *out = (struct request){.operation = verb, .limit = ENTRIES_MAX};
  if (read_rest(&r, out)) return true;
  kiln_fail(err, "42601",
            "[PARSE_SYNTAX_ERROR] Syntax error at or near '%.40s' in %s. It is PUT 'FILE' INTO "
            "'PATH' [OVERWRITE], GET 'PATH' TO 'FILE', REMOVE 'PATH' or LIST 'PATH' [LIMIT N]. "
            "SQLSTATE: 42601",
            r.at < r.end ? r.at : from, out->operation);
  return false;
}

/* ---- A table of a few columns --------------------------------------------------------------- */

struct column {
  const char *name, *format; /* "u" or "l" */
};

/* The rows, and the arena that they live in, as a stream that owns both. */
struct table {
  struct mtr_arena arena;
  struct kiln_node *node;
  bool sent;
};

static int table_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  const struct table *table = stream->private_data;

  *out = table->node->schema;
  return 0;
}

static int table_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct table *table = stream->private_data;

  memset(out, 0, sizeof *out);
  if (!table->sent && table->node->array.length) *out = table->node->array;
  table->sent = true;
  return 0;
}

static const char *table_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return NULL;
}

static void table_free(struct table *table)
{
  if (!table) return;
  mtr_arena_fini(&table->arena);
  mtr_free(NULL, table, sizeof *table);
}

static void table_release(struct ArrowArrayStream *stream)
{
  table_free(stream->private_data);
  stream->release = NULL;
}

static void table_stream(struct table *table, struct ArrowArrayStream *out)
{
  *out = (struct ArrowArrayStream){table_schema, table_next, table_error, table_release, table};
}

static struct table *table_new(void)
{
  struct table *table = mtr_calloc(NULL, 1, sizeof *table);

  if (table) mtr_arena_init(&table->arena, NULL, ARENA_MAX);
  return table;
}

static bool table_columns(struct table *table, const struct column *columns, int64_t count,
                          int64_t rows)
{
  int64_t i;

  table->node = kiln_node_new(&table->arena, "", "+s", rows, 1, count);
  for (i = 0; table->node && i < count; i++) {
    const int64_t buffers = columns[i].format[0] == 'u' ? 3 : 2;
    struct kiln_node *child = kiln_node_new(&table->arena, columns[i].name, columns[i].format, rows,
                                            buffers, columns[i].format[0] == '+' ? 1 : 0);
    if (!child) return false;
    kiln_node_adopt(table->node, i, child);
  }
  return table->node != NULL;
}

/* One text for each row; NULL is a null. */
static bool put_texts(struct table *table, int64_t column, const char *const *texts)
{
  struct kiln_node *node = table->node->children[column];
  struct kiln_text_column out;
  size_t room = 0;
  int64_t i;

  for (i = 0; i < node->array.length; i++)
    room += texts[i] ? strlen(texts[i]) : 0;
  if (!kiln_text_begin(&table->arena, node, room, &out)) return false;
  for (i = 0; i < node->array.length; i++) {
    if (!texts[i] && !kiln_node_null(&table->arena, node, i)) return false;
    if (!kiln_text_append(&out, i, texts[i], texts[i] ? strlen(texts[i]) : 0)) return false;
  }
  return true;
}

/* A map of texts without a pair for each row. */
static bool put_empty_maps(struct table *table, int64_t column)
{
  struct mtr_arena *arena = &table->arena;
  struct kiln_node *node = table->node->children[column];
  struct kiln_node *entries = kiln_node_new(arena, "entries", "+s", 0, 1, 2);
  struct kiln_node *key = kiln_node_new(arena, "key", "u", 0, 3, 0);
  struct kiln_node *value = kiln_node_new(arena, "value", "u", 0, 3, 0);
  const size_t offsets = (size_t)(node->array.length + 1) * sizeof(int32_t);
  struct kiln_text_column text;

  if (!entries || !key || !value) return false;
  entries->schema.flags = key->schema.flags = 0;
  kiln_node_adopt(entries, 0, key);
  kiln_node_adopt(entries, 1, value);
  kiln_node_adopt(node, 0, entries);
  return kiln_node_buffer(arena, node, 1, offsets) && kiln_text_begin(arena, key, 0, &text) &&
         kiln_text_begin(arena, value, 0, &text);
}

/* ---- PUT, GET, REMOVE ----------------------------------------------------------------------- */

static bool bad_path(const struct request *request, struct kiln_error *err)
{
  kiln_fail(err, "42604",
            "[INVALID_STAGING_PATH_IN_STAGING_ACCESS_QUERY] Invalid staging path in staging %s "
            "query: %.1000s. It is /Volumes/CATALOG/SCHEMA/VOLUME/FILE. SQLSTATE: 42604",
            request->operation, request->path);
  return false;
}

static bool check(const struct kiln_volumes *volumes, const struct request *request,
                  struct kiln_error *err)
{
  int fd;

  if (!kiln_volume_path_ok(request->path, strcmp(request->operation, "LIST") == 0))
    return bad_path(request, err);
  if (request->local && !*request->local) {
    kiln_fail(err, "22023",
              "[EMPTY_LOCAL_FILE_IN_STAGING_ACCESS_QUERY] Empty local file in staging %s query. "
              "SQLSTATE: 22023",
              request->operation);
    return false;
  }
  if (strcmp(request->operation, "PUT") != 0 || request->overwrite) return true;
  fd = kiln_volume_open(volumes, request->path);
  if (fd < 0 && errno != EISDIR) return true;
  if (fd >= 0) (void)close(fd);
  kiln_fail(err, "42K04",
            "[FILE_IN_STAGING_PATH_ALREADY_EXISTS] File in staging path %.1000s already exists but "
            "OVERWRITE is not set. SQLSTATE: 42K04",
            request->path);
  return false;
}

/* The headers are a map, and what has no local file has no column for it: Databricks' client for
 * Node stops at other rows. */
static bool make_link(const struct kiln_volumes *volumes, const struct kiln_volume_origin *origin,
                      const struct request *request, struct table *table)
{
  static const struct column columns[] = {
      {"operation", "u"}, {"presignedUrl", "u"}, {"headers", "+m"}, {"localFile", "u"}};
  const char *link =
      kiln_volume_link(volumes, origin, request->operation, request->path, &table->arena);

  return link && table_columns(table, columns, request->local ? 4 : 3, 1) &&
         put_texts(table, 0, &request->operation) && put_texts(table, 1, &link) &&
         put_empty_maps(table, 2) && (!request->local || put_texts(table, 3, &request->local));
}

/* ---- LIST ------------------------------------------------------------------------------------ */

struct entry {
  const char *name; /* a folder's ends with a slash */
  int64_t size, changed_ms;
};

struct entries {
  struct entry *items;
  size_t count, room;
};

static bool add_entry(struct entries *list, struct mtr_arena *arena, const char *name,
                      const struct stat *st)
{
  struct entry *items = list->items;
  char *copy = mtr_arena_alloc(arena, strlen(name) + 2, 1);

  if (list->count == list->room) {
    const size_t room = list->room ? list->room * 2 : 64;
    items = mtr_realloc(NULL, items, list->room * sizeof *items, room * sizeof *items);
    if (!items) return false;
    list->items = items;
    list->room = room;
  }
  if (!copy) return false;
  (void)snprintf(copy, strlen(name) + 2, "%s%s", name, S_ISDIR(st->st_mode) ? "/" : "");
  items[list->count++] =
      (struct entry){copy, S_ISDIR(st->st_mode) ? 0 : (int64_t)st->st_size,
                     (int64_t)st->st_mtim.tv_sec * 1000 + (int64_t)st->st_mtim.tv_nsec / 1000000};
  return true;
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Takes fd. */
static bool read_folder(int fd, struct mtr_arena *arena, struct entries *list)
{
  DIR *dir = fdopendir(fd);
  const struct dirent *found;
  struct stat st;
  bool ok = true;

  if (!dir) {
    (void)close(fd);
    return false;
  }
  while (ok && list->count < ENTRIES_MAX && (found = readdir(dir))) {
    const bool part = strncmp(found->d_name, KILN_VOLUME_PART, sizeof KILN_VOLUME_PART - 1) == 0;
    if (part || strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
    if (fstatat(fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) ok = add_entry(list, arena, found->d_name, &st);
  }
  (void)closedir(dir);
  if (list->count) qsort(list->items, list->count, sizeof *list->items, by_name);
  return ok;
}

static bool put_entries(struct table *table, const char *path, const struct entries *list,
                        int64_t rows)
{
  const size_t n = (size_t)rows, folder = strlen(path);
  const char *slash = folder && path[folder - 1] == '/' ? "" : "/";
  const char **names = mtr_arena_alloc(&table->arena, n + 1, sizeof *names);
  const char **paths = mtr_arena_alloc(&table->arena, n + 1, sizeof *paths);
  int64_t *sizes = kiln_node_buffer(&table->arena, table->node->children[2], 1, n * 8 + 8);
  int64_t *times = kiln_node_buffer(&table->arena, table->node->children[3], 1, n * 8 + 8);
  size_t i;

  if (!names || !paths || !sizes || !times) return false;
  for (i = 0; i < n; i++) {
    const struct entry *entry = &list->items[i];
    const size_t room = folder + strlen(entry->name) + 2;
    char *whole = mtr_arena_alloc(&table->arena, room, 1);
    if (!whole) return false;
    (void)snprintf(whole, room, "%s%s%s", path, slash, entry->name);
    names[i] = entry->name;
    paths[i] = whole;
    sizes[i] = entry->size;
    times[i] = entry->changed_ms;
  }
  return put_texts(table, 0, paths) && put_texts(table, 1, names);
}

static bool no_such_folder(const struct request *request, struct kiln_error *err)
{
  kiln_fail(err, "42K03", "[PATH_NOT_FOUND] Path does not exist: %.1000s. SQLSTATE: 42K03",
            request->path);
  return false;
}

static bool make_list(const struct kiln_volumes *volumes, const struct request *request,
                      struct table *table, struct kiln_error *err)
{
  static const struct column columns[] = {
      {"path", "u"}, {"name", "u"}, {"size", "l"}, {"modification_time", "l"}};
  const int fd = kiln_volume_open_folder(volumes, request->path);
  struct entries list = {NULL, 0, 0};
  int64_t rows;
  bool ok;

  if (fd < 0) return no_such_folder(request, err);
  ok = read_folder(fd, &table->arena, &list);
  rows = (int64_t)list.count < request->limit ? (int64_t)list.count : request->limit;
  ok = ok && table_columns(table, columns, 4, rows) &&
       put_entries(table, request->path, &list, rows);
  mtr_free(NULL, list.items, list.room * sizeof *list.items);
  if (!ok) kiln_fail(err, "HY001", "out of memory: LIST");
  return ok;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static bool fill(const struct kiln_volumes *volumes, const struct kiln_volume_origin *origin,
                 const struct request *request, struct table *table, struct kiln_answer *answer,
                 struct kiln_error *err)
{
  if (strcmp(request->operation, "LIST") == 0) return make_list(volumes, request, table, err);
  if (!origin->host) {
    kiln_fail(err, "22023",
              "[INVALID_PARAMETER_VALUE] The request has no Host that a link could lead to. "
              "SQLSTATE: 22023");
    return false;
  }
  answer->volume = true;
  if (make_link(volumes, origin, request, table)) return true;
  kiln_fail(err, "HY001", "out of memory: link");
  return false;
}

bool kiln_volume_answer(const struct kiln_volumes *volumes, const struct kiln_statement *statement,
                        const struct kiln_volume_origin *origin, struct kiln_answer *answer,
                        bool *ok, struct kiln_error *err)
{
  struct reader r = {statement->sql, statement->sql + statement->size, NULL};
  const char *verb = take_verb(&r);
  struct request request;
  struct table *table;

  if (!verb) return false;
  table = table_new();
  *ok = table != NULL;
  if (!table) {
    kiln_fail(err, "HY001", "out of memory: volume statement");
    return true;
  }
  r.arena = &table->arena;
  *ok = read_request(r, verb, &request, err) && check(volumes, &request, err) &&
        fill(volumes, origin, &request, table, answer, err);
  if (*ok)
    table_stream(table, &answer->stream);
  else
    table_free(table);
  return true;
}
