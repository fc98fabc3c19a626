/* Rows in order or an error that stays: never an early end. */
#include "client/result.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "client/orphans.h"

/* One decoded batch can't be larger, see page_reader.c. */
#define FIRST_BATCH_MAX ((size_t)2 << 30)

enum {
  SMALL_ROWS = 1000,     /* batches below that are worth joining */
  JOIN_MAX = 256,        /* so many at once */
  CLOSE_GRACE_MS = 2000, /* for closing what the caller is done with */
  DROP_GRACE_MS = 150    /* for closing what failed */
};

static void give_channel(struct mortar_result *res)
{
  if (res->channel) mtr_session_give(res->session, res->channel);
  res->channel = NULL;
}

/* Nothing more will be asked of the server: close the operation unless it did. The session stays,
 * as a shell at least, until the result is freed: errors name it. */
static void let_go(struct mortar_result *res, int64_t grace_ms, const struct mtr_wait *within)
{
  give_channel(res);
  if (!res->closed)
    mtr_session_drop_operation(res->session, &res->operation, false, grace_ms, within);
  res->closed = true;
  res->more = false;
}

/* The caller does not wait for the operation's end: the background thread sees to it. */
static void hand_over(struct mortar_result *res)
{
  struct mtr_channel *channel = res->channel;

  res->channel = NULL;
  res->closed = true;
  (void)mtr_orphan_add(res->session, channel, MTR_ORPHAN_OPERATION, &res->operation);
}

/* A failed result says the same at every further call: never an early end. */
static enum mortar_status fail_for_good(struct mortar_result *res, enum mortar_status st,
                                        struct mortar_error *err)
{
  st = mtr_session_failed(res->session, &res->operation, st, &res->failure);
  /* The statement itself was answered: only rows of it are missing. */
  if (res->failure.outcome == MORTAR_OUTCOME_NOT_SENT ||
      res->failure.outcome == MORTAR_OUTCOME_REJECTED)
    res->failure.outcome = MORTAR_OUTCOME_DONE;
  res->failed = true;
  if (mtr_session_gave_up(st) && !res->closed) hand_over(res);
  let_go(res, DROP_GRACE_MS, NULL);
  if (err) *err = res->failure;
  return st;
}

/* A page whose schema is known roughly may hold it in front of its first batch. *room is for the
 * bytes of that. */
static enum mortar_status look_for_schema(struct mortar_result *res, struct mtr_answer *answer,
                                          struct mtr_buf *room, struct mortar_error *err)
{
  struct mtr_span bytes = answer->page.batches[0].bytes;
  struct mtr_ipc_message message;
  struct mtr_lz4 *lz4;

  if (answer->page.lz4) {
    MTR_TRY(mtr_channel_lz4(res->channel, &lz4, err));
    MTR_TRY(mtr_lz4_decode(lz4, bytes, room, err));
    bytes = mtr_buf_span(room);
  }
  if (mtr_ipc_next(bytes, &message, NULL) != MORTAR_OK || message.kind != MTR_IPC_SCHEMA)
    return MORTAR_OK; /* what is wrong with it is said when it is read */
  answer->schema = mtr_span_of(bytes.data, message.size);
  answer->page.read = NULL;
  return MORTAR_OK;
}

static enum mortar_status adopt(struct mortar_result *res, const struct mtr_answer *answer,
                                struct mortar_error *err)
{
  struct mtr_shape *shape;

  if (res->shape && mtr_span_equal(res->shape->key, answer->schema)) return MORTAR_OK;
  if (res->shape)
    return mtr_fail(err, MORTAR_PROTOCOL, "the schema changed between two pages of one result");
  MTR_TRY(mtr_shape_cache_get(&res->session->shapes, &res->alloc, answer->schema, &shape, err));
  res->shape = shape;
  return MORTAR_OK;
}

static enum mortar_status adopt_schema(struct mortar_result *res, struct mtr_answer *answer,
                                       struct mortar_error *err)
{
  struct mtr_buf room;
  enum mortar_status st;

  if (!answer->page.read || !answer->page.batch_count) return adopt(res, answer, err);
  mtr_buf_init(&room, &res->alloc, "first batch of a page", FIRST_BATCH_MAX);
  MTR_GOTO(look_for_schema(res, answer, &room, err));
  MTR_GOTO(adopt(res, answer, err));
done:
  mtr_buf_fini(&room);
  return st;
}

/* Decodes what fits a window and frees the channel if that was all. */
static enum mortar_status decode_window(struct mortar_result *res, struct mortar_error *err)
{
  const bool own = res->reader.page.own_rows > 0;
  const size_t before = res->reader.packed_next;

  MTR_TRY(mtr_page_reader_decode(&res->reader, &res->shape->schema, res->channel,
                                 (size_t)res->session->options.window_bytes, err));
  res->channel->batches_decoded += own ? 1 : res->reader.packed_next - before;
  if (!mtr_page_reader_wants_decode(&res->reader)) give_channel(res);
  return MORTAR_OK;
}

static enum mortar_status count_rows(struct mortar_result *res, int64_t rows,
                                     struct mortar_error *err)
{
  if (rows > INT64_MAX - res->rows_loaded)
    return mtr_fail(err, MORTAR_PROTOCOL, "the declared row counts overflow");
  res->rows_loaded += rows;
  return MORTAR_OK;
}

static enum mortar_status load_page(struct mortar_result *res, const struct mtr_answer *answer,
                                    struct mortar_error *err)
{
  size_t i;

  if (answer->page.first_row >= 0 && answer->page.first_row != res->rows_loaded)
    return mtr_fail(err, MORTAR_PROTOCOL, "the page begins at row %lld, expected was row %lld",
                    (long long)answer->page.first_row, (long long)res->rows_loaded);
  for (i = 0; i < answer->page.batch_count; i++)
    MTR_TRY(count_rows(res, answer->page.batches[i].rows, err));
  MTR_TRY(count_rows(res, answer->page.own_rows, err));
  mtr_page_reader_start(&res->reader, &answer->page);
  return decode_window(res, err);
}

/* The next page from the server. */
static enum mortar_status fetch_page(struct mortar_result *res, const struct mtr_wait *wait,
                                     struct mortar_error *err)
{
  struct mortar_session *session = res->session;
  struct mtr_answer answer;

  if (mtr_session_usable(session, err) != MORTAR_OK) {
    mtr_error_prefix(err, "not all rows were fetched");
    return MORTAR_STATE;
  }
  memset(&answer, 0, sizeof answer);
  answer.page.lz4 = res->reader.page.lz4;
  answer.page.read = res->reader.page.read;
  if (!res->channel) MTR_TRY(mtr_session_take(session, &res->channel, err));
  MTR_TRY(session->backend->fetch(session->bs, res->channel, &res->operation, wait, &answer, err));
  if (answer.has_schema) MTR_TRY(adopt_schema(res, &answer, err));
  res->more = answer.more;
  return load_page(res, &answer, err);
}

static enum mortar_status fetch_schema(struct mortar_result *res, const struct mtr_wait *wait,
                                       struct mtr_answer *answer, struct mortar_error *err)
{
  struct mortar_session *session = res->session;
  struct mtr_channel *own = NULL;
  struct mtr_answer meta;
  enum mortar_status st;

  /* The page, if there is one, lives in res->channel: ask over another. */
  memset(&meta, 0, sizeof meta);
  MTR_GOTO(mtr_session_take(session, &own, err));
  MTR_GOTO(session->backend->schema(session->bs, own, &res->operation, wait, &meta, err));
  meta.page.batches = answer->page.batches;
  meta.page.batch_count = answer->page.batch_count;
  MTR_GOTO(adopt_schema(res, &meta, err));
  answer->page.lz4 = meta.page.lz4;
  answer->page.read = meta.page.read;
  answer->volume = meta.volume;
done:
  mtr_session_give(session, own);
  return st;
}

/* A result that nobody has described and nobody can: it has no rows. */
static bool is_void(const struct mtr_answer *answer)
{
  if (answer->more) return false;
  return !answer->has_page || (answer->closed && !mtr_page_has_rows(&answer->page));
}

static enum mortar_status start(struct mortar_result *res, const struct mtr_wait *wait,
                                struct mtr_answer *answer, struct mortar_error *err)
{
  if (answer->has_schema)
    MTR_TRY(adopt_schema(res, answer, err));
  else if (is_void(answer)) {
    answer->has_page = false;
    answer->schema = mtr_span_of(NULL, 0);
    MTR_TRY(adopt_schema(res, answer, err));
  } else if (answer->closed) {
    return mtr_fail(err, MORTAR_PROTOCOL, "the reply holds rows but no schema");
  } else {
    MTR_TRY(fetch_schema(res, wait, answer, err));
  }
  res->reader.page.lz4 = answer->page.lz4;
  res->reader.page.read = answer->page.read;
  if (answer->has_page)
    MTR_TRY(load_page(res, answer, err));
  else
    give_channel(res);
  return MORTAR_OK;
}

static struct mortar_result *result_alloc(struct mortar_session *session,
                                          const struct mtr_answer *answer)
{
  struct mortar_result *res = atomic_exchange(&session->spare_result, NULL);

  if (!res) {
    res = mtr_calloc(&session->alloc, 1, sizeof *res);
    if (!res) return NULL;
    res->alloc = session->alloc;
    mtr_page_reader_init(&res->reader, &res->alloc);
    mtr_joiner_init(&res->joiner, &res->alloc);
  }
  res->session = mtr_session_ref(session);
  res->channel = NULL;
  res->shape = NULL;
  res->operation = answer->operation;
  res->rows_loaded = 0;
  res->rows_affected = answer->rows_affected;
  res->closed = answer->closed;
  res->more = answer->more && !answer->closed;
  res->failed = false;
  res->query_id[0] = '\0';
  return res;
}

enum mortar_status mtr_result_new(struct mortar_session *session, struct mtr_channel *channel,
                                  const struct mtr_wait *wait, struct mtr_answer *answer,
                                  struct mortar_result **out, struct mortar_error *err)
{
  struct mortar_result *res = result_alloc(session, answer);
  enum mortar_status st;

  *out = NULL;
  if (!res) {
    mtr_session_give(session, channel);
    if (!answer->closed)
      mtr_session_drop_operation(session, &answer->operation, false, CLOSE_GRACE_MS, NULL);
    return mtr_fail_nomem(err, "result");
  }
  res->channel = channel;
  st = start(res, wait, answer, &res->failure);
  if (st != MORTAR_OK) {
    st = fail_for_good(res, st, err);
    mortar_result_free(res);
    return st;
  }
  *out = res;
  return MORTAR_OK;
}

void mtr_result_destroy(struct mortar_result *spare)
{
  struct mortar_alloc alloc;

  if (!spare) return;
  mtr_page_reader_fini(&spare->reader);
  mtr_joiner_fini(&spare->joiner);
  alloc = spare->alloc;
  mtr_free(&alloc, spare, sizeof *spare);
}

void mortar_result_free(struct mortar_result *res)
{
  struct mortar_session *session;

  if (!res) return;
  let_go(res, CLOSE_GRACE_MS, NULL);
  mtr_page_reader_rest(&res->reader);
  mtr_joiner_rest(&res->joiner);
  mtr_shape_unref(res->shape);
  session = res->session;
  mtr_result_destroy(atomic_exchange(&session->spare_result, res));
  mtr_session_unref(session);
}

static enum mortar_status next_batch(struct mortar_result *res, const struct mtr_wait *wait,
                                     struct ArrowArray *out, struct mortar_error *err)
{
  for (;;) {
    MTR_TRY(mtr_page_reader_next(&res->reader, res->shape, out, err));
    if (out->release) return MORTAR_OK;
    if (mtr_page_reader_wants_decode(&res->reader))
      MTR_TRY(decode_window(res, err));
    else if (res->more)
      MTR_TRY(fetch_page(res, wait, err));
    else
      return MORTAR_OK;
  }
}

/* Small batches behind *out, while there are some and fewer than `rows` rows in all. */
static enum mortar_status take_small(struct mortar_result *res, int64_t rows,
                                     struct ArrowArray items[JOIN_MAX], size_t *n,
                                     struct mortar_error *err)
{
  int64_t sum = items[0].length;

  for (*n = 1; *n < JOIN_MAX && sum < rows; (*n)++) {
    const int64_t next = mtr_page_reader_peek(&res->reader);
    if (next == 0 || next >= SMALL_ROWS) break;
    MTR_TRY(mtr_page_reader_next(&res->reader, res->shape, &items[*n], err));
    if (!items[*n].release) break;
    sum += items[*n].length;
  }
  return MORTAR_OK;
}

/* Puts the small batches behind *out, which is small itself, into it. */
static enum mortar_status join_small(struct mortar_result *res, int64_t rows,
                                     struct ArrowArray *out, struct mortar_error *err)
{
  struct ArrowArray items[JOIN_MAX];
  enum mortar_status st;
  size_t n, i;

  items[0] = *out;
  st = take_small(res, rows, items, &n, err);
  if (st == MORTAR_OK && n == 1) return MORTAR_OK;
  out->release = NULL;
  if (st == MORTAR_OK) st = mtr_joiner_join(&res->joiner, &res->shape->schema, items, n, out, err);
  for (i = 0; i < n; i++)
    items[i].release(&items[i]);
  if (st == MORTAR_OK) atomic_fetch_add(&res->session->batches_joined, n);
  return st;
}

/* rows 0: as they come. */
static enum mortar_status next_within(struct mortar_result *res, const struct mtr_wait *wait,
                                      int64_t rows, struct ArrowArray *out,
                                      struct mortar_error *err)
{
  enum mortar_status st = next_batch(res, wait, out, &res->failure);

  if (st == MORTAR_OK && out->release && out->length < rows && out->length < SMALL_ROWS)
    st = join_small(res, rows, out, &res->failure);
  if (st != MORTAR_OK) {
    if (out->release) out->release(out);
    memset(out, 0, sizeof *out);
    return fail_for_good(res, st, err);
  }
  /* At the end, and as soon as no page is left to ask for. */
  if (!out->release || (!res->more && !res->channel)) let_go(res, CLOSE_GRACE_MS, wait);
  return MORTAR_OK;
}

static enum mortar_status next(struct mortar_result *res, const struct mortar_call *call,
                               int64_t rows, struct ArrowArray *out, struct mortar_error *err)
{
  struct mtr_session_wait wait;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  memset(out, 0, sizeof *out);
  if (!res) return mtr_fail(err, MORTAR_INVALID, "result must not be NULL");
  if (res->failed) {
    if (err) *err = res->failure;
    return res->failure.status;
  }
  mtr_session_wait_init(&wait, res->session, call);
  return next_within(res, &wait.wait, rows, out, err);
}

enum mortar_status mtr_result_next(struct mortar_result *res, const struct mtr_wait *wait,
                                   struct ArrowArray *out, struct mortar_error *err)
{
  memset(out, 0, sizeof *out);
  return next_within(res, wait, 0, out, err);
}

enum mortar_status mortar_result_next(struct mortar_result *res, const struct mortar_call *call,
                                      struct ArrowArray *out, struct mortar_error *err)
{
  return next(res, call, 0, out, err);
}

enum mortar_status mortar_result_next_joined(struct mortar_result *res,
                                             const struct mortar_call *call, int64_t rows,
                                             struct ArrowArray *out, struct mortar_error *err)
{
  return next(res, call, rows, out, err);
}

const char *mortar_result_query_id(const struct mortar_result *result)
{
  /* Written when first asked for: most programs never do. The cast is to our own object. */
  struct mortar_result *res = (struct mortar_result *)(uintptr_t)result;

  if (!res) return "";
  if (!res->query_id[0])
    mtr_uuid_text(mtr_span_of(res->operation.guid, res->operation.guid_size), res->query_id);
  return res->query_id;
}

int64_t mortar_result_rows_affected(const struct mortar_result *res)
{
  return res ? res->rows_affected : -1;
}

int64_t mortar_result_column_count(const struct mortar_result *res)
{
  return res ? res->shape->schema.root.child_count : 0;
}

static bool has_column(const struct mortar_result *res, int64_t i)
{
  return res && i >= 0 && i < res->shape->schema.root.child_count;
}

const char *mortar_result_column_name(const struct mortar_result *res, int64_t i)
{
  return has_column(res, i) ? res->shape->schema.root.children[i].name : NULL;
}

const char *mortar_result_column_type(const struct mortar_result *res, int64_t i)
{
  return has_column(res, i) ? res->shape->type_names[i] : NULL;
}

bool mortar_result_is_local(const struct mortar_result *res)
{
  return !res || (res->closed && !res->more && !res->channel);
}

uint64_t mortar_result_shape(const struct mortar_result *res) { return res ? res->shape->id : 0; }

enum mortar_status mortar_result_schema(const struct mortar_result *res, struct ArrowSchema *out,
                                        struct mortar_error *err)
{
  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  memset(out, 0, sizeof *out);
  if (!res) return mtr_fail(err, MORTAR_INVALID, "result must not be NULL");
  return mtr_arrow_schema_export(&res->shape->schema, &res->alloc, out, err);
}
