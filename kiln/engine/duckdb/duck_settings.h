/* A session's own schema in DuckDB, kiln.s_NUMBER: it holds its temporary views and, in the table
 * kiln_settings, its settings. Those that a session is opened with are the table's first rows; but
 * for one, what they mean is not looked at. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_SETTINGS_H
#define KILN_ENGINE_DUCKDB_DUCK_SETTINGS_H

#include "base/buf.h"

struct mtr_thrift_values;

enum { DUCK_TIMEOUT_MAX = 172800 };

/* Appends a text between single quotes, which are doubled inside. */
MORTAR_MUST_USE enum mortar_status duck_put_text(struct mtr_buf *out, struct mtr_span text,
                                                 struct mortar_error *err);

/* Whether the client named the schema as clients of Hive's do, which servers of theirs look at when
 * the session is opened. */
bool duck_settings_name_schema(const struct mtr_thrift_values *settings);

/* The value of statement_timeout, in any case of letters: seconds. 0 where it is not there, is
 * zero, or is no number up to the two days that a warehouse grants. */
int64_t duck_settings_timeout(const struct mtr_thrift_values *settings);

/* Appends the statements that make the schema, and NUL. settings is a checked map of strings.
 * "use:database", which names a schema, is none of them, and neither is what is no UTF-8 or has a
 * NUL: DuckDB has no such texts. */
MORTAR_MUST_USE enum mortar_status duck_settings_write(struct mtr_buf *out, uint64_t number,
                                                       const struct mtr_thrift_values *settings,
                                                       struct mortar_error *err);

#endif
