/* The cache of plans: a hash table with chains, and a ring in order of use. */
#include "kiln/engine/translate/plan_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { BUCKETS = 1024 };

struct entry {
  struct entry *next;          /* in its bucket */
  struct entry *newer, *older; /* in the ring */
  struct kiln_plan *plan;
  uint64_t hash;
  size_t key_size, bytes;
  uint8_t *key; /* behind the entry: catalog, 0, schema, 0, parameters, 0, statement */
};

struct kiln_plan_cache {
  pthread_mutex_t lock;
  struct entry *bucket[BUCKETS];
  struct entry ring; /* newer points to the entry used longest ago, older to the latest */
  size_t entries, bytes, max_entries, max_bytes;
};

enum mortar_status kiln_plan_cache_new(size_t max_entries, size_t max_bytes,
                                       struct kiln_plan_cache **out, struct mortar_error *err)
{
  struct kiln_plan_cache *cache = mtr_calloc(NULL, 1, sizeof *cache);

  *out = cache;
  if (!cache) return mtr_fail_nomem(err, "cache of translations");
  if (pthread_mutex_init(&cache->lock, NULL) != 0) {
    mtr_free(NULL, cache, sizeof *cache);
    *out = NULL;
    return mtr_fail_nomem(err, "lock of the cache of translations");
  }
  cache->ring.newer = cache->ring.older = &cache->ring;
  cache->max_entries = max_entries;
  cache->max_bytes = max_bytes;
  return MORTAR_OK;
}

static size_t joined_size(const struct kiln_plan_key *key)
{
  return key->catalog.size + key->schema.size + key->parameters.size + key->sql.size + 3;
}

static uint8_t *put_part(uint8_t *at, struct mtr_span part)
{
  if (part.size > 0) memcpy(at, part.data, part.size);
  return at + part.size;
}

static void join(const struct kiln_plan_key *key, uint8_t *out)
{
  out = put_part(out, key->catalog);
  *out++ = 0;
  out = put_part(out, key->schema);
  *out++ = 0;
  out = put_part(out, key->parameters);
  *out++ = 0;
  (void)put_part(out, key->sql);
}

/* FNV-1a over the same bytes that join writes. */
static uint64_t hash_bytes(uint64_t hash, struct mtr_span part)
{
  size_t i;

  for (i = 0; i < part.size; i++)
    hash = (hash ^ part.data[i]) * UINT64_C(1099511628211);
  return hash;
}

static uint64_t hash_key(const struct kiln_plan_key *key)
{
  static const uint8_t zero[1] = {0};
  uint64_t hash = hash_bytes(UINT64_C(14695981039346656037), key->catalog);

  hash = hash_bytes(hash, mtr_span_of(zero, 1));
  hash = hash_bytes(hash, key->schema);
  hash = hash_bytes(hash, mtr_span_of(zero, 1));
  hash = hash_bytes(hash, key->parameters);
  hash = hash_bytes(hash, mtr_span_of(zero, 1));
  return hash_bytes(hash, key->sql);
}

/* Compares one part and steps over it and the zero behind it. */
static bool same_part(const uint8_t **at, struct mtr_span part)
{
  struct mtr_span kept = mtr_span_of(*at, part.size);

  *at += part.size + 1;
  return mtr_span_equal(kept, part);
}

static bool same(const struct entry *entry, const struct kiln_plan_key *key)
{
  const uint8_t *at = entry->key;

  if (entry->key_size != joined_size(key)) return false;
  return same_part(&at, key->catalog) && at[-1] == 0 && same_part(&at, key->schema) &&
         at[-1] == 0 && same_part(&at, key->parameters) && at[-1] == 0 &&
         mtr_span_equal(mtr_span_of(at, key->sql.size), key->sql);
}

static struct entry *find(struct kiln_plan_cache *cache, const struct kiln_plan_key *key,
                          uint64_t hash)
{
  struct entry *entry = cache->bucket[hash % BUCKETS];

  while (entry && (entry->hash != hash || !same(entry, key)))
    entry = entry->next;
  return entry;
}

static void ring_remove(struct entry *entry)
{
  entry->newer->older = entry->older;
  entry->older->newer = entry->newer;
}

static void ring_add(struct kiln_plan_cache *cache, struct entry *entry)
{
  entry->older = cache->ring.older;
  entry->newer = &cache->ring;
  entry->older->newer = entry;
  cache->ring.older = entry;
}

static void drop(struct kiln_plan_cache *cache, struct entry *entry)
{
  struct entry **link = &cache->bucket[entry->hash % BUCKETS];

  while (*link != entry)
    link = &(*link)->next;
  *link = entry->next;
  ring_remove(entry);
  cache->entries--;
  cache->bytes -= entry->bytes;
  kiln_plan_unref(entry->plan);
  mtr_free(NULL, entry, sizeof *entry + entry->key_size);
}

struct kiln_plan *kiln_plan_cache_get(struct kiln_plan_cache *cache,
                                      const struct kiln_plan_key *key)
{
  uint64_t hash = hash_key(key);
  struct kiln_plan *plan = NULL;
  struct entry *entry;

  pthread_mutex_lock(&cache->lock);
  entry = find(cache, key, hash);
  if (entry) {
    ring_remove(entry);
    ring_add(cache, entry);
    plan = kiln_plan_ref(entry->plan);
  }
  pthread_mutex_unlock(&cache->lock);
  return plan;
}

static struct entry *entry_new(const struct kiln_plan_key *key, struct kiln_plan *plan,
                               uint64_t hash)
{
  size_t size = joined_size(key);
  struct entry *entry = mtr_calloc(NULL, 1, sizeof *entry + size);

  if (!entry) return NULL;
  entry->hash = hash;
  entry->key_size = size;
  entry->bytes = sizeof *entry + size + plan->size;
  entry->plan = kiln_plan_ref(plan);
  entry->key = (uint8_t *)(entry + 1);
  join(key, entry->key);
  return entry;
}

static void add(struct kiln_plan_cache *cache, struct entry *entry)
{
  entry->next = cache->bucket[entry->hash % BUCKETS];
  cache->bucket[entry->hash % BUCKETS] = entry;
  ring_add(cache, entry);
  cache->entries++;
  cache->bytes += entry->bytes;
  while (cache->entries > cache->max_entries || cache->bytes > cache->max_bytes)
    drop(cache, cache->ring.newer);
}

void kiln_plan_cache_put(struct kiln_plan_cache *cache, const struct kiln_plan_key *key,
                         struct kiln_plan *plan)
{
  uint64_t hash = hash_key(key);
  struct entry *entry = entry_new(key, plan, hash), *old;

  if (!entry) return;
  pthread_mutex_lock(&cache->lock);
  old = find(cache, key, hash);
  if (old) drop(cache, old);
  add(cache, entry);
  pthread_mutex_unlock(&cache->lock);
}

void kiln_plan_cache_free(struct kiln_plan_cache *cache)
{
  if (!cache) return;
  while (cache->entries > 0)
    drop(cache, cache->ring.newer);
  pthread_mutex_destroy(&cache->lock);
  mtr_free(NULL, cache, sizeof *cache);
}
