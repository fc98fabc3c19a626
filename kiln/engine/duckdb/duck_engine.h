/* Kiln's DuckDB engine: the default one. A statement goes through a translator, which answers the
 * session words and translates the rest, and then to DuckDB on a connection of its own. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_ENGINE_H
#define KILN_ENGINE_DUCKDB_DUCK_ENGINE_H

#include "kiln/server/engine.h"

struct duck_engine;

struct duck_engine_options {
  const char *library;           /* the extension module of the DuckDB wheel */
  const char *setup_sql;         /* DuckDB statements that make catalogs and macros */
  const char *work_folder;       /* where a translator may put the files of the sample tables */
  const char *const *translator; /* the command of a translator process, ended by NULL */
  int64_t translate_timeout_ms;  /* as struct kiln_translator_options has it */
};

/* The table of functions; its engine argument is a struct duck_engine. */
extern const struct kiln_engine duck_engine_functions;

/* Everything in options is copied. */
MORTAR_MUST_USE enum mortar_status duck_engine_new(const struct duck_engine_options *options,
                                                   struct duck_engine **out,
                                                   struct mortar_error *err);

/* No statement may be running. NULL is fine. */
void duck_engine_free(struct duck_engine *engine);

/* The version of the DuckDB that was loaded, such as "v1.5.6". */
const char *duck_engine_version(const struct duck_engine *engine);

#endif
