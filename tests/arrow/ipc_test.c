/* The IPC writer and reader against each other and against damage. pyarrow judges both in
 * tests/python/test_arrow_golden.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lz4frame.h>

#include "arrow/flatbuf_writer.h"
#include "arrow/ipc_head.h"
#include "arrow/ipc_reader.h"
#include "arrow/ipc_writer.h"
#include "base/error.h"
#include "tests/arrow/sample.h"
#include "tests/arrow/walk.h"
#include "tests/support/failing_alloc.h"

enum { MAX_STREAM = 1 << 24, MAX_SCHEMA = 1 << 22 };

/* One stream that was read: what a client holds. */
struct reading {
  struct mtr_arena arena;
  struct mtr_arrow_schema schema;
  struct mtr_slab *slab;
  size_t at;
};

static void reading_fini(struct reading *r)
{
  mtr_arena_fini(&r->arena);
  mtr_slab_unref(r->slab);
}

static enum mortar_status reading_init(struct reading *r, const struct mortar_alloc *alloc,
                                       const void *data, size_t size, struct mortar_error *err)
{
  struct mtr_ipc_message message;

  memset(r, 0, sizeof *r);
  mtr_arena_init(&r->arena, alloc, MAX_SCHEMA);
  MTR_TRY(mtr_slab_new(alloc, MAX_STREAM, &r->slab, err));
  MTR_TRY(mtr_buf_append(&r->slab->buf, data, size, err));
  MTR_TRY(mtr_ipc_read_schema(mtr_buf_span(&r->slab->buf), &r->arena, &r->schema, err));
  MTR_TRY(mtr_ipc_next(mtr_buf_span(&r->slab->buf), &message, err));
  r->at = message.size;
  return MORTAR_OK;
}

/* The next batch, moved by one message; out->release NULL at the end. */
static enum mortar_status reading_next(struct reading *r, struct ArrowArray *out,
                                       struct mortar_error *err)
{
  struct mtr_span rest = mtr_span_of(r->slab->buf.data + r->at, r->slab->buf.size - r->at);
  struct mtr_ipc_message message;

  memset(out, 0, sizeof *out);
  MTR_TRY(mtr_ipc_next(rest, &message, err));
  r->at += message.size;
  if (message.kind == MTR_IPC_END) return MORTAR_OK;
  return mtr_ipc_read_batch(&r->schema, &message, r->slab, out, err);
}

/* Writes schema, the rows of one batch, and the end. */
static void write_stream(struct sample *s, const struct ArrowArray *batch, int64_t first,
                         int64_t rows, struct mtr_buf *out)
{
  mtr_buf_init(out, NULL, "stream", MAX_STREAM);
  assert_int_equal(mtr_ipc_write_schema(&s->schema, out, NULL), MORTAR_OK);
  assert_int_equal(out->size % 8, 0);
  assert_int_equal(mtr_ipc_write_batch(&s->schema, batch, first, rows, out, NULL), MORTAR_OK);
  assert_int_equal(out->size % 8, 0);
  assert_int_equal(mtr_ipc_write_end(out, NULL), MORTAR_OK);
}

static void check_field(const struct mtr_arrow_field *a, const struct mtr_arrow_field *b)
{
  int64_t i;

  assert_string_equal(a->name, b->name);
  assert_string_equal(a->format, b->format);
  assert_int_equal(a->type, b->type);
  assert_int_equal(a->nullable, b->nullable);
  assert_int_equal(a->keys_sorted, b->keys_sorted);
  assert_int_equal(a->unit, b->unit);
  assert_int_equal(a->byte_width, b->byte_width);
  assert_int_equal(a->metadata_count, b->metadata_count);
  for (i = 0; i < a->metadata_count; i++) {
    assert_string_equal(a->metadata[i].key, b->metadata[i].key);
    assert_string_equal(a->metadata[i].value, b->metadata[i].value);
  }
  assert_int_equal(a->child_count, b->child_count);
  for (i = 0; i < a->child_count; i++)
    check_field(&a->children[i], &b->children[i]);
}

/* Rows [first, first + rows) of a random batch come back as they were. */
static void check_round_trip(uint32_t seed, int64_t length, int64_t offset, uint32_t nulls,
                             int64_t first, int64_t rows)
{
  struct sample s;
  struct ArrowArray batch, back;
  struct mortar_error err = {0};
  struct mtr_buf out;
  struct reading r;
  int64_t i;

  sample_init(&s);
  batch = sample_batch(&s, seed, length, offset, nulls);
  write_stream(&s, &batch, first, rows, &out);
  assert_int_equal(reading_init(&r, NULL, out.data, out.size, &err), MORTAR_OK);
  check_field(&s.schema.root, &r.schema.root);
  assert_int_equal(s.schema.node_count, r.schema.node_count);
  assert_int_equal(s.schema.buffer_count, r.schema.buffer_count);
  assert_int_equal(reading_next(&r, &back, &err), MORTAR_OK);
  assert_int_equal(back.length, rows);
  assert_true(walk_batch(&s.schema, &batch, first, rows) == walk_batch(&r.schema, &back, 0, rows));
  for (i = 0; i < back.n_children; i++)
    assert_int_equal(back.children[i]->null_count, walk_nulls(back.children[i]));
  back.release(&back);
  assert_int_equal(reading_next(&r, &back, &err), MORTAR_OK);
  assert_null(back.release);
  assert_int_equal(r.at, out.size);
  reading_fini(&r);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void every_type_round_trips(void **state)
{
  uint32_t seed;

  (void)state;
  for (seed = 1; seed <= 5; seed++) {
    check_round_trip(seed, 100, 0, 30, 0, 100);
    check_round_trip(seed, 64, 0, 0, 0, 64);
    check_round_trip(seed, 9, 0, 100, 0, 9);
  }
}

static void slices_are_written_as_the_rows_they_show(void **state)
{
  int64_t first, rows;

  (void)state;
  for (first = 0; first <= 17; first++)
    for (rows = 0; rows <= 3; rows++)
      check_round_trip(7, 20, first % 5, 30, first, rows);
  check_round_trip(8, 200, 13, 50, 3, 190);
}

static void empty_batches_have_valid_offsets(void **state)
{
  struct sample s;
  struct ArrowArray batch, back;
  struct mtr_buf out;
  struct reading r;
  int64_t i;

  (void)state;
  check_round_trip(1, 0, 0, 0, 0, 0);
  sample_init(&s);
  batch = sample_batch(&s, 3, 0, 0, 0);
  write_stream(&s, &batch, 0, 0, &out);
  assert_int_equal(reading_init(&r, NULL, out.data, out.size, NULL), MORTAR_OK);
  assert_int_equal(reading_next(&r, &back, NULL), MORTAR_OK);
  for (i = 0; i < back.n_children; i++)
    if (back.children[i]->n_buffers > 1) assert_non_null(back.children[i]->buffers[1]);
  back.release(&back);
  reading_fini(&r);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void rows_out_of_range_are_refused(void **state)
{
  struct mortar_error err;
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;

  (void)state;
  sample_init_some(&s, 4, 2);
  batch = sample_batch(&s, 1, 10, 0, 0);
  mtr_buf_init(&out, NULL, "stream", MAX_STREAM);
  assert_int_equal(mtr_ipc_write_batch(&s.schema, &batch, 5, 6, &out, &err), MORTAR_INVALID);
  assert_int_equal(mtr_ipc_write_batch(&s.schema, &batch, -1, 1, &out, &err), MORTAR_INVALID);
  assert_int_equal(mtr_ipc_write_batch(&s.schema, &batch, 11, 0, &out, &err), MORTAR_INVALID);
  batch.n_children--;
  assert_int_equal(mtr_ipc_write_batch(&s.schema, &batch, 0, 10, &out, &err), MORTAR_INVALID);
  assert_int_equal(out.size, 0);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void a_full_buffer_is_left_as_it_was(void **state)
{
  struct mortar_error err;
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  size_t whole, max, before;

  (void)state;
  sample_init_some(&s, 36, 4);
  batch = sample_batch(&s, 1, 10, 0, 20);
  write_stream(&s, &batch, 0, 10, &out);
  whole = out.size;
  mtr_buf_fini(&out);
  for (max = 0; max < whole - 8; max++) {
    mtr_buf_init(&out, NULL, "small stream", max);
    if (mtr_ipc_write_schema(&s.schema, &out, &err) != MORTAR_OK) {
      assert_int_equal(err.status, MORTAR_LIMIT);
      assert_int_equal(out.size, 0);
    } else {
      before = out.size;
      assert_int_equal(mtr_ipc_write_batch(&s.schema, &batch, 0, 10, &out, &err), MORTAR_LIMIT);
      assert_int_equal(out.size, before);
    }
    mtr_buf_fini(&out);
  }
  sample_fini(&s);
}

/* Whatever the bytes, reading them ends well, and what is accepted can be walked. Gives the status
 * of the first failure, OK when the end was reached. */
static enum mortar_status read_all(const void *data, size_t size)
{
  struct mortar_error err = {0};
  struct ArrowArray batch;
  struct reading r;
  enum mortar_status st = reading_init(&r, NULL, data, size, &err);
  int64_t i;

  while (st == MORTAR_OK) {
    st = reading_next(&r, &batch, &err);
    if (st != MORTAR_OK || !batch.release) break;
    (void)walk_batch(&r.schema, &batch, 0, batch.length);
    for (i = 0; i < batch.n_children; i++)
      assert_int_equal(batch.children[i]->null_count, walk_nulls(batch.children[i]));
    batch.release(&batch);
    assert_null(batch.release);
  }
  if (st != MORTAR_OK && st != MORTAR_MORE) {
    assert_int_equal(err.status, st);
    assert_true(err.message[0] != '\0');
  }
  reading_fini(&r);
  return st;
}

static void a_cut_stream_is_never_whole(void **state)
{
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  size_t size;

  (void)state;
  sample_init(&s);
  batch = sample_batch(&s, 2, 20, 0, 30);
  write_stream(&s, &batch, 0, 20, &out);
  assert_int_equal(read_all(out.data, out.size), MORTAR_OK);
  for (size = 0; size < out.size; size++) {
    /* A copy of its own size, so that a read behind the end is seen. */
    uint8_t *cut = malloc(size + 1);
    enum mortar_status st;
    assert_non_null(cut);
    memcpy(cut, out.data, size);
    st = read_all(cut, size);
    assert_true(st == MORTAR_MORE || st == MORTAR_CORRUPT);
    free(cut);
  }
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* Reads a batch of `have` under the schema of `told`. */
static void check_counts(struct sample *told, struct sample *have)
{
  struct ArrowArray batch = sample_batch(have, 3, 5, 0, 30);
  struct mtr_buf out;

  mtr_buf_init(&out, NULL, "stream", MAX_STREAM);
  assert_int_equal(mtr_ipc_write_schema(&told->schema, &out, NULL), MORTAR_OK);
  assert_int_equal(mtr_ipc_write_batch(&have->schema, &batch, 0, 5, &out, NULL), MORTAR_OK);
  if (have->schema.node_count != told->schema.node_count ||
      have->schema.buffer_count != told->schema.buffer_count)
    assert_int_equal(read_all(out.data, out.size), MORTAR_CORRUPT);
  mtr_buf_fini(&out);
}

/* One column in place of another, one more and one fewer: also where what is told would fit. */
static void a_batch_has_the_nodes_and_buffers_of_its_schema(void **state)
{
  int64_t a, b;

  (void)state;
  for (a = 0; a + 1 < 48; a++) {
    struct sample one, two;
    sample_init_some(&one, a, 1);
    sample_init_some(&two, a, 2);
    check_counts(&one, &two);
    check_counts(&two, &one);
    sample_fini(&two);
    for (b = 0; b < 48; b++) {
      sample_init_some(&two, b, 1);
      check_counts(&one, &two);
      sample_fini(&two);
    }
    sample_fini(&one);
  }
}

static void break_each_byte(uint8_t *data, size_t size)
{
  static const uint8_t values[] = {0x00, 0xFF, 0x7F, 0x80, 0x01};
  size_t at, i;

  for (at = 0; at < size; at++) {
    uint8_t was = data[at];
    for (i = 0; i < sizeof values; i++) {
      data[at] = values[i];
      (void)read_all(data, size);
    }
    data[at] = (uint8_t)~was;
    (void)read_all(data, size);
    data[at] = was;
  }
  assert_int_equal(read_all(data, size), MORTAR_OK);
}

/* A few columns at a time keep the streams small, so that every byte can be broken. */
static void broken_bytes_never_lead_outside(void **state)
{
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  int64_t first;

  (void)state;
  for (first = 0; first < 48; first += 6) {
    sample_init_some(&s, first, 6);
    batch = sample_batch(&s, 4, 5, 0, 30);
    write_stream(&s, &batch, 0, 5, &out);
    break_each_byte(out.data, out.size);
    mtr_buf_fini(&out);
    sample_fini(&s);
  }
}

static void every_allocation_may_fail(void **state)
{
  struct failing_alloc fa;
  struct mortar_error err;
  struct sample s;
  struct ArrowArray batch, back;
  struct ArrowSchema c_schema;
  struct mtr_buf out;
  struct reading r;
  enum mortar_status st;

  (void)state;
  sample_init(&s);
  batch = sample_batch(&s, 5, 10, 0, 30);
  write_stream(&s, &batch, 0, 10, &out);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    memset(&back, 0, sizeof back);
    memset(&c_schema, 0, sizeof c_schema);
    st = reading_init(&r, &fa.alloc, out.data, out.size, &err);
    if (st == MORTAR_OK) st = reading_next(&r, &back, &err);
    if (st == MORTAR_OK) st = mtr_arrow_schema_export(&r.schema, &fa.alloc, &c_schema, &err);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    if (fa.failed) assert_int_equal(err.status, MORTAR_NOMEM);
    if (c_schema.release) c_schema.release(&c_schema);
    if (back.release) back.release(&back);
    reading_fini(&r);
  }
  assert_true(fa.rounds > 4);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* The sender made it too large; the machine has memory. */
static void a_schema_larger_than_its_limit_is_no_lack_of_memory(void **state)
{
  struct mortar_error err;
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  struct sample s;
  struct mtr_buf out;

  (void)state;
  sample_init(&s);
  mtr_buf_init(&out, NULL, "stream", MAX_STREAM);
  assert_int_equal(mtr_ipc_write_schema(&s.schema, &out, NULL), MORTAR_OK);
  mtr_arena_init(&arena, NULL, 4096);
  assert_int_equal(mtr_ipc_read_schema(mtr_buf_span(&out), &arena, &schema, &err), MORTAR_LIMIT);
  assert_non_null(strstr(err.message, "schema crosses its limit of 4096 bytes"));
  mtr_arena_fini(&arena);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void writing_survives_failing_allocations(void **state)
{
  struct failing_alloc fa;
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  enum mortar_status st;

  (void)state;
  sample_init(&s);
  batch = sample_batch(&s, 5, 10, 0, 30);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    mtr_buf_init(&out, &fa.alloc, "stream", MAX_STREAM);
    st = mtr_ipc_write_schema(&s.schema, &out, NULL);
    if (st == MORTAR_OK) st = mtr_ipc_write_batch(&s.schema, &batch, 0, 10, &out, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mtr_buf_fini(&out);
  }
  sample_fini(&s);
}

static void moved_children_outlive_batch_and_slab(void **state)
{
  struct failing_alloc fa;
  struct sample s;
  struct ArrowArray batch, back, child, grandchild;
  struct mtr_buf out;
  struct reading r;
  uint64_t sum = 0;
  int64_t i;

  (void)state;
  failing_alloc_init(&fa, 0);
  sample_init_some(&s, 40, 8);
  batch = sample_batch(&s, 6, 30, 0, 30);
  write_stream(&s, &batch, 0, 30, &out);
  assert_int_equal(reading_init(&r, &fa.alloc, out.data, out.size, NULL), MORTAR_OK);
  assert_int_equal(reading_next(&r, &back, NULL), MORTAR_OK);
  child = *back.children[1];
  back.children[1]->release = NULL;
  grandchild = *child.children[0];
  child.children[0]->release = NULL;
  back.release(&back);
  reading_fini(&r); /* the schema and our count of the slab are gone */
  assert_true(fa.live > 0);
  child.release(&child);
  assert_null(child.release);
  assert_true(fa.live > 0);
  for (i = 0; i < ((const int32_t *)grandchild.buffers[1])[grandchild.length]; i++)
    sum += ((const uint8_t *)grandchild.buffers[2])[i];
  assert_true(sum > 0);
  grandchild.release(&grandchild);
  assert_int_equal(fa.live, 0);
  assert_int_equal(fa.size_mismatches, 0);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void a_batch_is_one_allocation(void **state)
{
  struct failing_alloc fa;
  struct sample s;
  struct ArrowArray batch, back;
  struct mtr_buf out;
  struct reading r;
  long before;

  (void)state;
  failing_alloc_init(&fa, 0);
  sample_init(&s);
  batch = sample_batch(&s, 6, 30, 0, 30);
  write_stream(&s, &batch, 0, 30, &out);
  assert_int_equal(reading_init(&r, &fa.alloc, out.data, out.size, NULL), MORTAR_OK);
  before = fa.calls;
  assert_int_equal(reading_next(&r, &back, NULL), MORTAR_OK);
  assert_int_equal(fa.calls, before + 1);
  back.release(&back);
  reading_fini(&r);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void truncating_keeps_null_counts_true(void **state)
{
  struct sample s;
  struct ArrowArray batch, back;
  struct mtr_buf out;
  struct reading r;
  int64_t rows, i;

  (void)state;
  sample_init(&s);
  batch = sample_batch(&s, 6, 40, 0, 30);
  write_stream(&s, &batch, 0, 40, &out);
  assert_int_equal(reading_init(&r, NULL, out.data, out.size, NULL), MORTAR_OK);
  assert_int_equal(reading_next(&r, &back, NULL), MORTAR_OK);
  for (rows = 40; rows >= 0; rows -= 8) {
    mtr_arrow_truncate(&back, rows);
    assert_int_equal(back.length, rows);
    for (i = 0; i < back.n_children; i++) {
      assert_int_equal(back.children[i]->length, rows);
      assert_int_equal(back.children[i]->null_count, walk_nulls(back.children[i]));
    }
    assert_true(walk_batch(&r.schema, &back, 0, rows) == walk_batch(&s.schema, &batch, 0, rows));
  }
  back.release(&back);
  reading_fini(&r);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void an_unaligned_body_is_the_callers_mistake(void **state)
{
  struct mtr_ipc_message message;
  struct mortar_error err;
  struct sample s;
  struct ArrowArray batch, back;
  struct mtr_buf out;
  struct reading r;

  (void)state;
  sample_init_some(&s, 4, 1);
  batch = sample_batch(&s, 6, 3, 0, 0);
  write_stream(&s, &batch, 0, 3, &out);
  assert_int_equal(reading_init(&r, NULL, out.data, out.size, NULL), MORTAR_OK);
  assert_int_equal(mtr_ipc_next(mtr_span_of(out.data + r.at, out.size - r.at), &message, NULL),
                   MORTAR_OK);
  message.body.data += 4;
  message.body.size -= 4;
  assert_int_equal(mtr_ipc_read_batch(&r.schema, &message, r.slab, &back, &err), MORTAR_CORRUPT);
  message.kind = MTR_IPC_DICTIONARY;
  assert_int_equal(mtr_ipc_read_batch(&r.schema, &message, r.slab, &back, &err),
                   MORTAR_UNSUPPORTED);
  assert_null(back.release);
  reading_fini(&r);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* The same stream with every buffer as an LZ4 frame, or as it is where `plain` says so. */
static void compress_stream(struct sample *s, const struct mtr_buf *in, bool plain, int64_t codec,
                            struct mtr_buf *out)
{
  enum { BODY_SIZE = 3, HEADER = 2, NODES = 1, BUFFERS = 2, COMPRESSION = 3 };
  struct mtr_flat_slot message[4] = {{2, 4, 0}, {1, 3, 0}, {4, 0, 0}, {8, 0, 0}};
  struct mtr_flat_slot head[4] = {{8, 0, 0}, {4, 0, 0}, {4, 0, 0}, {4, 0, 0}};
  struct mtr_flat_slot body_compression[2] = {{1, codec, 0}, {1, 0, 0}};
  struct mtr_ipc_message schema, batch;
  struct mtr_ipc_head old;
  struct mtr_flat_vector nodes, buffers;
  struct mtr_flat_writer w;
  size_t at, i, n, begin;

  assert_int_equal(mtr_ipc_next(mtr_buf_span(in), &schema, NULL), MORTAR_OK);
  assert_int_equal(
      mtr_ipc_next(mtr_span_of(in->data + schema.size, in->size - schema.size), &batch, NULL),
      MORTAR_OK);
  assert_int_equal(mtr_ipc_head_read(batch.head, &old, NULL), MORTAR_OK);
  nodes = mtr_flat_list(&old.flat, &old.header, NODES, 16);
  buffers = mtr_flat_list(&old.flat, &old.header, BUFFERS, 16);
  head[0].value = mtr_flat_int(&old.flat, &old.header, 0, 8, 0);
  mtr_buf_init(out, NULL, "compressed stream", MAX_STREAM);
  assert_int_equal(mtr_ipc_write_schema(&s->schema, out, NULL), MORTAR_OK);
  assert_int_equal(mtr_flat_begin(&w, out, NULL), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, w.begin, message, 4), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, message[HEADER].at, head, 4), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, head[COMPRESSION].at, body_compression, 2), MORTAR_OK);
  assert_int_equal(mtr_flat_put_vector(&w, head[NODES].at, nodes.count, 16, &at), MORTAR_OK);
  memcpy(out->data + at, batch.head.data + nodes.at, nodes.count * 16);
  assert_int_equal(mtr_flat_put_vector(&w, head[BUFFERS].at, buffers.count, 16, &at), MORTAR_OK);
  assert_int_equal(mtr_flat_end(&w), MORTAR_OK);
  begin = out->size;
  for (i = 0; i < buffers.count; i++) {
    int64_t place[2], prefix;
    memcpy(place, batch.head.data + buffers.at + 16 * i, sizeof place);
    prefix = plain ? -1 : place[1];
    n = LZ4F_compressFrameBound((size_t)place[1], NULL);
    assert_int_equal(mtr_buf_reserve(out, n + 16, NULL), MORTAR_OK);
    memcpy(out->data + out->size, &prefix, 8);
    if (plain)
      memcpy(out->data + out->size + 8, batch.body.data + place[0], n = (size_t)place[1]);
    else
      n = LZ4F_compressFrame(out->data + out->size + 8, n, batch.body.data + place[0],
                             (size_t)place[1], NULL);
    assert_false(LZ4F_isError(n));
    place[0] = (int64_t)(out->size - begin);
    place[1] = place[1] ? (int64_t)n + 8 : 0;
    memcpy(out->data + at + 16 * i, place, sizeof place);
    out->size += (size_t)place[1];
    assert_int_equal(mtr_flat_pad(out, begin, 8, NULL), MORTAR_OK);
  }
  n = out->size - begin;
  memcpy(out->data + message[BODY_SIZE].at, &n, 8);
  assert_int_equal(mtr_ipc_write_end(out, NULL), MORTAR_OK);
}

static void check_compressed(bool plain)
{
  struct sample s;
  struct ArrowArray batch, back;
  struct mtr_buf out, packed;
  struct failing_alloc fa;
  struct reading r;
  enum mortar_status st;

  sample_init(&s);
  batch = sample_batch(&s, 12, 50, 0, 30);
  write_stream(&s, &batch, 0, 50, &out);
  compress_stream(&s, &out, plain, 0, &packed);
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    st = reading_init(&r, &fa.alloc, packed.data, packed.size, NULL);
    if (st == MORTAR_OK) st = reading_next(&r, &back, NULL);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    reading_fini(&r); /* the decoded batch needs none of it */
    if (st != MORTAR_OK) continue;
    assert_true(walk_batch(&s.schema, &back, 0, 50) == walk_batch(&s.schema, &batch, 0, 50));
    back.release(&back);
  }
  mtr_buf_fini(&packed);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void compressed_bodies_are_decoded(void **state)
{
  (void)state;
  check_compressed(false);
  check_compressed(true);
}

static void broken_compressed_bodies_never_lead_outside(void **state)
{
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out, packed;
  int64_t codec;

  (void)state;
  sample_init_some(&s, 36, 4);
  batch = sample_batch(&s, 13, 6, 0, 30);
  write_stream(&s, &batch, 0, 6, &out);
  compress_stream(&s, &out, false, 0, &packed);
  break_each_byte(packed.data, packed.size);
  mtr_buf_fini(&packed);
  /* LZ4 frames that are said to be zstd, and a codec that nobody knows. */
  for (codec = 1; codec <= 2; codec++) {
    compress_stream(&s, &out, false, codec, &packed);
    assert_int_equal(read_all(packed.data, packed.size), MORTAR_CORRUPT);
    mtr_buf_fini(&packed);
  }
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* Where the batch's first node lies: the damage that follows is aimed at known fields. */
static uint8_t *first_node(struct mtr_buf *stream, uint8_t **first_buffer)
{
  struct mtr_ipc_message schema, batch;
  struct mtr_ipc_head head;

  assert_int_equal(mtr_ipc_next(mtr_buf_span(stream), &schema, NULL), MORTAR_OK);
  assert_int_equal(mtr_ipc_next(mtr_span_of(stream->data + schema.size, stream->size - schema.size),
                                &batch, NULL),
                   MORTAR_OK);
  assert_int_equal(mtr_ipc_head_read(batch.head, &head, NULL), MORTAR_OK);
  *first_buffer = stream->data + (batch.head.data - stream->data) +
                  mtr_flat_list(&head.flat, &head.header, 2, 16).at;
  return stream->data + (batch.head.data - stream->data) +
         mtr_flat_list(&head.flat, &head.header, 1, 16).at;
}

/* Reads the one batch of a compressed stream whose buffer i was changed: its place by so much, or
 * its stated size (0: as it is). Gives the status, and how many allocations the batch took. */
static enum mortar_status read_packed(struct mtr_buf *packed, size_t i, int64_t shorter,
                                      int64_t stated, long *calls)
{
  struct failing_alloc fa;
  struct mtr_ipc_message schema, batch;
  struct ArrowArray back;
  struct reading r;
  uint8_t *buffers;
  int64_t place[2], old[2], was;
  enum mortar_status st;

  (void)first_node(packed, &buffers);
  assert_int_equal(mtr_ipc_next(mtr_buf_span(packed), &schema, NULL), MORTAR_OK);
  assert_int_equal(mtr_ipc_next(mtr_span_of(packed->data + schema.size, packed->size - schema.size),
                                &batch, NULL),
                   MORTAR_OK);
  memcpy(old, buffers + 16 * i, sizeof old);
  memcpy(place, old, sizeof place);
  place[1] -= shorter;
  memcpy(buffers + 16 * i, place, sizeof place);
  memcpy(&was, batch.body.data + place[0], sizeof was);
  if (stated) memcpy(packed->data + (batch.body.data - packed->data) + place[0], &stated, 8);
  failing_alloc_init(&fa, 0);
  assert_int_equal(reading_init(&r, &fa.alloc, packed->data, packed->size, NULL), MORTAR_OK);
  *calls = fa.calls;
  st = reading_next(&r, &back, NULL);
  *calls = fa.calls - *calls;
  if (back.release) back.release(&back);
  reading_fini(&r);
  memcpy(packed->data + (batch.body.data - packed->data) + place[0], &was, 8);
  memcpy(buffers + 16 * i, old, sizeof old);
  return st;
}

static void a_stated_size_is_held_to_the_bytes(void **state)
{
  enum { ROWS = 500, OFFSETS = 1, TEXT = 2, SIZE = (ROWS + 1) * 4 };
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out, packed;
  uint8_t *buffers;
  long calls;

  (void)state;
  sample_init_some(&s, 36, 1);
  batch = sample_batch(&s, 13, ROWS, 0, 0);
  write_stream(&s, &batch, 0, ROWS, &out);
  compress_stream(&s, &out, false, 0, &packed);
  assert_int_equal(read_packed(&packed, OFFSETS, 0, SIZE, &calls), MORTAR_OK);
  assert_int_equal(calls, 3); /* slab, its bytes, the batch */
  assert_int_equal(read_packed(&packed, OFFSETS, 0, SIZE + 1, &calls), MORTAR_CORRUPT);
  assert_int_equal(read_packed(&packed, OFFSETS, 0, SIZE - 1, &calls), MORTAR_CORRUPT);
  assert_int_equal(read_packed(&packed, TEXT, 4, 0, &calls), MORTAR_CORRUPT); /* no end mark */
  /* What LZ4 can't reach asks for no memory. */
  assert_int_equal(read_packed(&packed, OFFSETS, 0, 1 << 29, &calls), MORTAR_CORRUPT);
  assert_int_equal(calls, 0);
  assert_int_equal(read_packed(&packed, OFFSETS, 0, INT64_MAX, &calls), MORTAR_CORRUPT);
  assert_int_equal(read_packed(&packed, OFFSETS, 0, -2, &calls), MORTAR_CORRUPT);
  /* Neither do buffers that share their bytes. */
  (void)first_node(&packed, &buffers);
  memcpy(buffers, buffers + 16, 16);
  memcpy(buffers + 32, buffers + 16, 16);
  assert_int_equal(read_packed(&packed, OFFSETS, 0, SIZE, &calls), MORTAR_CORRUPT);
  assert_int_equal(calls, 0);
  mtr_buf_fini(&packed);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* column: of the sample; index: which int64 of nodes (or buffers) becomes value. */
static void check_damage(int64_t column, uint32_t nulls, bool node, size_t index, int64_t value,
                         enum mortar_status want)
{
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  uint8_t *nodes, *buffers;

  sample_init_some(&s, column, 1);
  batch = sample_batch(&s, 21, 10, 0, nulls);
  write_stream(&s, &batch, 0, 10, &out);
  nodes = first_node(&out, &buffers);
  memcpy((node ? nodes : buffers) + 8 * index, &value, sizeof value);
  assert_int_equal(read_all(out.data, out.size), want);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void lengths_and_counts_are_held_to_the_bytes(void **state)
{
  enum { INT32 = 4, UTF8 = 36 };

  (void)state;
  check_damage(INT32, 30, true, 0, 10, MORTAR_OK);
  check_damage(INT32, 30, true, 0, 9, MORTAR_CORRUPT); /* not the batch's rows */
  check_damage(INT32, 30, true, 0, -1, MORTAR_CORRUPT);
  check_damage(INT32, 30, true, 0, INT64_MAX, MORTAR_CORRUPT);
  check_damage(INT32, 30, true, 1, -1, MORTAR_OK); /* not counted: we count */
  check_damage(INT32, 30, true, 1, -2, MORTAR_CORRUPT);
  check_damage(INT32, 30, true, 1, 11, MORTAR_CORRUPT);
  check_damage(INT32, 0, true, 1, 3, MORTAR_CORRUPT);  /* nulls and no bitmap */
  check_damage(INT32, 0, false, 2, 4, MORTAR_CORRUPT); /* a place that is not aligned */
  check_damage(INT32, 0, false, 2, 8, MORTAR_CORRUPT); /* and one that ends behind the body */
  check_damage(INT32, 0, false, 2, -8, MORTAR_CORRUPT);
  check_damage(INT32, 0, false, 3, 39, MORTAR_CORRUPT); /* one byte short of ten values */
  check_damage(INT32, 0, false, 3, INT64_MAX, MORTAR_CORRUPT);
  check_damage(INT32, 0, false, 0, 12345, MORTAR_OK);  /* an empty buffer may lie anywhere */
  check_damage(UTF8, 0, false, 3, 43, MORTAR_CORRUPT); /* eleven offsets need 44 */
  check_damage(UTF8, 0, false, 5, 1, MORTAR_CORRUPT);  /* offsets behind the text */
}

static void a_map_without_a_key_is_refused(void **state)
{
  static uint8_t no_bits[16];
  struct sample s;
  struct ArrowArray batch, *entries;
  struct mtr_buf out;

  (void)state;
  sample_init_some(&s, 46, 1);
  assert_int_equal(s.schema.root.children[0].type, MTR_ARROW_MAP);
  batch = sample_batch(&s, 3, 10, 0, 0);
  entries = batch.children[0]->children[0];
  entries->children[0]->buffers[0] = no_bits;
  entries->children[0]->null_count = -1;
  write_stream(&s, &batch, 0, 10, &out);
  assert_int_equal(read_all(out.data, out.size), MORTAR_CORRUPT);
  mtr_buf_fini(&out);
  entries->children[0]->null_count = 0;
  entries->buffers[0] = no_bits;
  entries->null_count = -1;
  write_stream(&s, &batch, 0, 10, &out);
  assert_int_equal(read_all(out.data, out.size), MORTAR_CORRUPT);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

static void falling_offsets_are_refused(void **state)
{
  static const int32_t narrow[][4] = {{0, 3, 2, 4}, {-1, 0, 1, 2}, {0, 1, 2, INT32_MIN}};
  static const int64_t wide[][4] = {{0, 3, 2, 4}, {-1, 0, 1, 2}, {0, INT64_MAX, INT64_MIN, 4}};
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;
  uint8_t *buffers;
  int64_t place;
  size_t i, large;

  (void)state;
  for (i = 0; i < 6; i++) {
    large = i / 3;
    sample_init_some(&s, large ? 38 : 36, 1);
    batch = sample_batch(&s, 3, 3, 0, 0);
    write_stream(&s, &batch, 0, 3, &out);
    (void)first_node(&out, &buffers);
    memcpy(&place, buffers + 16, sizeof place);
    /* The body is what lies before the end marker: offsets, then at most 16 bytes of text. */
    {
      int64_t text[2];
      size_t body;
      memcpy(text, buffers + 32, sizeof text);
      body = out.size - 8 - (size_t)(text[0] + (text[1] + 7) / 8 * 8);
      if (large)
        memcpy(out.data + body + place, wide[i % 3], sizeof wide[0]);
      else
        memcpy(out.data + body + place, narrow[i % 3], sizeof narrow[0]);
    }
    assert_int_equal(read_all(out.data, out.size), MORTAR_CORRUPT);
    mtr_buf_fini(&out);
    sample_fini(&s);
  }
}

static void rows_without_bytes_have_a_limit(void **state)
{
  struct sample s;
  struct ArrowArray batch;
  struct mtr_buf out;

  (void)state;
  sample_init_some(&s, 0, 1);
  batch = sample_batch(&s, 1, 10, 0, 0);
  batch.length = batch.children[0]->length = batch.children[0]->null_count = 1 << 24;
  write_stream(&s, &batch, 0, 1 << 24, &out);
  assert_int_equal(read_all(out.data, out.size), MORTAR_OK);
  mtr_buf_fini(&out);
  batch.length = batch.children[0]->length = batch.children[0]->null_count = INT64_C(1) << 40;
  write_stream(&s, &batch, 0, INT64_C(1) << 40, &out);
  assert_int_equal(read_all(out.data, out.size), MORTAR_CORRUPT);
  mtr_buf_fini(&out);
  sample_fini(&s);
}

/* Lists of one struct whose two fields are the same table, level upon level: 2^levels fields. */
static void shared_tables_do_not_unfold(void **state)
{
  enum { LEVELS = 16, STRUCT = 13 };
  struct mtr_flat_slot message[3] = {{2, 4, 0}, {1, 1, 0}, {4, 0, 0}};
  struct mtr_flat_slot schema[2] = {{0, 0, 0}, {4, 0, 0}}, empty[1] = {{0, 0, 0}};
  struct mtr_flat_writer w;
  struct mtr_buf buf;
  size_t at, link;
  int level;

  (void)state;
  mtr_buf_init(&buf, NULL, "message", MAX_STREAM);
  assert_int_equal(mtr_flat_begin(&w, &buf, NULL), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, w.begin, message, 3), MORTAR_OK);
  assert_int_equal(mtr_flat_put_table(&w, message[2].at, schema, 2), MORTAR_OK);
  link = schema[1].at;
  for (level = 0; level < LEVELS; level++) {
    struct mtr_flat_slot field[6] = {{0, 0, 0}, {0, 0, 0}, {1, STRUCT, 0},
                                     {4, 0, 0}, {0, 0, 0}, {4, 0, 0}};
    uint32_t both;
    if (level == LEVELS - 1) field[5].width = 0;
    assert_int_equal(mtr_flat_put_vector(&w, link, 2, 4, &at), MORTAR_OK);
    assert_int_equal(mtr_flat_put_table(&w, at, field, 6), MORTAR_OK);
    memcpy(&both, buf.data + at, 4);
    both -= 4;
    memcpy(buf.data + at + 4, &both, 4);
    assert_int_equal(mtr_flat_put_table(&w, field[3].at, empty, 1), MORTAR_OK);
    link = field[5].at;
  }
  assert_int_equal(mtr_flat_end(&w), MORTAR_OK);
  assert_int_equal(read_all(buf.data, buf.size), MORTAR_CORRUPT);
  mtr_buf_fini(&buf);
}

static void both_framings_and_ends_are_read(void **state)
{
  static const uint8_t legacy_end[4] = {0}, end[8] = {0xFF, 0xFF, 0xFF, 0xFF};
  struct mtr_ipc_message message;

  (void)state;
  assert_int_equal(mtr_ipc_next(mtr_span_of(NULL, 0), &message, NULL), MORTAR_MORE);
  assert_int_equal(mtr_ipc_next(mtr_span_of(legacy_end, 4), &message, NULL), MORTAR_OK);
  assert_int_equal(message.kind, MTR_IPC_END);
  assert_int_equal(message.size, 4);
  assert_int_equal(mtr_ipc_next(mtr_span_of(end, 8), &message, NULL), MORTAR_OK);
  assert_int_equal(message.kind, MTR_IPC_END);
  assert_int_equal(message.size, 8);
  assert_int_equal(mtr_ipc_next(mtr_span_of(end, 7), &message, NULL), MORTAR_MORE);
}

static void other_versions_are_refused_by_name(void **state)
{
  struct mortar_error err;
  struct mtr_flat_slot message[3] = {{2, 0, 0}, {1, 1, 0}, {4, 0, 0}};
  struct mtr_flat_slot empty[1] = {{0, 0, 0}};
  struct mtr_ipc_message out;
  struct mtr_flat_writer w;
  struct mtr_buf buf;
  int64_t version;

  (void)state;
  for (version = 0; version <= 5; version++) {
    enum mortar_status want = version == 3 || version == 4 ? MORTAR_OK : MORTAR_UNSUPPORTED;
    mtr_buf_init(&buf, NULL, "message", MAX_STREAM);
    message[0].value = version;
    assert_int_equal(mtr_flat_begin(&w, &buf, NULL), MORTAR_OK);
    assert_int_equal(mtr_flat_put_table(&w, w.begin, message, 3), MORTAR_OK);
    assert_int_equal(mtr_flat_put_table(&w, message[2].at, empty, 1), MORTAR_OK);
    assert_int_equal(mtr_flat_end(&w), MORTAR_OK);
    assert_int_equal(mtr_ipc_next(mtr_buf_span(&buf), &out, &err), want);
    if (want != MORTAR_OK) assert_non_null(strstr(err.message, "metadata version V"));
    mtr_buf_fini(&buf);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_round_trips),
      cmocka_unit_test(slices_are_written_as_the_rows_they_show),
      cmocka_unit_test(empty_batches_have_valid_offsets),
      cmocka_unit_test(rows_out_of_range_are_refused),
      cmocka_unit_test(a_full_buffer_is_left_as_it_was),
      cmocka_unit_test(a_cut_stream_is_never_whole),
      cmocka_unit_test(a_batch_has_the_nodes_and_buffers_of_its_schema),
      cmocka_unit_test(broken_bytes_never_lead_outside),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(a_schema_larger_than_its_limit_is_no_lack_of_memory),
      cmocka_unit_test(writing_survives_failing_allocations),
      cmocka_unit_test(moved_children_outlive_batch_and_slab),
      cmocka_unit_test(a_batch_is_one_allocation),
      cmocka_unit_test(truncating_keeps_null_counts_true),
      cmocka_unit_test(an_unaligned_body_is_the_callers_mistake),
      cmocka_unit_test(compressed_bodies_are_decoded),
      cmocka_unit_test(broken_compressed_bodies_never_lead_outside),
      cmocka_unit_test(a_stated_size_is_held_to_the_bytes),
      cmocka_unit_test(lengths_and_counts_are_held_to_the_bytes),
      cmocka_unit_test(a_map_without_a_key_is_refused),
      cmocka_unit_test(falling_offsets_are_refused),
      cmocka_unit_test(rows_without_bytes_have_a_limit),
      cmocka_unit_test(shared_tables_do_not_unfold),
      cmocka_unit_test(both_framings_and_ends_are_read),
      cmocka_unit_test(other_versions_are_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
