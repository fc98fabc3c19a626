/* What mortar_config holds; mortar_session_open reads it. */
#ifndef MTR_CLIENT_CONFIG_H
#define MTR_CLIENT_CONFIG_H

#include "client/log.h"
#include "client/options.h"

/* Session settings are few: a plain array. */
struct mtr_setting {
  char *name, *value;
};

enum { MTR_SETTINGS_MAX = 1024 };

struct mortar_config {
  struct mortar_alloc alloc;
  struct mtr_options options;
  struct mtr_setting *settings;
  size_t setting_count;
  struct mtr_log log;
};

#endif
