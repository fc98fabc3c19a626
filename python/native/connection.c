/* Opens and closes a session, keeps plans and the list of open cursors. Statements are the
 * cursor's. */
#include "python/native/connection.h"

#include <stddef.h>
#include <structmember.h>

#include "python/native/cursor.h"
#include "python/native/errors.h"
#include "python/native/wait.h"

enum {
  PLANS_MAX = 64
}; /* as many as the library keeps shapes: one that it forgot has a new name */

#define CONN(op) ((ConnectionObject *)(op))

/* ---- Opening ---- */

/* Options and settings come as lists of (name, value) pairs of str; None stands for NULL. */
static int each_pair(PyObject *pairs, struct mortar_config *config,
                     enum mortar_status (*set)(struct mortar_config *, const char *, const char *,
                                               struct mortar_error *),
                     struct mortar_error *err, enum mortar_status *st)
{
  Py_ssize_t i;

  for (i = 0; *st == MORTAR_OK && i < PyList_GET_SIZE(pairs); i++) {
    const char *name, *value;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "sz", &name, &value)) return -1;
    *st = set(config, name, value, err);
  }
  return 0;
}

/* grace_ms: how long to wait for the server's word; -1: as the library does. */
static void free_session(struct mortar_session *session, long long grace_ms)
{
  const struct mortar_call grace = {.timeout_ms = grace_ms};
  PyThreadState *saved = PyEval_SaveThread();

  if (grace_ms >= 0) (void)mortar_session_close(session, &grace, NULL);
  mortar_session_free(session);
  PyEval_RestoreThread(saved);
}

static enum mortar_status wait_for_session(ConnectionObject *conn,
                                           const struct mortar_config *config,
                                           struct mortar_error *err)
{
  struct mortar_session *session = NULL;
  struct native_wait w;
  enum mortar_status st;

  native_wait_begin(&w, conn, NULL);
  st = mortar_session_open(config, &w.call, &session, err);
  if (native_wait_end(&w) == 0)
    conn->session = session;
  else if (session)
    free_session(session, -1);
  return st;
}

static int open_session(ConnectionObject *conn, PyObject *options, PyObject *settings)
{
  struct mortar_config *config = NULL;
  struct mortar_error err;
  enum mortar_status st = mortar_config_new(NULL, &config, &err);

  if (st == MORTAR_OK) st = native_log_attach(conn->log, config, &err);
  if (st == MORTAR_OK && each_pair(options, config, mortar_config_set, &err, &st) == 0 &&
      each_pair(settings, config, mortar_config_set_session_setting, &err, &st) == 0 &&
      st == MORTAR_OK)
    st = wait_for_session(conn, config, &err);
  mortar_config_free(config);
  if (st != MORTAR_OK) (void)native_raise(conn->state, &err);
  if (PyErr_Occurred()) return -1;
  conn->session_id = PyUnicode_FromString(mortar_session_id(conn->session));
  return conn->session_id ? 0 : -1;
}

static PyObject *conn_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"options", "settings", "cursor_class", "wait_ms", NULL};
  PyObject *options, *settings, *cursor_class;
  long long wait_ms = -1;
  ConnectionObject *conn;

  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O|L", names, &PyList_Type, &options,
                                   &PyList_Type, &settings, &cursor_class, &wait_ms))
    return NULL;
  conn = CONN(type->tp_alloc(type, 0));
  if (!conn) return NULL;
  conn->state = native_state_of_type(type);
  conn->cursor_class = Py_NewRef(cursor_class);
  conn->plans = PyDict_New();
  conn->wait_ms = wait_ms;
  if (!conn->state || !conn->plans || native_log_new(conn->state, &conn->log) < 0 ||
      open_session(conn, options, settings) < 0) {
    Py_DECREF(conn);
    return NULL;
  }
  return (PyObject *)conn;
}

/* ---- Who may use it ---- */

bool native_connection_is_ours(const ConnectionObject *conn)
{
  return conn->session && mortar_session_usable(conn->session, NULL) == MORTAR_OK;
}

int native_connection_check(ConnectionObject *conn, const char *closed)
{
  struct mortar_error err;

  if (!conn->session)
    (void)native_raise_text(conn->state, "InterfaceError", closed);
  else if (mortar_session_usable(conn->session, &err) != MORTAR_OK)
    (void)native_raise(conn->state, &err);
  else
    return 0;
  return -1;
}

static PyObject *conn_check(PyObject *op, PyObject *closed)
{
  const char *text = PyUnicode_AsUTF8(closed);

  if (!text || native_connection_check(CONN(op), text) < 0) return NULL;
  Py_RETURN_NONE;
}

/* ---- Plans ---- */

/* Keeps plan, which the dict holds, at hand for the next result. */
static void remember(ConnectionObject *conn, uint64_t shape, PlanObject *plan)
{
  conn->last_shape = shape;
  conn->last_plan = plan;
}

/* Derives the plan and puts it into the dict. A new reference. */
static PlanObject *add_plan(ConnectionObject *conn, PyObject *key,
                            const struct mortar_result *result)
{
  PlanObject *plan = native_plan_new(conn->state, result);

  conn->plans_derived++;
  if (plan && PyDict_GET_SIZE(conn->plans) >= PLANS_MAX) {
    conn->last_plan = NULL;
    PyDict_Clear(conn->plans);
  }
  if (plan && PyDict_SetItem(conn->plans, key, (PyObject *)plan) < 0) Py_CLEAR(plan);
  return plan;
}

PlanObject *native_connection_plan(ConnectionObject *conn, const struct mortar_result *result)
{
  uint64_t shape = mortar_result_shape(result);
  PyObject *key, *found;
  PlanObject *plan;

  if (conn->last_plan && conn->last_shape == shape) return (PlanObject *)Py_NewRef(conn->last_plan);
  key = PyLong_FromUnsignedLongLong(shape);
  if (!key) return NULL;
  found = PyDict_GetItemWithError(conn->plans, key);
  if (found)
    plan = (PlanObject *)Py_NewRef(found);
  else
    plan = PyErr_Occurred() ? NULL : add_plan(conn, key, result);
  Py_DECREF(key);
  if (plan) remember(conn, shape, plan);
  return plan;
}

/* ---- Closing ---- */

/* Closes the cursors and the session, tells the server and logs it. The session goes first when
 * time is short: its end is that of its statements, too. In a child of a fork nothing is sent or
 * logged. -1 with an exception: see native_log_deliver. */
static int shut(ConnectionObject *conn, long long grace_ms)
{
  const bool ours = native_connection_is_ours(conn);
  struct mortar_session *session;

  while (grace_ms < 0 && conn->cursors)
    native_cursor_shut(conn->cursors);
  session = conn->session;
  conn->session = NULL;
  if (session) free_session(session, grace_ms);
  while (conn->cursors)
    native_cursor_shut(conn->cursors);
  return ours ? native_log_deliver(conn->log, conn->state, conn->session_id) : 0;
}

static PyObject *conn_close(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  if (shut(CONN(op), -1) < 0) return NULL;
  Py_RETURN_NONE;
}

/* Waits for the server's word for so many milliseconds at most. */
static PyObject *conn_close_within(PyObject *op, PyObject *ms)
{
  const long long grace_ms = PyLong_AsLongLong(ms);

  if (PyErr_Occurred() || shut(CONN(op), grace_ms < 0 ? 0 : grace_ms) < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject *conn_enter(PyObject *op, PyObject *Py_UNUSED(ignored)) { return Py_NewRef(op); }

static PyObject *conn_exit(PyObject *op, PyObject *const *args, Py_ssize_t nargs)
{
  (void)args;
  (void)nargs;
  return conn_close(op, NULL);
}

static int conn_traverse(PyObject *op, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(CONN(op)->cursor_class);
  Py_VISIT(CONN(op)->plans);
  return 0;
}

static int conn_clear(PyObject *op)
{
  CONN(op)->last_plan = NULL;
  Py_CLEAR(CONN(op)->cursor_class);
  Py_CLEAR(CONN(op)->plans);
  return 0;
}

/* Runs before anything of the object, or of a subclass, is taken apart. */
static void conn_finalize(PyObject *op)
{
  PyObject *type, *value, *trace;

  PyErr_Fetch(&type, &value, &trace);
  if (shut(CONN(op), -1) < 0) PyErr_WriteUnraisable(NULL);
  PyErr_Restore(type, value, trace);
}

static void conn_dealloc(PyObject *op)
{
  PyTypeObject *type = Py_TYPE(op);

  if (PyObject_CallFinalizerFromDealloc(op) < 0) return;
  PyObject_GC_UnTrack(op);
  if (CONN(op)->weakrefs) PyObject_ClearWeakRefs(op);
  (void)conn_clear(op);
  Py_CLEAR(CONN(op)->session_id);
  native_log_unref(CONN(op)->log);
  type->tp_free(op);
  Py_DECREF(type);
}

/* ---- The rest ---- */

static PyObject *conn_cursor(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
  ConnectionObject *conn = CONN(op);
  PyObject *stack[6];
  Py_ssize_t i, total = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);

  if (native_connection_check(conn, "Cannot create cursor from closed connection") < 0) return NULL;
  if (total > 3) {
    PyErr_SetString(PyExc_TypeError, "cursor() takes arraysize, buffer_size_bytes and row_limit");
    return NULL;
  }
  stack[1] = op;
  for (i = 0; i < total; i++)
    stack[i + 2] = args[i];
  return PyObject_Vectorcall(conn->cursor_class, stack + 1,
                             (size_t)(nargs + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
}

static PyObject *conn_session_id_hex(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  return Py_NewRef(CONN(op)->session_id);
}

struct counter {
  const char *name;
  uint64_t value;
};

static PyObject *counters_dict(const struct counter *counters, size_t count)
{
  PyObject *dict = PyDict_New();
  size_t i;

  for (i = 0; dict && i < count; i++) {
    PyObject *value = PyLong_FromUnsignedLongLong(counters[i].value);
    if (!value || PyDict_SetItemString(dict, counters[i].name, value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *show_stats(const ConnectionObject *conn, const struct mortar_session_stats *s)
{
  const struct counter counters[] = {
      {"statements", s->statements},
      {"exchanges", s->exchanges},
      {"connects", s->connects},
      {"stale_connections", s->stale_connections},
      {"probes", s->probes},
      {"writes", s->writes},
      {"waits", s->waits},
      {"reads", s->reads},
      {"batches_decoded", s->batches_decoded},
      {"batches_joined", s->batches_joined},
      {"schemas_derived", s->schemas_derived},
      {"plans_derived", conn->plans_derived},
      {"retries", s->retries},
      {"retry_wait_ms", s->retry_wait_ms},
      {"lock_releases", conn->lock_releases},
  };

  return counters_dict(counters, sizeof counters / sizeof *counters);
}

static PyObject *conn_stats(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  struct mortar_session_stats stats;

  if (native_connection_check(CONN(op), "Cannot read statistics of a closed connection") < 0)
    return NULL;
  mortar_session_get_stats(CONN(op)->session, &stats);
  return show_stats(CONN(op), &stats);
}

static PyObject *conn_get_open(PyObject *op, void *closure)
{
  (void)closure;
  return PyBool_FromLong(CONN(op)->session != NULL);
}

static PyMethodDef conn_methods[] = {
    {"cursor", (PyCFunction)(void (*)(void))conn_cursor, METH_FASTCALL | METH_KEYWORDS,
     "cursor(arraysize=100000, buffer_size_bytes=104857600, row_limit=None)\n--\n\nA new cursor."},
    {"close", conn_close, METH_NOARGS,
     "close()\n--\n\nClose all cursors and the session. Never raises; closing twice is fine."},
    {"get_session_id_hex", conn_session_id_hex, METH_NOARGS,
     "get_session_id_hex()\n--\n\nThe session's id as the server shows it."},
    {"stats", conn_stats, METH_NOARGS, "stats()\n--\n\nCounters of this connection, as a dict."},
    {"_close_within", conn_close_within, METH_O, NULL},
    {"_check", conn_check, METH_O, NULL},
    {"__enter__", conn_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))conn_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef conn_getset[] = {
    {"open", conn_get_open, NULL, "True until close() is called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef conn_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ConnectionObject, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot conn_slots[] = {
    {Py_tp_doc, "A session on a warehouse. Made by mortar.sql.connect()."},
    {Py_tp_new, conn_new},
    {Py_tp_methods, conn_methods},
    {Py_tp_getset, conn_getset},
    {Py_tp_members, conn_members},
    {Py_tp_traverse, conn_traverse},
    {Py_tp_clear, conn_clear},
    {Py_tp_finalize, conn_finalize},
    {Py_tp_dealloc, conn_dealloc},
    {0, NULL},
};

static PyType_Spec conn_spec = {
    .name = "mortar._native.Connection",
    .basicsize = sizeof(ConnectionObject),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = conn_slots,
};

PyTypeObject *native_connection_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &conn_spec, NULL);
}
