/* getrusage for the CPU, /proc/self/status for the memory. The ru_maxrss of getrusage is not used:
 * it also counts what the process that started this one had held. */
#include "bench/usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static double seconds_of(struct timeval tv) { return (double)tv.tv_sec + (double)tv.tv_usec / 1e6; }

static void read_memory(struct usage *usage)
{
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long long kb;

  if (!file) return;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "VmHWM: %lld", &kb) == 1) usage->max_rss_kb = kb;
    if (sscanf(line, "VmRSS: %lld", &kb) == 1) usage->rss_kb = kb;
  }
  (void)fclose(file);
}

struct usage usage_now(void)
{
  struct usage usage = {0};
  struct rusage ru = {0};

  (void)getrusage(RUSAGE_SELF, &ru);
  usage.user_seconds = seconds_of(ru.ru_utime);
  usage.system_seconds = seconds_of(ru.ru_stime);
  usage.switches = ru.ru_nvcsw;
  read_memory(&usage);
  return usage;
}

double usage_clock(void)
{
  struct timespec ts;

  (void)clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
