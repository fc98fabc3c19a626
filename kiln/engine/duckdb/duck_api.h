/* The part of DuckDB's C API that the engine calls, as a table of function pointers.
 *
 * DuckDB comes as the extension module of its Python wheel, which exports the whole C API and ships
 * no header; so the functions and values used here are declared from the API's published
 * documentation. Only the stable v1 functions are named: those called duckdb_v2_* still change. */
#ifndef KILN_ENGINE_DUCKDB_DUCK_API_H
#define KILN_ENGINE_DUCKDB_DUCK_API_H

#include "mortar/mortar.h"

/* Handles are pointers to objects of DuckDB's own; a destroy function takes the handle's address
 * and sets it to NULL, and accepts NULL inside. */
typedef void *duck_handle;
typedef uint64_t duck_idx;

/* duckdb_result, passed by value: 48 bytes whose contents are DuckDB's. */
struct duck_result {
  duck_idx deprecated_counts[3];
  void *deprecated_columns;
  char *deprecated_error;
  void *internal;
};

enum duck_type {
  DUCK_TYPE_BOOLEAN = 1,
  DUCK_TYPE_TINYINT = 2,
  DUCK_TYPE_SMALLINT = 3,
  DUCK_TYPE_INTEGER = 4,
  DUCK_TYPE_BIGINT = 5,
  DUCK_TYPE_UTINYINT = 6,
  DUCK_TYPE_USMALLINT = 7,
  DUCK_TYPE_UINTEGER = 8,
  DUCK_TYPE_UBIGINT = 9,
  DUCK_TYPE_FLOAT = 10,
  DUCK_TYPE_DOUBLE = 11,
  DUCK_TYPE_TIMESTAMP = 12,
  DUCK_TYPE_DATE = 13,
  DUCK_TYPE_HUGEINT = 16,
  DUCK_TYPE_VARCHAR = 17,
  DUCK_TYPE_BLOB = 18,
  DUCK_TYPE_DECIMAL = 19,
  DUCK_TYPE_TIMESTAMP_S = 20,
  DUCK_TYPE_TIMESTAMP_MS = 21,
  DUCK_TYPE_TIMESTAMP_NS = 22,
  DUCK_TYPE_LIST = 24,
  DUCK_TYPE_STRUCT = 25,
  DUCK_TYPE_MAP = 26,
  DUCK_TYPE_TIMESTAMP_TZ = 31,
  DUCK_TYPE_UHUGEINT = 32,
  DUCK_TYPE_ARRAY = 33,
  DUCK_TYPE_SQLNULL = 36
};

enum { DUCK_RETURNS_CHANGED_ROWS = 1, DUCK_RETURNS_ROWS = 3 };

/* name (without "duckdb_"), what it returns, its parameters. State results: 0 is success. */
#define DUCK_FUNCTIONS(X)                                                                          \
  X(create_config, int, (duck_handle * config))                                                    \
  X(set_config, int, (duck_handle config, const char *name, const char *value))                    \
  X(destroy_config, void, (duck_handle * config))                                                  \
  X(open_ext, int, (const char *path, duck_handle *db, duck_handle config, char **error))          \
  X(close, void, (duck_handle * db))                                                               \
  X(connect, int, (duck_handle db, duck_handle * con))                                             \
  X(disconnect, void, (duck_handle * con))                                                         \
  X(interrupt, void, (duck_handle con))                                                            \
  X(query, int, (duck_handle con, const char *sql, struct duck_result *result))                    \
  X(prepare, int, (duck_handle con, const char *sql, duck_handle *prepared))                       \
  X(prepare_error, const char *, (duck_handle prepared))                                           \
  X(destroy_prepare, void, (duck_handle * prepared))                                               \
  X(prepared_statement_column_count, duck_idx, (duck_handle prepared))                             \
  X(prepared_statement_column_name, const char *, (duck_handle prepared, duck_idx column))         \
  X(prepared_statement_column_logical_type, duck_handle, (duck_handle prepared, duck_idx col))     \
  X(bind_parameter_index, int, (duck_handle prepared, duck_idx * index, const char *name))         \
  X(bind_varchar_length, int,                                                                      \
    (duck_handle prepared, duck_idx index, const char *text, duck_idx size))                       \
  X(bind_null, int, (duck_handle prepared, duck_idx index))                                        \
  X(pending_prepared_streaming, int, (duck_handle prepared, duck_handle * pending))                \
  X(pending_error, const char *, (duck_handle pending))                                            \
  X(execute_pending, int, (duck_handle pending, struct duck_result * result))                      \
  X(destroy_pending, void, (duck_handle * pending))                                                \
  X(result_get_arrow_options, duck_handle, (struct duck_result * result))                          \
  X(destroy_arrow_options, void, (duck_handle * options))                                          \
  X(to_arrow_schema, duck_handle,                                                                  \
    (duck_handle options, duck_handle * types, const char **names, duck_idx count,                 \
     struct ArrowSchema *out))                                                                     \
  X(data_chunk_to_arrow, duck_handle,                                                              \
    (duck_handle options, duck_handle chunk, struct ArrowArray * out))                             \
  X(error_data_has_error, bool, (duck_handle error))                                               \
  X(error_data_message, const char *, (duck_handle error))                                         \
  X(destroy_error_data, void, (duck_handle * error))                                               \
  X(fetch_chunk, duck_handle, (struct duck_result result))                                         \
  X(destroy_data_chunk, void, (duck_handle * chunk))                                               \
  X(result_error, const char *, (struct duck_result * result))                                     \
  X(result_return_type, int, (struct duck_result result))                                          \
  X(rows_changed, duck_idx, (struct duck_result * result))                                         \
  X(column_count, duck_idx, (struct duck_result * result))                                         \
  X(column_name, const char *, (struct duck_result * result, duck_idx column))                     \
  X(column_logical_type, duck_handle, (struct duck_result * result, duck_idx column))              \
  X(destroy_result, void, (struct duck_result * result))                                           \
  X(get_type_id, int, (duck_handle type))                                                          \
  X(decimal_width, uint8_t, (duck_handle type))                                                    \
  X(decimal_scale, uint8_t, (duck_handle type))                                                    \
  X(list_type_child_type, duck_handle, (duck_handle type))                                         \
  X(array_type_child_type, duck_handle, (duck_handle type))                                        \
  X(map_type_key_type, duck_handle, (duck_handle type))                                            \
  X(map_type_value_type, duck_handle, (duck_handle type))                                          \
  X(struct_type_child_count, duck_idx, (duck_handle type))                                         \
  X(struct_type_child_name, char *, (duck_handle type, duck_idx index))                            \
  X(struct_type_child_type, duck_handle, (duck_handle type, duck_idx index))                       \
  X(destroy_logical_type, void, (duck_handle * type))                                              \
  X(logical_type_get_alias, char *, (duck_handle type))                                            \
  X(free, void, (void *memory))                                                                    \
  X(library_version, const char *, (void))

struct duck_api {
  void *library; /* never closed: DuckDB's threads and thread-local objects live in its code */
#define X(name, type, parameters) type(*name) parameters;
  DUCK_FUNCTIONS(X)
#undef X
};

/* Opens the library and finds every function. INVALID when it is no DuckDB of a fitting version. */
MORTAR_MUST_USE enum mortar_status duck_api_load(struct duck_api *api, const char *path,
                                                 struct mortar_error *err);

#endif
