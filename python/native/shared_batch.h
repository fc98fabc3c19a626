/* A batch that several windows look at: counted, released with the last of them. */
#ifndef MORTAR_NATIVE_SHARED_BATCH_H
#define MORTAR_NATIVE_SHARED_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "mortar/mortar.h"

/* Makes window show rows [first, first + count) of a struct array, which is moved behind a count:
 * afterwards batch is itself a window of what it showed before. False: out of memory, nothing
 * changed. Windows are released on any thread. */
bool shared_batch_window(struct ArrowArray *batch, int64_t first, int64_t count,
                         struct ArrowArray *window);

#endif
