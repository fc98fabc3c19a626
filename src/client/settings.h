/* Settings by name, a SQL parameter each: a session's, or a statement's own. They are few. */
#ifndef MTR_CLIENT_SETTINGS_H
#define MTR_CLIENT_SETTINGS_H

#include "mortar/mortar.h"

struct mtr_setting {
  char *name, *value;
};

enum { MTR_SETTINGS_MAX = 1024 };

/* All zero is a valid empty value. The same alloc goes with every call. */
struct mtr_settings {
  struct mtr_setting *items;
  size_t count;
};

/* Adds copies of both texts. */
MORTAR_MUST_USE enum mortar_status mtr_settings_add(struct mtr_settings *settings,
                                                    const struct mortar_alloc *alloc,
                                                    const char *name, const char *value,
                                                    struct mortar_error *err);

void mtr_settings_fini(struct mtr_settings *settings, const struct mortar_alloc *alloc);

#endif
