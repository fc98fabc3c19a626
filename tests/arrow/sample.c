/* Random Arrow data, see sample.h. Trusted by construction: the tests break it on purpose later. */
#include "tests/arrow/sample.h"

#include <stdio.h>
#include <stdlib.h>

/* The columns depth-first: a format string and how many of the next fields are its children. */
static const struct {
  const char *format;
  int children;
} nodes[] = {
    {"n", 0},          {"b", 0},
    {"c", 0},          {"s", 0},
    {"i", 0},          {"l", 0},
    {"C", 0},          {"S", 0},
    {"I", 0},          {"L", 0},
    {"e", 0},          {"f", 0},
    {"g", 0},          {"d:9,2,32", 0},
    {"d:18,3,64", 0},  {"d:38,10", 0},
    {"d:76,0,256", 0}, {"tdD", 0},
    {"tdm", 0},        {"tts", 0},
    {"ttm", 0},        {"ttu", 0},
    {"ttn", 0},        {"tss:", 0},
    {"tsm:UTC", 0},    {"tsu:Europe/Berlin", 0},
    {"tsn:+02:00", 0}, {"tDs", 0},
    {"tDm", 0},        {"tDu", 0},
    {"tDn", 0},        {"tiM", 0},
    {"tiD", 0},        {"tin", 0},
    {"w:5", 0},        {"w:0", 0},
    {"u", 0},          {"z", 0},
    {"U", 0},          {"Z", 0},
    {"+l", 1},         {"i", 0},
    {"+L", 1},         {"u", 0},
    {"+w:3", 1},       {"b", 0},
    {"+w:0", 1},       {"c", 0},
    {"+s", 0},         {"+s", 3},
    {"l", 0},          {"+l", 1},
    {"+l", 1},         {"n", 0},
    {"u", 0},          {"+m", 1},
    {"+s", 2},         {"u", 0},
    {"+w:2", 1},       {"d:10,2", 0},
    {"+l", 1},         {"+s", 1},
    {"+m", 1},         {"+s", 2},
    {"tdD", 0},        {"n", 0},
};
enum { NODES = sizeof nodes / sizeof *nodes };

static void *need(void *p)
{
  if (p) return p;
  fprintf(stderr, "sample data: out of memory\n");
  exit(2);
}

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

/* The field at *at, which moves behind it and its children. */
static struct ArrowSchema *make_field(struct mtr_arena *arena, size_t *at, bool nullable)
{
  static const char metadata[] = "\1\0\0\0\3\0\0\0key\5\0\0\0value";
  struct ArrowSchema *out = need(mtr_arena_alloc(arena, 1, sizeof *out));
  char name[24];
  int64_t i;

  out->format = nodes[*at].format;
  out->n_children = nodes[*at].children;
  (void)snprintf(name, sizeof name, "c%zu \xc3\xa9", *at);
  out->name = need(mtr_arena_text(arena, name, strlen(name)));
  out->metadata = *at % 3 == 0 ? metadata : NULL;
  out->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  if (strcmp(out->format, "+m") == 0 && *at % 2) out->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
  out->release = release_schema;
  out->children = need(mtr_arena_alloc(arena, (size_t)out->n_children + 1, sizeof *out->children));
  ++*at;
  for (i = 0; i < out->n_children; i++)
    out->children[i] = make_field(arena, at, strcmp(out->format, "+m") != 0);
  if (strcmp(out->format, "+m") == 0) out->children[0]->children[0]->flags = 0; /* the key */
  return out;
}

void sample_init_some(struct sample *s, int64_t first, int64_t count)
{
  static const char metadata[] = "\1\0\0\0\2\0\0\0of\6\0\0\0sample";
  struct mortar_error err;
  size_t at = 0;
  int64_t i;

  memset(s, 0, sizeof *s);
  mtr_arena_init(&s->arena, NULL, 64 << 20);
  s->c_schema.format = "+s";
  s->c_schema.name = "";
  s->c_schema.metadata = metadata;
  s->c_schema.release = release_schema;
  s->c_schema.children = need(mtr_arena_alloc(&s->arena, NODES, sizeof *s->c_schema.children));
  for (i = 0; at < NODES; i++) {
    struct ArrowSchema *field = make_field(&s->arena, &at, true);
    if (i >= first && i - first < count) s->c_schema.children[s->c_schema.n_children++] = field;
  }
  if (mtr_arrow_schema_import(&s->c_schema, &s->arena, &s->schema, &err) == MORTAR_OK) return;
  fprintf(stderr, "sample schema: %s\n", err.message);
  exit(2);
}

void sample_init(struct sample *s) { sample_init_some(s, 0, NODES); }

void sample_fini(struct sample *s) { mtr_arena_fini(&s->arena); }

struct maker {
  struct mtr_arena *arena;
  uint32_t state, null_percent;
  int64_t offset;
};

/* xorshift: small, the same everywhere. */
static uint32_t next(struct maker *m)
{
  m->state ^= m->state << 13;
  m->state ^= m->state >> 17;
  m->state ^= m->state << 5;
  return m->state;
}

static void *random_bytes(struct maker *m, int64_t size)
{
  uint8_t *bytes = need(mtr_arena_alloc(m->arena, 1, (size_t)size + 1));
  int64_t i;

  for (i = 0; i < size; i++)
    bytes[i] = (uint8_t)next(m);
  return bytes;
}

/* Offsets of n rows of up to three elements, not beginning at zero; *total is the last one. */
static void *random_offsets(struct maker *m, int64_t n, bool large, int64_t *total)
{
  int64_t i, at = 2, *wide = need(mtr_arena_alloc(m->arena, (size_t)n + 1, sizeof *wide));
  int32_t *narrow = need(mtr_arena_alloc(m->arena, (size_t)n + 1, sizeof *narrow));

  for (i = 0; i <= n; i++) {
    wide[i] = at;
    narrow[i] = (int32_t)at;
    if (i < n) at += next(m) % 4;
  }
  *total = at;
  return large ? (void *)wide : (void *)narrow;
}

static void make_validity(struct maker *m, const struct mtr_arrow_field *field, int64_t n,
                          struct ArrowArray *out)
{
  uint8_t *bits;
  int64_t i;

  if (!field->nullable || m->null_percent == 0 || out->n_buffers == 0) return;
  bits = need(mtr_arena_alloc(m->arena, 1, (size_t)n / 8 + 1));
  for (i = 0; i < n; i++)
    if (next(m) % 100 >= m->null_percent) bits[i / 8] |= (uint8_t)(1 << i % 8);
  out->buffers[0] = bits;
  out->null_count = -1;
}

static struct ArrowArray *make_array(struct maker *m, const struct mtr_arrow_field *field,
                                     int64_t rows);

static void make_children(struct maker *m, const struct mtr_arrow_field *field, int64_t rows,
                          struct ArrowArray *out)
{
  int64_t i;

  out->n_children = field->child_count;
  out->children =
      need(mtr_arena_alloc(m->arena, (size_t)field->child_count + 1, sizeof *out->children));
  for (i = 0; i < field->child_count; i++)
    out->children[i] = make_array(m, &field->children[i], rows);
}

/* n: physical rows, offset included. */
static void make_contents(struct maker *m, const struct mtr_arrow_field *field, int64_t n,
                          struct ArrowArray *out)
{
  enum mtr_arrow_layout layout = mtr_arrow_layout_of(field->type);
  bool large = layout == MTR_LAYOUT_BINARY64 || layout == MTR_LAYOUT_LIST64;
  int64_t total = n;

  if (layout == MTR_LAYOUT_BITS || layout == MTR_LAYOUT_FIXED)
    out->buffers[1] = random_bytes(m, layout == MTR_LAYOUT_BITS ? n : n * field->byte_width);
  if (layout >= MTR_LAYOUT_BINARY32 && layout <= MTR_LAYOUT_LIST64)
    out->buffers[1] = random_offsets(m, n, large, &total);
  if (layout == MTR_LAYOUT_BINARY32 || layout == MTR_LAYOUT_BINARY64)
    out->buffers[2] = random_bytes(m, total);
  if (field->type == MTR_ARROW_FIXED_LIST) total = n * field->byte_width;
  make_children(m, field, total, out);
}

static struct ArrowArray *make_array(struct maker *m, const struct mtr_arrow_field *field,
                                     int64_t rows)
{
  struct ArrowArray *out = need(mtr_arena_alloc(m->arena, 1, sizeof *out));

  out->length = rows;
  out->offset = m->offset;
  out->n_buffers = mtr_arrow_buffer_count(field->type);
  out->buffers = need(mtr_arena_alloc(m->arena, 3, sizeof *out->buffers));
  out->release = release_array;
  if (out->n_buffers == 0) out->null_count = rows;
  make_validity(m, field, rows + m->offset, out);
  make_contents(m, field, rows + m->offset, out);
  return out;
}

struct ArrowArray sample_batch(struct sample *s, uint32_t seed, int64_t rows, int64_t offset,
                               uint32_t null_percent)
{
  struct maker m = {&s->arena, seed * 2654435761u + 1, null_percent, offset};
  return *make_array(&m, &s->schema.root, rows);
}
