/* A load: some threads, each of which does the same thing again and again, and what that cost the
 * process. The same code drives the plain program and the Mortar one, so that the difference
 * between their numbers is the difference between their `once` functions. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

enum { LOAD_THREADS_MAX = 1024 /* more is surely a slip */ };

struct load_plan {
  int threads;
  int64_t statements; /* of each thread; 0: as many as fit into seconds */
  double seconds;
  int64_t warm_up; /* of each thread, before anything is measured */
};

struct load_report {
  int64_t statements;                           /* of all threads, without the warm-up */
  double seconds, user_seconds, system_seconds; /* of the measured part */
  int64_t p50_ns, p99_ns;
  int64_t switches; /* voluntary context switches */
  int64_t max_rss_kb;
};

/* One statement; false ends the load. It says itself what went wrong. */
typedef bool load_once(void *client);

/* One thread for one second. */
struct load_plan load_plan_default(void);

/* The options of a program that runs a load: these four, by these letters. */
#define LOAD_USAGE                                                                                 \
  "  --threads N      threads, each with a connection of its own (1)\n"                            \
  "  --statements N   statements of each thread\n"                                                 \
  "  --seconds S      or: as many as fit into this time (1)\n"                                     \
  "  --warm-up N      statements of each thread before measuring (200)\n"

/* Letters t, n, s, w for the options above. false: it is none of them, or no number in range. */
bool load_option(struct load_plan *plan, int letter, const char *value);

/* A number from min to max and nothing else. */
bool load_number(const char *text, int64_t min, int64_t max, int64_t *out);

/* Runs it: thread i calls once(clients[i]). false: a call or a thread failed. */
bool load_run(const struct load_plan *plan, load_once *once, void *const *clients,
              struct load_report *out);

/* The report as members of a JSON object, each but the first after a comma, to stdout. */
void load_print(const struct load_report *report);

#endif
