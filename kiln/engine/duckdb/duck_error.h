/* DuckDB's errors in a warehouse's words. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_ERROR_H
#define KILN_ENGINE_DUCKDB_DUCK_ERROR_H

#include "kiln/server/engine.h"

/* Reads the kind of failure and the name it is about out of DuckDB's text, which is all that there
 * is, and fills err with "[CONDITION] text SQLSTATE: five". What is not known keeps DuckDB's own
 * text under INTERNAL_ERROR. text NULL is taken for an unknown failure. */
void duck_error_map(const char *text, struct kiln_error *err);

#endif
