/* The pool of translator processes and the cache before it. */
#include "kiln/engine/translate/translator.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "kiln/engine/translate/field.h"
#include "kiln/engine/translate/worker.h"

enum {
  FIRST_WORKERS = 2,  /* started at once: one may be busy with a long text */
  MAX_WORKERS = 8,    /* as many as the server has threads that could ask */
  MAX_ARGUMENTS = 16, /* of the command; ours has 3 */
  CACHE_ENTRIES = 1024,
  TIMEOUT_MS = 10000, /* the longest honest text of a screen or two took 30 ms */
  BYTES_PER_MS = 10,  /* and longer ones took 1 ms for 20 to 200 bytes */
  LOOK_MS = 20        /* how often a wait for a free worker looks whether it was cancelled */
};

#define CACHE_BYTES ((size_t)32 << 20)
/* Longer texts are INSERTs of many rows, which do not come again and would push out what does. */
#define CACHE_TEXT_MAX ((size_t)64 << 10)
/* Above the 16 MB that the server takes as a statement. */
#define MESSAGE_MAX ((size_t)17 << 20)
#define REPLY_MAX ((size_t)64 << 20)
/* What a worker keeps between statements; more is given back. */
#define KEEP_BYTES ((size_t)256 << 10)

struct slot {
  struct kiln_worker worker;
  struct mtr_buf message, reply;
  bool busy;
};

struct kiln_translator {
  pthread_mutex_t lock; /* guards busy of the slots */
  pthread_cond_t freed;
  struct kiln_plan_cache *cache;
  char *argv[MAX_ARGUMENTS + 1];
  int64_t timeout_ms;
  struct slot slots[MAX_WORKERS];
};

static enum mortar_status copy_command(struct kiln_translator *tr, const char *const *argv,
                                       struct mortar_error *err)
{
  size_t i;

  for (i = 0; argv[i]; i++) {
    if (i == MAX_ARGUMENTS)
      return mtr_fail(err, MORTAR_LIMIT, "a translator command of more than %d words",
                      MAX_ARGUMENTS);
    tr->argv[i] = mtr_strndup(NULL, argv[i], strlen(argv[i]));
    if (!tr->argv[i]) return mtr_fail_nomem(err, "translator command");
  }
  return i > 0 ? MORTAR_OK : mtr_fail(err, MORTAR_INVALID, "no translator command");
}

static enum mortar_status start(struct kiln_translator *tr, struct slot *slot,
                                struct mortar_error *err)
{
  return kiln_worker_start(&slot->worker, (const char *const *)tr->argv, err);
}

enum mortar_status kiln_translator_new(const struct kiln_translator_options *options,
                                       struct kiln_translator **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_translator *tr = mtr_calloc(NULL, 1, sizeof *tr);
  size_t i;

  *out = NULL;
  if (!tr) return mtr_fail_nomem(err, "translator");
  /* These cannot fail with default attributes on any system that Mortar runs on. */
  pthread_mutex_init(&tr->lock, NULL);
  pthread_cond_init(&tr->freed, NULL);
  for (i = 0; i < MAX_WORKERS; i++) {
    tr->slots[i].worker.fd = -1;
    mtr_buf_init(&tr->slots[i].message, NULL, "statement for a translator", MESSAGE_MAX);
    mtr_buf_init(&tr->slots[i].reply, NULL, "answer of a translator", REPLY_MAX);
  }
  tr->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS;
  MTR_GOTO(copy_command(tr, options->argv, err));
  MTR_GOTO(kiln_plan_cache_new(CACHE_ENTRIES, CACHE_BYTES, &tr->cache, err));
  for (i = 0; i < FIRST_WORKERS; i++)
    MTR_GOTO(start(tr, &tr->slots[i], err));
  *out = tr;
  tr = NULL;
done:
  kiln_translator_free(tr);
  return st;
}

/* A slot that nobody uses, those with a running process first. */
static struct slot *claim(struct kiln_translator *tr)
{
  struct slot *found = NULL;
  size_t i;

  for (i = 0; i < MAX_WORKERS; i++) {
    struct slot *slot = &tr->slots[i];

    if (!slot->busy && (!found || (found->worker.fd < 0 && slot->worker.fd >= 0))) found = slot;
  }
  if (found) found->busy = true;
  return found;
}

static void wait_a_little(struct kiln_translator *tr)
{
  struct timespec until;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000L;
  }
  (void)pthread_cond_timedwait(&tr->freed, &tr->lock, &until);
}

static enum mortar_status take(struct kiln_translator *tr, int64_t deadline,
                               const atomic_bool *stop, struct slot **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;

  pthread_mutex_lock(&tr->lock);
  while (!(*out = claim(tr)) && st == MORTAR_OK) {
    if (atomic_load(stop))
      st = mtr_fail(err, MORTAR_CANCELED, "cancelled before the translation");
    else if (mtr_clock_now() >= deadline)
      st = mtr_fail(err, MORTAR_TIMEOUT, "all %d translators are busy", MAX_WORKERS);
    else
      wait_a_little(tr);
  }
  pthread_mutex_unlock(&tr->lock);
  return st;
}

static void give_back(struct kiln_translator *tr, struct slot *slot)
{
  mtr_buf_trim(&slot->message, KEEP_BYTES);
  mtr_buf_trim(&slot->reply, KEEP_BYTES);
  pthread_mutex_lock(&tr->lock);
  slot->busy = false;
  pthread_cond_signal(&tr->freed);
  pthread_mutex_unlock(&tr->lock);
}

static enum mortar_status put_message(struct mtr_buf *buf, const struct mtr_span *fields,
                                      size_t count, struct mtr_span more, struct mortar_error *err)
{
  size_t i;

  mtr_buf_reset(buf);
  for (i = 0; i < count; i++)
    MTR_TRY(kiln_field_put(buf, fields[i], err));
  return mtr_buf_append(buf, more.data, more.size, err);
}

static enum mortar_status exchange(struct kiln_translator *tr, struct slot *slot, int64_t deadline,
                                   const atomic_bool *stop, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;

  if (slot->worker.fd < 0) MTR_TRY(start(tr, slot, err));
  st = kiln_worker_exchange(&slot->worker, mtr_buf_span(&slot->message), deadline, stop,
                            &slot->reply, err);
  if (st != MORTAR_OK) kiln_worker_end(&slot->worker);
  return st;
}

/* One statement on one slot: its text is the second field; more are fields that are encoded
 * already. A process that ended may have done so before it was asked, so the message is sent once
 * more, to a new one. */
static enum mortar_status ask(struct kiln_translator *tr, const struct mtr_span *fields,
                              size_t count, struct mtr_span more, const atomic_bool *stop,
                              struct kiln_plan **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  int64_t limit_ms = tr->timeout_ms + (int64_t)(fields[1].size / BYTES_PER_MS);
  int64_t deadline = mtr_deadline_after(mtr_clock_now(), limit_ms);
  struct slot *slot = NULL;

  MTR_TRY(take(tr, deadline, stop, &slot, err));
  MTR_GOTO(put_message(&slot->message, fields, count, more, err));
  st = exchange(tr, slot, deadline, stop, err);
  if (st == MORTAR_IO) st = exchange(tr, slot, deadline, stop, err);
  if (st == MORTAR_OK) st = kiln_plan_decode(mtr_buf_span(&slot->reply), out, err);
done:
  /* The place of one that was ended is filled now, so that the next statement finds it loaded. If
   * that fails, the next statement tries again and says why. */
  if (slot->worker.fd < 0 && start(tr, slot, NULL) != MORTAR_OK) slot->worker.fd = -1;
  give_back(tr, slot);
  return st;
}

enum mortar_status kiln_translator_plan(struct kiln_translator *tr, const struct kiln_plan_key *key,
                                        const atomic_bool *stop, struct kiln_plan **out,
                                        struct mortar_error *err)
{
  const struct mtr_span fields[] = {mtr_span_text("translate"), key->sql, key->catalog,
                                    key->schema};

  bool keep = key->sql.size <= CACHE_TEXT_MAX;

  *out = keep ? kiln_plan_cache_get(tr->cache, key) : NULL;
  if (*out) return MORTAR_OK;
  MTR_TRY(ask(tr, fields, sizeof fields / sizeof *fields, key->valued, stop, out, err));
  if (keep && !(*out)->valued) kiln_plan_cache_put(tr->cache, key, *out);
  return MORTAR_OK;
}

enum mortar_status kiln_translator_samples(struct kiln_translator *tr, const char *work_folder,
                                           const atomic_bool *stop, struct kiln_plan **out,
                                           struct mortar_error *err)
{
  const struct mtr_span fields[] = {mtr_span_text("samples"), mtr_span_text(work_folder)};

  *out = NULL;
  return ask(tr, fields, sizeof fields / sizeof *fields, mtr_span_of(NULL, 0), stop, out, err);
}

void kiln_translator_free(struct kiln_translator *tr)
{
  size_t i;

  if (!tr) return;
  for (i = 0; i < MAX_WORKERS; i++) {
    kiln_worker_end(&tr->slots[i].worker);
    mtr_buf_fini(&tr->slots[i].message);
    mtr_buf_fini(&tr->slots[i].reply);
  }
  for (i = 0; i < MAX_ARGUMENTS; i++)
    mtr_free_text(NULL, tr->argv[i]);
  kiln_plan_cache_free(tr->cache);
  pthread_cond_destroy(&tr->freed);
  pthread_mutex_destroy(&tr->lock);
  mtr_free(NULL, tr, sizeof *tr);
}
