/* A plain array. What a setting means, and whether it is known, is for the server to say. */
#include "client/settings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum mortar_status mtr_settings_add(struct mtr_settings *settings, const struct mortar_alloc *alloc,
                                    const char *name, const char *value, struct mortar_error *err)
{
  struct mtr_setting fresh = {NULL, NULL}, *grown;
  const size_t n = settings->count;

  if (n >= MTR_SETTINGS_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "more than %d settings", MTR_SETTINGS_MAX);
  fresh.name = mtr_strndup(alloc, name, strlen(name));
  fresh.value = mtr_strndup(alloc, value, strlen(value));
  grown = fresh.name && fresh.value
              ? mtr_realloc(alloc, settings->items, n * sizeof fresh, (n + 1) * sizeof fresh)
              : NULL;
  if (!grown) {
    mtr_free_text(alloc, fresh.name);
    mtr_free_text(alloc, fresh.value);
    return mtr_fail_nomem(err, "setting");
  }
  settings->items = grown;
  grown[n] = fresh;
  settings->count = n + 1;
  return MORTAR_OK;
}

void mtr_settings_fini(struct mtr_settings *settings, const struct mortar_alloc *alloc)
{
  size_t i;

  for (i = 0; i < settings->count; i++) {
    mtr_free_text(alloc, settings->items[i].name);
    mtr_free_text(alloc, settings->items[i].value);
  }
  mtr_free(alloc, settings->items, settings->count * sizeof *settings->items);
  settings->items = NULL;
  settings->count = 0;
}
