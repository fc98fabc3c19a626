/* DuckDB's errors in a warehouse's words. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_ERROR_H
#define KILN_ENGINE_DUCKDB_DUCK_ERROR_H

#include "kiln/server/engine.h"

/* Reads the kind of failure and the name it is about out of DuckDB's text, which is all that there
 * is, and fills err with "[CONDITION] text SQLSTATE: five". What is not known keeps DuckDB's own
 * text under INTERNAL_ERROR. text NULL is taken for an unknown failure. DuckDB leaves out the
 * schema and the catalog of a table: they are looked up in sql, the statement that failed, which
 * may be NULL. */
void duck_error_map(const char *text, const char *sql, struct kiln_error *err);

#endif
