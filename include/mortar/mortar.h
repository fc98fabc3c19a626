/* Mortar: the public C API, the only header a user needs.
 *
 * Mortar carries rows out of a SQL warehouse: Databricks SQL, Spark Thrift Server, HiveServer2.
 * A program makes a config, opens a session, runs statements on it and reads results as Arrow.
 *
 *     mortar_config  ->  mortar_session  ->  mortar_statement  ->  mortar_result
 *
 * Rules that hold for every function below, so that they are not said again:
 * - Functions that can fail return a mortar_status and fill the caller's mortar_error, which may be
 *   NULL and is written on failure only. On failure every out parameter is set to NULL or zero.
 * - The library never prints, exits or aborts. It writes to no global state of the process.
 * - *_free accepts NULL. Handles may be freed in any order: what a child still needs stays alive.
 * - Text is UTF-8. Text arguments are copied; text returned belongs to the handle that returned it.
 * - "Any thread" means that calls may overlap; otherwise one thread at a time uses a handle.
 */
#ifndef MORTAR_MORTAR_H
#define MORTAR_MORTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MORTAR_VERSION "0.1.0"

#if defined(__GNUC__)
#define MORTAR_API __attribute__((visibility("default")))
#define MORTAR_MUST_USE __attribute__((warn_unused_result))
#define MORTAR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define MORTAR_API
#define MORTAR_MUST_USE
#define MORTAR_PRINTF(fmt, args)
#endif

/* ---- Status and errors -------------------------------------------------------------------- */

/* The one status table. Columns: name, default text, default SQLSTATE.
 * MORE is internal to decoders and never leaves the library. */
#define MORTAR_STATUS_MAP(X)                                                                       \
  X(OK, "success", "00000")                                                                        \
  X(MORE, "more input is needed", "00000")                                                         \
  X(NOMEM, "out of memory", "HY001")                                                               \
  X(INVALID, "invalid argument", "HY009")                                                          \
  X(STATE, "the object is closed or in the wrong state", "HY010")                                  \
  X(UNSUPPORTED, "not supported", "0A000")                                                         \
  X(LIMIT, "a stated limit was crossed", "54000")                                                  \
  X(CONNECT, "no connection to the server", "08001")                                               \
  X(TLS, "the secure connection failed", "08001")                                                  \
  X(IO, "the connection broke", "08S01")                                                           \
  X(TIMEOUT, "the deadline passed", "HYT00")                                                       \
  X(INTERRUPTED, "the caller woke the wait up", "HY008")                                           \
  X(AUTH, "the server refused the credentials", "28000")                                           \
  X(HTTP, "the server answered with an HTTP error", "08S01")                                       \
  X(PROTOCOL, "the reply is malformed", "08S01")                                                   \
  X(CORRUPT, "the result data is corrupt", "22000")                                                \
  X(SERVER, "the server refused the statement", "HY000")                                           \
  X(CANCELED, "the statement was canceled", "57014")                                               \
  X(FILE, "a file of this machine can't be read or written", "58030")

enum mortar_status {
#define X(name, text, sqlstate) MORTAR_##name,
  MORTAR_STATUS_MAP(X)
#undef X
};

/* What became of the request that failed. Only NOT_SENT and REJECTED are safe to send again. */
enum mortar_outcome {
  MORTAR_OUTCOME_NONE = 0, /* no request was involved */
  MORTAR_OUTCOME_NOT_SENT, /* no byte of it left this machine */
  MORTAR_OUTCOME_REJECTED, /* the server said that it did not start it */
  MORTAR_OUTCOME_UNKNOWN,  /* it may have run */
  MORTAR_OUTCOME_DONE      /* the server answered it */
};

/* Caller-owned, plain data, no pointers: copy it freely. All zero means no error. */
struct mortar_error {
  enum mortar_status status;
  enum mortar_outcome outcome;
  int32_t http_status; /* 0: no HTTP status was involved */
  int32_t server_code; /* the server's own error number, 0 when it gave none */
  int32_t os_error;    /* with FILE: errno, 0 when the system had no say in it */
  bool session_lost;   /* the session is gone: open another */
  char sqlstate[6];    /* five characters and NUL */
  char query_id[37];   /* 8-4-4-4-12 text, empty while the statement has no id */
  char session_id[37]; /* the same for the session */
  char message[1024];  /* one line or more, UTF-8, cut at a character */
};

/* The name ("TIMEOUT") and the default text of a status. Never NULL. Any thread. */
MORTAR_API const char *mortar_status_name(enum mortar_status status);
MORTAR_API const char *mortar_status_text(enum mortar_status status);
MORTAR_API const char *mortar_outcome_name(enum mortar_outcome outcome);
MORTAR_API const char *mortar_version(void);

/* ---- Memory ------------------------------------------------------------------------------- */

/* An allocator of the caller's. fn(ctx, NULL, 0, n) allocates, fn(ctx, p, old, n) resizes,
 * fn(ctx, p, old, 0) frees and returns NULL. Called from any thread; must outlive every handle,
 * every Arrow array made with it and what mortar_background_wait waits for. Memory that libcurl and
 * OpenSSL take does not come from here. */
struct mortar_alloc {
  void *(*fn)(void *ctx, void *ptr, size_t old_size, size_t new_size);
  void *ctx;
};

/* ---- Arrow C data interface --------------------------------------------------------------- */
/* Declared from the published layout (arrow.apache.org, "The Arrow C data interface"); the guards
 * are the ones that the specification names, so other headers may declare them too. */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* ---- Waiting ------------------------------------------------------------------------------ */

/* Something that ends a wait early: one thread waits, any other thread or a signal handler calls
 * mortar_wake_signal. The signal stays until mortar_wake_clear, so it is never lost. */
struct mortar_wake;

MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_wake_new(struct mortar_wake **out,
                                                              struct mortar_error *err);
MORTAR_API void mortar_wake_signal(struct mortar_wake *wake); /* any thread, async-signal-safe */
MORTAR_API void mortar_wake_clear(struct mortar_wake *wake);
MORTAR_API void mortar_wake_free(struct mortar_wake *wake);

/* How long a call may take and what may end it early. A NULL pointer means all zero but
 * timeout_ms -1. tick is for those who must look after something while they wait: it is called on
 * the waiting thread, at least every 100 ms; nonzero ends the call like a wake-up. */
struct mortar_call {
  int64_t timeout_ms;       /* for the whole call; -1: the config's own limits only */
  struct mortar_wake *wake; /* NULL: nothing ends it early; ended so, it fails with INTERRUPTED */
  int (*tick)(void *ctx);   /* NULL: nothing is called */
  void *tick_ctx;
};

/* ---- Config ------------------------------------------------------------------------------- */

/* Where the server is and how to speak to it. Read by mortar_session_open, which copies it. */
struct mortar_config;

/* alloc NULL: the C library's. The struct is copied; every child handle uses the same one. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_new(const struct mortar_alloc *alloc,
                                                                struct mortar_config **out,
                                                                struct mortar_error *err);

/* Sets one option by name; docs/options.md lists them all. value NULL: back to the default.
 * INVALID: no such option (the text names the nearest one), or a value it does not take. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_set(struct mortar_config *config,
                                                                const char *name, const char *value,
                                                                struct mortar_error *err);

/* Sets host, port, TLS and http_path at once: "https://HOST[:PORT]/PATH", "http://..." for plain.
 * A user name or password in it is refused: a URI ends up in logs. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_set_uri(struct mortar_config *config,
                                                                    const char *uri,
                                                                    struct mortar_error *err);

/* Adds one session setting (a SQL parameter such as "ansi_mode"), sent when the session opens. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_set_session_setting(
    struct mortar_config *config, const char *name, const char *value, struct mortar_error *err);

/* Levels of the log, each with what is above it. A success writes nothing above INFO. */
enum mortar_log_level {
  MORTAR_LOG_WARNING = 1, /* something may be left behind on the server */
  MORTAR_LOG_INFO,        /* sessions opened and closed, requests sent again and why */
  MORTAR_LOG_DEBUG,       /* every call */
  MORTAR_LOG_SQL          /* the SQL texts too, cut at about a thousand bytes */
};

/* Gets one line of UTF-8 without a line end. Called on the thread that makes the call and on the
 * library's background thread, so also from several at once; it must not call the library. */
typedef void (*mortar_log_fn)(void *ctx, enum mortar_log_level level, const char *line);

/* Where the sessions of this config log, up to `level`. fn NULL: nowhere, which is the default. No
 * line ever holds a token or a password. fn and ctx must outlive the sessions and what
 * mortar_background_wait waits for, or be counted: mortar_config_set_log_owner. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_set_log(struct mortar_config *config,
                                                                    enum mortar_log_level level,
                                                                    mortar_log_fn fn, void *ctx,
                                                                    struct mortar_error *err);

/* For a ctx that lives no longer than it is used: hold(ctx) is called when a session begins to use
 * it, and release(ctx) as often, on any thread, when the session and its background work are gone.
 * Neither may call the library. Goes with the function set last: set that first. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_config_set_log_owner(
    struct mortar_config *config, void (*hold)(void *ctx), void (*release)(void *ctx),
    struct mortar_error *err);

MORTAR_API void mortar_config_free(struct mortar_config *config);

/* ---- Session ------------------------------------------------------------------------------ */

/* A session on the server. Any thread: statements run in parallel on connections of their own. */
struct mortar_session;

MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_session_open(
    const struct mortar_config *config, const struct mortar_call *call, struct mortar_session **out,
    struct mortar_error *err);

/* The server's id for it, 8-4-4-4-12 text. Never NULL. */
MORTAR_API const char *mortar_session_id(const struct mortar_session *session);

/* OK: calls can be made on it. STATE: it was closed, or belongs to the parent of this process: a
 * fork copies the handle, not the session. Asks no one, not even the system. Any thread. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_session_usable(
    const struct mortar_session *session, struct mortar_error *err);

/* Closes it on the server. Results that are open keep what they have already received; calls that
 * other threads have running end soon with INTERRUPTED. Closing twice is fine. An error says that
 * the server may still hold the session; it is closed here all the same. */
MORTAR_API enum mortar_status mortar_session_close(struct mortar_session *session,
                                                   const struct mortar_call *call,
                                                   struct mortar_error *err);

/* Frees the handle, and closes first what was not closed, within two seconds. In a child of a fork
 * nothing is sent: the session is the parent's. */
MORTAR_API void mortar_session_free(struct mortar_session *session);

/* What a session did so far; counted when a call gives its connection back, retries and their waits
 * as they begin. */
struct mortar_session_stats {
  uint64_t statements;        /* executed, metadata calls and failed ones too */
  uint64_t exchanges;         /* requests with their replies */
  uint64_t connects;          /* connections opened */
  uint64_t stale_connections; /* found closed by the server before anything was sent */
  uint64_t probes;            /* looks whether an idle connection is alive, a system call each */
  uint64_t writes, reads;     /* sends of requests, receives of replies; probes are none of them */
  uint64_t waits;             /* for the server; without TLS most are the receive itself */
  uint64_t batches_decoded;   /* of rows; a page of Thrift columns is one */
  uint64_t batches_joined;    /* small ones put together before they were handed out */
  uint64_t schemas_derived;   /* results whose schema was not known yet */
  uint64_t retries;           /* requests sent again, docs/retries.md */
  uint64_t retry_wait_ms;     /* spent waiting before that */
};

/* Any thread. A NULL session gives zeros. */
MORTAR_API void mortar_session_get_stats(const struct mortar_session *session,
                                         struct mortar_session_stats *out);

/* ---- Statement ---------------------------------------------------------------------------- */

/* A SQL text or a metadata call to run, once or many times; and what it gives. */
struct mortar_statement;
struct mortar_result;

MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_new(struct mortar_session *session,
                                                                   struct mortar_statement **out,
                                                                   struct mortar_error *err);

/* sql need not end with NUL; size is in bytes. What was bound for an earlier text is dropped. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_sql(
    struct mortar_statement *stmt, const char *sql, size_t size, struct mortar_error *err);

/* A value for a marker of the text, plain data of the caller's. The value is text as SQL would take
 * it in a cast, with nothing quoted or escaped ("-1.50", "2013-01-31", "it's"), and may hold NUL.
 * An ARRAY or MAP has arguments in its place: the elements, or key, value, key, value; their names
 * are not looked at. */
struct mortar_parameter {
  const char *name;  /* of the marker `:name`, without the colon; NULL: the next `?` */
  const char *type;  /* in SQL: "INT", "DECIMAL(10,2)", "ARRAY"; a null's may be "VOID" */
  const char *value; /* NULL: null, or see arguments */
  size_t value_size; /* in bytes */
  const struct mortar_parameter *arguments; /* NULL: it is none; count 0: it is empty */
  size_t argument_count;
};

/* Binds the values of list, of which it keeps copies, in place of those bound before; count 0:
 * none. They stay for each execute until the next bind or set_sql, so they are bound behind
 * set_sql. Either all of them have names or none has. INVALID: names are mixed, a type is missing,
 * or a value and arguments are both given; LIMIT: more than 256 of them, 64 MB, or 32 levels;
 * nothing is bound then. Whether they fit the markers is for the server to say. execute fails with
 * UNSUPPORTED, and sends nothing, where the server's protocol has no parameters. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_bind(
    struct mortar_statement *stmt, const struct mortar_parameter *list, size_t count,
    struct mortar_error *err);

/* The server cancels the statement after so many seconds; 0: the server's default. Where it says
 * nothing of it, execute fails with TIMEOUT all the same, within 0.2 s of the limit, and the
 * statement is cancelled as one that was given up. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_timeout(
    struct mortar_statement *stmt, int64_t seconds, struct mortar_error *err);

/* The server sends no more rows than these; negative, the default: all. What 0 means is for the
 * server to say. Fails as mortar_statement_bind says where the protocol has no such limit; a
 * metadata call is not limited. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_row_limit(
    struct mortar_statement *stmt, int64_t rows, struct mortar_error *err);

/* Adds a setting for this statement alone, such as "query_tags": it goes with the text, as bound
 * values do. Spark takes such settings and does not look at them. LIMIT: more than 1024. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_setting(
    struct mortar_statement *stmt, const char *name, const char *value, struct mortar_error *err);

/* What a statement can ask of the server's catalogue in place of running a text: the calls that
 * JDBC's methods of these names are made of. docs/c-api.md lists their columns. */
enum mortar_metadata_kind {
  MORTAR_METADATA_CATALOGS,
  MORTAR_METADATA_SCHEMAS, /* takes catalog, schema */
  MORTAR_METADATA_TABLES,  /* these, table, table_types */
  MORTAR_METADATA_COLUMNS, /* catalog, schema, table, column */
  MORTAR_METADATA_TABLE_TYPES,
  MORTAR_METADATA_TYPE_INFO,
  MORTAR_METADATA_FUNCTIONS,      /* catalog, schema, function */
  MORTAR_METADATA_PRIMARY_KEYS,   /* catalog, schema, table: names, not patterns */
  MORTAR_METADATA_CROSS_REFERENCE /* catalog, schema, table of the primary key and of the foreign
                                     key: names */
};

/* Filters are patterns: % stands for any text, _ for one character, and a backslash takes the
 * meaning from the character behind it. NULL: no filter. The server decides whether upper and lower
 * case differ, whether catalog is a pattern, too, and what an empty text means: most find nothing
 * by it, Spark everything. */
struct mortar_metadata {
  enum mortar_metadata_kind kind;
  const char *catalog, *schema, *table;
  const char *column;
  const char *function;           /* NULL is sent as "%": servers insist on it */
  const char *const *table_types; /* whole words, such as "VIEW" */
  size_t table_type_count;        /* 0: all types */
  const char *foreign_catalog, *foreign_schema, *foreign_table;
};

/* Takes the place of the SQL text, as a text takes its: what is said of statements here holds for
 * a metadata call, too. It is a read and sent again as such. INVALID: not a filter of this call. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_metadata(
    struct mortar_statement *stmt, const struct mortar_metadata *metadata,
    struct mortar_error *err);

/* Says that running it twice does no harm, so that it may be sent again when nobody knows what
 * became of the first request. Without it that is done only for texts that plainly read. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_idempotent(
    struct mortar_statement *stmt, bool idempotent, struct mortar_error *err);

/* PUT, GET and REMOVE move files between this machine and a volume of the server's: the server
 * answers with a link, and execute does the rest. This says what of the machine they may touch.
 *
 * A file must lie in one of folders, or be one of them, with all symbolic links resolved. A GET
 * writes to a temporary file beside the one that is named and renames it when it is whole: what was
 * there before stays otherwise. REMOVE touches no file and needs no folder.
 *
 * Where a PUT names its file '__input_stream__' the bytes are read's, and where a GET names it
 * '__output_stream__' they go to write. All three functions are called on the thread that
 * executes, return 0 or, for a failure, anything else (execute then fails with INTERRUPTED), and
 * must not use the statement. */
struct mortar_volume {
  const char *const *folders;
  size_t folder_count;
  /* Puts up to size bytes into data; *n 0: that was all. */
  int (*read)(void *ctx, void *data, size_t size, size_t *n);
  /* Of what read gives in all; -1: not known, then it is kept in a temporary file first, since
   * stores want to be told. A number that is wrong fails. */
  int64_t read_size;
  /* Takes all of data. */
  int (*write)(void *ctx, const void *data, size_t size);
  /* NULL, or back to where it was when execute began; what was written is void. With it a transfer
   * that broke may be tried again. */
  int (*rewind)(void *ctx);
  void *ctx;
};

/* Copied; ctx must live until execute returns, or mortar_statement_result, which moves the file of
 * a statement that was submitted. It holds for each run until the next set_volume or set_sql, so it
 * is said behind set_sql; volume NULL: nothing of the machine. Statements that are none of the
 * three take no notice.
 *
 * After a transfer the result has the columns of the server's answer and no row. execute fails
 * with INVALID, and sends nothing, when a PUT or GET has neither folder nor function; with INVALID
 * when the file lies elsewhere, FILE when it can't be read or written, and HTTP with http_status
 * when the store said no. GET and REMOVE are sent again as reads are, PUT as a write is. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_set_volume(
    struct mortar_statement *stmt, const struct mortar_volume *volume, struct mortar_error *err);

/* True when its text is a PUT, GET or REMOVE, by the first word. */
MORTAR_API bool mortar_statement_is_volume(const struct mortar_statement *stmt);

/* Runs it and waits until the server has finished it or has sent its first rows. A call that gives
 * up earlier returns at once; the library's background thread then cancels the statement as soon as
 * the server has named it, for at most a minute. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_execute(
    struct mortar_statement *stmt, const struct mortar_call *call, struct mortar_result **out,
    struct mortar_error *err);

/* Asks the server to stop what runs, or was submitted. Any thread, also while execute waits. It
 * counts from mortar_statement_set_sql on, so that it isn't lost when it comes just before execute,
 * which then sends nothing (MORTAR_CANCELED). Once execute has returned there is nothing to stop,
 * and that is a success. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_cancel(struct mortar_statement *stmt,
                                                                      struct mortar_error *err);

MORTAR_API void mortar_statement_free(struct mortar_statement *stmt);

/* ---- Statements that run while nobody waits ---- */

/* How far a statement is that was submitted. One that has failed is in no state: whoever asks for
 * it gets the error. */
enum mortar_statement_state {
  MORTAR_STATEMENT_NONE,    /* nothing was submitted */
  MORTAR_STATEMENT_PENDING, /* the server has it and has not begun */
  MORTAR_STATEMENT_RUNNING,
  MORTAR_STATEMENT_FINISHED /* its result can be had, or was */
};

/* Like execute, but returns as soon as the server has named the statement. From then on it is the
 * statement's until the next reset, set_sql, set_metadata, submit, execute or free, which end it on
 * the server, within two seconds; or until its result was made. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_submit(
    struct mortar_statement *stmt, const struct mortar_call *call, struct mortar_error *err);

/* Asks the server once; some answer after seconds only while the statement runs. Fails with what
 * the statement failed with (SERVER, CANCELED, TIMEOUT, outcome DONE), then and at every later
 * call; or because the question failed (outcome UNKNOWN), which changes nothing: ask again. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_poll(
    struct mortar_statement *stmt, const struct mortar_call *call, enum mortar_statement_state *out,
    struct mortar_error *err);

/* Waits for its end and gives its result, once. A wait that is ended early leaves the statement
 * running: call again. Otherwise fails as poll does; STATE: nothing was submitted, or the result
 * was taken. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_result(
    struct mortar_statement *stmt, const struct mortar_call *call, struct mortar_result **out,
    struct mortar_error *err);

/* The id on the server, 8-4-4-4-12 text, of what was submitted, and what names it to the server.
 * Both live until it is let go; empty when there is nothing. Whoever has the handle and may open a
 * session can read the rows: keep it as you keep the rows. */
MORTAR_API const char *mortar_statement_query_id(const struct mortar_statement *stmt);
MORTAR_API const char *mortar_statement_handle(const struct mortar_statement *stmt);

/* Goes on with what another statement submitted, by its handle, for poll, result and cancel. Asks
 * the server nothing. It stays the other's, which must not let it go first; a result that is made
 * of it here ends it. Servers keep a statement no longer than the session it was submitted on.
 * INVALID: no handle. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_statement_attach(struct mortar_statement *stmt,
                                                                      const char *handle,
                                                                      struct mortar_error *err);

/* Lets go what was submitted. NULL is fine. */
MORTAR_API void mortar_statement_reset(struct mortar_statement *stmt);

/* new, set_sql (up to NUL), execute and free in one call. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_query(struct mortar_session *session,
                                                           const char *sql,
                                                           const struct mortar_call *call,
                                                           struct mortar_result **out,
                                                           struct mortar_error *err);

/* ---- Result ------------------------------------------------------------------------------- */

/* The rows of one statement, read forward once. Outlives its statement and its session. */

/* The statement's id on the server, 8-4-4-4-12 text. Never NULL. */
MORTAR_API const char *mortar_result_query_id(const struct mortar_result *result);

/* Rows changed by INSERT, UPDATE, DELETE or MERGE; -1: the server did not say. */
MORTAR_API int64_t mortar_result_rows_affected(const struct mortar_result *result);

/* Columns, counted from 0. An index out of range gives NULL. Type names are SQL's:
 * "DECIMAL(10,2)", "ARRAY<INT>". */
MORTAR_API int64_t mortar_result_column_count(const struct mortar_result *result);
MORTAR_API const char *mortar_result_column_name(const struct mortar_result *result, int64_t i);
MORTAR_API const char *mortar_result_column_type(const struct mortar_result *result, int64_t i);

/* Equal numbers mean equal schemas within one session, so that a caller can keep what it derived
 * from one. Never 0. */
MORTAR_API uint64_t mortar_result_shape(const struct mortar_result *result);

/* True when nothing more has to be asked of the server: next, to_stream and free will not wait.
 * Also for NULL. */
MORTAR_API bool mortar_result_is_local(const struct mortar_result *result);

/* A copy of the schema (a struct, format "+s", of the columns). The caller releases it. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_result_schema(
    const struct mortar_result *result, struct ArrowSchema *out, struct mortar_error *err);

/* The next batch: a struct array of the columns, never empty. The end is MORTAR_OK with
 * out->release NULL; it is reached only after the last row of the server: a page that can't be had
 * is an error. The array outlives result and session; release it on any thread. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_result_next(struct mortar_result *result,
                                                                 const struct mortar_call *call,
                                                                 struct ArrowArray *out,
                                                                 struct mortar_error *err);

/* Moves the rest of the result into an Arrow stream that owns it: *result becomes NULL. get_next
 * waits as the config says. On failure the result stays the caller's. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_result_to_stream(struct mortar_result **result,
                                                                      struct ArrowArrayStream *out,
                                                                      struct mortar_error *err);

/* Frees the handle; closes the operation on the server if the server has not closed it. */
MORTAR_API void mortar_result_free(struct mortar_result *result);

/* As mortar_result_next, but batches of less than a thousand rows that wait behind each other in
 * the memory already decoded come as one, a copy, of about `rows` rows: for consumers that pay for
 * each batch, not for each row. mortar_result_to_stream does so, too. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_result_next_joined(
    struct mortar_result *result, const struct mortar_call *call, int64_t rows,
    struct ArrowArray *out, struct mortar_error *err);

/* ---- Background ---------------------------------------------------------------------------- */

/* What callers gave up is cancelled and closed on one thread of the library's, which starts when it
 * is first needed, ends by itself and is stopped when the process exits. Waits until nothing is
 * left for it to do: before an allocator or a log goes away, or in tests. timeout_ms -1: as long as
 * it takes. False: the time was up. Any thread. */
MORTAR_API bool mortar_background_wait(int64_t timeout_ms);

/* ---- Text --------------------------------------------------------------------------------- */

/* Writes the value of one cell as SQL would show it (DATE 2013-01-01, DECIMAL with its scale,
 * nested values as JSON) into buf, always ended with NUL. *size is the length of the whole text;
 * one that did not fit is cut at a character and *size tells by how much. A null gives "NULL". A
 * timestamp's fraction goes as far as it is needed; one with a time zone is shown in UTC, with
 * "+00:00" behind it unless the zone is a name of UTC. array is a batch of mortar_result_next,
 * schema that of its result. buf may be NULL when capacity is 0, and size when the length is not
 * wanted. */
MORTAR_API MORTAR_MUST_USE enum mortar_status mortar_format_cell(
    const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t column, int64_t row,
    char *buf, size_t capacity, size_t *size, struct mortar_error *err);

#ifdef __cplusplus
}
#endif

#endif /* MORTAR_MORTAR_H */
