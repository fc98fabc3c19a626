/* GetInfo: what clients ask about the server itself. */
#ifndef KILN_SERVER_INFO_H
#define KILN_SERVER_INFO_H

#include "kiln/server/exchange.h"

/* Answers without looking at the session. */
void kiln_info_answer(struct kiln_exchange *x);

void kiln_info_on_get(struct kiln_exchange *x); /* handler of GetInfo */

#endif
