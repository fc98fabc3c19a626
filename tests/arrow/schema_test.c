/* The schema model: import, export, metadata, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arrow/schema.h"
#include "tests/arrow/sample.h"
#include "tests/support/failing_alloc.h"

enum { MAX_SCHEMA = 1 << 20 };

static size_t metadata_size(const char *text)
{
  int32_t n, size, i;
  size_t at = 4;

  memcpy(&n, text, sizeof n);
  for (i = 0; i < 2 * n; i++) {
    memcpy(&size, text + at, sizeof size);
    at += 4 + (size_t)size;
  }
  return at;
}

static void check_same(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
  int64_t i;

  assert_string_equal(a->format, b->format);
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->flags, b->flags);
  assert_int_equal(!a->metadata, !b->metadata);
  if (a->metadata) assert_memory_equal(a->metadata, b->metadata, metadata_size(a->metadata));
  assert_null(b->dictionary);
  assert_int_equal(a->n_children, b->n_children);
  for (i = 0; i < a->n_children; i++)
    check_same(a->children[i], b->children[i]);
}

static void import_and_export_give_the_same(void **state)
{
  struct failing_alloc fa;
  struct ArrowSchema out;
  struct sample s;

  (void)state;
  sample_init(&s);
  s.c_schema.flags = 0;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st = mtr_arrow_schema_export(&s.schema, &fa.alloc, &out, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    assert_int_equal(!out.release, fa.failed);
    if (!out.release) continue;
    check_same(&s.c_schema, &out);
    out.release(&out);
    assert_null(out.release);
  }
  sample_fini(&s);
}

static void exported_children_may_be_moved_out(void **state)
{
  struct failing_alloc fa;
  struct ArrowSchema out, child;
  struct sample s;

  (void)state;
  failing_alloc_init(&fa, 0);
  sample_init(&s);
  assert_int_equal(mtr_arrow_schema_export(&s.schema, &fa.alloc, &out, NULL), MORTAR_OK);
  child = *out.children[45];
  out.children[45]->release = NULL;
  out.release(&out);
  assert_true(fa.live > 0);
  check_same(s.c_schema.children[45], &child);
  child.release(&child);
  assert_int_equal(fa.live, 0);
  assert_int_equal(fa.size_mismatches, 0);
  sample_fini(&s);
}

static void metadata_is_found_by_key(void **state)
{
  struct sample s;

  (void)state;
  sample_init(&s);
  assert_true(
      mtr_span_equal(mtr_arrow_metadata_get(&s.schema.root, "of"), mtr_span_text("sample")));
  assert_int_equal(mtr_arrow_metadata_get(&s.schema.root, "o").size, 0);
  assert_true(mtr_span_equal(mtr_arrow_metadata_get(s.schema.root.children, "key"),
                             mtr_span_text("value")));
  assert_int_equal(s.schema.metadata_count, 1);
  sample_fini(&s);
}

static void release(struct ArrowSchema *schema) { schema->release = NULL; }

/* A schema of one column "the column" whose only field has that format. */
static enum mortar_status import_format(const char *format, int64_t children,
                                        struct mtr_arrow_field *out, struct mortar_error *err)
{
  struct ArrowSchema leaf = {.format = "i", .name = "x", .release = release};
  struct ArrowSchema *leaves[] = {&leaf, &leaf};
  struct ArrowSchema column = {.format = format,
                               .name = "the column",
                               .n_children = children,
                               .children = leaves,
                               .release = release};
  struct ArrowSchema *columns[] = {&column};
  struct ArrowSchema root = {
      .format = "+s", .n_children = 1, .children = columns, .release = release};
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  enum mortar_status st;

  mtr_arena_init(&arena, NULL, MAX_SCHEMA);
  st = mtr_arrow_schema_import(&root, &arena, &schema, err);
  if (st == MORTAR_OK) {
    *out = schema.root.children[0];
    assert_string_equal(out->format, format);
    out->format = out->name = out->timezone = NULL; /* they go with the arena */
  }
  mtr_arena_fini(&arena);
  return st;
}

static void parameters_are_read(void **state)
{
  struct mtr_arrow_field f;

  (void)state;
  assert_int_equal(import_format("d:10,-2", 0, &f, NULL), MORTAR_OK);
  assert_int_equal(f.precision, 10);
  assert_int_equal(f.scale, -2);
  assert_int_equal(f.byte_width, 16);
  assert_int_equal(import_format("d:76,3,256", 0, &f, NULL), MORTAR_OK);
  assert_int_equal(f.byte_width, 32);
  assert_int_equal(import_format("tsu:Europe/Berlin", 0, &f, NULL), MORTAR_OK);
  assert_int_equal(f.unit, MTR_UNIT_MICRO);
  assert_int_equal(import_format("w:7", 0, &f, NULL), MORTAR_OK);
  assert_int_equal(f.byte_width, 7);
  assert_int_equal(import_format("+w:3", 1, &f, NULL), MORTAR_OK);
  assert_int_equal(f.byte_width, 3);
}

static void other_types_are_refused_by_name(void **state)
{
  static const char *const types[][2] = {
      {"vu", "utf8 view"},        {"vz", "binary view"},    {"+vl", "list view"},
      {"+vL", "large list view"}, {"+ud:0", "dense union"}, {"+us:0", "sparse union"},
      {"+r", "run-end encoded"},
  };
  struct mtr_arrow_field f;
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof types / sizeof *types; i++) {
    assert_int_equal(import_format(types[i][0], 0, &f, &err), MORTAR_UNSUPPORTED);
    assert_non_null(strstr(err.message, types[i][1]));
    assert_non_null(strstr(err.message, "\"the column\""));
  }
}

static void bad_formats_and_shapes_are_refused(void **state)
{
  static const char *const formats[] = {
      "",           "x",   "ii",    "d:",     "d:5",       "d:5,", "d:5,2,",
      "d:5,2,7",    "w:",  "w:x",   "w:1x",   "ts",        "tsx:", "tsu",
      "tt",         "+w:", "d:0,0", "d:39,0", "d:10,0,32", "w:-1", "d:99999999999,0",
      "d:5,2,128x",
  };
  struct mtr_arrow_field f;
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof formats / sizeof *formats; i++)
    assert_int_not_equal(import_format(formats[i], 0, &f, &err), MORTAR_OK);
  assert_int_not_equal(import_format("i", 1, &f, &err), MORTAR_OK);
  assert_int_not_equal(import_format("+l", 0, &f, &err), MORTAR_OK);
  assert_int_not_equal(import_format("+l", 2, &f, &err), MORTAR_OK);
  assert_int_not_equal(import_format("+m", 1, &f, &err), MORTAR_OK);
  assert_int_equal(import_format("+s", 2, &f, &err), MORTAR_OK);
}

/* Senders differ in what they say of map entries; batches with null ones are refused anyway. */
static void map_entries_and_keys_are_never_null(void **state)
{
  struct ArrowSchema item = {.format = "i", .name = "x", .flags = 2, .release = release};
  struct ArrowSchema *items[] = {&item, &item};
  struct ArrowSchema entries = {.format = "+s",
                                .name = "entries",
                                .flags = 2,
                                .n_children = 2,
                                .children = items,
                                .release = release};
  struct ArrowSchema *maps[] = {&entries};
  struct ArrowSchema map = {.format = "+m",
                            .name = "m",
                            .flags = 2,
                            .n_children = 1,
                            .children = maps,
                            .release = release};
  struct ArrowSchema *columns[] = {&map};
  struct ArrowSchema root = {
      .format = "+s", .n_children = 1, .children = columns, .release = release};
  struct mtr_arrow_schema schema;
  struct mtr_arrow_field *field;
  struct mtr_arena arena;

  (void)state;
  mtr_arena_init(&arena, NULL, MAX_SCHEMA);
  assert_int_equal(mtr_arrow_schema_import(&root, &arena, &schema, NULL), MORTAR_OK);
  field = schema.root.children;
  assert_true(field->nullable);
  assert_false(field->children[0].nullable);
  assert_false(field->children[0].children[0].nullable);
  assert_true(field->children[0].children[1].nullable);
  mtr_arena_fini(&arena);
}

/* Levels of lists below the root; the last is an int. */
static enum mortar_status import_depth(int levels, struct mortar_error *err)
{
  struct ArrowSchema fields[MTR_SCHEMA_MAX_DEPTH + 2] = {{0}};
  struct ArrowSchema *children[MTR_SCHEMA_MAX_DEPTH + 2];
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  enum mortar_status st;
  int i;

  mtr_arena_init(&arena, NULL, MAX_SCHEMA);
  for (i = 0; i <= levels; i++) {
    fields[i].format = i == 0 ? "+s" : i == levels ? "i" : "+l";
    fields[i].name = "x";
    fields[i].release = release;
    fields[i].n_children = i < levels;
    fields[i].children = &children[i];
    if (i < levels) children[i] = &fields[i + 1];
  }
  st = mtr_arrow_schema_import(&fields[0], &arena, &schema, err);
  mtr_arena_fini(&arena);
  return st;
}

static void depth_is_limited(void **state)
{
  struct mortar_error err;

  (void)state;
  assert_int_equal(import_depth(MTR_SCHEMA_MAX_DEPTH, &err), MORTAR_OK);
  assert_int_equal(import_depth(MTR_SCHEMA_MAX_DEPTH + 1, &err), MORTAR_LIMIT);
}

static void import_needs_a_struct(void **state)
{
  struct ArrowSchema leaf = {.format = "i", .name = "x", .release = release};
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;

  (void)state;
  mtr_arena_init(&arena, NULL, MAX_SCHEMA);
  assert_int_equal(mtr_arrow_schema_import(&leaf, &arena, &schema, NULL), MORTAR_INVALID);
  leaf.format = "+s";
  leaf.release = NULL;
  assert_int_equal(mtr_arrow_schema_import(&leaf, &arena, &schema, NULL), MORTAR_INVALID);
  mtr_arena_fini(&arena);
}

static void import_without_memory_fails_clean(void **state)
{
  struct failing_alloc fa;
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  struct sample s;

  (void)state;
  sample_init(&s);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    enum mortar_status st;
    mtr_arena_init(&arena, &fa.alloc, MAX_SCHEMA);
    st = mtr_arrow_schema_import(&s.c_schema, &arena, &schema, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_arena_fini(&arena);
  }
  sample_fini(&s);
}

/* What a column's child is called matters in a struct alone; what it is matters always. */
static void check_child(const struct mtr_arrow_schema *a, const struct mtr_arrow_schema *b,
                        const struct mtr_arrow_field *column)
{
  struct mtr_arrow_field *child = &column->children[0];
  const struct mtr_arrow_field was = *child;

  child->name = "renamed";
  assert_int_equal(mtr_arrow_schema_same_types(a, b), column->type != MTR_ARROW_STRUCT);
  *child = was;
  child->format = "another type";
  assert_false(mtr_arrow_schema_same_types(a, b));
  *child = was;
}

static void types_are_compared_at_every_level(void **state)
{
  struct sample a, b;
  int64_t i, nested = 0;

  (void)state;
  sample_init(&a);
  sample_init(&b);
  for (i = 0; i < b.schema.root.child_count; i++) {
    b.schema.root.children[i].name = "renamed";
    assert_true(mtr_arrow_schema_same_types(&a.schema, &b.schema));
    if (!b.schema.root.children[i].child_count) continue;
    check_child(&a.schema, &b.schema, &b.schema.root.children[i]);
    nested++;
  }
  assert_true(nested > 3);
  b.schema.root.child_count--;
  assert_false(mtr_arrow_schema_same_types(&a.schema, &b.schema));
  sample_fini(&a);
  sample_fini(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(import_and_export_give_the_same),
      cmocka_unit_test(exported_children_may_be_moved_out),
      cmocka_unit_test(metadata_is_found_by_key),
      cmocka_unit_test(parameters_are_read),
      cmocka_unit_test(other_types_are_refused_by_name),
      cmocka_unit_test(bad_formats_and_shapes_are_refused),
      cmocka_unit_test(map_entries_and_keys_are_never_null),
      cmocka_unit_test(depth_is_limited),
      cmocka_unit_test(import_needs_a_struct),
      cmocka_unit_test(types_are_compared_at_every_level),
      cmocka_unit_test(import_without_memory_fails_clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
