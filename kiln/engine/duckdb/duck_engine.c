/* The engine's functions: sessions with their current names, and the way of one statement. */
#include "kiln/engine/duckdb/duck_engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kiln/engine/duckdb/duck_error.h"
#include "kiln/engine/duckdb/duck_metadata.h"
#include "kiln/engine/duckdb/duck_parameters.h"
#include "kiln/engine/duckdb/duck_settings.h"
#include "kiln/engine/duckdb/duck_statement.h"
#include "kiln/engine/translate/translator.h"

/* A few thousand parameters, as many as a client puts into one INSERT; and with their values. */
#define PARAMETERS_MAX ((size_t)1 << 20)
#define VALUED_MAX ((size_t)8 << 20)
/* What a client sets when it opens a session is a few lines. */
#define SETTINGS_MAX ((size_t)1 << 20)
/* A few names; or as many table types as a request can hold. */
#define QUESTION_MAX ((size_t)64 << 20)

struct duck_engine {
  struct duck_api api;
  duck_handle db;
  struct kiln_translator *translator;
  char *work_folder;
  atomic_uint_fast64_t sessions; /* opened so far: the number of the latest */
  pthread_mutex_t samples_lock;  /* held while the sample tables are loaded */
  atomic_bool samples_loaded;
};

/* A session's current names. USE changes them; a statement copies them when it starts. Its own
 * schema holds temporary views and settings, and is made when a statement needs it. */
struct session {
  pthread_mutex_t lock;
  char *catalog, *schema;
  uint64_t number;
  atomic_int_fast64_t timeout; /* of each statement, in seconds; 0: none */
  struct mtr_buf own_sql;      /* makes kiln.s_NUMBER */
  bool own;                    /* it is there */
};

/* The names under which one statement runs. */
struct names {
  char *catalog, *schema;
  uint64_t own; /* 0: none */
};

/* ---- Statements of the engine's own ------------------------------------------------------- */

/* Runs one or several statements on a connection for them alone. */
static enum mortar_status run_apart(struct duck_engine *engine, const char *sql,
                                    struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct duck_result result;
  duck_handle con = NULL;

  memset(&result, 0, sizeof result);
  if (engine->api.connect(engine->db, &con) != 0)
    return mtr_fail(err, MORTAR_STATE, "no connection to DuckDB");
  if (engine->api.query(con, sql, &result) != 0)
    st = mtr_fail(err, MORTAR_STATE, "setting DuckDB up: %s", engine->api.result_error(&result));
  engine->api.destroy_result(&result);
  engine->api.disconnect(&con);
  return st;
}

/* ---- Sessions ----------------------------------------------------------------------------- */

static void session_free(struct session *session)
{
  if (!session) return;
  mtr_free_text(NULL, session->catalog);
  mtr_free_text(NULL, session->schema);
  mtr_buf_fini(&session->own_sql);
  pthread_mutex_destroy(&session->lock);
  mtr_free(NULL, session, sizeof *session);
}

static bool fail_nomem(struct kiln_error *err)
{
  kiln_fail(err, "53200", "[OUT_OF_MEMORY] Kiln is out of memory. SQLSTATE: 53200");
  return false;
}

static bool fail_status(struct kiln_error *err, const struct mortar_error *cause)
{
  if (cause->status == MORTAR_CANCELED) {
    duck_error_map("INTERRUPT", NULL, err);
    return false;
  }
  kiln_fail(err, cause->sqlstate, "[%s] %s SQLSTATE: %s",
            cause->status == MORTAR_UNSUPPORTED ? "UNSUPPORTED_FEATURE" : "INTERNAL_ERROR",
            cause->message, cause->sqlstate);
  return false;
}

/* What the client asked for, or else what a warehouse starts with. */
static char *copy_name(const char *name, const char *otherwise)
{
  if (!name || !*name) name = otherwise;
  return mtr_strndup(NULL, name, strlen(name));
}

/* Whether the schema is there. That of the samples is made when a statement names it. */
static bool check_schema(struct duck_engine *engine, const struct session *session,
                         struct kiln_error *err)
{
  struct duck_statement *stmt;
  bool ok;

  if (mtr_text_same(mtr_span_text(session->catalog), mtr_span_text("samples"))) return true;
  stmt = duck_statement_new(&engine->api);
  if (!stmt) return fail_nomem(err);
  ok = duck_statement_connect(stmt, engine->db, session->catalog, session->schema, 0, err);
  duck_statement_free(stmt);
  return ok;
}

/* A schema that does not exist is refused at once to clients of Hive's, as their servers do; a
 * warehouse takes what other clients name and refuses their first statement. */
static bool open_session(void *engine, const char *catalog, const char *schema,
                         const struct mtr_thrift_values *settings, void **out,
                         struct kiln_error *err)
{
  struct session *session = mtr_calloc(NULL, 1, sizeof *session);
  struct duck_engine *eng = engine;
  struct mortar_error cause;
  bool ok = false;

  *out = NULL;
  if (!session) return fail_nomem(err);
  pthread_mutex_init(&session->lock, NULL);
  mtr_buf_init(&session->own_sql, NULL, "settings of a session", SETTINGS_MAX);
  session->number = atomic_fetch_add(&eng->sessions, 1) + 1;
  atomic_init(&session->timeout, duck_settings_timeout(settings));
  session->catalog = copy_name(catalog, "main");
  session->schema = copy_name(schema, "default");
  if (!session->catalog || !session->schema)
    fail_nomem(err);
  else if (duck_settings_write(&session->own_sql, session->number, settings, &cause) != MORTAR_OK)
    fail_status(err, &cause);
  else
    ok = !duck_settings_name_schema(settings) || check_schema(eng, session, err);
  if (ok)
    *out = session;
  else
    session_free(session);
  return ok;
}

static int64_t timeout(void *engine, void *session)
{
  struct session *of = session;

  (void)engine;
  return atomic_load(&of->timeout);
}

static void close_session(void *engine, void *session)
{
  const struct session *closing = session;
  char sql[64];

  (void)snprintf(sql, sizeof sql, "DROP SCHEMA kiln.s_%" PRIu64 " CASCADE", closing->number);
  /* A schema that stays is in nobody's way: its number does not come again. */
  if (closing->own) (void)!run_apart(engine, sql, NULL);
  session_free(session);
}

/* Makes the session's own schema unless it is there. */
static bool own_want(struct duck_engine *engine, struct session *session, struct kiln_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct mortar_error cause;

  pthread_mutex_lock(&session->lock);
  if (!session->own) st = run_apart(engine, (const char *)session->own_sql.data, &cause);
  session->own = session->own || st == MORTAR_OK;
  pthread_mutex_unlock(&session->lock);
  if (st == MORTAR_OK) return true;
  kiln_fail(err, "XX000", "[INTERNAL_ERROR] %s SQLSTATE: XX000", cause.message);
  return false;
}

static void names_fini(struct names *names)
{
  mtr_free_text(NULL, names->catalog);
  mtr_free_text(NULL, names->schema);
}

static bool names_get(struct session *session, struct names *out)
{
  pthread_mutex_lock(&session->lock);
  out->catalog = copy_name(session->catalog, "");
  out->schema = copy_name(session->schema, "");
  out->own = session->own ? session->number : 0;
  pthread_mutex_unlock(&session->lock);
  return out->catalog && out->schema;
}

static bool names_set(struct session *session, const char *catalog, const char *schema)
{
  char *new_catalog = copy_name(catalog, ""), *new_schema = copy_name(schema, "");
  bool ok = new_catalog && new_schema;

  if (ok) {
    char *old_catalog, *old_schema;

    pthread_mutex_lock(&session->lock);
    old_catalog = session->catalog;
    old_schema = session->schema;
    session->catalog = new_catalog;
    session->schema = new_schema;
    pthread_mutex_unlock(&session->lock);
    new_catalog = old_catalog;
    new_schema = old_schema;
  }
  mtr_free_text(NULL, new_catalog);
  mtr_free_text(NULL, new_schema);
  return ok;
}

/* ---- One statement ------------------------------------------------------------------------ */

/* Statements before the last run for their effect; the last one's result stays open. */
static bool run_all(struct duck_statement *stmt, const struct kiln_plan *plan,
                    struct kiln_error *err)
{
  size_t i;

  for (i = 0; i < plan->count; i++) {
    bool last = i + 1 == plan->count;

    if (!duck_statement_run(stmt, plan->statements[i], last && plan->answer == KILN_ANSWER_ROWS,
                            err))
      return false;
  }
  return true;
}

/* ---- Samples ------------------------------------------------------------------------------ */

static bool samples_load(struct duck_engine *engine, const atomic_bool *stop,
                         struct kiln_error *err)
{
  struct duck_statement *stmt = NULL;
  struct kiln_plan *plan = NULL;
  struct mortar_error cause;
  bool ok = false;

  if (kiln_translator_samples(engine->translator, engine->work_folder, stop, &plan, &cause) !=
      MORTAR_OK) {
    fail_status(err, &cause);
    goto done;
  }
  if (plan->refused) {
    kiln_fail(err, plan->sqlstate, "%s", plan->message);
    goto done;
  }
  stmt = duck_statement_new(&engine->api);
  if (!stmt) {
    fail_nomem(err);
    goto done;
  }
  ok = duck_statement_connect(stmt, engine->db, "main", "default", 0, err) &&
       run_all(stmt, plan, err);
done:
  duck_statement_free(stmt);
  kiln_plan_unref(plan);
  return ok;
}

/* Loads the sample tables when they are first named. Statements that come meanwhile wait: they
 * name them too. */
static bool samples_want(struct duck_engine *engine, const atomic_bool *stop,
                         struct kiln_error *err)
{
  bool ok = true;

  if (atomic_load_explicit(&engine->samples_loaded, memory_order_acquire)) return true;
  pthread_mutex_lock(&engine->samples_lock);
  if (!atomic_load(&engine->samples_loaded)) {
    ok = samples_load(engine, stop, err);
    atomic_store_explicit(&engine->samples_loaded, ok, memory_order_release);
  }
  pthread_mutex_unlock(&engine->samples_lock);
  return ok;
}

/* ---- Answers ------------------------------------------------------------------------------ */

struct counts {
  int64_t inserted, updated, deleted;
};

/* The first letter of each merge_action tells what was done to the row. */
static void count_actions(const struct ArrowArray *batch, struct counts *counts)
{
  const struct ArrowArray *words = batch->children[0];
  const int32_t *offsets = words->buffers[1];
  const char *text = words->buffers[2];
  int64_t i;

  for (i = words->offset; i < words->offset + words->length; i++) {
    char first = offsets[i] < offsets[i + 1] ? text[offsets[i]] : '\0';

    counts->inserted += first == 'I';
    counts->updated += first == 'U';
    counts->deleted += first == 'D';
  }
}

static bool count_merge(struct duck_statement *stmt, struct counts *counts, struct kiln_error *err)
{
  struct ArrowArray batch;

  for (;;) {
    if (!duck_statement_next(stmt, &batch, err)) return false;
    if (!batch.release) return true;
    count_actions(&batch, counts);
    batch.release(&batch);
  }
}

/* A warehouse answers DML with one row of counts. */
static void write_counts(char *sql, size_t size, enum kiln_answer_kind kind, int64_t total,
                         const struct counts *counts)
{
  int n = snprintf(sql, size, "SELECT %" PRId64 "::BIGINT AS num_affected_rows", total);

  if (kind == KILN_ANSWER_INSERT)
    (void)snprintf(sql + n, size - (size_t)n, ", %" PRId64 "::BIGINT AS num_inserted_rows", total);
  if (kind == KILN_ANSWER_MERGE)
    (void)snprintf(sql + n, size - (size_t)n,
                   ", %" PRId64 "::BIGINT AS num_updated_rows, %" PRId64
                   "::BIGINT AS num_deleted_rows, %" PRId64 "::BIGINT AS num_inserted_rows",
                   counts->updated, counts->deleted, counts->inserted);
}

static bool answer_counts(struct duck_statement *stmt, const struct kiln_plan *plan,
                          struct kiln_answer *answer, struct kiln_error *err)
{
  struct counts counts = {0, 0, 0};
  char sql[256];

  if (plan->answer == KILN_ANSWER_MERGE) {
    if (!count_merge(stmt, &counts, err)) return false;
    answer->rows_affected = counts.inserted + counts.updated + counts.deleted;
  } else {
    answer->rows_affected = stmt->changed;
  }
  if (plan->count > 1 && !duck_statement_run(stmt, "COMMIT", false, err)) return false;
  write_counts(sql, sizeof sql, plan->answer, answer->rows_affected, &counts);
  if (!duck_statement_run(stmt, sql, false, err)) return false;
  duck_statement_stream(stmt, &answer->stream);
  return true;
}

static bool answer_plan(struct duck_statement *stmt, const struct kiln_plan *plan,
                        struct kiln_answer *answer, struct kiln_error *err)
{
  bool counted = plan->answer != KILN_ANSWER_NONE && plan->answer != KILN_ANSWER_ROWS;

  /* A connection that is closed rolls back what it has not committed. */
  if (counted && plan->count > 1 && !duck_statement_run(stmt, "BEGIN", false, err)) return false;
  if (!run_all(stmt, plan, err)) return false;
  if (counted) return answer_counts(stmt, plan, answer, err);
  if (plan->answer == KILN_ANSWER_ROWS)
    duck_statement_stream(stmt, &answer->stream);
  else
    duck_statement_close(stmt);
  return true;
}

/* ---- Execute ------------------------------------------------------------------------------ */

static bool run_plan(struct duck_engine *engine, struct session *session,
                     struct duck_statement *stmt, const struct kiln_plan *plan,
                     const struct names *names, struct kiln_answer *answer, struct kiln_error *err)
{
  const char *catalog = names->catalog, *schema = names->schema;
  uint64_t own = names->own;

  if (plan->refused) {
    kiln_fail(err, plan->sqlstate, "%s", plan->message);
    return false;
  }
  if (plan->samples && !samples_want(engine, &stmt->stop, err)) return false;
  if (plan->own) {
    if (!own_want(engine, session, err)) return false;
    own = session->number;
  }
  if (plan->use_catalog) {
    catalog = plan->use_catalog;
    schema = plan->use_schema;
  }
  if (!duck_statement_connect(stmt, engine->db, catalog, schema, own, err)) return false;
  if (plan->use_catalog && !names_set(session, catalog, schema)) return fail_nomem(err);
  if (!answer_plan(stmt, plan, answer, err)) return false;
  if (plan->times) atomic_store(&session->timeout, plan->timeout);
  return true;
}

static bool execute_names(struct duck_engine *engine, struct session *session,
                          struct duck_statement *stmt, const struct kiln_statement *statement,
                          const struct names *names, struct kiln_answer *answer,
                          struct kiln_error *err)
{
  struct kiln_plan_key key = {mtr_span_of(statement->sql, statement->size),
                              mtr_span_text(names->catalog),
                              mtr_span_text(names->schema),
                              {NULL, 0},
                              {NULL, 0}};
  enum mortar_status st = MORTAR_OK;
  struct kiln_plan *plan = NULL;
  struct mortar_error cause;
  struct mtr_buf parameters, valued;
  bool ok = false;

  mtr_buf_init(&parameters, NULL, "names and types of parameters", PARAMETERS_MAX);
  mtr_buf_init(&valued, NULL, "parameters", VALUED_MAX);
  MTR_GOTO(duck_parameters_encode(statement, false, &parameters, &cause));
  MTR_GOTO(duck_parameters_encode(statement, true, &valued, &cause));
  key.parameters = mtr_buf_span(&parameters);
  key.valued = mtr_buf_span(&valued);
  MTR_GOTO(kiln_translator_plan(engine->translator, &key, &stmt->stop, &plan, &cause));
  stmt->source = statement;
  ok = run_plan(engine, session, stmt, plan, names, answer, err);
  stmt->source = NULL;
done:
  if (st != MORTAR_OK) fail_status(err, &cause);
  kiln_plan_unref(plan);
  mtr_buf_fini(&valued);
  mtr_buf_fini(&parameters);
  return ok;
}

/* A metadata call, which DuckDB's catalogue answers whatever the session's names are. */
static bool answer_metadata(struct duck_engine *engine, struct duck_statement *stmt,
                            const struct mortar_metadata *metadata, struct kiln_answer *answer,
                            struct kiln_error *err)
{
  struct mortar_error cause;
  struct mtr_buf sql;
  bool ok = false;

  mtr_buf_init(&sql, NULL, "query of the catalogue", QUESTION_MAX);
  if (duck_metadata_write(metadata, &sql, &cause) != MORTAR_OK)
    fail_status(err, &cause);
  else
    ok = (!duck_metadata_names_samples(metadata) || samples_want(engine, &stmt->stop, err)) &&
         duck_statement_connect(stmt, engine->db, "main", "default", 0, err) &&
         duck_statement_run(stmt, (const char *)sql.data, false, err);
  if (ok) duck_statement_stream(stmt, &answer->stream);
  mtr_buf_fini(&sql);
  return ok;
}

static bool execute(void *engine, void *session, const struct kiln_statement *statement,
                    _Atomic(void *) *statement_ctx, struct kiln_answer *answer,
                    struct kiln_error *err)
{
  struct duck_engine *eng = engine;
  struct duck_statement *stmt = duck_statement_new(&eng->api);
  struct names names = {NULL, NULL, 0};
  bool ok;

  memset(answer, 0, sizeof *answer);
  answer->rows_affected = -1;
  if (!stmt) return fail_nomem(err);
  atomic_store(statement_ctx, stmt);
  ok = statement->metadata || names_get(session, &names);
  if (!ok)
    fail_nomem(err);
  else if (statement->metadata)
    ok = answer_metadata(eng, stmt, statement->metadata, answer, err);
  else
    ok = execute_names(eng, session, stmt, statement, &names, answer, err);
  /* What failed keeps no connection, however late finish comes. */
  if (!ok) duck_statement_close(stmt);
  names_fini(&names);
  return ok;
}

static void interrupt(void *engine, void *statement_ctx)
{
  (void)engine;
  duck_statement_interrupt(statement_ctx);
}

static void finish(void *engine, void *statement_ctx)
{
  (void)engine;
  duck_statement_free(statement_ctx);
}

const struct kiln_engine duck_engine_functions = {
    .name = "duckdb",
    .metadata_ok = true,
    .open_session = open_session,
    .close_session = close_session,
    .execute = execute,
    .timeout = timeout,
    .interrupt = interrupt,
    .finish = finish,
};

/* ---- Start and end ------------------------------------------------------------------------ */

static enum mortar_status open_database(struct duck_engine *engine, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  char *text = NULL;

  if (engine->api.open_ext(NULL, &engine->db, NULL, &text) != 0) {
    st = mtr_fail(err, MORTAR_STATE, "DuckDB does not open: %s", text ? text : "no reason given");
    if (text) engine->api.free(text);
  }
  return st;
}

enum mortar_status duck_engine_new(const struct duck_engine_options *options,
                                   struct duck_engine **out, struct mortar_error *err)
{
  const struct kiln_translator_options translator = {options->translator,
                                                     options->translate_timeout_ms};
  enum mortar_status st = MORTAR_OK;
  struct duck_engine *engine = mtr_calloc(NULL, 1, sizeof *engine);

  *out = NULL;
  if (!engine) return mtr_fail_nomem(err, "engine");
  pthread_mutex_init(&engine->samples_lock, NULL);
  engine->work_folder = mtr_strndup(NULL, options->work_folder, strlen(options->work_folder));
  if (!engine->work_folder) {
    st = mtr_fail_nomem(err, "name of the work folder");
    goto done;
  }
  /* First, because the processes load while DuckDB does. */
  MTR_GOTO(kiln_translator_new(&translator, &engine->translator, err));
  MTR_GOTO(duck_api_load(&engine->api, options->library, err));
  MTR_GOTO(open_database(engine, err));
  MTR_GOTO(run_apart(engine, options->setup_sql, err));
  *out = engine;
  engine = NULL;
done:
  duck_engine_free(engine);
  return st;
}

void duck_engine_free(struct duck_engine *engine)
{
  if (!engine) return;
  kiln_translator_free(engine->translator);
  if (engine->db) engine->api.close(&engine->db);
  mtr_free_text(NULL, engine->work_folder);
  pthread_mutex_destroy(&engine->samples_lock);
  mtr_free(NULL, engine, sizeof *engine);
}

const char *duck_engine_version(const struct duck_engine *engine)
{
  return engine->api.library_version();
}
