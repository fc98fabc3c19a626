/* Worker threads and two queues: jobs to run, jobs that have run. Refuses nothing that was
 * submitted; the bound on the queue is a question that callers ask first. */
#include "kiln/server/pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/wake.h"

/* More than this waiting means seconds of delay: a client is better told to come back later. */
enum { MAX_WAITING = 1024, MAX_WORKERS = 256 };

struct queue {
  struct kiln_job *first, **last;
  size_t count;
};

struct kiln_pool {
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct queue waiting, ended;
  bool stop;
  size_t busy; /* loop thread only */
  struct mortar_wake *wake;
  int threads, max_threads;
  pthread_t *thread;
};

static void queue_init(struct queue *queue)
{
  queue->first = NULL;
  queue->last = &queue->first;
  queue->count = 0;
}

static void queue_put(struct queue *queue, struct kiln_job *job)
{
  job->next = NULL;
  *queue->last = job;
  queue->last = &job->next;
  queue->count++;
}

static struct kiln_job *queue_take(struct queue *queue)
{
  struct kiln_job *job = queue->first;

  if (!job) return NULL;
  queue->first = job->next;
  if (!queue->first) queue->last = &queue->first;
  queue->count--;
  return job;
}

/* Waits for a job; NULL when the pool stops. */
static struct kiln_job *next_job(struct kiln_pool *pool)
{
  struct kiln_job *job;

  (void)pthread_mutex_lock(&pool->lock);
  while (!(job = queue_take(&pool->waiting)) && !pool->stop)
    (void)pthread_cond_wait(&pool->work, &pool->lock);
  (void)pthread_mutex_unlock(&pool->lock);
  return job;
}

static void *worker(void *arg)
{
  struct kiln_pool *pool = arg;
  struct kiln_job *job;
  bool first;

  while ((job = next_job(pool))) {
    job->run(job);
    (void)pthread_mutex_lock(&pool->lock);
    first = pool->ended.count == 0;
    queue_put(&pool->ended, job);
    (void)pthread_mutex_unlock(&pool->lock);
    if (first) mortar_wake_signal(pool->wake);
  }
  return NULL;
}

/* Signals are the program's own affair: its handlers shall run on its own threads. */
static enum mortar_status start_threads(struct kiln_pool *pool, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  sigset_t all, before;

  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  while (st == MORTAR_OK && pool->threads < pool->max_threads) {
    int failed = pthread_create(&pool->thread[pool->threads], NULL, worker, pool);
    if (failed)
      st = mtr_fail(err, MORTAR_LIMIT, "worker thread: %s", strerror(failed));
    else
      pool->threads++;
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return st;
}

enum mortar_status kiln_pool_new(int workers, struct kiln_pool **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct kiln_pool *pool = NULL;

  *out = NULL;
  if (workers < 1 || workers > MAX_WORKERS)
    return mtr_fail(err, MORTAR_INVALID, "%d workers: 1 to %d are possible", workers, MAX_WORKERS);
  pool = mtr_calloc(NULL, 1, sizeof *pool);
  if (!pool) return mtr_fail_nomem(err, "worker pool");
  (void)pthread_mutex_init(&pool->lock, NULL);
  (void)pthread_cond_init(&pool->work, NULL);
  queue_init(&pool->waiting);
  queue_init(&pool->ended);
  pool->max_threads = workers;
  pool->thread = mtr_calloc(NULL, (size_t)workers, sizeof *pool->thread);
  if (!pool->thread) {
    st = mtr_fail_nomem(err, "worker threads");
    goto done;
  }
  MTR_GOTO(mortar_wake_new(&pool->wake, err));
  MTR_GOTO(start_threads(pool, err));
  *out = pool;
  pool = NULL;
done:
  kiln_pool_free(pool);
  return st;
}

void kiln_pool_submit(struct kiln_pool *pool, struct kiln_job *job)
{
  pool->busy++;
  (void)pthread_mutex_lock(&pool->lock);
  queue_put(&pool->waiting, job);
  (void)pthread_cond_signal(&pool->work);
  (void)pthread_mutex_unlock(&pool->lock);
}

bool kiln_pool_full(struct kiln_pool *pool)
{
  bool full;

  (void)pthread_mutex_lock(&pool->lock);
  full = pool->waiting.count >= MAX_WAITING;
  (void)pthread_mutex_unlock(&pool->lock);
  return full;
}

int kiln_pool_fd(const struct kiln_pool *pool) { return mtr_wake_fd(pool->wake); }

/* The signal is cleared before the queue is looked at, so that none is lost in between. */
void kiln_pool_collect(struct kiln_pool *pool)
{
  struct kiln_job *job;

  mortar_wake_clear(pool->wake);
  for (;;) {
    (void)pthread_mutex_lock(&pool->lock);
    job = queue_take(&pool->ended);
    (void)pthread_mutex_unlock(&pool->lock);
    if (!job) return;
    pool->busy--;
    job->done(job);
  }
}

size_t kiln_pool_busy(const struct kiln_pool *pool) { return pool->busy; }

void kiln_pool_free(struct kiln_pool *pool)
{
  int i;

  if (!pool) return;
  (void)pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  (void)pthread_cond_broadcast(&pool->work);
  (void)pthread_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->threads; i++)
    (void)pthread_join(pool->thread[i], NULL);
  if (pool->thread) mtr_free(NULL, pool->thread, (size_t)pool->max_threads * sizeof *pool->thread);
  mortar_wake_free(pool->wake);
  (void)pthread_cond_destroy(&pool->work);
  (void)pthread_mutex_destroy(&pool->lock);
  mtr_free(NULL, pool, sizeof *pool);
}
