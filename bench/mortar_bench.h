/* The two measurements of mortar_bench and what they are told. */
#ifndef BENCH_MORTAR_BENCH_H
#define BENCH_MORTAR_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/load.h"
#include "mortar/mortar.h"

struct bench_arguments {
  const char *uri;
  const char *sql;
  const char *ca_file; /* NULL: the system's certificates */
  bool shared;         /* one session for all threads */
  int64_t connects;    /* sessions to open; 0: run statements instead */
  struct load_plan plan;
};

/* A config for the URI; the caller frees it. NULL: it said why. */
struct mortar_config *bench_config(const struct bench_arguments *args);

/* Says what failed and returns false. */
bool bench_fail(const char *what, const struct mortar_error *err);

/* statements.c: runs the same statement again and again, reads every batch, prints what it cost. */
bool bench_statements(const struct bench_arguments *args);

/* connects.c: opens sessions and keeps them open, prints what each of them cost. */
bool bench_connects(const struct bench_arguments *args);

#endif
