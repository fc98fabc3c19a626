/* The Thrift backend: TCLIService as Databricks speaks it, over HTTP. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "client/sql_kind.h"
#include "client/thrift/answer.h"
#include "client/thrift/call.h"
#include "client/thrift/metadata.h"
#include "client/thrift/parameters.h"
#include "codec/base64.h"

/* Lost or not, a text that plainly reads may run twice. */
static enum mtr_call_kind kind_by_text(const void *request)
{
  const struct mtr_TExecuteStatementReq *req = request;

  return mtr_sql_is_read(req->statement) ? MTR_CALL_READ : MTR_CALL_WRITE;
}

#define METHOD(method)                                                                             \
  .name = #method, .request = &mtr_T##method##Req_info, .reply = &mtr_T##method##Resp_info
static const struct mtr_thrift_method open_session = {METHOD(OpenSession), .kind = MTR_CALL_OPEN,
                                                      .keep = true};
static const struct mtr_thrift_method close_session = {METHOD(CloseSession), .kind = MTR_CALL_CLOSE,
                                                       .names_session = true};
static const struct mtr_thrift_method execute_statement = {
    METHOD(ExecuteStatement), .kind = MTR_CALL_WRITE, .kind_of = kind_by_text,
    .names_session = true, .keep = true};
static const struct mtr_thrift_method execute_idempotent = {
    METHOD(ExecuteStatement), .kind = MTR_CALL_READ, .names_session = true, .keep = true};
static const struct mtr_thrift_method get_operation_status = {METHOD(GetOperationStatus),
                                                              .kind = MTR_CALL_POLL};
static const struct mtr_thrift_method get_result_set_metadata = {METHOD(GetResultSetMetadata),
                                                                 .kind = MTR_CALL_METADATA};
static const struct mtr_thrift_method fetch_results = {METHOD(FetchResults),
                                                       .kind = MTR_CALL_FETCH};
static const struct mtr_thrift_method cancel_operation = {METHOD(CancelOperation),
                                                          .kind = MTR_CALL_CANCEL};
static const struct mtr_thrift_method close_operation = {METHOD(CloseOperation),
                                                         .kind = MTR_CALL_CLOSE};
#undef METHOD

/* Bounds of what the session writes ahead: a token can be several KB, settings are few. */
enum { HEADERS_MAX = 256 << 10, SETTINGS_BYTES_MAX = 16 << 20 };

/* What a server knows how to do, by the protocol version that it answered: nothing of it is asked
 * of an older one. */
enum feature {
  COLUMNS = MTR_PROTOCOL_HIVE_V6,         /* and not rows, which come one by one */
  DIRECT_RESULTS = MTR_PROTOCOL_SPARK_V1, /* and pages by bytes, Arrow, a true hasMoreRows */
  LINKS = MTR_PROTOCOL_SPARK_V3,
  NAMESPACE = MTR_PROTOCOL_SPARK_V4,
  ROW_LIMIT = MTR_PROTOCOL_SPARK_V4,
  NATIVE_TYPES = MTR_PROTOCOL_SPARK_V5, /* of Arrow; before, all but numbers and moments is text */
  PAGE_METADATA = MTR_PROTOCOL_SPARK_V5,
  LZ4 = MTR_PROTOCOL_SPARK_V6,
  ASYNC_METADATA = MTR_PROTOCOL_SPARK_V6,
  PARAMETERS = MTR_PROTOCOL_SPARK_V8,
  NEWEST = MTR_PROTOCOL_SPARK_V9 /* metadata calls that go on after their reply: polled as any */
};

/* Rows of one page from a server that knows no columns: it makes an object of each cell, as we do.
 */
enum { ROW_LIST_MAX = 1000 };

struct mtr_backend_session {
  const struct mortar_alloc *alloc;
  struct mtr_thrift_peer peer;
  char *path, *endpoint;
  struct mtr_buf headers;
  struct mtr_handle handle;
  int32_t version; /* that the server answered */
  int64_t page_rows, page_bytes;
  bool arrow; /* ask for it */
  struct mtr_message_template execute;
};

/* ---- What every call carries ---- */

static enum mortar_status append_basic(struct mtr_buf *out, const struct mtr_options *options,
                                       struct mortar_error *err)
{
  struct mtr_buf pair;
  enum mortar_status st;

  mtr_buf_init(&pair, options->alloc, "user and password", HEADERS_MAX);
  MTR_GOTO(mtr_buf_printf(&pair, err, "%s:%s", options->username,
                          options->password ? options->password : ""));
  MTR_GOTO(mtr_buf_append(out, "Authorization: Basic ", 21, err));
  MTR_GOTO(mtr_base64_encode(mtr_buf_span(&pair), out, err));
  MTR_GOTO(mtr_buf_append(out, "\r\n", 2, err));
done:
  if (pair.data) memset(pair.data, 0, pair.size);
  mtr_buf_fini(&pair);
  return st;
}

/* A line break inside a value would start another header. */
static enum mortar_status check_header_value(const char *name, const char *value,
                                             struct mortar_error *err)
{
  const char *p;

  for (p = value ? value : ""; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f)
      return mtr_fail(err, MORTAR_INVALID, "option '%s' holds a control character", name);
  return MORTAR_OK;
}

static enum mortar_status write_headers(struct mtr_buf *out, const struct mtr_options *options,
                                        struct mortar_error *err)
{
  MTR_TRY(check_header_value("access_token", options->access_token, err));
  MTR_TRY(check_header_value("user_agent", options->user_agent, err));
  MTR_TRY(mtr_buf_printf(out, err,
                         "Content-Type: application/x-thrift\r\n"
                         "Accept: application/x-thrift\r\n"
                         "User-Agent: "));
  MTR_TRY(mtr_options_user_agent(options, out, err));
  MTR_TRY(mtr_buf_append(out, "\r\n", 2, err));
  if (options->access_token)
    MTR_TRY(mtr_buf_printf(out, err, "Authorization: Bearer %s\r\n", options->access_token));
  else if (options->username)
    MTR_TRY(append_basic(out, options, err));
  return mtr_buf_append(out, "", 1, err); /* ended with NUL for mtr_request */
}

/* The path as it goes into the request line: with its slash, without anything that ends the line.
 */
static enum mortar_status make_path(struct mtr_backend_session *bs, const char *path,
                                    struct mortar_error *err)
{
  struct mtr_buf text;
  enum mortar_status st;
  const char *p;

  if (!path) path = "/";
  mtr_buf_init(&text, bs->alloc, "http_path", HEADERS_MAX);
  for (p = path; *p; p++)
    if ((unsigned char)*p <= 0x20 || *p == 0x7f)
      return mtr_fail(err, MORTAR_INVALID, "option 'http_path' holds a blank or control character");
  MTR_GOTO(mtr_buf_printf(&text, err, "%s%s", *path == '/' ? "" : "/", path));
  bs->path = mtr_strndup(bs->alloc, (const char *)text.data, text.size);
  if (!bs->path) st = mtr_fail_nomem(err, "http_path");
done:
  mtr_buf_fini(&text);
  return st;
}

static void backend_free(struct mtr_backend_session *bs)
{
  if (!bs) return;
  if (bs->headers.data) memset(bs->headers.data, 0, bs->headers.size);
  mtr_buf_fini(&bs->headers);
  mtr_message_template_fini(&bs->execute);
  mtr_free_text(bs->alloc, bs->path);
  mtr_free_text(bs->alloc, bs->endpoint);
  mtr_free(bs->alloc, bs, sizeof *bs);
}

static enum mortar_status make_endpoint_text(struct mtr_backend_session *bs,
                                             const struct mtr_options *options,
                                             struct mortar_error *err)
{
  struct mtr_buf text;
  enum mortar_status st;

  mtr_buf_init(&text, bs->alloc, "host name", HEADERS_MAX);
  MTR_GOTO(mtr_buf_printf(&text, err, "%s:%d", options->host, mtr_options_port(options)));
  bs->endpoint = mtr_strndup(bs->alloc, (const char *)text.data, text.size);
  if (!bs->endpoint) st = mtr_fail_nomem(err, "host name");
done:
  mtr_buf_fini(&text);
  return st;
}

static enum mortar_status backend_new(const struct mtr_options *options,
                                      const struct mortar_alloc *alloc,
                                      struct mtr_backend_session **out, struct mortar_error *err)
{
  struct mtr_backend_session *bs = mtr_calloc(alloc, 1, sizeof *bs);
  enum mortar_status st;

  *out = NULL;
  if (!bs) return mtr_fail_nomem(err, "session");
  bs->alloc = alloc;
  bs->page_rows = options->page_rows;
  bs->page_bytes = options->page_bytes;
  bs->arrow = options->arrow;
  mtr_buf_init(&bs->headers, alloc, "request headers", HEADERS_MAX);
  mtr_message_template_init(&bs->execute, alloc);
  MTR_GOTO(write_headers(&bs->headers, options, err));
  MTR_GOTO(make_path(bs, options->http_path, err));
  MTR_GOTO(make_endpoint_text(bs, options, err));
  bs->peer.path = bs->path;
  bs->peer.headers = (const char *)bs->headers.data;
  bs->peer.endpoint = bs->endpoint;
  bs->peer.read_timeout_ms = options->read_timeout_ms;
  bs->peer.retry = mtr_options_retry(options);
  *out = bs;
  bs = NULL;
done:
  backend_free(bs);
  return st;
}

/* ---- Handles on the wire ---- */

struct session_ref {
  struct mtr_THandleIdentifier id;
  struct mtr_TSessionHandle handle;
};

static void fill_id(struct mtr_THandleIdentifier *id, const struct mtr_handle *handle)
{
  memset(id, 0, sizeof *id);
  MTR_SET(id, THandleIdentifier, guid, mtr_span_of(handle->guid, handle->guid_size));
  MTR_SET(id, THandleIdentifier, secret, mtr_span_of(handle->secret, handle->secret_size));
}

static struct mtr_TSessionHandle *session_handle(struct session_ref *ref,
                                                 const struct mtr_backend_session *bs)
{
  fill_id(&ref->id, &bs->handle);
  memset(&ref->handle, 0, sizeof ref->handle);
  MTR_SET(&ref->handle, TSessionHandle, session_id, &ref->id);
  return &ref->handle;
}

struct operation_ref {
  struct mtr_THandleIdentifier id;
  struct mtr_TOperationHandle handle;
};

static struct mtr_TOperationHandle *operation_handle(struct operation_ref *ref,
                                                     const struct mtr_handle *op)
{
  fill_id(&ref->id, op);
  memset(&ref->handle, 0, sizeof ref->handle);
  MTR_SET(&ref->handle, TOperationHandle, operation_id, &ref->id);
  MTR_SET(&ref->handle, TOperationHandle, operation_type, op->type); /* a part of its name */
  MTR_SET(&ref->handle, TOperationHandle, has_result_set, true);
  return &ref->handle;
}

/* ---- The request of a statement ---- */

static bool knows(const struct mtr_backend_session *bs, enum feature what)
{
  return bs->version >= (int32_t)what;
}

/* The request of a statement, whose text is the caller's to set. */
struct execute_request {
  struct mtr_TExecuteStatementReq req;
  struct session_ref session;
  struct mtr_TSparkGetDirectResults direct;
  struct mtr_TSparkArrowTypes types;
};

static void fill_direct(const struct mtr_backend_session *bs,
                        struct mtr_TSparkGetDirectResults *direct)
{
  MTR_SET(direct, TSparkGetDirectResults, max_rows, bs->page_rows);
  MTR_SET(direct, TSparkGetDirectResults, max_bytes, bs->page_bytes);
}

/* Ids that only Databricks knows. */
static void fill_databricks(const struct mtr_backend_session *bs, bool direct,
                            struct execute_request *r)
{
  fill_direct(bs, &r->direct);
  MTR_SET(&r->types, TSparkArrowTypes, timestamp_as_arrow, true);
  if (knows(bs, NATIVE_TYPES)) {
    MTR_SET(&r->types, TSparkArrowTypes, decimal_as_arrow, true);
    MTR_SET(&r->types, TSparkArrowTypes, complex_types_as_arrow, true);
    MTR_SET(&r->types, TSparkArrowTypes, interval_types_as_arrow, true);
    MTR_SET(&r->types, TSparkArrowTypes, null_type_as_arrow, true);
  }
  if (direct) MTR_SET(&r->req, TExecuteStatementReq, get_direct_results, &r->direct);
  MTR_SET(&r->req, TExecuteStatementReq, can_read_arrow_result, bs->arrow);
  if (knows(bs, LINKS)) MTR_SET(&r->req, TExecuteStatementReq, can_download_result, false);
  if (knows(bs, LZ4)) MTR_SET(&r->req, TExecuteStatementReq, can_decompress_lz4_result, bs->arrow);
  MTR_SET(&r->req, TExecuteStatementReq, use_arrow_native_types, &r->types);
}

/* direct: rows are to come with the reply. */
static void fill_execute(const struct mtr_backend_session *bs, bool direct,
                         struct execute_request *r)
{
  memset(r, 0, sizeof *r);
  MTR_SET(&r->req, TExecuteStatementReq, session_handle, session_handle(&r->session, bs));
  MTR_SET(&r->req, TExecuteStatementReq, statement, mtr_span_of(NULL, 0));
  MTR_SET(&r->req, TExecuteStatementReq, run_async, true);
  if (knows(bs, DIRECT_RESULTS)) fill_databricks(bs, direct, r);
}

/* Statements differ in their text alone, but for those with a time limit or parameters. */
static enum mortar_status make_template(struct mtr_backend_session *bs, struct mortar_error *err)
{
  struct execute_request r;

  fill_execute(bs, true, &r);
  return mtr_message_template_make(&bs->execute, execute_statement.name,
                                   &mtr_TExecuteStatementReq_info, &r.req,
                                   MTR_BIT_TExecuteStatementReq_statement, err);
}

/* ---- Session ---- */

/* Without it a Databricks server sends timestamps as text. */
#define TIMESTAMP_SETTING "spark.thriftserver.arrowBasedRowSet.timestampAsString"

static bool is_timestamp_setting(const struct mtr_setting *setting)
{
  return strcmp(setting->name, TIMESTAMP_SETTING) == 0;
}

static enum mortar_status check_settings(const struct mtr_settings *settings,
                                         struct mortar_error *err)
{
  size_t i;

  for (i = 0; i < settings->count; i++)
    if (is_timestamp_setting(&settings->items[i]) &&
        !mtr_text_same(mtr_span_text(settings->items[i].value), mtr_span_text("false")))
      return mtr_fail(err, MORTAR_INVALID, "the setting %s is false and cannot be changed",
                      TIMESTAMP_SETTING);
  return MORTAR_OK;
}

/* What Hive's servers understand before a name: without it Spark's passes over a setting. */
#define HIVE_SETTING "set:hiveconf:"

static bool begins_with(const char *text, const char *start)
{
  return strncmp(text, start, strlen(start)) == 0;
}

/* The caller may have used the words of Hive's servers already. */
static const char *hive_prefix(const char *name)
{
  return begins_with(name, "set:") || begins_with(name, "use:") ? "" : HIVE_SETTING;
}

/* True when Hive's servers want to be told in other words what the session shall be like. */
static bool needs_hive_words(const struct mortar_config *config)
{
  size_t i;

  for (i = 0; i < config->settings.count; i++)
    if (*hive_prefix(config->settings.items[i].name)) return true;
  return config->options.schema != NULL;
}

static void put_setting(struct mtr_tw *wr, const char *prefix, const char *name, const char *value,
                        struct mtr_thrift_values *out)
{
  mtr_tw_i32(wr, (int32_t)(strlen(prefix) + strlen(name)));
  mtr_tw_raw(wr, mtr_span_text(prefix));
  mtr_tw_raw(wr, mtr_span_text(name));
  mtr_tw_string(wr, mtr_span_text(value));
  out->count++;
}

/* Those of a session, or of a statement: both begin with the one that is always sent. */
static enum mortar_status write_settings(const struct mtr_settings *settings, struct mtr_buf *bytes,
                                         struct mtr_thrift_values *out, struct mortar_error *err)
{
  struct mtr_tw wr;
  size_t i;

  *out = (struct mtr_thrift_values){.key = MTR_T_STRING, .element = MTR_T_STRING};
  MTR_TRY(check_settings(settings, err));
  mtr_tw_init(&wr, bytes, err);
  put_setting(&wr, "", TIMESTAMP_SETTING, "false", out);
  for (i = 0; i < settings->count; i++)
    if (!is_timestamp_setting(&settings->items[i]))
      put_setting(&wr, "", settings->items[i].name, settings->items[i].value, out);
  MTR_TRY(mtr_tw_finish(&wr));
  out->bytes = mtr_buf_span(bytes);
  return MORTAR_OK;
}

/* Those of a session with one of Hive's servers, for which the schema is one of them. */
static enum mortar_status write_hive_settings(const struct mortar_config *config,
                                              struct mtr_buf *bytes, struct mtr_thrift_values *out,
                                              struct mortar_error *err)
{
  const struct mtr_settings *settings = &config->settings;
  struct mtr_tw wr;
  size_t i;

  *out = (struct mtr_thrift_values){.key = MTR_T_STRING, .element = MTR_T_STRING};
  mtr_tw_init(&wr, bytes, err);
  for (i = 0; i < settings->count; i++) {
    const char *name = settings->items[i].name;
    put_setting(&wr, hive_prefix(name), name, settings->items[i].value, out);
  }
  if (config->options.schema) put_setting(&wr, "", "use:database", config->options.schema, out);
  MTR_TRY(mtr_tw_finish(&wr));
  out->bytes = mtr_buf_span(bytes);
  return MORTAR_OK;
}

static bool is_hive(const struct mtr_backend_session *bs) { return !knows(bs, DIRECT_RESULTS); }

/* An older server would start elsewhere without a word. */
static enum mortar_status check_namespace(const struct mtr_backend_session *bs,
                                          const struct mtr_options *options,
                                          const struct mtr_TOpenSessionResp *resp,
                                          struct mortar_error *err)
{
  /* To Hive's servers the schema is told in their words. */
  if (!options->catalog && (!options->schema || is_hive(bs))) return MORTAR_OK;
  if (!knows(bs, NAMESPACE))
    return mtr_fail(err, MORTAR_UNSUPPORTED,
                    "OpenSession: %s answered protocol version 0x%X, which opens no session in a "
                    "%s (0x%X does): use the statement USE",
                    bs->endpoint, (unsigned)bs->version, options->catalog ? "catalog" : "schema",
                    NAMESPACE);
  if (options->catalog && !resp->can_use_multiple_catalogs)
    return mtr_fail(err, MORTAR_UNSUPPORTED,
                    "OpenSession: %s has no catalogs, so '%s' can't be used", bs->endpoint,
                    options->catalog);
  return MORTAR_OK;
}

/* The handle comes first, so that a session that is of no use can be closed. */
static enum mortar_status take_open(struct mtr_backend_session *bs,
                                    const struct mtr_TOpenSessionResp *resp,
                                    const struct mtr_options *options, struct mortar_error *err)
{
  if (!MTR_HAS(resp, TOpenSessionResp, server_protocol_version) || !resp->session_handle)
    return mtr_fail(err, MORTAR_PROTOCOL, "OpenSession: the reply of %s names no session",
                    bs->endpoint);
  bs->version = resp->server_protocol_version;
  MTR_TRY(mtr_thrift_take_handle(resp->session_handle->session_id, &bs->handle, err));
  return check_namespace(bs, options, resp, err);
}

static enum mortar_status backend_close(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                        const struct mtr_wait *wait, struct mortar_error *err)
{
  struct session_ref ref;
  struct mtr_TCloseSessionReq req = {0};
  struct mtr_TCloseSessionResp resp;

  MTR_SET(&req, TCloseSessionReq, session_handle, session_handle(&ref, bs));
  return mtr_thrift_call(&bs->peer, ch, &close_session, &req, &resp, wait, err);
}

static enum mortar_status send_open(struct mtr_backend_session *bs,
                                    const struct mortar_config *config, bool hive,
                                    struct mtr_channel *ch, const struct mtr_wait *wait,
                                    struct mortar_error *err)
{
  const struct mtr_options *options = &config->options;
  struct mtr_TOpenSessionReq req = {0};
  struct mtr_TOpenSessionResp resp;
  struct mtr_TNamespace names = {0};
  struct mtr_thrift_values settings = {0};
  struct mtr_buf bytes;
  enum mortar_status st;

  mtr_buf_init(&bytes, bs->alloc, "session settings", SETTINGS_BYTES_MAX);
  MTR_GOTO(hive ? write_hive_settings(config, &bytes, &settings, err)
                : write_settings(&config->settings, &bytes, &settings, err));
  MTR_SET(&req, TOpenSessionReq, configuration, settings);
  MTR_SET(&req, TOpenSessionReq, client_protocol_i64, NEWEST);
  MTR_SET(&req, TOpenSessionReq, can_use_multiple_catalogs, true);
  if (options->catalog) MTR_SET(&names, TNamespace, catalog_name, mtr_span_text(options->catalog));
  if (options->schema) MTR_SET(&names, TNamespace, schema_name, mtr_span_text(options->schema));
  if (names.has) MTR_SET(&req, TOpenSessionReq, initial_namespace, &names);
  /* Nothing else tells it on this wire. */
  if (options->transport == MTR_WIRE_NOSASL && options->username)
    MTR_SET(&req, TOpenSessionReq, username, mtr_span_text(options->username));
  MTR_GOTO(mtr_thrift_call(&bs->peer, ch, &open_session, &req, &resp, wait, err));
  st = take_open(bs, &resp, options, err);
done:
  mtr_buf_fini(&bytes);
  return st;
}

/* Only its reply says of which kind a server is. One of Hive's has passed over the schema, and
 * Spark's over the settings: it is asked again, in its own words. */
static enum mortar_status reopen(struct mtr_backend_session *bs, const struct mortar_config *config,
                                 struct mtr_channel *ch, const struct mtr_wait *wait,
                                 struct mortar_error *err)
{
  MTR_TRY(backend_close(bs, ch, wait, err));
  memset(&bs->handle, 0, sizeof bs->handle);
  return send_open(bs, config, true, ch, wait, err);
}

static enum mortar_status backend_open(const struct mortar_config *config,
                                       const struct mortar_alloc *alloc, struct mtr_channel *ch,
                                       const struct mtr_wait *wait,
                                       struct mtr_backend_session **out, struct mortar_error *err)
{
  const bool hive = config->options.transport != MTR_WIRE_HTTP; /* surely */
  struct mtr_backend_session *bs = NULL;
  enum mortar_status st;

  *out = NULL;
  MTR_TRY(backend_new(&config->options, alloc, &bs, err));
  *out = bs;
  st = send_open(bs, config, hive, ch, wait, err);
  if (st == MORTAR_OK && !hive && is_hive(bs) && needs_hive_words(config))
    st = reopen(bs, config, ch, wait, err);
  return st == MORTAR_OK ? make_template(bs, err) : st;
}

static enum mortar_status backend_finish_open(struct mtr_backend_session *bs,
                                              struct mtr_channel *ch, const struct mtr_wait *wait,
                                              struct mortar_error *err)
{
  struct mtr_TOpenSessionResp resp;

  MTR_TRY(mtr_thrift_resume(&bs->peer, ch, &resp, wait, err));
  if (!resp.session_handle)
    return mtr_fail(err, MORTAR_PROTOCOL, "OpenSession: the reply of %s names no session",
                    bs->endpoint);
  return mtr_thrift_take_handle(resp.session_handle->session_id, &bs->handle, err);
}

static const struct mtr_handle *backend_handle(const struct mtr_backend_session *bs)
{
  return &bs->handle;
}

/* ---- Statement ---- */

/* A reply that is cut behind the operation's name still says what to cancel. */
static void take_name(const struct mtr_TExecuteStatementResp *cut, struct mtr_answer *out)
{
  if (!cut->operation_handle) return;
  if (mtr_thrift_take_operation(cut->operation_handle, &out->operation, NULL) == MORTAR_OK)
    out->live = true;
}

/* Servers of an older protocol, Hive's among them, would run the text as if it had not been asked
 * for. */
static enum mortar_status need(const struct mtr_backend_session *bs, enum feature feature,
                               const char *what, const char *remedy, struct mortar_error *err)
{
  if (knows(bs, feature)) return MORTAR_OK;
  (void)mtr_fail(err, MORTAR_UNSUPPORTED,
                 "ExecuteStatement: %s answered protocol version 0x%X, which has no %s (0x%X has): "
                 "write %s into the text",
                 bs->endpoint, (unsigned)bs->version, what, (unsigned)feature, remedy);
  mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
  return MORTAR_UNSUPPORTED;
}

/* bytes holds what req points to. */
static enum mortar_status put_extras(const struct mtr_backend_session *bs, struct mtr_channel *ch,
                                     const struct mtr_run *run, struct mtr_buf *bytes,
                                     struct mtr_TExecuteStatementReq *req, struct mortar_error *err)
{
  struct mtr_thrift_values settings;

  if (run->timeout_seconds) MTR_SET(req, TExecuteStatementReq, query_timeout, run->timeout_seconds);
  if (run->row_limit >= 0) {
    MTR_TRY(need(bs, ROW_LIMIT, "row limit", "a LIMIT", err));
    MTR_SET(req, TExecuteStatementReq, result_row_limit, run->row_limit);
  }
  if (run->settings.count) {
    MTR_TRY(write_settings(&run->settings, bytes, &settings, err));
    MTR_SET(req, TExecuteStatementReq, conf_overlay, settings);
  }
  if (!run->parameter_count) return MORTAR_OK;
  MTR_TRY(need(bs, PARAMETERS, "parameters", "the values", err));
  mtr_arena_reset(&ch->arena);
  return mtr_thrift_put_parameters(run, &ch->arena, req, err);
}

static bool has_extras(const struct mtr_run *run)
{
  return run->timeout_seconds || run->parameter_count || run->row_limit >= 0 ||
         run->settings.count || run->submit;
}

/* For what the template does not have. */
static enum mortar_status send_whole(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                     const struct mtr_thrift_method *method,
                                     const struct mtr_run *run, const struct mtr_wait *wait,
                                     struct mtr_TExecuteStatementResp *resp,
                                     struct mortar_error *err)
{
  struct execute_request r;
  struct mtr_buf bytes;
  enum mortar_status st;

  mtr_buf_init(&bytes, bs->alloc, "settings of the statement", SETTINGS_BYTES_MAX);
  fill_execute(bs, !run->submit, &r);
  MTR_SET(&r.req, TExecuteStatementReq, statement, run->sql);
  MTR_GOTO(put_extras(bs, ch, run, &bytes, &r.req, err));
  MTR_GOTO(mtr_thrift_call(&bs->peer, ch, method, &r.req, resp, wait, err));
done:
  mtr_buf_fini(&bytes);
  return st;
}

/* Replies like that of a statement, in columns. */
static enum mortar_status send_metadata(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                        const struct mtr_run *run, const struct mtr_wait *wait,
                                        struct mtr_TExecuteStatementResp *resp,
                                        struct mortar_error *err)
{
  struct session_ref ref;
  struct mtr_TSparkGetDirectResults direct = {0};
  struct mtr_metadata_call call = {.what = *run->metadata, .session = session_handle(&ref, bs)};

  fill_direct(bs, &direct);
  if (knows(bs, DIRECT_RESULTS) && !run->submit) call.direct = &direct;
  call.run_async = knows(bs, ASYNC_METADATA);
  return mtr_thrift_metadata(&bs->peer, ch, &call, wait, resp, err);
}

static enum mortar_status send_text(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                    const struct mtr_run *run, const struct mtr_wait *wait,
                                    struct mtr_TExecuteStatementResp *resp,
                                    struct mortar_error *err)
{
  const struct mtr_thrift_method *method =
      run->idempotent ? &execute_idempotent : &execute_statement;
  struct mtr_TExecuteStatementReq asked; /* of which kind_by_text looks at the statement alone */

  if (has_extras(run)) return send_whole(bs, ch, method, run, wait, resp, err);
  asked.statement = run->sql;
  return mtr_thrift_call_template(&bs->peer, ch, method, &bs->execute, run->sql, &asked, resp, wait,
                                  err);
}

static enum mortar_status backend_execute(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                          const struct mtr_run *run, const struct mtr_wait *wait,
                                          struct mtr_answer *out, struct mortar_error *err)
{
  struct mtr_TExecuteStatementResp resp = {0};
  enum mortar_status st;

  memset(out, 0, sizeof *out);
  out->rows_affected = -1;
  st = run->metadata ? send_metadata(bs, ch, run, wait, &resp, err)
                     : send_text(bs, ch, run, wait, &resp, err);
  if (st == MORTAR_OK)
    return mtr_thrift_take_execute(&resp, knows(bs, DIRECT_RESULTS), &ch->arena, out, err);
  if (st == MORTAR_PROTOCOL) take_name(&resp, out);
  return st;
}

static enum mortar_status backend_finish_execute(struct mtr_backend_session *bs,
                                                 struct mtr_channel *ch,
                                                 const struct mtr_wait *wait,
                                                 struct mtr_answer *out, struct mortar_error *err)
{
  struct mtr_TExecuteStatementResp resp;

  memset(out, 0, sizeof *out);
  MTR_TRY(mtr_thrift_resume(&bs->peer, ch, &resp, wait, err));
  return mtr_thrift_take_execute(&resp, knows(bs, DIRECT_RESULTS), &ch->arena, out, err);
}

static enum mortar_status backend_poll(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                       const struct mtr_handle *op, const struct mtr_wait *wait,
                                       struct mtr_answer *out, struct mortar_error *err)
{
  struct operation_ref ref;
  struct mtr_TGetOperationStatusReq req = {0};
  struct mtr_TGetOperationStatusResp resp;

  MTR_SET(&req, TGetOperationStatusReq, operation_handle, operation_handle(&ref, op));
  MTR_TRY(mtr_thrift_call(&bs->peer, ch, &get_operation_status, &req, &resp, wait, err));
  MTR_TRY(mtr_thrift_take_state(&resp, out, err));
  /* Hive says 0 of statements that change nothing but give rows. */
  if (is_hive(bs) && out->more) out->rows_affected = -1;
  return MORTAR_OK;
}

static enum mortar_status backend_schema(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                         const struct mtr_handle *op, const struct mtr_wait *wait,
                                         struct mtr_answer *out, struct mortar_error *err)
{
  struct operation_ref ref;
  struct mtr_TGetResultSetMetadataReq req = {0};
  struct mtr_TGetResultSetMetadataResp resp;

  MTR_SET(&req, TGetResultSetMetadataReq, operation_handle, operation_handle(&ref, op));
  MTR_TRY(mtr_thrift_call(&bs->peer, ch, &get_result_set_metadata, &req, &resp, wait, err));
  return mtr_thrift_take_metadata(&resp, &ch->arena, out, err);
}

static int64_t rows_asked(const struct mtr_backend_session *bs)
{
  return knows(bs, COLUMNS) || bs->page_rows < ROW_LIST_MAX ? bs->page_rows : ROW_LIST_MAX;
}

static enum mortar_status backend_fetch(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                        const struct mtr_handle *op, const struct mtr_wait *wait,
                                        struct mtr_answer *out, struct mortar_error *err)
{
  struct operation_ref ref;
  struct mtr_TFetchResultsReq req = {0};
  struct mtr_TFetchResultsResp resp;

  MTR_SET(&req, TFetchResultsReq, operation_handle, operation_handle(&ref, op));
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, rows_asked(bs));
  if (knows(bs, DIRECT_RESULTS)) {
    MTR_SET(&req, TFetchResultsReq, max_bytes, bs->page_bytes);
    if (knows(bs, PAGE_METADATA))
      MTR_SET(&req, TFetchResultsReq, include_result_set_metadata, true);
  }
  MTR_TRY(mtr_thrift_call(&bs->peer, ch, &fetch_results, &req, &resp, wait, err));
  return mtr_thrift_take_rows(&resp, knows(bs, DIRECT_RESULTS), &ch->arena, out, err);
}

static enum mortar_status backend_cancel(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                         const struct mtr_handle *op, const struct mtr_wait *wait,
                                         struct mortar_error *err)
{
  struct operation_ref ref;
  struct mtr_TCancelOperationReq req = {0};
  struct mtr_TCancelOperationResp resp;

  MTR_SET(&req, TCancelOperationReq, operation_handle, operation_handle(&ref, op));
  return mtr_thrift_call(&bs->peer, ch, &cancel_operation, &req, &resp, wait, err);
}

static enum mortar_status backend_close_operation(struct mtr_backend_session *bs,
                                                  struct mtr_channel *ch,
                                                  const struct mtr_handle *op,
                                                  const struct mtr_wait *wait,
                                                  struct mortar_error *err)
{
  struct operation_ref ref;
  struct mtr_TCloseOperationReq req = {0};
  struct mtr_TCloseOperationResp resp;

  MTR_SET(&req, TCloseOperationReq, operation_handle, operation_handle(&ref, op));
  return mtr_thrift_call(&bs->peer, ch, &close_operation, &req, &resp, wait, err);
}

const struct mtr_backend mtr_backend_thrift = {
    "thrift",      backend_open,    backend_finish_open,     backend_free, backend_handle,
    backend_close, backend_execute, backend_finish_execute,  backend_poll, backend_schema,
    backend_fetch, backend_cancel,  backend_close_operation,
};
