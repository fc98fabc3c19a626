/* Opening and closing sessions. Of the configuration map only "use:database" counts here, which is
 * how Hive's clients name the schema: which settings there are is the engine's affair, and the
 * recorded warehouses answer with an empty map, too. */
#include "kiln/server/session.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kiln/server/operation.h"
#include "kiln/server/protocol.h"
#include "kiln/server/status.h"

static const char default_catalog[] = "main", default_schema[] = "default";

static void destroy(struct kiln_session *session)
{
  session->core->session_objects--;
  mtr_free_text(NULL, session->catalog);
  mtr_free_text(NULL, session->schema);
  mtr_free(NULL, session, sizeof *session);
}

static void run_close(struct kiln_job *job)
{
  struct kiln_session *session = KILN_OWNER(job, struct kiln_session, job);
  struct kiln_core *core = session->core;

  core->engine->close_session(core->engine_ctx, session->engine_session);
}

static void done_close(struct kiln_job *job) { destroy(KILN_OWNER(job, struct kiln_session, job)); }

/* The last step of closing, once nobody uses the session any more. */
static void retire(struct kiln_session *session)
{
  if (!session->closed || session->users > 0) return;
  if (!session->has_engine_session) {
    destroy(session);
    return;
  }
  session->has_engine_session = false;
  session->job.run = run_close;
  session->job.done = done_close;
  kiln_core_submit(session->core, &session->job);
}

void kiln_session_leave(struct kiln_session *session)
{
  session->users--;
  retire(session);
}

void kiln_session_close(struct kiln_session *session)
{
  struct kiln_core *core = session->core;

  if (session->closed) return;
  session->closed = true;
  kiln_table_remove(&core->sessions, &session->entry);
  core->stats.sessions_open--;
  session->users++; /* closing the last operation must not free the session under our feet */
  while (!kiln_list_empty(&session->operations))
    kiln_operation_close(KILN_OWNER(session->operations.next, struct kiln_operation, in_session));
  kiln_session_leave(session);
}

/* ---- OpenSession -------------------------------------------------------------------------- */

/* The value of a setting of the session, empty when it is not there. */
static struct mtr_span setting(const struct mtr_TOpenSessionReq *req, const char *name)
{
  const struct mtr_thrift_values *map = &req->configuration;
  struct mtr_span key, value;
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, map->bytes);
  for (i = 0; i < map->count; i++) {
    key = mtr_tr_string(&rd);
    value = mtr_tr_string(&rd);
    if (mtr_span_equal(key, mtr_span_text(name))) return value;
  }
  return mtr_span_of(NULL, 0);
}

static char *copy_name(struct mtr_span name, struct mtr_span otherwise)
{
  if (name.size == 0) name = otherwise;
  return mtr_strndup(NULL, (const char *)name.data, name.size);
}

static char *copy_schema(const struct mtr_TOpenSessionReq *req, struct mtr_span name)
{
  struct mtr_span database = setting(req, "use:database");

  return copy_name(name, database.size ? database : mtr_span_text(default_schema));
}

static struct kiln_session *make(struct kiln_core *core, const struct mtr_TOpenSessionReq *req)
{
  struct kiln_session *session = mtr_calloc(NULL, 1, sizeof *session);
  static const struct mtr_TNamespace none;
  const struct mtr_TNamespace *space = req->initial_namespace;

  if (!session) return NULL;
  session->protocol = kiln_protocol_agree(core->protocol, req);
  if (!space || !kiln_session_knows(session, MTR_PROTOCOL_SPARK_V4)) space = &none;
  session->core = core;
  core->session_objects++;
  kiln_list_init(&session->operations);
  session->catalog = copy_name(space->catalog_name, mtr_span_text(default_catalog));
  session->schema = copy_schema(req, space->schema_name);
  if (session->catalog && session->schema) return session;
  destroy(session);
  return NULL;
}

static void reply_open(struct kiln_exchange *x, const struct kiln_session *session)
{
  struct mtr_TOpenSessionResp resp = {0};
  struct mtr_TSessionHandle handle = {0};
  struct mtr_THandleIdentifier id = {0};
  struct mtr_TNamespace space = {0};
  struct mtr_thrift_values none = {0, MTR_T_STRING, MTR_T_STRING, {NULL, 0}};

  MTR_SET(&id, THandleIdentifier, guid, mtr_span_of(session->entry.id, KILN_ID_SIZE));
  MTR_SET(&id, THandleIdentifier, secret, mtr_span_of(session->entry.secret, KILN_ID_SIZE));
  MTR_SET(&handle, TSessionHandle, session_id, &id);
  if (kiln_session_knows(session, MTR_PROTOCOL_SPARK_V1))
    MTR_SET(&handle, TSessionHandle, server_protocol_version, session->protocol);
  MTR_SET(&space, TNamespace, catalog_name, mtr_span_text(session->catalog));
  MTR_SET(&space, TNamespace, schema_name, mtr_span_text(session->schema));
  MTR_SET(&resp, TOpenSessionResp, status, &kiln_status_success);
  MTR_SET(&resp, TOpenSessionResp, server_protocol_version, session->protocol);
  MTR_SET(&resp, TOpenSessionResp, session_handle, &handle);
  MTR_SET(&resp, TOpenSessionResp, configuration, none);
  if (kiln_session_knows(session, MTR_PROTOCOL_SPARK_V4)) {
    MTR_SET(&resp, TOpenSessionResp, initial_namespace, &space);
    MTR_SET(&resp, TOpenSessionResp, can_use_multiple_catalogs, true);
  }
  kiln_exchange_reply(x, &resp);
}

/* serverProtocolVersion is a required field: readers such as Hive's refuse a reply without it. */
static void refuse_open(struct kiln_exchange *x, const struct kiln_error *error, int32_t protocol)
{
  struct mtr_TOpenSessionResp resp = {0};
  struct mtr_TStatus status;

  x->core->stats.errors++;
  kiln_status_error(&status, error);
  MTR_SET(&resp, TOpenSessionResp, status, &status);
  MTR_SET(&resp, TOpenSessionResp, server_protocol_version, protocol);
  kiln_exchange_reply(x, &resp);
}

static void run_open(struct kiln_job *job)
{
  struct kiln_session *session = KILN_OWNER(job, struct kiln_session, job);
  struct kiln_core *core = session->core;
  const struct mtr_TOpenSessionReq *req = session->opener->request;

  session->has_engine_session =
      core->engine->open_session(core->engine_ctx, session->catalog, session->schema,
                                 &req->configuration, &session->engine_session, &session->error);
}

static void done_open(struct kiln_job *job)
{
  struct kiln_session *session = KILN_OWNER(job, struct kiln_session, job);
  struct kiln_core *core = session->core;
  struct kiln_exchange *x = session->opener;
  struct mortar_error err = {0};

  session->opener = NULL;
  if (session->has_engine_session &&
      kiln_table_add(&core->sessions, &core->ids, "session", &session->entry, &err) != MORTAR_OK)
    kiln_error_from(&session->error, &err);
  if (!session->has_engine_session || err.status != MORTAR_OK) {
    session->closed = true;
    refuse_open(x, &session->error, session->protocol);
  } else {
    kiln_session_touch(session);
    core->stats.sessions_open++;
    core->stats.sessions_total++;
    reply_open(x, session);
    if (core->stopping) kiln_session_close(session);
  }
  kiln_session_leave(session);
}

void kiln_session_on_open(struct kiln_exchange *x)
{
  struct kiln_session *session;

  if (kiln_pool_full(x->core->pool)) {
    kiln_exchange_unavailable(x);
    return;
  }
  session = make(x->core, x->request);
  if (!session) {
    struct kiln_error error;
    kiln_fail(&error, "HY001", "out of memory: session");
    refuse_open(x, &error, kiln_protocol_agree(x->core->protocol, x->request));
    return;
  }
  session->opener = x;
  session->users = 1;
  session->job.run = run_open;
  session->job.done = done_open;
  kiln_core_submit(x->core, &session->job);
}

/* ---- CloseSession and look-up ------------------------------------------------------------- */

void kiln_session_touch(struct kiln_session *session)
{
  const struct kiln_clock *clock = &session->core->clock;

  if (clock->watched) session->last_used = kiln_clock_now(clock);
}

bool kiln_session_expired(const struct kiln_session *session)
{
  const struct kiln_clock *clock = &session->core->clock;
  const struct kiln_link *link;

  if (!kiln_clock_expired(clock, session->last_used, clock->session_idle_ms)) return false;
  for (link = session->operations.next; link != &session->operations; link = link->next)
    if (kiln_operation_at_work(KILN_OWNER(link, struct kiln_operation, in_session))) return false;
  return true;
}

static struct kiln_session *use(struct kiln_session *session)
{
  if (kiln_session_expired(session)) {
    kiln_session_close(session);
    return NULL;
  }
  kiln_session_touch(session);
  return session;
}

struct kiln_session *kiln_session_find(struct kiln_core *core,
                                       const struct mtr_TSessionHandle *handle)
{
  struct kiln_entry *entry;

  if (!handle || !handle->session_id) return NULL;
  entry = kiln_table_find(&core->sessions, handle->session_id->guid, handle->session_id->secret);
  return entry ? use(KILN_OWNER(entry, struct kiln_session, entry)) : NULL;
}

void kiln_session_refuse(struct kiln_exchange *x, const struct mtr_TSessionHandle *handle)
{
  struct mtr_span guid = mtr_span_of(NULL, 0);
  struct kiln_error error;
  char text[37];

  if (handle && handle->session_id) guid = handle->session_id->guid;
  mtr_uuid_text(guid, text);
  kiln_fail(&error, "08000", "Invalid SessionHandle: SessionHandle [%s]", text);
  kiln_exchange_refuse(x, &error);
}

void kiln_session_on_close(struct kiln_exchange *x)
{
  const struct mtr_TCloseSessionReq *req = x->request;
  struct kiln_session *session = kiln_session_find(x->core, req->session_handle);

  if (!session) {
    kiln_session_refuse(x, req->session_handle);
    return;
  }
  kiln_session_close(session);
  kiln_exchange_accept(x);
}
