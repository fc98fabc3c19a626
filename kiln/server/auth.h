/* Who may speak: bearer tokens and basic authorisation, compared with one expected token. */
#ifndef KILN_SERVER_AUTH_H
#define KILN_SERVER_AUTH_H

#include <stdbool.h>

/* The HTTP status that the Authorization header earns: 0 (go on), 401 or 403. token NULL: anybody
 * may, with or without a header. A basic password counts as the token; the user name is free. */
int kiln_auth_check(const char *token, const char *header);

#endif
