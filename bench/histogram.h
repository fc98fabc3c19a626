/* How often which latency was seen: counts in buckets whose width grows with the value, so that
 * millions of values take a fixed 10 KB and a quantile is within 1/32 of the truth. Values above
 * HISTOGRAM_MAX are counted as that. Knows no clock and no threads. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

enum {
  HISTOGRAM_STEPS = 32,  /* buckets for each doubling */
  HISTOGRAM_SHIFTS = 35, /* doublings above the first: about half an hour in nanoseconds */
  HISTOGRAM_BUCKETS = (HISTOGRAM_SHIFTS + 2) * HISTOGRAM_STEPS
};

#define HISTOGRAM_MAX (((int64_t)2 * HISTOGRAM_STEPS << HISTOGRAM_SHIFTS) - 1)

/* All zero means empty. */
struct histogram {
  uint64_t total;
  uint64_t counts[HISTOGRAM_BUCKETS];
};

/* A value below 0 counts as 0. */
void histogram_add(struct histogram *histogram, int64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The value that `share` (0 to 1) of all values are not above: the middle of its bucket. 0 when
 * there are none. */
int64_t histogram_quantile(const struct histogram *histogram, double share);

#endif
