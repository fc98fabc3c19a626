/* The batches that a cursor has received and not handed out: rows from (at, row) on are still to
 * come. Batches before `at` are kept while a call is under way, so that one that fails in the
 * middle can go back to where it began; native_queue_settle lets them go. */
#ifndef MORTAR_NATIVE_BATCH_QUEUE_H
#define MORTAR_NATIVE_BATCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mortar/mortar.h"

struct batch_queue {
  struct ArrowArray *items;
  size_t count, capacity, at;
  int64_t row; /* of items[at] */
};

/* A place in the queue, to come back to before the next settle. */
struct queue_place {
  size_t at;
  int64_t row;
};

/* Room for one more batch. False: out of memory. */
bool native_queue_reserve(struct batch_queue *q);

/* Moves a batch behind the others. Room was reserved. */
void native_queue_push(struct batch_queue *q, struct ArrowArray *batch);

/* The batch in which the next row lies, and how many rows are left in it; NULL: none is here. */
struct ArrowArray *native_queue_front(struct batch_queue *q, int64_t *left);

struct queue_place native_queue_tell(const struct batch_queue *q);
void native_queue_seek(struct batch_queue *q, struct queue_place place);

/* Releases what lies before the current place. */
void native_queue_settle(struct batch_queue *q);

/* Releases all batches; the room stays. */
void native_queue_reset(struct batch_queue *q);

void native_queue_fini(struct batch_queue *q);

#endif
