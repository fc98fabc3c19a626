/* One translator: a process of ours at the other end of a socket, which answers one message at a
 * time. Owned by one thread while it is used. Knows nothing of what the messages say. */
#ifndef KILN_ENGINE_TRANSLATE_WORKER_H
#define KILN_ENGINE_TRANSLATE_WORKER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/buf.h"

struct kiln_worker {
  pid_t pid;
  int fd; /* -1: not running */
};

/* Starts argv[0] with the socket as its standard input and output, in a process group of its own:
 * a Ctrl-C at the terminal is for Kiln, which then ends its translators itself. */
MORTAR_MUST_USE enum mortar_status kiln_worker_start(struct kiln_worker *worker,
                                                     const char *const *argv,
                                                     struct mortar_error *err);

/* Sends a message (its length is put before it) and waits for the answer, whose body is left in
 * reply. IO: the process is gone. TIMEOUT: the deadline passed. CANCELED: *stop became true. After
 * any failure the worker must be ended: an answer may still be on its way. */
MORTAR_MUST_USE enum mortar_status kiln_worker_exchange(struct kiln_worker *worker,
                                                        struct mtr_span message, int64_t deadline,
                                                        const atomic_bool *stop,
                                                        struct mtr_buf *reply,
                                                        struct mortar_error *err);

/* Kills the process, waits for it and closes the socket. */
void kiln_worker_end(struct kiln_worker *worker);

#endif
