/* The HTTP front: which path is what, who may, and replies that are not Thrift. Loop thread. */
#ifndef KILN_SERVER_HTTP_H
#define KILN_SERVER_HTTP_H

#include <event2/http.h>

#include "kiln/server/core.h"
#include "kiln/server/route.h"

/* The largest request body; a longer one gets 413 from its Content-Length on. */
enum { KILN_REQUEST_LIMIT = 64 * 1024 * 1024 };

struct kiln_front {
  struct kiln_core *core;
  struct kiln_routes *routes;
};

/* evhttp's callback for every request; arg is a struct kiln_front. */
void kiln_http_on_request(struct evhttp_request *http, void *arg);

/* Sends what is in the request's output buffer. */
void kiln_http_reply(struct evhttp_request *http, int status, const char *content_type);

/* {"error_code":status,"message":text}, as a warehouse's gateway answers. */
void kiln_http_error(struct evhttp_request *http, int status, const char *text);

#endif
