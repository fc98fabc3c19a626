/* Fuzzes the headers in the answer to a volume statement: whatever the text is, it is read within
 * its bounds and becomes a list of whole texts, or nothing. */
#include <stdlib.h>

#include "client/volume_row.h"

enum { ARENA_MAX = 16 << 20 };

static void must(bool yes)
{
  if (!yes) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct mtr_volume_row row = {0};
  struct mtr_arena arena;
  size_t i, length = 0;

  mtr_arena_init(&arena, NULL, ARENA_MAX);
  if (mtr_volume_headers(mtr_span_of(data, size), &arena, &row, NULL) == MORTAR_OK)
    for (i = 0; i < row.header_count; i++)
      length += strlen(row.headers[i].name) + strlen(row.headers[i].value);
  must(length <= size);
  mtr_arena_fini(&arena);
  return 0;
}
