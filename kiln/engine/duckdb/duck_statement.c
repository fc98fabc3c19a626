/* Runs one statement on a connection of its own and reads its result as Arrow. */
#include "kiln/engine/duckdb/duck_statement.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kiln/engine/duckdb/duck_error.h"
#include "kiln/engine/duckdb/duck_parameters.h"
#include "kiln/engine/duckdb/duck_settings.h"
#include "kiln/engine/duckdb/duck_types.h"

/* A statement of 16 MB with a cast around it. */
#define SQL_MAX ((size_t)72 << 20)
/* Names of a catalog and a schema, of at most 255 characters each where a warehouse makes them. */
#define NAMES_MAX ((size_t)64 << 10)

struct duck_statement *duck_statement_new(const struct duck_api *api)
{
  struct duck_statement *stmt = mtr_calloc(NULL, 1, sizeof *stmt);

  if (!stmt) return NULL;
  stmt->api = api;
  atomic_init(&stmt->stop, false);
  if (pthread_mutex_init(&stmt->lock, NULL) == 0) return stmt;
  mtr_free(NULL, stmt, sizeof *stmt);
  return NULL;
}

static void drop_result(struct duck_statement *stmt)
{
  if (!stmt->open) return;
  if (stmt->ahead.release) stmt->ahead.release(&stmt->ahead);
  if (stmt->arrow_options) stmt->api->destroy_arrow_options(&stmt->arrow_options);
  stmt->api->destroy_result(&stmt->result);
  stmt->open = false;
}

void duck_statement_close(struct duck_statement *stmt)
{
  duck_handle con;

  drop_result(stmt);
  pthread_mutex_lock(&stmt->lock);
  con = stmt->con;
  stmt->con = NULL;
  pthread_mutex_unlock(&stmt->lock);
  if (con) stmt->api->disconnect(&con);
}

void duck_statement_free(struct duck_statement *stmt)
{
  if (!stmt) return;
  duck_statement_close(stmt);
  pthread_mutex_destroy(&stmt->lock);
  mtr_free(NULL, stmt, sizeof *stmt);
}

void duck_statement_interrupt(struct duck_statement *stmt)
{
  atomic_store(&stmt->stop, true);
  pthread_mutex_lock(&stmt->lock);
  if (stmt->con) stmt->api->interrupt(stmt->con);
  pthread_mutex_unlock(&stmt->lock);
}

static bool fail_status(struct kiln_error *err, const struct mortar_error *cause)
{
  kiln_fail(err, cause->sqlstate, "[INTERNAL_ERROR] %s", cause->message);
  return false;
}

static bool fail_duck(struct kiln_error *err, const char *text)
{
  duck_error_map(text, NULL, err);
  return false;
}

/* The same where the statement is known, which names its tables in full. */
static bool fail_statement(struct kiln_error *err, const char *text, const char *sql)
{
  duck_error_map(text, sql, err);
  return false;
}

/* DuckDB forgets an interrupt that comes while nothing runs, so stop is looked at once a statement
 * has begun: from there on DuckDB remembers. */
static bool stopped(struct duck_statement *stmt, struct kiln_error *err)
{
  if (!atomic_load(&stmt->stop)) return false;
  fail_duck(err, "INTERRUPT");
  return true;
}

/* Hands DuckDB's message, if there is one, to err; takes the handle. */
static bool check(const struct duck_api *api, duck_handle error, struct kiln_error *err)
{
  bool failed;

  if (!error) return true;
  failed = api->error_data_has_error(error);
  if (failed) fail_duck(err, api->error_data_message(error));
  api->destroy_error_data(&error);
  return !failed;
}

static bool execute(struct duck_statement *stmt, const char *sql, duck_handle prepared,
                    struct kiln_error *err)
{
  const struct duck_api *api = stmt->api;
  duck_handle pending = NULL;
  bool ok = false;

  if (api->pending_prepared_streaming(prepared, &pending) != 0) {
    fail_statement(err, pending ? api->pending_error(pending) : NULL, sql);
    goto done;
  }
  if (stopped(stmt, err)) goto done;
  memset(&stmt->result, 0, sizeof stmt->result);
  if (api->execute_pending(pending, &stmt->result) != 0) {
    fail_statement(err, api->result_error(&stmt->result), sql);
    api->destroy_result(&stmt->result);
    goto done;
  }
  stmt->arrow_options = api->result_get_arrow_options(&stmt->result);
  stmt->open = ok = true;
done:
  if (pending) api->destroy_pending(&pending);
  return ok;
}

static bool prepare(struct duck_statement *stmt, const char *sql, duck_handle *out,
                    struct kiln_error *err)
{
  bool ok;

  *out = NULL;
  ok = stmt->api->prepare(stmt->con, sql, out) == 0;
  if (!ok) fail_statement(err, *out ? stmt->api->prepare_error(*out) : NULL, sql);
  if (ok && stmt->source) ok = duck_parameters_bind(stmt->api, *out, stmt->source, err);
  if (ok) return true;
  if (*out) stmt->api->destroy_prepare(out);
  return false;
}

/* Replaces *prepared by one with casts where a column's type needs it. */
static bool convert_types(struct duck_statement *stmt, const char *sql, duck_handle *prepared,
                          struct kiln_error *err)
{
  struct mortar_error cause;
  struct mtr_buf wrapped;
  bool ok = true;

  mtr_buf_init(&wrapped, NULL, "statement with casts", SQL_MAX);
  if (duck_types_wrap(stmt->api, *prepared, sql, &wrapped, &cause) != MORTAR_OK) {
    ok = fail_status(err, &cause);
  } else if (wrapped.size > 0) {
    stmt->api->destroy_prepare(prepared);
    ok = prepare(stmt, (const char *)wrapped.data, prepared, err);
  }
  mtr_buf_fini(&wrapped);
  return ok;
}

static bool fetch(struct duck_statement *stmt, struct ArrowArray *out, struct kiln_error *err)
{
  const struct duck_api *api = stmt->api;
  duck_handle chunk;
  const char *text;
  bool ok;

  memset(out, 0, sizeof *out);
  chunk = api->fetch_chunk(stmt->result);
  if (!chunk) {
    text = api->result_error(&stmt->result);
    return text && *text ? fail_duck(err, text) : true;
  }
  ok = check(api, api->data_chunk_to_arrow(stmt->arrow_options, chunk, out), err);
  api->destroy_data_chunk(&chunk);
  return ok;
}

/* Most errors of a running statement come with its first rows; DuckDB 2 tells none earlier. So
 * these are fetched while the statement can still fail as a whole. */
static bool look_ahead(struct duck_statement *stmt, struct kiln_error *err)
{
  stmt->changed = -1;
  if (stmt->api->result_return_type(stmt->result) == DUCK_RETURNS_CHANGED_ROWS)
    stmt->changed = (int64_t)stmt->api->rows_changed(&stmt->result);
  stmt->started = false;
  return fetch(stmt, &stmt->ahead, err);
}

bool duck_statement_run(struct duck_statement *stmt, const char *sql, bool convert,
                        struct kiln_error *err)
{
  duck_handle prepared = NULL;
  bool ok;

  drop_result(stmt);
  ok = prepare(stmt, sql, &prepared, err);
  if (ok && convert) ok = convert_types(stmt, sql, &prepared, err);
  if (ok) ok = !stopped(stmt, err) && execute(stmt, sql, prepared, err) && look_ahead(stmt, err);
  if (prepared) stmt->api->destroy_prepare(&prepared);
  return ok;
}

/* ---- Connecting --------------------------------------------------------------------------- */

/* A name between double quotes, inside a string literal between single ones. */
static enum mortar_status put_name(struct mtr_buf *buf, const char *name, struct mortar_error *err)
{
  MTR_TRY(mtr_buf_append(buf, "\"", 1, err));
  for (; *name; name++) {
    if (*name == '"' || *name == '\'') MTR_TRY(mtr_buf_append(buf, name, 1, err));
    MTR_TRY(mtr_buf_append(buf, name, 1, err));
  }
  return mtr_buf_append(buf, "\"", 1, err);
}

/* Catalogs have a prefix inside DuckDB; a session's temporary views come first on the path, Kiln's
 * macros last. */
static enum mortar_status write_path(struct mtr_buf *buf, const char *catalog, const char *schema,
                                     uint64_t own, struct mortar_error *err)
{
  struct mtr_buf inner;
  enum mortar_status st = MORTAR_OK;

  mtr_buf_init(&inner, NULL, "catalog name", buf->max);
  MTR_GOTO(mtr_buf_printf(&inner, err, "k_%s", catalog));
  MTR_GOTO(mtr_buf_append(&inner, "", 1, err));
  MTR_GOTO(mtr_buf_printf(buf, err, "SET search_path = '"));
  if (own) MTR_GOTO(mtr_buf_printf(buf, err, "kiln.s_%" PRIu64 ",", own));
  MTR_GOTO(put_name(buf, (const char *)inner.data, err));
  MTR_GOTO(mtr_buf_append(buf, ".", 1, err));
  MTR_GOTO(put_name(buf, schema, err));
  MTR_GOTO(mtr_buf_printf(buf, err, ",kiln.main'"));
  MTR_GOTO(mtr_buf_append(buf, "", 1, err));
done:
  mtr_buf_fini(&inner);
  return st;
}

/* A statement that fails in a warehouse's words where the catalog or the schema is missing. */
static enum mortar_status write_require(struct mtr_buf *buf, const char *catalog,
                                        const char *schema, struct mortar_error *err)
{
  mtr_buf_reset(buf);
  MTR_TRY(mtr_buf_printf(buf, err, "SELECT kiln.main.require_schema("));
  MTR_TRY(duck_put_text(buf, mtr_span_text(catalog), err));
  MTR_TRY(mtr_buf_append(buf, ", ", 2, err));
  MTR_TRY(duck_put_text(buf, mtr_span_text(schema), err));
  return mtr_buf_append(buf, ")", 2, err);
}

static bool query(struct duck_statement *stmt, const struct mtr_buf *sql, struct kiln_error *err)
{
  struct duck_result result;
  bool ok;

  memset(&result, 0, sizeof result);
  ok = stmt->api->query(stmt->con, (const char *)sql->data, &result) == 0;
  if (!ok) fail_duck(err, stmt->api->result_error(&result));
  stmt->api->destroy_result(&result);
  return ok;
}

static bool set_path(struct duck_statement *stmt, const char *catalog, const char *schema,
                     uint64_t own, struct kiln_error *err)
{
  struct mortar_error cause;
  struct mtr_buf sql;
  bool ok = false;

  mtr_buf_init(&sql, NULL, "names of the session", NAMES_MAX);
  if (write_path(&sql, catalog, schema, own, &cause) != MORTAR_OK) {
    fail_status(err, &cause);
    goto done;
  }
  ok = query(stmt, &sql, err);
  /* DuckDB does not say which of the two is missing. */
  if (!ok && write_require(&sql, catalog, schema, &cause) == MORTAR_OK)
    (void)query(stmt, &sql, err);
done:
  mtr_buf_fini(&sql);
  return ok;
}

bool duck_statement_connect(struct duck_statement *stmt, duck_handle db, const char *catalog,
                            const char *schema, uint64_t own, struct kiln_error *err)
{
  bool ok;

  pthread_mutex_lock(&stmt->lock);
  ok = stmt->api->connect(db, &stmt->con) == 0;
  pthread_mutex_unlock(&stmt->lock);
  if (!ok) return fail_duck(err, "IO Error: no connection to DuckDB");
  return set_path(stmt, catalog, schema, own, err);
}

/* ---- Results ------------------------------------------------------------------------------ */

bool duck_statement_next(struct duck_statement *stmt, struct ArrowArray *out,
                         struct kiln_error *err)
{
  if (stmt->started) return fetch(stmt, out, err);
  *out = stmt->ahead;
  stmt->ahead.release = NULL;
  stmt->started = true;
  return true;
}

static bool fill_schema(struct duck_statement *stmt, duck_handle *types, const char **names,
                        duck_idx count, struct ArrowSchema *out, struct kiln_error *err)
{
  const struct duck_api *api = stmt->api;
  duck_idx i;

  for (i = 0; i < count; i++) {
    types[i] = api->column_logical_type(&stmt->result, i);
    names[i] = api->column_name(&stmt->result, i);
  }
  return check(api, api->to_arrow_schema(stmt->arrow_options, types, names, count, out), err);
}

static bool make_schema(struct duck_statement *stmt, struct ArrowSchema *out,
                        struct kiln_error *err)
{
  duck_idx i, count = stmt->api->column_count(&stmt->result);
  duck_handle *types = mtr_calloc(NULL, (size_t)count, sizeof *types);
  const char **names = mtr_calloc(NULL, (size_t)count, sizeof *names);
  bool ok = false;

  memset(out, 0, sizeof *out);
  if (types && names)
    ok = fill_schema(stmt, types, names, count, out, err);
  else
    fail_duck(err, "Out of Memory Error: no memory for the schema");
  for (i = 0; types && i < count; i++)
    if (types[i]) stmt->api->destroy_logical_type(&types[i]);
  mtr_free(NULL, names, (size_t)count * sizeof *names);
  mtr_free(NULL, types, (size_t)count * sizeof *types);
  return ok;
}

/* ---- The stream --------------------------------------------------------------------------- */

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct duck_statement *stmt = stream->private_data;

  return make_schema(stmt, out, &stmt->error) ? 0 : EIO;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct duck_statement *stmt = stream->private_data;

  return duck_statement_next(stmt, out, &stmt->error) ? 0 : EIO;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
  struct duck_statement *stmt = stream->private_data;

  return stmt->error.message[0] ? stmt->error.message : NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
  duck_statement_close(stream->private_data);
  memset(stream, 0, sizeof *stream);
}

void duck_statement_stream(struct duck_statement *stmt, struct ArrowArrayStream *out)
{
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = stream_release;
  out->private_data = stmt;
}
