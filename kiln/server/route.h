/* Fixed answers for fixed paths. Any thread adds; the loop looks up. */
#ifndef KILN_SERVER_ROUTE_H
#define KILN_SERVER_ROUTE_H

#include <event2/http.h>

#include "kiln/server/core.h"

struct kiln_routes;

MORTAR_MUST_USE enum mortar_status kiln_routes_new(struct kiln_core *core, struct kiln_routes **out,
                                                   struct mortar_error *err);

/* See kiln_server_route. A path that is there already gets the new answer. */
MORTAR_MUST_USE enum mortar_status kiln_routes_add(struct kiln_routes *routes, const char *path,
                                                   int status, const char *content_type,
                                                   const void *body, size_t size, int64_t delay_us,
                                                   struct mortar_error *err);

/* Answers the request if its path is known; false: it is not, nothing was done. */
bool kiln_routes_answer(struct kiln_routes *routes, const char *path, struct evhttp_request *http);

bool kiln_routes_have(struct kiln_routes *routes, const char *path);

/* Once the loop has ended: answers that wait for their delay become a 503. NULL is fine. */
void kiln_routes_free(struct kiln_routes *routes);

#endif
