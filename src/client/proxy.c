/* Names of the environment in the order of curl. HTTP_PROXY in capitals is left out, as curl does:
 * a web server sets it from a request's "Proxy" header. */
#include "client/proxy.h"

#include <stdlib.h>

/* The first that is set and not empty. */
static const char *first_of(const char *const *names)
{
  for (; *names; names++) {
    const char *value = getenv(*names);
    if (value && *value) return value;
  }
  return NULL;
}

struct mtr_proxy mtr_proxy_of(const struct mtr_options *options)
{
  static const char *const tls[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
  static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
  static const char *const none[] = {"no_proxy", "NO_PROXY", NULL};
  struct mtr_proxy found = {options->proxy, options->no_proxy};

  if (!options->proxy_from_env || (found.proxy && *found.proxy)) return found;
  found.proxy = first_of(options->tls ? tls : plain);
  if (!found.no_proxy) found.no_proxy = first_of(none);
  return found;
}
