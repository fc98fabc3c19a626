/* Kiln's own paths: /kiln/stats, and where they are allowed /kiln/faults and /kiln/clock. */
#ifndef KILN_SERVER_CONTROL_H
#define KILN_SERVER_CONTROL_H

#include <event2/http.h>

#include "kiln/server/core.h"

bool kiln_control_is_path(const char *path);

/* 403 unless Host and Origin name this machine; 404 for what is not there or not allowed. */
void kiln_control_answer(struct kiln_core *core, const char *path, struct evhttp_request *http);

/* Whether a host (of a Host header or an origin, with or without a port) is a name of loopback or
 * the address that the server listens on. Where it listens on all, any numeric address is: a
 * stranger's page can make a name of its own mean this machine, but not a number. */
bool kiln_control_is_ours(const char *listening, const char *host);

#endif
