/* Result types that a warehouse does not have, and what is sent instead.
 *
 *     HUGEINT, UHUGEINT   BIGINT (a sum of integers is a HUGEINT)
 *     unsigned integers   the next wider signed one; UBIGINT: DECIMAL(20,0)
 *     TIMESTAMP of seconds, milliseconds, nanoseconds   TIMESTAMP of microseconds
 *     fixed-size list     list
 *     TIME, UUID, ENUM, INTERVAL, BIT and the rest   text
 *
 * Types inside lists, structs and maps are treated the same way. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_TYPES_H
#define KILN_ENGINE_DUCKDB_DUCK_TYPES_H

#include "base/buf.h"
#include "kiln/engine/duckdb/duck_api.h"

/* Writes a SELECT around sql that casts the columns of the prepared statement that need it; leaves
 * out empty when none does. out ends with NUL, which its size leaves out. */
MORTAR_MUST_USE enum mortar_status duck_types_wrap(const struct duck_api *api, duck_handle prepared,
                                                   const char *sql, struct mtr_buf *out,
                                                   struct mortar_error *err);

#endif
