/* Buckets: the values below 64 have one each; above, a value is shifted right until it is below 64,
 * and the shift chooses one of the following groups of 32 buckets. */
#include "bench/histogram.h"

#include <stddef.h>

static size_t bucket_of(int64_t value)
{
  size_t shift = 0;

  if (value < 0) value = 0;
  if (value > HISTOGRAM_MAX) value = HISTOGRAM_MAX;
  while (value >> shift >= 2 * HISTOGRAM_STEPS)
    shift++;
  return shift * HISTOGRAM_STEPS + (size_t)(value >> shift);
}

static int64_t middle_of(size_t bucket)
{
  const size_t shift = bucket < 2 * HISTOGRAM_STEPS ? 0 : bucket / HISTOGRAM_STEPS - 1;
  const int64_t low = (int64_t)(bucket - shift * HISTOGRAM_STEPS) << shift;

  return low + (((int64_t)1 << shift) >> 1);
}

void histogram_add(struct histogram *histogram, int64_t value)
{
  histogram->total++;
  histogram->counts[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
  size_t i;

  into->total += from->total;
  for (i = 0; i < HISTOGRAM_BUCKETS; i++)
    into->counts[i] += from->counts[i];
}

int64_t histogram_quantile(const struct histogram *histogram, double share)
{
  const double wanted = share * (double)histogram->total;
  uint64_t seen = 0;
  size_t i;

  if (!histogram->total) return 0;
  for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
    seen += histogram->counts[i];
    if (seen && (double)seen >= wanted) return middle_of(i);
  }
  return HISTOGRAM_MAX;
}
