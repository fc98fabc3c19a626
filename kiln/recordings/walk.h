/* Goes through recordings: a file of exchanges, or every .jsonl file in a folder and below it, in
 * the order of the names. docs/decode_recordings.md has the format. */
#ifndef KILN_RECORDINGS_WALK_H
#define KILN_RECORDINGS_WALK_H

#include "kiln/recordings/exchange.h"

struct kiln_recording_visitor {
  void *ctx;
  /* Another file begins. */
  void (*file)(void *ctx, const char *path);
  /* One line of it, counted from 1; x is good for this call only. err is set, with the reason, when
   * the line can't be read, or when the file can't: then line is 0. False ends the walk. */
  bool (*exchange)(void *ctx, size_t line, const struct kiln_recorded *x,
                   const struct mortar_error *err);
};

/* Blank lines are no exchanges. Linked folders are not entered. */
void kiln_recording_walk(const char *path, const struct kiln_recording_visitor *visitor);

#endif
