/* Parameters of a statement, as Thrift has them. Their names and types go to the translator, which
 * puts CAST($k0 AS TYPE) where the first one stands; their values are bound here as text. So the
 * warehouse's own rules for types apply, and a plan serves all values of the same types. Values are
 * numbered as they come, an array or a map before what is in it. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_PARAMETERS_H
#define KILN_ENGINE_DUCKDB_DUCK_PARAMETERS_H

#include "base/buf.h"
#include "kiln/engine/duckdb/duck_api.h"
#include "kiln/server/engine.h"

/* Appends name, type and shape of each parameter as fields of a translator's message, and behind
 * them type and shape of each argument. The shape is the number of arguments of a nested value,
 * "null", or empty; with values, the beginning of the value's text comes behind it. */
MORTAR_MUST_USE enum mortar_status duck_parameters_encode(const struct kiln_statement *statement,
                                                          bool values, struct mtr_buf *out,
                                                          struct mortar_error *err);

/* Binds those that the prepared statement mentions; the others are left alone. */
bool duck_parameters_bind(const struct duck_api *api, duck_handle prepared,
                          const struct kiln_statement *statement, struct kiln_error *err);

#endif
