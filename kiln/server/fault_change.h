/* What a rule makes of a reply's status, headers and body. Knows no connection. */
#ifndef KILN_SERVER_FAULT_CHANGE_H
#define KILN_SERVER_FAULT_CHANGE_H

#include <event2/http.h>

#include "kiln/server/exchange.h"
#include "kiln/server/fault_rule.h"

/* A reply before it is written. Its body is in the request's output buffer. */
struct kiln_fault_reply {
  struct evhttp_request *http;
  const struct kiln_call *call; /* NULL: no Thrift call */
  int32_t seqid;
  int status;
  const char *type; /* of the content; NULL: not said */
};

/* false: the rule asks for a change that finds nothing to change, or memory ran out; what could be
 * done has been done. */
bool kiln_fault_change(const struct kiln_fault_rule *rule, struct kiln_fault_reply *reply);

#endif
