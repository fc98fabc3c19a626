/* All threads warm up, wait at a gate, and start together; the CPU is read while all of them wait
 * and again when all have ended, so making threads and connections is not in the numbers. */
#include "bench/load.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/histogram.h"
#include "bench/usage.h"

struct gate {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int waiting;
  bool open;
};

struct worker {
  const struct load_plan *plan;
  load_once *once;
  void *client;
  struct gate *gate;
  atomic_bool *failed; /* shared: the first failure ends all */
  pthread_t thread;
  struct histogram latencies;
};

struct load_plan load_plan_default(void)
{
  const struct load_plan plan = {1, 0, 1.0, 200};
  return plan;
}

bool load_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
  char *end;
  long long v;

  errno = 0;
  v = strtoll(text, &end, 10);
  if (end == text || *end || errno || v < min || v > max) return false;
  *out = v;
  return true;
}

static bool positive_seconds(const char *text, double *out)
{
  char *end;

  *out = strtod(text, &end);
  return end != text && !*end && *out > 0 && *out < 86400;
}

bool load_option(struct load_plan *plan, int letter, const char *value)
{
  int64_t threads;

  switch (letter) {
    case 't':
      if (!load_number(value, 1, LOAD_THREADS_MAX, &threads)) return false;
      plan->threads = (int)threads;
      return true;
    case 'n':
      return load_number(value, 1, INT64_MAX, &plan->statements);
    case 's':
      return positive_seconds(value, &plan->seconds);
    case 'w':
      return load_number(value, 0, INT64_MAX, &plan->warm_up);
    default:
      return false;
  }
}

/* ---- The gate ------------------------------------------------------------------------------ */

static void gate_pass(struct gate *gate)
{
  (void)pthread_mutex_lock(&gate->lock);
  gate->waiting++;
  (void)pthread_cond_broadcast(&gate->changed);
  while (!gate->open)
    (void)pthread_cond_wait(&gate->changed, &gate->lock);
  (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_await(struct gate *gate, int threads)
{
  (void)pthread_mutex_lock(&gate->lock);
  while (gate->waiting < threads)
    (void)pthread_cond_wait(&gate->changed, &gate->lock);
  (void)pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
  (void)pthread_mutex_lock(&gate->lock);
  gate->open = true;
  (void)pthread_cond_broadcast(&gate->changed);
  (void)pthread_mutex_unlock(&gate->lock);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static bool go_on(const struct worker *w, int64_t done, double now, double end)
{
  if (atomic_load_explicit(w->failed, memory_order_relaxed)) return false;
  return w->plan->statements ? done < w->plan->statements : now < end;
}

static void warm_up(struct worker *w)
{
  int64_t i;

  for (i = 0; i < w->plan->warm_up && !atomic_load(w->failed); i++)
    if (!w->once(w->client)) atomic_store(w->failed, true);
}

/* One look at the clock for each statement: the end of one is the start of the next. */
static void measure(struct worker *w)
{
  double before = usage_clock();
  const double end = before + w->plan->seconds;
  int64_t done;

  for (done = 0; go_on(w, done, before, end); done++) {
    double after;
    if (!w->once(w->client)) {
      atomic_store(w->failed, true);
      return;
    }
    after = usage_clock();
    histogram_add(&w->latencies, (int64_t)((after - before) * 1e9));
    before = after;
  }
}

static void *work(void *arg)
{
  struct worker *w = arg;

  warm_up(w);
  gate_pass(w->gate);
  measure(w);
  return NULL;
}

/* How many threads there are; fewer than planned when the system gives no more. */
static int start_workers(struct worker *workers, const struct load_plan *plan, load_once *once,
                         void *const *clients, struct gate *gate, atomic_bool *failed)
{
  int i;

  for (i = 0; i < plan->threads; i++) {
    struct worker *w = &workers[i];
    w->plan = plan;
    w->once = once;
    w->client = clients[i];
    w->gate = gate;
    w->failed = failed;
    if (pthread_create(&w->thread, NULL, work, w) != 0) break;
  }
  if (i < plan->threads) {
    fprintf(stderr, "bench: only %d of %d threads could be started\n", i, plan->threads);
    atomic_store(failed, true);
  }
  return i;
}

static void fill_report(struct load_report *out, const struct histogram *all, struct usage before,
                        struct usage after, double seconds)
{
  out->statements = (int64_t)all->total;
  out->seconds = seconds;
  out->user_seconds = after.user_seconds - before.user_seconds;
  out->system_seconds = after.system_seconds - before.system_seconds;
  out->switches = after.switches - before.switches;
  out->p50_ns = histogram_quantile(all, 0.50);
  out->p99_ns = histogram_quantile(all, 0.99);
  out->max_rss_kb = after.max_rss_kb;
}

bool load_run(const struct load_plan *plan, load_once *once, void *const *clients,
              struct load_report *out)
{
  struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
  struct worker *workers = calloc((size_t)plan->threads, sizeof *workers);
  struct histogram all = {0};
  struct usage before, after;
  atomic_bool failed;
  double started, ended;
  int count, i;

  if (!workers) {
    fprintf(stderr, "bench: out of memory\n");
    return false;
  }
  atomic_init(&failed, false);
  count = start_workers(workers, plan, once, clients, &gate, &failed);
  gate_await(&gate, count);
  before = usage_now();
  started = usage_clock();
  gate_open(&gate);
  for (i = 0; i < count; i++)
    (void)pthread_join(workers[i].thread, NULL);
  ended = usage_clock();
  after = usage_now();
  for (i = 0; i < count; i++)
    histogram_merge(&all, &workers[i].latencies);
  fill_report(out, &all, before, after, ended - started);
  free(workers);
  return !atomic_load(&failed) && out->statements > 0;
}

void load_print(const struct load_report *r)
{
  const double n = (double)r->statements;

  printf("\"statements\": %lld, \"seconds\": %.6f, \"per_second\": %.1f", (long long)r->statements,
         r->seconds, n / r->seconds);
  printf(", \"cpu_us\": %.4f, \"user_us\": %.4f, \"system_us\": %.4f",
         (r->user_seconds + r->system_seconds) / n * 1e6, r->user_seconds / n * 1e6,
         r->system_seconds / n * 1e6);
  printf(", \"p50_us\": %.3f, \"p99_us\": %.3f, \"switches\": %.3f, \"max_rss_kb\": %lld",
         (double)r->p50_ns / 1e3, (double)r->p99_ns / 1e3, (double)r->switches / n,
         (long long)r->max_rss_kb);
}
