/* Finds or makes endpoints. The lock covers comparing keys and nothing else: a CA file is parsed
 * without it, so two threads that come at once may both make an endpoint, of which one is kept. */
#include "net/endpoint_registry.h"

#include "base/alloc.h"
#include "base/error.h"
#include "net/curl_target.h"
#include "net/endpoint_internal.h"
#include "net/process.h"

enum { MAX_KEY = 512 * 1024 }; /* a host, a proxy, the paths of CA files */

/* Both under mtr_process_lock. */
static struct mtr_registered *first;
static uint64_t generation;

static void lock_registry(void)
{
  if (mtr_process_lock(&generation)) first = NULL;
}

/* With its NUL, which keeps it apart from what follows. One that is not set is no empty one. */
static enum mortar_status add_text(struct mtr_buf *key, const char *text, struct mortar_error *err)
{
  MTR_TRY(mtr_buf_append(key, text ? "+" : "-", 1, err));
  return mtr_buf_append(key, text ? text : "", text ? strlen(text) + 1 : 1, err);
}

static enum mortar_status write_key(struct mtr_buf *key, const struct mtr_endpoint_options *o,
                                    struct mortar_error *err)
{
  MTR_TRY(mtr_buf_printf(key, err, "%jd %jd %zu %d ", (intmax_t)o->connect_timeout_ms,
                         (intmax_t)o->idle_ms, o->max_reply, (int)o->wire));
  /* Behind a login a connection is one user's. */
  if (o->wire == MTR_WIRE_SASL) {
    MTR_TRY(add_text(key, o->user, err));
    MTR_TRY(add_text(key, o->password, err));
  }
  return mtr_curl_target_key(o, key, err);
}

static bool is_for(const struct mtr_registered *entry, const struct mtr_buf *key,
                   const struct mortar_alloc *alloc)
{
  const struct mortar_alloc *own = mtr_endpoint_alloc(entry->endpoint);

  return own->fn == alloc->fn && own->ctx == alloc->ctx &&
         mtr_span_equal(mtr_buf_span(&entry->key), mtr_buf_span(key));
}

/* One that lives, one reference more, or NULL. Under the lock. One whose last reference went is
 * still listed until its owner gets the lock, so the memory is there. */
static struct mtr_endpoint *find(const struct mtr_buf *key, const struct mortar_alloc *alloc)
{
  struct mtr_registered *entry = first;

  while (entry && !(is_for(entry, key, alloc) && mtr_endpoint_ref_alive(entry->endpoint)))
    entry = entry->next;
  return entry ? entry->endpoint : NULL;
}

static struct mtr_endpoint *look_up(const struct mtr_buf *key, const struct mortar_alloc *alloc)
{
  struct mtr_endpoint *endpoint;

  lock_registry();
  endpoint = find(key, alloc);
  mtr_process_unlock();
  return endpoint;
}

/* Lists a new endpoint unless another thread was faster; the endpoint to use. */
static struct mtr_endpoint *list(struct mtr_endpoint *made, const struct mortar_alloc *alloc)
{
  struct mtr_registered *entry = mtr_endpoint_registered(made);
  struct mtr_endpoint *other;

  lock_registry();
  other = find(&entry->key, alloc);
  if (!other) {
    entry->next = first;
    first = entry;
  }
  mtr_process_unlock();
  return other ? other : made;
}

enum mortar_status mtr_endpoint_get(const struct mtr_endpoint_options *options,
                                    const struct mortar_alloc *alloc, struct mtr_endpoint **out,
                                    struct mortar_error *err)
{
  struct mtr_endpoint *made = NULL;
  enum mortar_status st;
  struct mtr_buf key;

  *out = NULL;
  if (!alloc) alloc = mtr_alloc_default();
  mtr_buf_init(&key, alloc, "endpoint key", MAX_KEY);
  MTR_GOTO(write_key(&key, options, err));
  *out = look_up(&key, alloc);
  if (*out) goto done;
  MTR_GOTO(mtr_endpoint_new(options, alloc, &made, err));
  MTR_GOTO(mtr_buf_append(&mtr_endpoint_registered(made)->key, key.data, key.size, err));
  *out = list(made, alloc);
  if (*out == made) made = NULL;
done:
  mtr_endpoint_unref(made);
  mtr_buf_fini(&key);
  return st;
}

void mtr_registered_init(struct mtr_registered *entry, struct mtr_endpoint *endpoint,
                         const struct mortar_alloc *alloc)
{
  entry->endpoint = endpoint;
  entry->next = NULL;
  mtr_buf_init(&entry->key, alloc, "endpoint key", MAX_KEY);
}

void mtr_registered_fini(struct mtr_registered *entry, bool inherited)
{
  struct mtr_registered **link = &first;

  if (!inherited) {
    lock_registry();
    while (*link && *link != entry)
      link = &(*link)->next;
    if (*link) *link = entry->next;
    mtr_process_unlock();
  }
  mtr_buf_fini(&entry->key);
}
