/* Finds DuckDB's functions in the library that holds them. Refuses a library that lacks one. */
#include "kiln/engine/duckdb/duck_api.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

/* A function pointer can't be had from dlsym's void pointer by a cast in ISO C; its bytes can. */
static bool find(void *library, const char *symbol, void *function)
{
  void *address = dlsym(library, symbol);

  memcpy(function, &address, sizeof address);
  return address != NULL;
}

enum mortar_status duck_api_load(struct duck_api *api, const char *path, struct mortar_error *err)
{
  memset(api, 0, sizeof *api);
  api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!api->library) return mtr_fail(err, MORTAR_INVALID, "DuckDB's library: %s", dlerror());
#define X(name, type, parameters)                                                                  \
  if (!find(api->library, "duckdb_" #name, &api->name))                                            \
    return mtr_fail(err, MORTAR_INVALID,                                                           \
                    "%s has no function duckdb_%s: Kiln needs duckdb "                             \
                    "1.5.3 or later, below 3",                                                     \
                    path, #name);
  DUCK_FUNCTIONS(X)
#undef X
  return MORTAR_OK;
}
