/* Random values of every struct, written, read and written again; the same bytes cut at every place
 * and spoiled at every byte. MORTAR_SEED repeats a run. */
#include <inttypes.h>
#include <time.h>

#include "codec/thrift/tcli.h"
#include "tests/support/test.h"

enum { ARENA_MAX = 64 << 20, ROUNDS = 40, MAX_NESTING = 5 };

struct world {
  uint64_t random;
  struct mtr_arena made, read;
  struct mtr_buf first, second, scratch;
};

/* xorshift64*: small, and the same everywhere. */
static uint32_t next(struct world *w)
{
  w->random ^= w->random >> 12;
  w->random ^= w->random << 25;
  w->random ^= w->random >> 27;
  return (uint32_t)((w->random * UINT64_C(2685821657736338717)) >> 32);
}

static uint64_t next64(struct world *w)
{
  uint64_t high = next(w);
  return high << 32 | next(w);
}

static struct mtr_span random_text(struct world *w)
{
  size_t i, size = next(w) % 8 ? next(w) % 12 : next(w) % 300;
  uint8_t *p = mtr_arena_alloc(&w->made, 1, size);

  assert_non_null(p);
  for (i = 0; i < size; i++)
    p[i] = (uint8_t)next(w);
  return mtr_span_of(p, size);
}

static void fill(struct world *w, const struct mtr_struct_info *info, uint8_t *out, int depth);

static void write_random(struct world *w, struct mtr_tw *wr, const struct mtr_field_info *f,
                         uint8_t type, int depth)
{
  size_t fixed = type == MTR_T_BOOL || type == MTR_T_I8 ? 1
                 : type == MTR_T_I16                    ? 2
                 : type == MTR_T_I32                    ? 4
                                                        : 8;
  uint64_t bits = next64(w);

  if (type == MTR_T_STRING) {
    mtr_tw_string(wr, random_text(w));
  } else if (type == MTR_T_LIST) {
    mtr_tw_raw(wr, mtr_span_of("\x0b\0\0\0\1", 5));
    mtr_tw_string(wr, random_text(w));
  } else if (type == MTR_T_STRUCT) {
    uint8_t *sub = mtr_arena_alloc(&w->made, 1, f->sub->size);
    assert_non_null(sub);
    fill(w, f->sub, sub, depth + 1);
    mtr_thrift_write_struct(wr, f->sub, sub);
  } else {
    mtr_tw_raw(wr, mtr_span_of(&bits, fixed));
  }
}

static struct mtr_thrift_values random_values(struct world *w, const struct mtr_field_info *f,
                                              int depth)
{
  bool map = f->kind != MTR_KIND_LIST;
  struct mtr_thrift_values v = {next(w) % 4, f->element, map ? MTR_T_STRING : MTR_T_STOP, {0}};
  struct mtr_tw wr;
  uint32_t i;
  char *copy;

  mtr_buf_reset(&w->scratch);
  mtr_tw_init(&wr, &w->scratch, NULL);
  for (i = 0; i < v.count; i++) {
    if (map) mtr_tw_string(&wr, random_text(w));
    write_random(w, &wr, f, f->element, depth);
  }
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
  copy = mtr_arena_text(&w->made, w->scratch.data, w->scratch.size);
  assert_non_null(copy);
  v.bytes = mtr_span_of(copy, w->scratch.size);
  return v;
}

static struct mtr_struct_list random_structs(struct world *w, const struct mtr_struct_info *info,
                                             size_t count, int depth)
{
  struct mtr_struct_list list = {mtr_arena_alloc(&w->made, count, info->size), count};
  size_t i;

  assert_non_null(list.items);
  for (i = 0; i < count; i++)
    fill(w, info, (uint8_t *)list.items + i * info->size, depth + 1);
  return list;
}

static void fill_field(struct world *w, const struct mtr_field_info *f, uint8_t *value, int depth)
{
  uint64_t bits = next64(w);
  struct mtr_span text;
  struct mtr_thrift_values values;
  struct mtr_struct_list list;

  switch ((enum mtr_field_kind)f->kind) {
    case MTR_KIND_BOOL:
      *value = bits & 1;
      break;
    case MTR_KIND_I8:
      memcpy(value, &bits, 1);
      break;
    case MTR_KIND_I16:
      memcpy(value, &bits, 2);
      break;
    case MTR_KIND_I32:
      memcpy(value, &bits, 4);
      break;
    case MTR_KIND_I64:
    case MTR_KIND_DOUBLE:
      memcpy(value, &bits, 8);
      break;
    case MTR_KIND_STRING:
    case MTR_KIND_BINARY:
      text = random_text(w);
      memcpy(value, &text, sizeof text);
      break;
    case MTR_KIND_STRUCT:
      list = random_structs(w, f->sub, 1, depth);
      memcpy(value, &list.items, sizeof list.items);
      break;
    case MTR_KIND_LIST_STRUCT:
      list = random_structs(w, f->sub, depth < MAX_NESTING ? next(w) % 4 : 0, depth);
      memcpy(value, &list, sizeof list);
      break;
    case MTR_KIND_LIST:
    case MTR_KIND_MAP:
    case MTR_KIND_MAP_STRUCT:
      values = random_values(w, f, depth);
      memcpy(value, &values, sizeof values);
      break;
  }
}

static void fill(struct world *w, const struct mtr_struct_info *info, uint8_t *out, int depth)
{
  uint32_t share = next(w) % 5;
  uint64_t has = 0;
  unsigned i;

  for (i = 0; i < info->field_count; i++) {
    if (next(w) % 4 >= share || depth > MAX_NESTING) continue;
    has |= UINT64_C(1) << i;
    fill_field(w, &info->fields[i], out + info->fields[i].offset, depth);
  }
  memcpy(out, &has, sizeof has);
}

static void encode(struct mtr_buf *buf, const struct mtr_struct_info *info, const void *in)
{
  struct mtr_tw wr;

  mtr_buf_reset(buf);
  mtr_tw_init(&wr, buf, NULL);
  mtr_thrift_write_struct(&wr, info, in);
  assert_int_equal(mtr_tw_finish(&wr), MORTAR_OK);
}

/* A random value of info in w->first. */
static void make(struct world *w, const struct mtr_struct_info *info)
{
  uint8_t *value;

  mtr_arena_reset(&w->made);
  value = mtr_arena_alloc(&w->made, 1, info->size);
  assert_non_null(value);
  fill(w, info, value, 0);
  encode(&w->first, info, value);
}

static enum mortar_status decode(struct world *w, const struct mtr_struct_info *info,
                                 struct mtr_span bytes, void **value)
{
  mtr_arena_reset(&w->read);
  *value = mtr_arena_alloc(&w->read, 1, info->size);
  assert_non_null(*value);
  return mtr_thrift_decode(bytes, info, *value, &w->read, NULL);
}

static void round_trips_are_identical(void **state)
{
  struct world *w = *state;
  size_t i, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  void *value;
  int round;

  for (i = 0; i < count; i++)
    for (round = 0; round < ROUNDS; round++) {
      make(w, all[i]);
      assert_int_equal(decode(w, all[i], mtr_buf_span(&w->first), &value), MORTAR_OK);
      encode(&w->second, all[i], value);
      assert_true(mtr_span_equal(mtr_buf_span(&w->first), mtr_buf_span(&w->second)));
    }
}

static void every_cut_is_more(void **state)
{
  struct world *w = *state;
  size_t i, n, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);
  void *value;

  for (i = 0; i < count; i++) {
    do
      make(w, all[i]);
    while (w->first.size > 5000);
    for (n = 0; n < w->first.size; n++) {
      /* A copy of exact size, so that a sanitizer sees one byte too many. */
      uint8_t *cut = malloc(n ? n : 1);
      assert_non_null(cut);
      memcpy(cut, w->first.data, n);
      assert_int_equal(decode(w, all[i], mtr_span_of(cut, n), &value), MORTAR_MORE);
      free(cut);
    }
  }
}

/* Leaving structs of a type on the wire changes nothing about what is accepted. */
static void leave_some(struct world *w, const struct mtr_struct_info *info, struct mtr_span bytes,
                       enum mortar_status st)
{
  struct mtr_struct_reader sr = {.arena = &w->read};
  void *value;

  sr.leave = info->fields[next(w) % info->field_count].sub;
  if (!sr.leave) return;
  mtr_arena_reset(&w->read);
  value = mtr_arena_alloc(&w->read, 1, info->size);
  assert_non_null(value);
  mtr_tr_init(&sr.rd, bytes);
  mtr_thrift_read_struct(&sr, info, value);
  if (mtr_tr_left(&sr.rd) > 0) mtr_tr_bad(&sr.rd, "bytes behind the struct");
  assert_int_equal(mtr_tr_status(&sr.rd, info->name, NULL), st);
}

/* What is accepted after all must be fit to be written and dumped. */
static void use(struct world *w, const struct mtr_struct_info *info, struct mtr_span bytes)
{
  enum mortar_status st;
  void *value;

  st = decode(w, info, bytes, &value);
  assert_true(st == MORTAR_OK || st == MORTAR_MORE || st == MORTAR_PROTOCOL);
  leave_some(w, info, bytes, st);
  st = decode(w, info, bytes, &value);
  if (st != MORTAR_OK) return;
  encode(&w->second, info, value);
  mtr_buf_reset(&w->scratch);
  assert_int_equal(mtr_thrift_dump(info, value, &w->scratch, NULL), MORTAR_OK);
}

static void every_spoiled_byte_is_survived(void **state)
{
  static const uint8_t flips[] = {0x01, 0x04, 0x08, 0x0F, 0x40, 0x80, 0xFF};
  struct world *w = *state;
  size_t i, n, j, count;
  const struct mtr_struct_info *const *all = mtr_tcli_structs(&count);

  for (i = 0; i < count; i++) {
    do
      make(w, all[i]);
    while (w->first.size > 3000);
    for (n = 0; n < w->first.size; n++)
      for (j = 0; j < sizeof flips; j++) {
        w->first.data[n] ^= flips[j];
        use(w, all[i], mtr_buf_span(&w->first));
        w->first.data[n] ^= flips[j];
      }
  }
}

static int set_up(void **state)
{
  const char *seed = getenv("MORTAR_SEED");
  struct world *w = calloc(1, sizeof *w);

  if (!w) return -1;
  w->random = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  w->random |= UINT64_C(1) << 63; /* never zero */
  print_message("MORTAR_SEED=%" PRIu64 "\n", w->random);
  mtr_arena_init(&w->made, NULL, ARENA_MAX);
  mtr_arena_init(&w->read, NULL, ARENA_MAX);
  mtr_buf_init(&w->first, NULL, "first", ARENA_MAX);
  mtr_buf_init(&w->second, NULL, "second", ARENA_MAX);
  mtr_buf_init(&w->scratch, NULL, "scratch", ARENA_MAX);
  *state = w;
  return 0;
}

static int tear_down(void **state)
{
  struct world *w = *state;

  mtr_arena_fini(&w->made);
  mtr_arena_fini(&w->read);
  mtr_buf_fini(&w->first);
  mtr_buf_fini(&w->second);
  mtr_buf_fini(&w->scratch);
  free(w);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trips_are_identical),
      cmocka_unit_test(every_cut_is_more),
      cmocka_unit_test(every_spoiled_byte_is_survived),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
