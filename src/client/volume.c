/* The order in which an answer is judged is the order of the functions at the end: the operation,
 * then the stream or the file, and only then is the store asked. Nothing shows the link. */
#include "client/volume.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "client/local_file.h"
#include "client/pause.h"
#include "client/sql_kind.h"
#include "client/volume_row.h"

enum {
  FOLDERS_MAX = 1024,
  VOLUME_MAX = 16 << 20, /* of the folders' texts */
  ROW_MAX = 8 << 20,     /* of the answer's texts */
  SPOOL_PIECE = 64 << 10,
  AGENT_MAX = 64 << 10
};

/* ---- What a statement may touch -------------------------------------------------------------- */

static enum mortar_status copy_folders(struct mtr_volume *volume, const struct mortar_volume *given,
                                       struct mortar_error *err)
{
  const char **copies = mtr_arena_alloc(&volume->arena, given->folder_count + 1, sizeof *copies);
  size_t i;

  if (!copies) return mtr_fail_nomem(err, "folders");
  for (i = 0; i < given->folder_count; i++) {
    if (!given->folders[i]) return mtr_fail(err, MORTAR_INVALID, "folder %zu is NULL", i);
    copies[i] = mtr_arena_text(&volume->arena, given->folders[i], strlen(given->folders[i]));
    if (!copies[i]) return mtr_fail_nomem(err, "folders");
  }
  volume->given.folders = copies;
  return MORTAR_OK;
}

enum mortar_status mtr_volume_new(const struct mortar_volume *given,
                                  const struct mortar_alloc *alloc, struct mtr_volume **out,
                                  struct mortar_error *err)
{
  struct mtr_volume *volume = NULL;
  enum mortar_status st;

  *out = NULL;
  if (given->folder_count && !given->folders)
    return mtr_fail(err, MORTAR_INVALID, "folders must not be NULL");
  if (given->folder_count > FOLDERS_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "more than %d folders", FOLDERS_MAX);
  volume = mtr_calloc(alloc, 1, sizeof *volume);
  if (!volume) return mtr_fail_nomem(err, "volume");
  volume->alloc = *alloc;
  volume->given = *given;
  mtr_arena_init(&volume->arena, &volume->alloc, VOLUME_MAX);
  st = copy_folders(volume, given, err);
  if (st == MORTAR_OK)
    *out = volume;
  else
    mtr_volume_free(volume);
  return st;
}

void mtr_volume_free(struct mtr_volume *volume)
{
  struct mortar_alloc alloc;

  if (!volume) return;
  mtr_arena_fini(&volume->arena);
  alloc = volume->alloc;
  mtr_free(&alloc, volume, sizeof *volume);
}

/* Nothing has been sent to the store. */
static enum mortar_status not_sent(enum mortar_status st, struct mortar_error *err)
{
  if (st != MORTAR_OK) mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
  return st;
}

static enum mortar_status fail_folders(struct mortar_error *err)
{
  return not_sent(mtr_fail(err, MORTAR_INVALID,
                           "You must provide at least one staging_allowed_local_path: PUT and GET "
                           "touch no file of this machine but in the folders that it names"),
                  err);
}

enum mortar_status mtr_volume_check(const struct mtr_volume *volume, struct mtr_span sql,
                                    struct mortar_error *err)
{
  const struct mortar_volume *given = volume ? &volume->given : NULL;

  switch (mtr_sql_volume_verb(sql)) {
    case MTR_VOLUME_NONE:
    case MTR_VOLUME_REMOVE:
      return MORTAR_OK;
    case MTR_VOLUME_PUT:
      return given && (given->folder_count || given->read) ? MORTAR_OK : fail_folders(err);
    case MTR_VOLUME_GET:
      break;
  }
  return given && (given->folder_count || given->write) ? MORTAR_OK : fail_folders(err);
}

/* ---- The ends of a transfer ------------------------------------------------------------------ */

/* Where the bytes come from or go to: the caller's functions, a descriptor to read, or a file that
 * is being written. */
struct work {
  struct mortar_session *session;
  const struct mortar_volume *given; /* NULL: nothing may be touched */
  const struct mtr_wait *wait;
  struct mtr_volume_row row;
  struct mtr_transfer *transfer;
  struct mtr_transfer_request request;
  struct mtr_transfer_reply reply;
  struct mtr_local_file *file;
  const char *name;         /* of what is read, for errors */
  int fd;                   /* -1: none */
  bool stream;              /* the caller's functions */
  struct mortar_error *err; /* not NULL */
};

static enum mortar_status fail_stream(const char *what, struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_INTERRUPTED, "the caller's %s function failed", what);
}

static enum mortar_status read_stream(void *ctx, void *data, size_t size, size_t *n,
                                      struct mortar_error *err)
{
  const struct work *w = ctx;

  *n = 0;
  if (w->given->read(w->given->ctx, data, size, n) != 0) return fail_stream("read", err);
  if (*n <= size) return MORTAR_OK;
  return mtr_fail(err, MORTAR_INVALID, "the caller's read function gave %zu bytes for %zu", *n,
                  size);
}

static enum mortar_status write_stream(void *ctx, const void *data, size_t size,
                                       struct mortar_error *err)
{
  const struct work *w = ctx;

  return w->given->write(w->given->ctx, data, size) == 0 ? MORTAR_OK : fail_stream("write", err);
}

static enum mortar_status read_file(void *ctx, void *data, size_t size, size_t *n,
                                    struct mortar_error *err)
{
  const struct work *w = ctx;

  return mtr_local_read(w->fd, w->name, data, size, n, err);
}

static enum mortar_status write_file(void *ctx, const void *data, size_t size,
                                     struct mortar_error *err)
{
  const struct work *w = ctx;

  return mtr_local_write(w->file, data, size, err);
}

/* Back to the beginning, for another attempt. False: it can't be had. */
static bool rewind_ends(struct work *w)
{
  if (w->reply.moved == 0) return true;
  if (w->file) return mtr_local_restart(w->file, NULL) == MORTAR_OK;
  if (w->fd >= 0) return mtr_local_rewind(w->fd, w->name, NULL) == MORTAR_OK;
  return w->given->rewind && w->given->rewind(w->given->ctx) == 0;
}

/* Copies the caller's stream into a file, whose size is known then. Nothing is sent meanwhile, so a
 * look at what may end the call comes between the pieces. */
static enum mortar_status fill_spool(struct work *w, char piece[SPOOL_PIECE])
{
  size_t n = 0;

  w->request.size = 0;
  do {
    MTR_TRY(mtr_pause(w->wait, 0, "reading the input stream", w->err));
    MTR_TRY(read_stream(w, piece, SPOOL_PIECE, &n, w->err));
    MTR_TRY(mtr_local_put(w->fd, w->name, piece, n, w->err));
    w->request.size += (int64_t)n;
  } while (n);
  return mtr_local_rewind(w->fd, w->name, w->err);
}

static enum mortar_status spool(struct work *w)
{
  const struct mortar_alloc *alloc = &w->session->alloc;
  char *piece = mtr_malloc(alloc, SPOOL_PIECE);
  enum mortar_status st;

  if (!piece) return mtr_fail_nomem(w->err, "input stream");
  w->name = "the temporary file of the input stream";
  st = mtr_local_spool(&w->fd, w->err);
  if (st == MORTAR_OK) st = fill_spool(w, piece);
  mtr_free(alloc, piece, SPOOL_PIECE);
  return st;
}

static enum mortar_status open_put(struct work *w, const struct mtr_local_allowed *allowed)
{
  w->request.method = MTR_TRANSFER_PUT;
  w->request.ends.read = read_file;
  if (!w->stream) {
    w->name = w->row.local_file;
    return mtr_local_open(w->name, allowed, &w->fd, &w->request.size, w->err);
  }
  if (w->given->read_size < 0) return spool(w);
  w->request.ends.read = read_stream;
  w->request.size = w->given->read_size;
  return MORTAR_OK;
}

static enum mortar_status open_get(struct work *w, const struct mtr_local_allowed *allowed)
{
  w->request.method = MTR_TRANSFER_GET;
  w->request.ends.write = w->stream ? write_stream : write_file;
  if (w->stream) return MORTAR_OK;
  return mtr_local_create(w->row.local_file, allowed, &w->session->alloc, &w->file, w->err);
}

static void close_work(struct work *w)
{
  if (w->fd >= 0) (void)close(w->fd);
  mtr_local_close(w->file);
  mtr_transfer_free(w->transfer);
}

/* ---- The store's answer ---------------------------------------------------------------------- */

/* Of a text that a store sent: no control characters, and UTF-8 or ASCII. */
static void make_readable(char *text)
{
  const bool utf8 = mtr_utf8_valid(mtr_span_text(text));

  for (; *text; text++)
    if ((unsigned char)*text < 0x20 || *text == 0x7f)
      *text = ' ';
    else if (!utf8 && (unsigned char)*text >= 0x80)
      *text = '?';
}

static enum mortar_status judge(struct work *w, bool again)
{
  const int status = w->reply.status;
  const char *text = w->reply.text;

  if (status >= 200 && status < 300) return MORTAR_OK;
  /* The request whose reply was lost had removed it. */
  if (again && status == 404 && w->request.method == MTR_TRANSFER_DELETE) return MORTAR_OK;
  make_readable(w->reply.text);
  (void)mtr_fail(w->err, MORTAR_HTTP,
                 "Staging operation over HTTP was unsuccessful: %d%s%s (%s at %s)", status,
                 *text ? "-" : "", text, w->row.operation, mtr_transfer_place(w->transfer));
  w->err->http_status = status;
  return MORTAR_HTTP;
}

static enum mtr_retry_event event_of(const struct work *w, enum mortar_status st)
{
  if (w->reply.source_failed) return MTR_EVENT_OTHER;
  if (w->reply.status) return mtr_retry_event_of_http(w->reply.status, w->reply.retry_after_ms > 0);
  return mtr_retry_event_of_failure(st, w->err->outcome, w->reply.begun);
}

/* ---- Asking the store ------------------------------------------------------------------------ */

/* Says that another attempt follows, and waits. */
static enum mortar_status wait_to_try_again(struct work *w, int64_t delay_ms, int64_t retries)
{
  struct mtr_watch *watch = &w->session->watch;
  const enum mortar_outcome outcome = w->err->outcome;
  const enum mtr_retry_event event = event_of(w, w->err->status);
  enum mortar_status st;

  atomic_fetch_add(&watch->counters.retries, 1);
  atomic_fetch_add(&watch->counters.wait_ms, (uint64_t)delay_ms);
  mtr_log(&watch->log, MORTAR_LOG_INFO, "attempt %lld follows in %lld ms: %s at %s: %s",
          (long long)retries + 2, (long long)delay_ms, w->row.operation,
          mtr_transfer_place(w->transfer), mtr_retry_words(event));
  st = mtr_pause(w->wait, delay_ms, "waiting to ask the store again", w->err);
  if (st != MORTAR_OK) mtr_error_outcome(w->err, outcome);
  return st;
}

static int64_t next_delay_ms(const struct work *w, enum mtr_retry_event event, int64_t retries,
                             int64_t started)
{
  const struct mtr_retry_policy policy = mtr_options_retry(&w->session->options);
  const enum mtr_call_kind kind =
      w->request.method == MTR_TRANSFER_PUT ? MTR_CALL_WRITE : MTR_CALL_READ;
  const int64_t now = mtr_clock_now();
  const struct mtr_retry_state state = {
      .retries = retries,
      .elapsed_ms = (now - started) / MTR_MS,
      .left_ms = w->wait->deadline == MTR_NEVER ? INT64_MAX : (w->wait->deadline - now) / MTR_MS,
      .retry_after_ms = w->reply.retry_after_ms > 0 ? w->reply.retry_after_ms : -1,
      .random = mtr_retry_scramble(now),
  };

  return mtr_retry_delay_ms(&policy, mtr_retry_action(kind, event), &state);
}

static enum mortar_status attempt(struct work *w, bool again)
{
  enum mortar_status st = mtr_transfer_run(w->transfer, &w->request, w->wait, &w->reply, w->err);

  if (st != MORTAR_OK) {
    mtr_error_prefix(w->err, "%s", w->row.operation);
    return st;
  }
  st = judge(w, again);
  if (st != MORTAR_OK) mtr_error_outcome(w->err, mtr_retry_outcome(event_of(w, st)));
  return st;
}

/* As often as the table of net/retry.h and the options say. */
static enum mortar_status ask_store(struct work *w)
{
  const int64_t started = mtr_clock_now();
  enum mortar_status st = attempt(w, false);
  bool unknown = false;
  int64_t retries = 0;

  while (st != MORTAR_OK) {
    const int64_t delay_ms = next_delay_ms(w, event_of(w, st), retries, started);
    unknown |= w->err->outcome == MORTAR_OUTCOME_UNKNOWN;
    if (delay_ms < 0 || !rewind_ends(w)) break;
    st = wait_to_try_again(w, delay_ms, retries);
    if (st != MORTAR_OK) break;
    retries++;
    st = attempt(w, unknown);
  }
  if (st == MORTAR_OK) return st;
  if (unknown) mtr_error_outcome(w->err, MORTAR_OUTCOME_UNKNOWN);
  if (retries) mtr_error_prefix(w->err, "after %lld attempts", (long long)retries + 1);
  return st;
}

static enum mortar_status prepare_request(struct work *w, struct mtr_buf *agent)
{
  struct mtr_endpoint_options like;

  mtr_session_endpoint_options(w->session, &like);
  MTR_TRY(mtr_transfer_new(w->row.link, &like, &w->session->alloc, &w->transfer, w->err));
  MTR_TRY(mtr_options_user_agent(&w->session->options, agent, w->err));
  w->request.user_agent = (const char *)agent->data;
  w->request.headers = w->row.headers;
  w->request.header_count = w->row.header_count;
  w->request.stall_ms = w->session->options.read_timeout_ms;
  w->request.ends.ctx = w;
  return MORTAR_OK;
}

static enum mortar_status transfer(struct work *w)
{
  struct mtr_buf agent;
  enum mortar_status st;

  mtr_buf_init(&agent, &w->session->alloc, "User-Agent", AGENT_MAX);
  st = not_sent(prepare_request(w, &agent), w->err);
  if (st == MORTAR_OK) {
    mtr_log(&w->session->watch.log, MORTAR_LOG_DEBUG, "%s at %s", w->row.operation,
            mtr_transfer_place(w->transfer));
    st = ask_store(w);
  }
  if (st == MORTAR_OK && w->file) st = mtr_local_commit(w->file, w->err);
  if (st != MORTAR_OK) mtr_volume_row_hide(&w->row, w->err);
  mtr_buf_fini(&agent);
  return st;
}

/* ---- What the answer asks for ---------------------------------------------------------------- */

static bool is_operation(const struct work *w, const char *name)
{
  return strcmp(w->row.operation, name) == 0;
}

static enum mortar_status choose_stream(struct work *w, bool put)
{
  const bool has = w->given && (put ? w->given->read != NULL : w->given->write != NULL);

  w->stream = true;
  if (has) return MORTAR_OK;
  return mtr_fail(w->err, MORTAR_INVALID, "No %s stream provided, and '%s' stands for one",
                  put ? "input" : "output", w->row.local_file);
}

static enum mortar_status open_ends(struct work *w)
{
  const bool put = is_operation(w, "PUT");
  const char *name = put ? "__input_stream__" : "__output_stream__";
  struct mtr_local_allowed allowed = {NULL, 0};

  if (w->given) allowed = (struct mtr_local_allowed){w->given->folders, w->given->folder_count};
  if (w->row.local_file && strcmp(w->row.local_file, name) == 0) {
    MTR_TRY(choose_stream(w, put));
  } else if (allowed.count == 0) {
    return fail_folders(w->err);
  } else if (!w->row.local_file || !*w->row.local_file) {
    return mtr_fail(w->err, MORTAR_INVALID, "Cannot perform %s without specifying a local_file",
                    w->row.operation);
  }
  return put ? open_put(w, &allowed) : open_get(w, &allowed);
}

static enum mortar_status perform(struct work *w)
{
  if (is_operation(w, "REMOVE"))
    w->request.method = MTR_TRANSFER_DELETE;
  else if (is_operation(w, "PUT") || is_operation(w, "GET"))
    MTR_TRY(not_sent(open_ends(w), w->err));
  else
    return not_sent(mtr_fail(w->err, MORTAR_INVALID,
                             "Operation %.64s is not supported. Supported operations are GET, PUT, "
                             "and REMOVE",
                             w->row.operation),
                    w->err);
  return transfer(w);
}

enum mortar_status mtr_volume_perform(struct mortar_result *result, const struct mtr_volume *volume,
                                      const struct mtr_wait *wait, struct mortar_error *err)
{
  struct mortar_error own;
  struct work w = {.session = result->session,
                   .given = volume ? &volume->given : NULL,
                   .wait = wait,
                   .fd = -1,
                   .err = err ? err : &own};
  struct mtr_arena arena;
  enum mortar_status st;

  mtr_arena_init(&arena, &w.session->alloc, ROW_MAX);
  st = not_sent(mtr_volume_row_take(result, wait, &arena, &w.row, w.err), w.err);
  if (st == MORTAR_OK) st = perform(&w);
  close_work(&w);
  mtr_arena_fini(&arena);
  return st;
}
