/* Which proxy a session uses: the option, or the environment where the options say so. */
#ifndef MTR_CLIENT_PROXY_H
#define MTR_CLIENT_PROXY_H

#include "client/options.h"

struct mtr_proxy {
  const char *proxy, *no_proxy; /* NULL: none; belong to the options or to the environment */
};

/* The option proxy comes first. The environment is looked at only with proxy_from_env: https_proxy
 * or http_proxy by what the server speaks, then all_proxy, and no_proxy. */
struct mtr_proxy mtr_proxy_of(const struct mtr_options *options);

#endif
