/* Plain memory, no Python: a queue may be emptied with the interpreter's lock let go. */
#include "python/native/batch_queue.h"

#include <stdlib.h>
#include <string.h>

bool native_queue_reserve(struct batch_queue *q)
{
  size_t want = q->capacity ? q->capacity * 2 : 4;
  struct ArrowArray *grown;

  if (q->count < q->capacity) return true;
  grown = realloc(q->items, want * sizeof *grown);
  if (!grown) return false;
  q->items = grown;
  q->capacity = want;
  return true;
}

void native_queue_push(struct batch_queue *q, struct ArrowArray *batch)
{
  q->items[q->count++] = *batch;
  batch->release = NULL;
}

struct ArrowArray *native_queue_front(struct batch_queue *q, int64_t *left)
{
  while (q->at < q->count && q->row >= q->items[q->at].length) {
    q->at++;
    q->row = 0;
  }
  if (q->at == q->count) return NULL;
  *left = q->items[q->at].length - q->row;
  return &q->items[q->at];
}

struct queue_place native_queue_tell(const struct batch_queue *q)
{
  return (struct queue_place){q->at, q->row};
}

void native_queue_seek(struct batch_queue *q, struct queue_place place)
{
  q->at = place.at;
  q->row = place.row;
}

static void drop(struct ArrowArray *batch)
{
  if (batch->release) batch->release(batch);
}

void native_queue_settle(struct batch_queue *q)
{
  int64_t left;
  size_t i;

  (void)native_queue_front(q, &left);
  if (q->at == 0) return;
  for (i = 0; i < q->at; i++)
    drop(&q->items[i]);
  memmove(q->items, q->items + q->at, (q->count - q->at) * sizeof *q->items);
  q->count -= q->at;
  q->at = 0;
}

void native_queue_reset(struct batch_queue *q)
{
  size_t i;

  for (i = 0; i < q->count; i++)
    drop(&q->items[i]);
  q->count = q->at = 0;
  q->row = 0;
}

void native_queue_fini(struct batch_queue *q)
{
  native_queue_reset(q);
  free(q->items);
  *q = (struct batch_queue){0};
}
