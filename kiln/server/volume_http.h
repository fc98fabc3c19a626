/* The store behind the links of volumes: PUT, GET and DELETE, as an object store answers them. Loop
 * thread. */
#ifndef KILN_SERVER_VOLUME_HTTP_H
#define KILN_SERVER_VOLUME_HTTP_H

#include <event2/http.h>

#include "kiln/server/core.h"

/* The largest file of a volume: evhttp holds a whole body in memory before it is written. */
enum { KILN_VOLUME_LIMIT = 256 * 1024 * 1024 };

bool kiln_volume_is_path(const struct kiln_core *core, const char *path);

/* Answers a request on such a path; false: it is none, nothing was done. It takes no token: the
 * link is signed. */
bool kiln_volume_request(struct kiln_core *core, const char *path, struct evhttp_request *http);

#endif
