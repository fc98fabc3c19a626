/* What an open session costs: CPU and resident memory of the first one, which pays for what all of
 * them share (libraries, the list of trusted certificates), and of each that follows. Sessions stay
 * open until the end, so the memory is that of so many connections at once. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/mortar_bench.h"
#include "bench/usage.h"

struct cost {
  double cpu_ms, wall_ms, rss_kb; /* of one session */
};

static bool open_some(const struct mortar_config *config, struct mortar_session **sessions,
                      int64_t count)
{
  struct mortar_error err = {0};
  int64_t i;

  for (i = 0; i < count; i++)
    if (mortar_session_open(config, NULL, &sessions[i], &err) != MORTAR_OK)
      return bench_fail("session", &err);
  return true;
}

static double cpu_seconds(const struct usage *usage)
{
  return usage->user_seconds + usage->system_seconds;
}

/* Opens `count` sessions; out is what each of them cost. */
static bool measure(const struct mortar_config *config, struct mortar_session **sessions,
                    int64_t count, struct cost *out)
{
  const struct usage before = usage_now();
  const double started = usage_clock();
  const bool ok = open_some(config, sessions, count);
  const double ended = usage_clock();
  const struct usage after = usage_now();

  out->cpu_ms = (cpu_seconds(&after) - cpu_seconds(&before)) * 1e3 / (double)count;
  out->wall_ms = (ended - started) * 1e3 / (double)count;
  out->rss_kb = (double)(after.rss_kb - before.rss_kb) / (double)count;
  return ok;
}

static void print_cost(const struct cost *first, const struct cost *each, int64_t count)
{
  printf("{\"program\": \"mortar\", \"connections\": %lld, ", (long long)count);
  printf("\"first_cpu_ms\": %.4f, \"first_wall_ms\": %.4f, \"first_rss_kb\": %.1f, ", first->cpu_ms,
         first->wall_ms, first->rss_kb);
  printf("\"cpu_ms\": %.4f, \"wall_ms\": %.4f, \"rss_kb\": %.1f}\n", each->cpu_ms, each->wall_ms,
         each->rss_kb);
}

bool bench_connects(const struct bench_arguments *args)
{
  struct mortar_config *config = bench_config(args);
  struct mortar_session **sessions = calloc((size_t)args->connects + 1, sizeof *sessions);
  struct cost first, each;
  int64_t i;
  bool ok = config && sessions && measure(config, sessions, 1, &first) &&
            measure(config, sessions + 1, args->connects, &each);

  if (ok) print_cost(&first, &each, args->connects);
  for (i = 0; sessions && i <= args->connects; i++)
    mortar_session_free(sessions[i]);
  free(sessions);
  mortar_config_free(config);
  return ok;
}
