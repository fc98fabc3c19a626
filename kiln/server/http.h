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

/* Replies with what is in the request's output buffer; content_type NULL: none is said. A fault may
 * change the reply, or take its time with it. */
void kiln_http_reply(struct kiln_core *core, struct evhttp_request *http, int status,
                     const char *content_type);

/* {"error_code":status,"message":text}, as a warehouse's gateway answers. text needs no escapes. */
void kiln_http_error(struct kiln_core *core, struct evhttp_request *http, int status,
                     const char *text);

/* The same as reply, past all faults. */
void kiln_http_send(struct evhttp_request *http, int status, const char *content_type);

#endif
