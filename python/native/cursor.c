/* Executes and fetches. What waits lets the interpreter's lock go; what finds its rows here
 * does not. */
#include "python/native/cursor.h"

#include <stddef.h>
#include <structmember.h>

#include "python/native/errors.h"
#include "python/native/fetch.h"
#include "python/native/metadata.h"
#include "python/native/parameters.h"
#include "python/native/submit.h"
#include "python/native/volume.h"
#include "python/native/wait.h"

#define CUR(op) ((CursorObject *)(op))

enum { DEFAULT_ARRAYSIZE = 100000, DEFAULT_BUFFER_SIZE = 104857600 };

/* ---- Life ---- */

static void link_in(CursorObject *cur)
{
  cur->next = cur->conn->cursors;
  if (cur->next) cur->next->prev = cur;
  cur->conn->cursors = cur;
}

static void link_out(CursorObject *cur)
{
  if (cur->prev)
    cur->prev->next = cur->next;
  else if (cur->conn->cursors == cur)
    cur->conn->cursors = cur->next;
  if (cur->next) cur->next->prev = cur->prev;
  cur->next = cur->prev = NULL;
}

/* given is NULL when the attribute is deleted. What is too large for a count of rows means all. */
static int set_arraysize(CursorObject *cur, PyObject *given)
{
  Py_ssize_t size = 0;

  if (given && PyIndex_Check(given) && !PyBool_Check(given)) size = PyNumber_AsSsize_t(given, NULL);
  if (PyErr_Occurred()) return -1;
  if (size <= 0) {
    (void)native_raise_text(cur->conn->state, "ProgrammingError",
                            "arraysize must be a positive int");
    return -1;
  }
  cur->arraysize = size;
  return 0;
}

/* given is NULL when the attribute is deleted, None for no limit. */
static int set_row_limit(CursorObject *cur, PyObject *given)
{
  long long limit = -1;

  if (given == Py_None) {
    cur->row_limit = -1;
    return 0;
  }
  if (given && PyLong_Check(given) && !PyBool_Check(given)) limit = PyLong_AsLongLong(given);
  if (PyErr_Occurred()) PyErr_Clear(); /* too large, which the next line refuses */
  if (limit >= 0) {
    cur->row_limit = limit;
    return 0;
  }
  (void)native_raise_text(cur->conn->state, "ProgrammingError",
                          "row_limit must be None or an int that is not negative");
  return -1;
}

static PyObject *cur_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"connection", "arraysize", "buffer_size_bytes", "row_limit", NULL};
  struct native_state *state = native_state_of_type(type);
  PyObject *connection, *arraysize = NULL, *row_limit = Py_None;
  Py_ssize_t buffer_size = DEFAULT_BUFFER_SIZE;
  CursorObject *cur;

  if (!state || !PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OnO", names, state->connection_type,
                                             &connection, &arraysize, &buffer_size, &row_limit))
    return NULL;
  cur = CUR(type->tp_alloc(type, 0));
  if (!cur) return NULL;
  cur->conn = (ConnectionObject *)Py_NewRef(connection);
  cur->arraysize = DEFAULT_ARRAYSIZE;
  cur->buffer_size = buffer_size;
  cur->rowcount = -1;
  if ((arraysize && set_arraysize(cur, arraysize) < 0) || set_row_limit(cur, row_limit) < 0) {
    Py_DECREF(cur);
    return NULL;
  }
  cur->open = 1;
  link_in(cur);
  return (PyObject *)cur;
}

/* Lets the rows go. The server is told only if it must be: then the lock is let go too. */
static void drop_result(CursorObject *cur)
{
  struct mortar_result *result = cur->result;
  PyThreadState *saved;

  cur->result = NULL;
  native_queue_reset(&cur->queue);
  Py_CLEAR(cur->plan);
  if (mortar_result_is_local(result)) {
    mortar_result_free(result);
    return;
  }
  cur->conn->lock_releases++;
  saved = PyEval_SaveThread();
  mortar_result_free(result);
  PyEval_RestoreThread(saved);
}

/* The server is told. */
static void drop_submitted(CursorObject *cur)
{
  PyThreadState *saved;

  if (!cur->submitted) return;
  cur->submitted = 0;
  cur->conn->lock_releases++;
  cur->users++;
  saved = PyEval_SaveThread();
  mortar_statement_reset(cur->stmt);
  PyEval_RestoreThread(saved);
  cur->users--;
}

void native_cursor_forget(CursorObject *cur)
{
  drop_result(cur);
  drop_submitted(cur);
  Py_CLEAR(cur->query_id);
  cur->rowcount = -1;
  cur->rownumber = 0;
}

/* A closed cursor lets go of its session, whose connections stay open otherwise. Whoever still uses
 * the statement calls this again. */
static void retire(CursorObject *cur)
{
  if (cur->busy || cur->users) return;
  native_cursor_forget(cur); /* leaves what a closed cursor shows */
  if (cur->users) return;    /* one that came while the lock was let go */
  mortar_statement_free(cur->stmt);
  cur->stmt = NULL;
}

static enum mortar_status cancel(CursorObject *cur, struct mortar_error *err)
{
  PyThreadState *saved;
  enum mortar_status st;

  if (!cur->conn->session) return MORTAR_OK;
  st = mortar_session_usable(cur->conn->session, err);
  /* After a fork the statement's lock may be held for ever. */
  if (st != MORTAR_OK || !cur->stmt) return st;
  cur->users++;
  saved = PyEval_SaveThread();
  st = mortar_statement_cancel(cur->stmt, err);
  PyEval_RestoreThread(saved);
  cur->users--;
  if (!cur->open) retire(cur);
  return st;
}

void native_cursor_shut(CursorObject *cur)
{
  if (!cur->open) return;
  Py_INCREF(cur); /* others may drop theirs while the lock is let go */
  cur->open = 0;
  link_out(cur);
  retire(cur);
  Py_DECREF(cur);
}

static int cur_traverse(PyObject *op, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(CUR(op)->conn);
  Py_VISIT(CUR(op)->plan);
  return 0;
}

/* The connection stays: methods rely on it. Cycles with it are broken at the connection's dict. */
static int cur_clear(PyObject *op)
{
  Py_CLEAR(CUR(op)->plan);
  return 0;
}

/* Runs before anything of the object, or of a subclass, is taken apart. */
static void cur_finalize(PyObject *op)
{
  PyObject *type, *value, *trace;

  PyErr_Fetch(&type, &value, &trace);
  native_cursor_shut(CUR(op));
  PyErr_Restore(type, value, trace);
}

static void cur_dealloc(PyObject *op)
{
  CursorObject *cur = CUR(op);
  PyTypeObject *type = Py_TYPE(op);

  if (PyObject_CallFinalizerFromDealloc(op) < 0) return;
  PyObject_GC_UnTrack(op);
  if (cur->weakrefs) PyObject_ClearWeakRefs(op);
  native_queue_fini(&cur->queue);
  mortar_statement_free(cur->stmt);
  Py_CLEAR(cur->plan);
  Py_CLEAR(cur->query_id);
  Py_CLEAR(cur->conn);
  type->tp_free(op);
  Py_DECREF(type);
}

/* ---- Who may call what ---- */

static int is_open(CursorObject *cur)
{
  static const char closed[] = "Attempting operation on closed cursor";

  if (cur->open) return native_connection_check(cur->conn, closed) == 0;
  (void)native_raise_text(cur->conn->state, "InterfaceError", closed);
  return 0;
}

int native_cursor_claim(CursorObject *cur)
{
  if (!is_open(cur)) return 0;
  if (cur->busy) {
    (void)native_raise_text(cur->conn->state, "ProgrammingError",
                            "another thread is using this cursor: make a cursor for each thread");
    return 0;
  }
  cur->busy = 1;
  return 1;
}

void native_cursor_yield(CursorObject *cur)
{
  cur->busy = 0;
  if (!cur->open) retire(cur);
}

int native_cursor_claim_result(CursorObject *cur)
{
  if (!native_cursor_claim(cur)) return 0;
  if (cur->result) return 1;
  cur->busy = 0;
  (void)native_raise_text(cur->conn->state, "ProgrammingError", "There is no active result set");
  return 0;
}

/* ---- Execute ---- */

void native_cursor_raise(CursorObject *cur, const struct mortar_error *err)
{
  struct mortar_error said = *err;

  if (err->status == MORTAR_INTERRUPTED && !cur->open && cur->conn->session)
    (void)snprintf(said.message, sizeof said.message,
                   "the cursor was closed by another thread: %.960s", err->message);
  (void)native_raise(cur->conn->state, &said);
}

void native_cursor_refuse(CursorObject *cur, const char *name, const char *problem)
{
  char text[100];

  (void)snprintf(text, sizeof text, "%s %s", name, problem);
  (void)native_raise_text(cur->conn->state, "ProgrammingError", text);
}

const char *native_cursor_text(CursorObject *cur, const char *name, const char *kinds,
                               PyObject *given, Py_ssize_t *size)
{
  const char *text = PyUnicode_Check(given) ? PyUnicode_AsUTF8AndSize(given, size) : NULL;

  if (text) return text;
  if (!PyErr_Occurred()) {
    native_cursor_refuse(cur, name, kinds);
  } else if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
    PyErr_Clear();
    native_cursor_refuse(cur, name, "holds half a surrogate pair, which UTF-8 can't express");
  }
  return NULL;
}

int native_cursor_statement(CursorObject *cur)
{
  struct mortar_error err;

  if (cur->stmt || mortar_statement_new(cur->conn->session, &cur->stmt, &err) == MORTAR_OK)
    return 0;
  (void)native_raise(cur->conn->state, &err);
  return -1;
}

/* What execute was asked for. */
struct request {
  PyObject *operation;
  const struct native_parameters *parameters; /* NULL: none */
  int idempotent;
  long long timeout_seconds; /* 0: the server's own limit */
  PyObject *tags;            /* str, counted; NULL: none */
  struct native_volume volume;
};

static int set_sql(CursorObject *cur, const struct request *r)
{
  struct mortar_error err;
  Py_ssize_t size;
  const char *sql = native_cursor_text(cur, "the SQL text", "must be a str", r->operation, &size);

  if (!sql) return -1;
  if (mortar_statement_set_timeout(cur->stmt, r->timeout_seconds, &err) != MORTAR_OK ||
      mortar_statement_set_row_limit(cur->stmt, cur->row_limit, &err) != MORTAR_OK ||
      mortar_statement_set_idempotent(cur->stmt, r->idempotent, &err) != MORTAR_OK ||
      mortar_statement_set_sql(cur->stmt, sql, (size_t)size, &err) != MORTAR_OK) {
    (void)native_raise(cur->conn->state, &err);
    return -1;
  }
  return 0;
}

int native_cursor_adopt(CursorObject *cur, enum mortar_status st, struct mortar_result *result,
                        const struct mortar_error *err)
{
  cur->result = result;
  if (st != MORTAR_OK) {
    if (err->query_id[0]) Py_XSETREF(cur->query_id, PyUnicode_FromString(err->query_id));
    native_cursor_raise(cur, err);
  }
  if (PyErr_Occurred()) return -1;
  cur->rowcount = mortar_result_rows_affected(result);
  cur->plan = native_connection_plan(cur->conn, result);
  return cur->plan ? 0 : -1;
}

int native_cursor_go(CursorObject *cur)
{
  struct mortar_error err;
  struct mortar_result *result = NULL;
  struct native_wait w;
  enum mortar_status st;

  cur->wait = &w;
  native_wait_begin(&w, cur->conn, &cur->open);
  st = mortar_statement_execute(cur->stmt, &w.call, &result, &err);
  (void)native_wait_end(&w);
  return native_cursor_adopt(cur, st, result, &err);
}

static int bind(CursorObject *cur, const struct native_parameters *parameters)
{
  struct mortar_error err;

  if (mortar_statement_bind(cur->stmt, parameters->list, parameters->count, &err) == MORTAR_OK)
    return 0;
  (void)native_raise(cur->conn->state, &err);
  return -1;
}

static int set_tags(CursorObject *cur, PyObject *tags)
{
  struct mortar_error err;
  Py_ssize_t size;
  const char *text = native_cursor_text(cur, "query_tags", "must be a dict", tags, &size);

  if (!text) return -1;
  if (mortar_statement_set_setting(cur->stmt, "query_tags", text, &err) == MORTAR_OK) return 0;
  (void)native_raise(cur->conn->state, &err);
  return -1;
}

static int set_request(CursorObject *cur, void *arg)
{
  struct request *r = arg;

  if (set_sql(cur, r) < 0) return -1;
  if (r->tags && set_tags(cur, r->tags) < 0) return -1;
  if (mortar_statement_is_volume(cur->stmt) && native_volume_set(&r->volume, cur) < 0) return -1;
  return r->parameters ? bind(cur, r->parameters) : 0;
}

PyObject *native_cursor_run(CursorObject *cur, native_prepare *prepare, void *arg, native_go *go)
{
  int failed;

  if (!native_cursor_claim(cur)) return NULL;
  native_cursor_forget(cur);
  /* The old result may have let the lock go, and others may have closed the cursor. */
  failed =
      !is_open(cur) || native_cursor_statement(cur) < 0 || prepare(cur, arg) < 0 || go(cur) < 0;
  if (failed && (cur->result || cur->submitted)) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    drop_result(cur);
    drop_submitted(cur);
    PyErr_Restore(type, value, trace);
  }
  native_cursor_yield(cur);
  return failed ? NULL : Py_NewRef(cur);
}

/* ---- The arguments of execute ---- */

/* From IDEMPOTENT on they are given by name only. */
enum {
  OPERATION,
  PARAMETERS,
  ENFORCE,
  INPUT_STREAM,
  QUERY_TAGS,
  IDEMPOTENT,
  STATEMENT_TIMEOUT,
  OUTPUT_STREAM,
  ARGUMENTS
};

static const char *const argument_names[ARGUMENTS] = {
    "operation",         "parameters",   "enforce_embedded_schema_correctness",
    "input_stream",      "query_tags",   "idempotent",
    "statement_timeout", "output_stream"};

static int place_of_argument(PyObject *name)
{
  int i;

  for (i = 0; i < ARGUMENTS; i++)
    if (PyUnicode_CompareWithASCIIString(name, argument_names[i]) == 0) return i;
  return -1;
}

/* Borrowed references; NULL: not given. */
static int parse_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                           PyObject **out)
{
  Py_ssize_t i, names = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

  if (nargs > IDEMPOTENT) {
    PyErr_Format(PyExc_TypeError, "execute() takes at most %d arguments by place (%zd given)",
                 IDEMPOTENT, nargs);
    return -1;
  }
  for (i = 0; i < nargs; i++)
    out[i] = args[i];
  for (i = 0; i < names; i++) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i);
    int place = place_of_argument(name);
    if (place < 0 || out[place]) {
      PyErr_Format(PyExc_TypeError, "execute() got an unexpected argument %R", name);
      return -1;
    }
    out[place] = args[nargs + i];
  }
  if (out[OPERATION]) return 0;
  PyErr_SetString(PyExc_TypeError, "execute() takes an operation");
  return -1;
}

/* Absent, None, False or empty. -1 with an exception. */
static int is_nothing(PyObject *argument)
{
  return argument && argument != Py_None ? PyObject_Not(argument) : 1;
}

/* What is not there yet is refused rather than ignored. */
static int refuse_arguments(CursorObject *cur, PyObject *const *given)
{
  const int nothing = is_nothing(given[ENFORCE]);

  if (nothing == 0)
    (void)native_raise_text(cur->conn->state, "NotSupportedError",
                            "enforce_embedded_schema_correctness is not supported");
  return nothing > 0 ? 0 : -1;
}

/* What is wrong with the parameters leaves the cursor as it was. */
static PyObject *execute_with(CursorObject *cur, struct request *r, PyObject *given, native_go *go)
{
  struct native_parameters parameters;
  PyObject *done;

  if (native_parameters_init(&parameters, cur->conn, r->operation, given) < 0) return NULL;
  r->operation = parameters.operation;
  r->parameters = &parameters;
  done = native_cursor_run(cur, set_request, r, go);
  native_parameters_fini(&parameters);
  return done;
}

/* The text of query_tags. */
static int parse_tags(PyObject *tags, struct request *out)
{
  PyObject *utils;
  const int nothing = is_nothing(tags);

  if (nothing) return nothing > 0 ? 0 : -1;
  utils = PyImport_ImportModule("mortar.sql.utils");
  out->tags = utils ? PyObject_CallMethod(utils, "serialize_query_tags", "O", tags) : NULL;
  Py_XDECREF(utils);
  return out->tags ? 0 : -1;
}

/* None: no limit of the statement's own. */
static int parse_timeout(CursorObject *cur, PyObject *seconds, struct request *out)
{
  const int none = !seconds || seconds == Py_None;

  if (!none && PyLong_Check(seconds) && !PyBool_Check(seconds))
    out->timeout_seconds = PyLong_AsLongLong(seconds);
  if (PyErr_Occurred()) PyErr_Clear(); /* too large, which the next lines refuse */
  if (none || out->timeout_seconds > 0) return 0;
  (void)native_raise_text(cur->conn->state, "ProgrammingError",
                          "statement_timeout must be a positive int, in seconds");
  return -1;
}

/* out->tags is the caller's to let go. */
static int parse_request(CursorObject *cur, PyObject *const *given, struct request *out)
{
  *out = (struct request){.operation = given[OPERATION]};
  out->volume.input = given[INPUT_STREAM];
  out->volume.output = given[OUTPUT_STREAM];
  out->idempotent = given[IDEMPOTENT] ? PyObject_IsTrue(given[IDEMPOTENT]) : 0;
  if (out->idempotent < 0 || parse_timeout(cur, given[STATEMENT_TIMEOUT], out) < 0) return -1;
  return parse_tags(given[QUERY_TAGS], out);
}

PyObject *native_cursor_execute(CursorObject *cur, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames, native_go *go)
{
  PyObject *given[ARGUMENTS] = {NULL};
  struct request request;
  PyObject *done;

  if (parse_arguments(args, nargs, kwnames, given) < 0) return NULL;
  if (refuse_arguments(cur, given) < 0 || parse_request(cur, given, &request) < 0) return NULL;
  /* What is submitted outlives this call, and with it the streams' part of the request. */
  if (go != native_cursor_go) request.volume = (struct native_volume){NULL, NULL, -1, -1, NULL};
  if (given[PARAMETERS] && given[PARAMETERS] != Py_None)
    done = execute_with(cur, &request, given[PARAMETERS], go);
  else
    done = native_cursor_run(cur, set_request, &request, go);
  Py_XDECREF(request.tags);
  return done;
}

static PyObject *cur_execute(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
  return native_cursor_execute(CUR(op), args, nargs, kwnames, native_cursor_go);
}

/* None, or NULL with the exception that is set; and what the call had to log. */
static PyObject *end_of_call(CursorObject *cur)
{
  ConnectionObject *conn = cur->conn;

  if (native_connection_is_ours(conn))
    (void)native_log_deliver(conn->log, conn->state, conn->session_id);
  return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *cur_cancel(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  struct mortar_error err;

  if (cancel(CUR(op), &err) != MORTAR_OK) (void)native_raise(CUR(op)->conn->state, &err);
  return end_of_call(CUR(op));
}

static PyObject *cur_close(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  native_cursor_shut(CUR(op));
  return end_of_call(CUR(op));
}

/* ---- The rest ---- */

static PyObject *cur_enter(PyObject *op, PyObject *Py_UNUSED(ignored)) { return Py_NewRef(op); }

static PyObject *cur_exit(PyObject *op, PyObject *const *args, Py_ssize_t nargs)
{
  (void)args;
  (void)nargs;
  return cur_close(op, NULL);
}

static PyObject *cur_ignore(PyObject *op, PyObject *args)
{
  (void)op;
  if (PyTuple_GET_SIZE(args) >= 1) Py_RETURN_NONE;
  PyErr_SetString(PyExc_TypeError, "an argument is missing");
  return NULL;
}

static PyObject *cur_get_description(PyObject *op, void *closure)
{
  (void)closure;
  if (!CUR(op)->plan || PyList_GET_SIZE(CUR(op)->plan->description) == 0) Py_RETURN_NONE;
  return PySequence_List(CUR(op)->plan->description);
}

static PyObject *cur_get_query_id(PyObject *op, void *closure)
{
  (void)closure;
  if (CUR(op)->result) return PyUnicode_FromString(mortar_result_query_id(CUR(op)->result));
  return Py_NewRef(CUR(op)->query_id ? CUR(op)->query_id : Py_None);
}

static PyObject *cur_get_open(PyObject *op, void *closure)
{
  (void)closure;
  return PyBool_FromLong(CUR(op)->open);
}

static PyObject *cur_get_arraysize(PyObject *op, void *closure)
{
  (void)closure;
  return PyLong_FromSsize_t(CUR(op)->arraysize);
}

static int cur_set_arraysize(PyObject *op, PyObject *value, void *closure)
{
  (void)closure;
  return set_arraysize(CUR(op), value);
}

static PyObject *cur_get_row_limit(PyObject *op, void *closure)
{
  (void)closure;
  if (CUR(op)->row_limit < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(CUR(op)->row_limit);
}

static int cur_set_row_limit(PyObject *op, PyObject *value, void *closure)
{
  (void)closure;
  return set_row_limit(CUR(op), value);
}

static PyObject *cur_get_lastrowid(PyObject *op, void *closure)
{
  (void)op;
  (void)closure;
  Py_RETURN_NONE;
}

static PyMethodDef cur_methods[] = {
    {"execute", (PyCFunction)(void (*)(void))cur_execute, METH_FASTCALL | METH_KEYWORDS,
     "execute(operation, parameters=None, enforce_embedded_schema_correctness=False, "
     "input_stream=None, query_tags=None, *, idempotent=False, statement_timeout=None, "
     "output_stream=None)\n--\n\nRun a statement and wait for it. Returns self."},
    {"_metadata", native_metadata, METH_VARARGS, NULL},
    {"_submit", (PyCFunction)(void (*)(void))native_submit, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_poll", native_poll, METH_NOARGS, NULL},
    {"_take_result", native_take_result, METH_NOARGS, NULL},
    {"_handle", native_handle, METH_NOARGS, NULL},
    {"_attach", native_attach, METH_O, NULL},
    {"cancel", cur_cancel, METH_NOARGS,
     "cancel()\n--\n\nAsk the server to stop the running statement. From any thread."},
    {"close", cur_close, METH_NOARGS, "close()\n--\n\nLet the result go. Closing twice is fine."},
    {"fetchone", native_fetchone, METH_NOARGS, "fetchone()\n--\n\nThe next row, or None."},
    {"fetchmany", (PyCFunction)(void (*)(void))native_fetchmany, METH_FASTCALL | METH_KEYWORDS,
     "fetchmany(size=None)\n--\n\nUp to size rows; arraysize when it is left out."},
    {"fetchall", native_fetchall, METH_NOARGS, "fetchall()\n--\n\nAll rows that are left."},
    {"_take_arrow", native_take_arrow, METH_O, NULL},
    {"setinputsizes", cur_ignore, METH_VARARGS, "setinputsizes(sizes)\n--\n\nDoes nothing."},
    {"setoutputsize", cur_ignore, METH_VARARGS,
     "setoutputsize(size, column=None)\n--\n\nDoes nothing."},
    {"__enter__", cur_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))cur_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef cur_getset[] = {
    {"description", cur_get_description, NULL,
     "A tuple of seven for each column of the active result; None without one.", NULL},
    {"query_id", cur_get_query_id, NULL, "The id of the last statement, or None.", NULL},
    {"open", cur_get_open, NULL, "True until close() is called.", NULL},
    {"arraysize", cur_get_arraysize, cur_set_arraysize,
     "How many rows fetchmany() takes when it is not told.", NULL},
    {"row_limit", cur_get_row_limit, cur_set_row_limit,
     "How many rows the server sends of each statement at most; None: all.", NULL},
    {"lastrowid", cur_get_lastrowid, NULL, "Always None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef cur_members[] = {
    {"connection", T_OBJECT_EX, offsetof(CursorObject, conn), READONLY, "The connection."},
    {"buffer_size_bytes", T_PYSSIZET, offsetof(CursorObject, buffer_size), 0,
     "Kept for older programs; the size of pages is an option of the connection."},
    {"rowcount", T_LONGLONG, offsetof(CursorObject, rowcount), 0,
     "Rows changed by the last statement; -1 when it changed none or is not known."},
    {"rownumber", T_LONGLONG, offsetof(CursorObject, rownumber), READONLY,
     "Rows of the active result that were fetched."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CursorObject, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot cur_slots[] = {
    {Py_tp_doc, "Runs statements and hands out rows. Made by Connection.cursor()."},
    {Py_tp_new, cur_new},
    {Py_tp_methods, cur_methods},
    {Py_tp_getset, cur_getset},
    {Py_tp_members, cur_members},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, native_fetch_next},
    {Py_tp_traverse, cur_traverse},
    {Py_tp_clear, cur_clear},
    {Py_tp_finalize, cur_finalize},
    {Py_tp_dealloc, cur_dealloc},
    {0, NULL},
};

static PyType_Spec cur_spec = {
    .name = "mortar._native.Cursor",
    .basicsize = sizeof(CursorObject),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = cur_slots,
};

PyTypeObject *native_cursor_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &cur_spec, NULL);
}
