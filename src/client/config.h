/* What mortar_config holds; mortar_session_open reads it. */
#ifndef MTR_CLIENT_CONFIG_H
#define MTR_CLIENT_CONFIG_H

#include "client/log.h"
#include "client/options.h"
#include "client/settings.h"

struct mortar_config {
  struct mortar_alloc alloc;
  struct mtr_options options;
  struct mtr_settings settings; /* of the session */
  struct mtr_log log;
};

#endif
