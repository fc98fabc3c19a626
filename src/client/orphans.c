/* The table of orphans and its thread. mtr_process_lock guards the table; entries are taken out by
 * the thread alone, which works on a copy, so no lock is held while it waits. */
#include "client/orphans.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/wake.h"
#include "net/process.h"

enum {
  ORPHANS_MAX = 128, /* each holds a connection; more at once means that the server is down */
  CALL_MS = 2000,    /* for one cancel or close */
  LOOK_MS = 20,      /* for a reply that has begun to come; the others wait meanwhile */
  LINGER_MS = 1000   /* the thread ends after so long without work */
};

struct orphan {
  struct mortar_session *session; /* counted */
  struct mtr_channel *channel;    /* may be NULL */
  enum mtr_orphan_kind kind;
  struct mtr_handle operation;
  int64_t expires;
};

/* running: the thread is at work or will look at the table once more. started: there is a thread to
 * join. */
static struct {
  uint64_t generation;
  struct orphan orphans[ORPHANS_MAX];
  size_t count, busy; /* busy: taken out by the thread and not done */
  bool running, started;
  pthread_t thread;
  struct mortar_wake *wake;
} table;
static atomic_bool stopping;              /* the process exits */
static _Atomic int64_t budget_ms = 60000; /* for a reply to come; servers name a statement within
                                             seconds */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_pending(enum mtr_orphan_kind kind)
{
  return kind == MTR_ORPHAN_OPENING || kind == MTR_ORPHAN_STARTING;
}

/* In the child of a fork everything in the table is the parent's, but the wake-up's descriptors are
 * copies. */
static void lock_table(void)
{
  if (!mtr_process_lock(&table.generation)) return;
  table.count = table.busy = 0;
  table.running = table.started = false;
  mortar_wake_free(table.wake);
  table.wake = NULL;
}

/* ---- One orphan ----------------------------------------------------------------------------- */

static int is_stopping(void *ctx)
{
  (void)ctx;
  return atomic_load(&stopping);
}

static struct mtr_wait wait_for_ms(int64_t ms)
{
  struct mtr_wait wait = {.deadline = mtr_deadline_after(mtr_clock_now(), ms), .tick = is_stopping};

  return wait;
}

static void cancel_and_close(const struct orphan *o, const struct mtr_handle *op, bool cancel)
{
  const struct mtr_backend *backend = o->session->backend;
  struct mtr_wait wait = wait_for_ms(CALL_MS);

  if (!op->guid_size) return;
  if (cancel) (void)!backend->cancel(o->session->bs, o->channel, op, &wait, NULL);
  wait = wait_for_ms(CALL_MS);
  (void)!backend->close_operation(o->session->bs, o->channel, op, &wait, NULL);
}

static void close_session(const struct orphan *o)
{
  const struct mtr_wait wait = wait_for_ms(CALL_MS);

  if (!o->session->backend->handle(o->session->bs)->guid_size) return;
  (void)!o->session->backend->close(o->session->bs, o->channel, &wait, NULL);
}

/* Takes what has arrived of the reply. The next step is known once the lease is not pending. */
static void look_for_reply(struct orphan *o)
{
  const struct mtr_backend *backend = o->session->backend;
  const struct mtr_wait wait = wait_for_ms(LOOK_MS);
  struct mtr_answer answer = {0};

  if (o->kind == MTR_ORPHAN_OPENING) {
    (void)!backend->finish_open(o->session->bs, o->channel, &wait, NULL);
    if (!mtr_lease_pending(o->channel->lease)) close_session(o);
    return;
  }
  (void)!backend->finish_execute(o->session->bs, o->channel, &wait, &answer, NULL);
  if (!mtr_lease_pending(o->channel->lease) && !answer.closed)
    cancel_and_close(o, &answer.operation, answer.live);
}

static void say_abandoned(const struct orphan *o)
{
  mtr_log(&o->session->watch.log, MORTAR_LOG_WARNING,
          "%s never answered; %s given up may still be there",
          mtr_endpoint_name(o->session->endpoint),
          o->kind == MTR_ORPHAN_OPENING ? "a session" : "a statement");
}

/* True when nothing more is to be done for it. */
static bool handle(struct orphan *o)
{
  if (!o->channel && mtr_session_take(o->session, &o->channel, NULL) != MORTAR_OK) return true;
  if (o->kind == MTR_ORPHAN_OPERATION) {
    cancel_and_close(o, &o->operation, true);
    return true;
  }
  if (o->kind == MTR_ORPHAN_SESSION) {
    close_session(o);
    return true;
  }
  look_for_reply(o);
  if (!mtr_lease_pending(o->channel->lease)) return true;
  if (mtr_clock_now() < o->expires) return false;
  say_abandoned(o);
  return true;
}

static void let_go(struct orphan *o)
{
  mtr_session_give(o->session, o->channel);
  mtr_session_unref(o->session);
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* Fills what to poll for: the wake-up, then each orphan. Returns the number of orphans, and until
 * when to wait. */
static size_t prepare_poll(struct pollfd *fds, int64_t *until)
{
  const int64_t now = mtr_clock_now();
  size_t i, n;

  lock_table();
  n = table.count;
  fds[0] = (struct pollfd){mtr_wake_fd(table.wake), POLLIN, 0};
  *until = mtr_deadline_after(now, LINGER_MS);
  for (i = 0; i < n; i++) {
    const struct orphan *o = &table.orphans[i];
    fds[i + 1] =
        (struct pollfd){is_pending(o->kind) ? mtr_lease_fd(o->channel->lease) : -1, POLLIN, 0};
    *until = mtr_deadline_min(*until, is_pending(o->kind) ? o->expires : now);
  }
  mtr_process_unlock();
  return n;
}

/* Takes the i-th out of the table; the last one moves to its place. */
static struct orphan take_out(size_t i)
{
  struct orphan o;

  lock_table();
  o = table.orphans[i];
  table.orphans[i] = table.orphans[--table.count];
  table.busy++;
  mtr_process_unlock();
  return o;
}

static void put_back(const struct orphan *o, bool done)
{
  lock_table();
  table.busy--;
  if (!done) table.orphans[table.count++] = *o;
  mtr_process_unlock();
}

static void handle_ready(const struct pollfd *fds, size_t n)
{
  const int64_t now = mtr_clock_now();

  /* From the last to the first: what moves into a place taken out has been looked at, or is new. */
  while (n-- > 0 && !atomic_load(&stopping)) {
    const bool ready = fds[n + 1].fd < 0 || fds[n + 1].revents || table.orphans[n].expires <= now;
    struct orphan o;
    bool done;
    if (!ready) continue;
    o = take_out(n);
    done = handle(&o);
    if (done) let_go(&o);
    put_back(&o, done);
  }
}

/* True when there is nothing left to do, which ends the thread. */
static bool retire(void)
{
  bool idle;

  lock_table();
  idle = table.count == 0;
  if (idle) {
    table.running = false;
    mortar_wake_free(table.wake);
    table.wake = NULL;
  }
  mtr_process_unlock();
  return idle;
}

static void *run(void *arg)
{
  struct pollfd fds[ORPHANS_MAX + 1];
  int64_t until;

  (void)arg;
  while (!atomic_load(&stopping)) {
    const size_t n = prepare_poll(fds, &until);
    const int k = poll(fds, (nfds_t)n + 1, mtr_deadline_poll_ms(until, mtr_clock_now()));
    if (fds[0].revents) mortar_wake_clear(table.wake);
    handle_ready(fds, n);
    if (n == 0 && k == 0 && retire()) break;
  }
  return NULL;
}

/* Runs before OpenSSL and libcurl clean up after themselves, because it was registered later. */
static void stop_at_exit(void)
{
  bool join;

  atomic_store(&stopping, true);
  lock_table();
  join = table.started;
  table.started = false;
  mortar_wake_signal(table.wake);
  mtr_process_unlock();
  if (join) (void)pthread_join(table.thread, NULL);
}

static void register_stop(void) { (void)atexit(stop_at_exit); }

/* Signals are for the program's threads. */
static bool start_thread(void)
{
  sigset_t all, old;
  bool ok;

  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &old);
  ok = pthread_create(&table.thread, NULL, run, NULL) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return ok;
}

/* Under the lock. A thread that has retired needs no lock any more, so joining it takes no time. */
static bool ensure_running(void)
{
  if (table.running) return true;
  if (table.started) (void)pthread_join(table.thread, NULL);
  table.started = false;
  if (!table.wake && mortar_wake_new(&table.wake, NULL) != MORTAR_OK) return false;
  table.started = table.running = start_thread();
  return table.running;
}

/* ---- From outside --------------------------------------------------------------------------- */

bool mtr_orphan_add(struct mortar_session *session, struct mtr_channel *channel,
                    enum mtr_orphan_kind kind, const struct mtr_handle *op)
{
  struct orphan o = {.session = mtr_session_ref(session), .channel = channel, .kind = kind};
  bool added;

  if (op) o.operation = *op;
  o.expires = mtr_deadline_after(mtr_clock_now(), atomic_load(&budget_ms));
  (void)pthread_once(&once, register_stop);
  lock_table();
  added = table.count + table.busy < ORPHANS_MAX && !atomic_load(&stopping) && ensure_running();
  if (added) {
    table.orphans[table.count++] = o;
    mortar_wake_signal(table.wake);
  }
  mtr_process_unlock();
  if (!added) {
    say_abandoned(&o);
    let_go(&o);
  }
  return added;
}

void mtr_orphan_set_budget_ms(int64_t ms) { atomic_store(&budget_ms, ms); }

static bool is_idle(void)
{
  bool idle;

  lock_table();
  idle = table.count + table.busy == 0;
  mtr_process_unlock();
  return idle;
}

bool mortar_background_wait(int64_t timeout_ms)
{
  const struct timespec pause = {0, 2 * 1000000};
  const int64_t until = mtr_deadline_after(mtr_clock_now(), timeout_ms);
  bool idle;

  while (!(idle = is_idle()) && mtr_clock_now() < until)
    (void)nanosleep(&pause, NULL);
  return idle;
}
