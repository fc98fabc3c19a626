/* Waiting for nothing but time, as politely as for a server. */
#ifndef MTR_CLIENT_PAUSE_H
#define MTR_CLIENT_PAUSE_H

#include "net/wait.h"

/* OK after ms; TIMEOUT when the deadline comes first, INTERRUPTED when woken, CANCELED. */
MORTAR_MUST_USE enum mortar_status mtr_pause(const struct mtr_wait *wait, int64_t ms,
                                             const char *what, struct mortar_error *err);

#endif
