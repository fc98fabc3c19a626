/* A metadata call as a query of Kiln's views about DuckDB's catalogue (setup.sql). */
#ifndef KILN_ENGINE_DUCKDB_DUCK_METADATA_H
#define KILN_ENGINE_DUCKDB_DUCK_METADATA_H

#include "base/buf.h"

/* Appends the query, ended with NUL. */
MORTAR_MUST_USE enum mortar_status duck_metadata_write(const struct mortar_metadata *metadata,
                                                       struct mtr_buf *sql,
                                                       struct mortar_error *err);

/* Whether the answer may tell of the sample tables, which are loaded when they are first needed. */
bool duck_metadata_names_samples(const struct mortar_metadata *metadata);

#endif
