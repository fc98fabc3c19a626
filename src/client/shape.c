/* Derives shapes and finds them again. A shape never changes once it is made. */
#include "client/shape.h"

#include <stdatomic.h>

#include "arrow/ipc_reader.h"
#include "base/alloc.h"
#include "base/error.h"
#include "client/sql_type.h"

enum { SHAPE_ARENA_MAX = 256 << 20, TYPE_NAME_MAX = 1 << 20 };

static enum mortar_status derive_type_names(struct mtr_shape *shape, struct mortar_error *err)
{
  const struct mtr_arrow_field *root = &shape->schema.root;
  enum mortar_status st = MORTAR_OK;
  struct mtr_buf name;
  int64_t i;

  mtr_buf_init(&name, &shape->alloc, "type name", TYPE_NAME_MAX);
  shape->type_names =
      mtr_arena_alloc(&shape->arena, (size_t)root->child_count + 1, sizeof *shape->type_names);
  if (!shape->type_names) return mtr_arena_fail(&shape->arena, err, "type names");
  for (i = 0; i < root->child_count; i++) {
    mtr_buf_reset(&name);
    MTR_GOTO(mtr_sql_type_name(&root->children[i], &name, err));
    shape->type_names[i] = mtr_arena_text(&shape->arena, name.data, name.size);
    if (!shape->type_names[i]) MTR_GOTO(mtr_arena_fail(&shape->arena, err, "type names"));
  }
done:
  mtr_buf_fini(&name);
  return st;
}

/* A result without columns: what DDL gives. */
static void no_columns(struct mtr_arrow_schema *schema)
{
  memset(schema, 0, sizeof *schema);
  schema->root.name = "";
  schema->root.type = MTR_ARROW_STRUCT;
  schema->root.format = "+s";
}

static enum mortar_status derive(struct mtr_shape *shape, struct mtr_span message,
                                 struct mortar_error *err)
{
  char *key = mtr_arena_text(&shape->arena, message.data, message.size);

  if (!key) return mtr_arena_fail(&shape->arena, err, "schema");
  shape->key = mtr_span_of(key, message.size);
  if (message.size == 0)
    no_columns(&shape->schema);
  else
    MTR_TRY(mtr_ipc_read_schema(shape->key, &shape->arena, &shape->schema, err));
  return derive_type_names(shape, err);
}

enum mortar_status mtr_shape_new(const struct mortar_alloc *alloc, struct mtr_span schema_message,
                                 uint64_t id, struct mtr_shape **out, struct mortar_error *err)
{
  struct mtr_shape *shape = mtr_calloc(alloc, 1, sizeof *shape);
  enum mortar_status st;

  *out = NULL;
  if (!shape) return mtr_fail_nomem(err, "schema");
  shape->alloc = alloc ? *alloc : *mtr_alloc_default();
  atomic_init(&shape->count, 1);
  shape->id = id;
  mtr_arena_init(&shape->arena, &shape->alloc, SHAPE_ARENA_MAX);
  st = derive(shape, schema_message, err);
  if (st == MORTAR_OK)
    *out = shape;
  else
    mtr_shape_unref(shape);
  return st;
}

struct mtr_shape *mtr_shape_ref(struct mtr_shape *shape)
{
  atomic_fetch_add_explicit(&shape->count, 1, memory_order_relaxed);
  return shape;
}

void mtr_shape_unref(struct mtr_shape *shape)
{
  struct mortar_alloc alloc;

  if (!shape || atomic_fetch_sub_explicit(&shape->count, 1, memory_order_acq_rel) != 1) return;
  alloc = shape->alloc;
  mtr_arena_fini(&shape->arena);
  mtr_free(&alloc, shape, sizeof *shape);
}

enum mortar_status mtr_shape_check(const struct mtr_shape *shape, struct mtr_span schema_message,
                                   struct mortar_error *err)
{
  struct mtr_arrow_schema schema;
  struct mtr_arena arena;
  enum mortar_status st;

  if (mtr_span_equal(shape->key, schema_message)) return MORTAR_OK;
  mtr_arena_init(&arena, &shape->alloc, SHAPE_ARENA_MAX);
  MTR_GOTO(mtr_ipc_read_schema(schema_message, &arena, &schema, err));
  if (!mtr_arrow_schema_same_types(&shape->schema, &schema))
    st = mtr_fail(err, MORTAR_CORRUPT, "its columns are not those of the result");
done:
  mtr_arena_fini(&arena);
  return st;
}

void mtr_shape_cache_init(struct mtr_shape_cache *cache)
{
  memset(cache, 0, sizeof *cache);
  (void)pthread_mutex_init(&cache->lock, NULL);
  cache->next_id = 1;
}

void mtr_shape_cache_fini(struct mtr_shape_cache *cache)
{
  size_t i;

  for (i = 0; i < cache->used; i++)
    mtr_shape_unref(cache->shapes[i]);
  cache->used = 0;
  (void)pthread_mutex_destroy(&cache->lock);
}

/* Moves entry i to the front and hands out a count of it. */
static struct mtr_shape *touch(struct mtr_shape_cache *cache, size_t i)
{
  struct mtr_shape *shape = cache->shapes[i];

  memmove(cache->shapes + 1, cache->shapes, i * sizeof *cache->shapes);
  cache->shapes[0] = shape;
  return mtr_shape_ref(shape);
}

static struct mtr_shape *find(struct mtr_shape_cache *cache, struct mtr_span message)
{
  size_t i;

  for (i = 0; i < cache->used; i++)
    if (mtr_span_equal(cache->shapes[i]->key, message)) return touch(cache, i);
  return NULL;
}

/* Puts shape in front; returns the one that fell out, to be let go without the lock. */
static struct mtr_shape *insert(struct mtr_shape_cache *cache, struct mtr_shape *shape)
{
  struct mtr_shape *out = NULL;

  if (cache->used == MTR_SHAPE_CACHE_SIZE) out = cache->shapes[--cache->used];
  memmove(cache->shapes + 1, cache->shapes, cache->used * sizeof *cache->shapes);
  cache->shapes[0] = mtr_shape_ref(shape);
  cache->used++;
  return out;
}

enum mortar_status mtr_shape_cache_get(struct mtr_shape_cache *cache,
                                       const struct mortar_alloc *alloc,
                                       struct mtr_span schema_message, struct mtr_shape **out,
                                       struct mortar_error *err)
{
  struct mtr_shape *dropped, *same;
  uint64_t id;

  (void)pthread_mutex_lock(&cache->lock);
  *out = find(cache, schema_message);
  if (*out)
    cache->hits++;
  else
    cache->misses++;
  id = *out ? 0 : cache->next_id++;
  (void)pthread_mutex_unlock(&cache->lock);
  if (*out) return MORTAR_OK;

  MTR_TRY(mtr_shape_new(alloc, schema_message, id, out, err));
  (void)pthread_mutex_lock(&cache->lock);
  /* Another thread may have derived the same shape meanwhile: one id for one schema. */
  same = find(cache, schema_message);
  dropped = same ? *out : insert(cache, *out);
  if (same) *out = same;
  (void)pthread_mutex_unlock(&cache->lock);
  mtr_shape_unref(dropped);
  return MORTAR_OK;
}
