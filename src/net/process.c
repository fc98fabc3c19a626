/* Counts forks through pthread_atfork. A child made by a bare clone system call is not seen. */
#include "net/process.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t generation; /* 0: forks are not counted yet */

static void before_fork(void) { (void)pthread_mutex_lock(&lock); }

static void in_parent(void) { (void)pthread_mutex_unlock(&lock); }

static void in_child(void)
{
  atomic_fetch_add(&generation, 1);
  (void)pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
  (void)pthread_atfork(before_fork, in_parent, in_child);
  atomic_store(&generation, 1);
}

uint64_t mtr_process_generation(void)
{
  const uint64_t now = atomic_load(&generation);

  if (now) return now;
  (void)pthread_once(&once, watch_forks);
  return atomic_load(&generation);
}

bool mtr_process_lock(uint64_t *table_generation)
{
  const uint64_t now = mtr_process_generation();
  bool anew;

  (void)pthread_mutex_lock(&lock);
  anew = *table_generation != now;
  *table_generation = now;
  return anew;
}

void mtr_process_unlock(void) { (void)pthread_mutex_unlock(&lock); }
