/* A few parsed stores by what they were made from; the one unused for longest makes room. A store
 * lives on with the endpoints that hold it. After a fork the child forgets the stores: another
 * thread of the parent may have held their locks. */
#include "net/ca_cache.h"

#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "net/ca_store.h"
#include "net/process.h"

enum {
  MAX_STORES = 4,      /* a program trusts one bundle, seldom two; each takes about 830 KB */
  MAX_KEY = 256 * 1024 /* three paths or values of the environment */
};

struct cached {
  struct mtr_buf key;
  X509_STORE *store; /* NULL: free */
  uint64_t used;     /* a count of uses, for the oldest */
};

/* All under mtr_process_lock. */
static struct cached stores[MAX_STORES];
static uint64_t uses, generation;

/* ---- Keys ---------------------------------------------------------------------------------- */

/* No path holds a NUL, so parts that end with one can't be taken for others. */
static enum mortar_status add_path(struct mtr_buf *key, const char *path, struct mortar_error *err)
{
  struct stat s;

  if (stat(path, &s) != 0) memset(&s, 0, sizeof s);
  return mtr_buf_printf(key, err, "%s%c%ju %ju %jd %jd.%09ld%c", path, 0, (uintmax_t)s.st_dev,
                        (uintmax_t)s.st_ino, (intmax_t)s.st_size, (intmax_t)s.st_mtim.tv_sec,
                        s.st_mtim.tv_nsec, 0);
}

static const char *or_default(const char *value, const char *otherwise)
{
  return value ? value : otherwise;
}

enum mortar_status mtr_ca_cache_key(const char *ca_file, const char *fallback_file,
                                    struct mtr_buf *key, struct mortar_error *err)
{
  const char *file = getenv(X509_get_default_cert_file_env());
  const char *dir = getenv(X509_get_default_cert_dir_env());

  if (ca_file) return add_path(key, ca_file, err);
  MTR_TRY(add_path(key, or_default(file, X509_get_default_cert_file()), err));
  MTR_TRY(add_path(key, or_default(dir, X509_get_default_cert_dir()), err));
  return add_path(key, or_default(fallback_file, ""), err);
}

/* ---- The stores ---------------------------------------------------------------------------- */

static void lock_stores(void)
{
  if (mtr_process_lock(&generation)) memset(stores, 0, sizeof stores);
}

/* The store with this key, one reference more, or NULL. Under the lock. */
static X509_STORE *find(const struct mtr_buf *key)
{
  size_t i;

  for (i = 0; i < MAX_STORES; i++) {
    struct cached *c = &stores[i];
    if (!c->store || !mtr_span_equal(mtr_buf_span(&c->key), mtr_buf_span(key))) continue;
    if (!X509_STORE_up_ref(c->store)) return NULL;
    c->used = ++uses;
    return c->store;
  }
  return NULL;
}

static X509_STORE *look_up(const struct mtr_buf *key)
{
  X509_STORE *store;

  lock_stores();
  store = find(key);
  mtr_process_unlock();
  return store;
}

/* Keeps the store, takes the key's bytes over, and gives back the store to use: this one, or the
 * one that another thread kept meanwhile. */
static X509_STORE *keep(struct mtr_buf *key, X509_STORE *store)
{
  struct cached *oldest = stores, old = {.store = NULL};
  X509_STORE *other;
  size_t i;

  lock_stores();
  other = find(key);
  if (!other && X509_STORE_up_ref(store)) {
    for (i = 1; i < MAX_STORES; i++)
      if (stores[i].used < oldest->used) oldest = &stores[i];
    old = *oldest;
    *oldest = (struct cached){*key, store, ++uses};
    mtr_buf_init(key, NULL, key->what, key->max);
  }
  mtr_process_unlock();
  mtr_buf_fini(&old.key);
  X509_STORE_free(other ? store : old.store);
  return other ? other : store;
}

enum mortar_status mtr_ca_cache_get(const char *ca_file, const char *fallback_file,
                                    X509_STORE **out, struct mortar_error *err)
{
  enum mortar_status st;
  struct mtr_buf key;

  *out = NULL;
  mtr_buf_init(&key, NULL, "CA store key", MAX_KEY);
  MTR_GOTO(mtr_ca_cache_key(ca_file, fallback_file, &key, err));
  *out = look_up(&key);
  if (*out) goto done;
  MTR_GOTO(mtr_ca_store_new(ca_file, fallback_file, out, err));
  *out = keep(&key, *out);
done:
  mtr_buf_fini(&key);
  return st;
}
