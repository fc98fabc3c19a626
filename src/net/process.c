/* Counts forks through pthread_atfork. A child made by a bare clone system call is not seen. */
#include "net/process.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t generation = 1;

static void in_child(void) { atomic_fetch_add(&generation, 1); }

static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, in_child); }

uint64_t mtr_process_generation(void)
{
  (void)pthread_once(&once, watch_forks);
  return atomic_load(&generation);
}
