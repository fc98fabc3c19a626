/* GetInfo: what clients ask about the server itself. */
#ifndef KILN_SERVER_INFO_H
#define KILN_SERVER_INFO_H

#include "kiln/server/exchange.h"

void kiln_info_on_get(struct kiln_exchange *x); /* handler of GetInfo */

#endif
