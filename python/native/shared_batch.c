/* The columns of a window are shallow copies with another offset; they have no release of their
 * own to run, but consumers may move a child out: so every child counts too. */
#include "python/native/shared_batch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct owner {
  _Atomic int64_t count;
  struct ArrowArray batch; /* the real one */
};

/* One window: its columns and what they need, freed with the last of them. */
struct window {
  _Atomic int64_t count; /* of the struct array and its columns that are not released */
  struct owner *owner;
  struct ArrowArray **pointers;
  struct ArrowArray columns[];
};

static void unref_owner(struct owner *owner)
{
  if (atomic_fetch_sub_explicit(&owner->count, 1, memory_order_acq_rel) != 1) return;
  owner->batch.release(&owner->batch);
  free(owner);
}

static void unref_window(struct window *w)
{
  if (atomic_fetch_sub_explicit(&w->count, 1, memory_order_acq_rel) != 1) return;
  unref_owner(w->owner);
  free(w->pointers);
  free(w);
}

static void release_column(struct ArrowArray *column)
{
  column->release = NULL;
  unref_window(column->private_data);
}

static void release_window(struct ArrowArray *array)
{
  int64_t i;

  for (i = 0; i < array->n_children; i++)
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
  array->release = NULL;
  unref_window(array->private_data);
}

static bool make_window(struct owner *owner, int64_t first, int64_t count, struct ArrowArray *out)
{
  int64_t i, n = owner->batch.n_children;
  struct window *w = calloc(1, sizeof *w + (size_t)n * sizeof w->columns[0]);

  if (!w) return false;
  w->pointers = calloc((size_t)n + 1, sizeof *w->pointers);
  if (!w->pointers) {
    free(w);
    return false;
  }
  atomic_init(&w->count, n + 1);
  w->owner = owner;
  atomic_fetch_add_explicit(&owner->count, 1, memory_order_relaxed);
  *out = owner->batch;
  out->length = count;
  out->children = w->pointers;
  out->release = release_window;
  out->private_data = w;
  for (i = 0; i < n; i++) {
    w->pointers[i] = &w->columns[i];
    w->columns[i] = *owner->batch.children[i];
    w->columns[i].offset += first;
    w->columns[i].length = count;
    if (w->columns[i].null_count != 0) w->columns[i].null_count = -1;
    w->columns[i].release = release_column;
    w->columns[i].private_data = w;
  }
  return true;
}

bool shared_batch_window(struct ArrowArray *batch, int64_t first, int64_t count,
                         struct ArrowArray *window)
{
  struct owner *owner = calloc(1, sizeof *owner);
  struct ArrowArray whole;

  if (!owner) return false;
  atomic_init(&owner->count, 1);
  owner->batch = *batch;
  if (!make_window(owner, first, count, window)) {
    free(owner);
    return false;
  }
  if (!make_window(owner, 0, batch->length, &whole)) {
    owner->batch.release = NULL; /* still the caller's: take the window back without it */
    window->release = NULL;
    free(((struct window *)window->private_data)->pointers);
    free(window->private_data);
    free(owner);
    return false;
  }
  *batch = whole;
  unref_owner(owner);
  return true;
}
