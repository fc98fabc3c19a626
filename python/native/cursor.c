#include "python/native/cursor.h"

#include <stddef.h>
#include <structmember.h>

#include "python/native/errors.h"
#include "python/native/table.h"
#include "python/native/wait.h"

#define CUR(op) ((CursorObject *)(op))

enum { DEFAULT_ARRAYSIZE = 100000 };

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

static PyObject *cur_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"connection", "arraysize", "buffer_size_bytes", "row_limit", NULL};
  struct native_state *state = native_state_of_type(type);
  PyObject *connection, *buffer_size = NULL, *row_limit = Py_None;
  Py_ssize_t arraysize = DEFAULT_ARRAYSIZE;
  CursorObject *cur;

  if (!state || !PyArg_ParseTupleAndKeywords(args, kwargs, "O!|nOO", names, state->connection_type,
                                             &connection, &arraysize, &buffer_size, &row_limit))
    return NULL;
  if (row_limit != Py_None)
    return native_raise_text(state, "NotSupportedError", "row_limit is not supported yet");
  cur = CUR(type->tp_alloc(type, 0));
  if (!cur) return NULL;
  cur->conn = (ConnectionObject *)Py_NewRef(connection);
  cur->arraysize = arraysize;
  cur->rowcount = -1;
  cur->open = 1;
  link_in(cur);
  return (PyObject *)cur;
}

/* Lets the rows go. The server is told only if it must be: then the lock is let go too. */
static void drop_result(CursorObject *cur)
{
  struct mortar_result *result = cur->result;

  cur->result = NULL;
  if (cur->batch.release) cur->batch.release(&cur->batch);
  cur->batch.release = NULL;
  cur->batch.length = 0;
  cur->row = 0;
  Py_CLEAR(cur->plan);
  if (mortar_result_is_local(result)) {
    mortar_result_free(result);
    return;
  }
  Py_BEGIN_ALLOW_THREADS mortar_result_free(result);
  Py_END_ALLOW_THREADS
}

void native_cursor_shut(CursorObject *cur)
{
  if (!cur->open) return;
  cur->open = 0;
  link_out(cur);
  Py_CLEAR(cur->query_id);
  cur->rowcount = -1;
  if (cur->busy) {
    /* Another thread is in a call: end it; that thread drops what the call brings. */
    struct mortar_statement *stmt = cur->stmt;
    Py_INCREF(cur);
    Py_BEGIN_ALLOW_THREADS(void) !mortar_statement_cancel(stmt, NULL);
    Py_END_ALLOW_THREADS Py_DECREF(cur);
    return;
  }
  drop_result(cur);
  cur->rownumber = 0;
}

static int cur_traverse(PyObject *op, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(op));
  Py_VISIT(CUR(op)->conn);
  Py_VISIT(CUR(op)->plan);
  return 0;
}

static int cur_clear(PyObject *op)
{
  native_cursor_shut(CUR(op));
  Py_CLEAR(CUR(op)->plan);
  return 0;
}

static void cur_dealloc(PyObject *op)
{
  CursorObject *cur = CUR(op);
  PyTypeObject *type = Py_TYPE(op);

  PyObject_GC_UnTrack(op);
  if (cur->weakrefs) PyObject_ClearWeakRefs(op);
  if (cur->conn) native_cursor_shut(cur);
  drop_result(cur);
  mortar_statement_free(cur->stmt);
  Py_CLEAR(cur->query_id);
  Py_CLEAR(cur->conn);
  type->tp_free(op);
  Py_DECREF(type);
}

/* ---- Who may call what ---- */

/* True when the cursor is open and no other call is on its way. Raises otherwise. */
static int claim(CursorObject *cur)
{
  struct native_state *state = cur->conn->state;

  if (!cur->open || !cur->conn->session) {
    (void)native_raise_text(state, "InterfaceError", "Attempting operation on closed cursor");
    return 0;
  }
  if (cur->busy) {
    (void)native_raise_text(state, "ProgrammingError",
                            "another thread is using this cursor: make a cursor for each thread");
    return 0;
  }
  cur->busy = 1;
  return 1;
}

/* Ends a claim. A cursor that was closed meanwhile lets its rows go. */
static void yield_claim(CursorObject *cur)
{
  cur->busy = 0;
  if (!cur->open) drop_result(cur);
}

static int claim_result(CursorObject *cur)
{
  if (!claim(cur)) return 0;
  if (cur->result) return 1;
  cur->busy = 0;
  (void)native_raise_text(cur->conn->state, "ProgrammingError", "There is no active result set");
  return 0;
}

/* ---- Execute ---- */

static int set_sql(CursorObject *cur, PyObject *operation)
{
  struct mortar_error err;
  Py_ssize_t size;
  const char *sql;

  if (!PyUnicode_Check(operation)) {
    (void)native_raise_text(cur->conn->state, "ProgrammingError", "the SQL text must be a str");
    return -1;
  }
  sql = PyUnicode_AsUTF8AndSize(operation, &size);
  if (!sql) return -1;
  if ((!cur->stmt && mortar_statement_new(cur->conn->session, &cur->stmt, &err) != MORTAR_OK) ||
      mortar_statement_set_sql(cur->stmt, sql, (size_t)size, &err) != MORTAR_OK) {
    (void)native_raise(cur->conn->state, &err);
    return -1;
  }
  return 0;
}

static int run(CursorObject *cur)
{
  struct mortar_result *result = NULL;
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;

  native_wait_begin(&w);
  st = mortar_statement_execute(cur->stmt, &w.call, &result, &err);
  native_wait_end(&w);
  if (st != MORTAR_OK) {
    if (err.query_id[0]) cur->query_id = PyUnicode_FromString(err.query_id);
    (void)native_raise(cur->conn->state, &err);
    return -1;
  }
  cur->result = result;
  cur->rowcount = mortar_result_rows_affected(result);
  cur->plan = native_connection_plan(cur->conn, result);
  return cur->plan ? 0 : -1;
}

static PyObject *execute(CursorObject *cur, PyObject *operation)
{
  int failed;

  if (!claim(cur)) return NULL;
  drop_result(cur);
  Py_CLEAR(cur->query_id);
  cur->rowcount = -1;
  cur->rownumber = 0;
  failed = set_sql(cur, operation) < 0 || run(cur) < 0;
  if (failed && cur->result) drop_result(cur);
  yield_claim(cur);
  return failed ? NULL : Py_NewRef(cur);
}

/* Parameters are not bound yet: none, or an empty collection. */
static int no_parameters(CursorObject *cur, PyObject *parameters)
{
  if (parameters == Py_None || PyObject_Size(parameters) == 0) return 1;
  if (!PyErr_Occurred())
    (void)native_raise_text(cur->conn->state, "NotSupportedError",
                            "parameters are not supported yet: write the values into the text");
  return 0;
}

static PyObject *cur_execute(PyObject *op, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
  PyObject *operation = nargs > 0 ? args[0] : NULL, *parameters = nargs > 1 ? args[1] : Py_None;
  Py_ssize_t i, names = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

  for (i = 0; i < names; i++) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "operation") == 0 && !operation)
      operation = args[nargs + i];
    else if (PyUnicode_CompareWithASCIIString(name, "parameters") == 0 && nargs < 2)
      parameters = args[nargs + i];
    else
      return PyErr_Format(PyExc_TypeError, "execute() got an unexpected argument %R", name);
  }
  if (!operation || nargs > 2) {
    PyErr_SetString(PyExc_TypeError, "execute() takes operation and parameters=None");
    return NULL;
  }
  return no_parameters(CUR(op), parameters) ? execute(CUR(op), operation) : NULL;
}

static PyObject *cur_cancel(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  CursorObject *cur = CUR(op);
  struct mortar_error err;
  enum mortar_status st;

  if (!cur->stmt) Py_RETURN_NONE;
  Py_BEGIN_ALLOW_THREADS st = mortar_statement_cancel(cur->stmt, &err);
  Py_END_ALLOW_THREADS if (st != MORTAR_OK) return native_raise(cur->conn->state, &err);
  Py_RETURN_NONE;
}

static PyObject *cur_close(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  native_cursor_shut(CUR(op));
  Py_RETURN_NONE;
}

/* ---- Fetching ---- */

/* Brings the next batch into cur->batch. 1: rows are there, 0: the end, -1: an exception. */
static int load_batch(CursorObject *cur)
{
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;

  if (cur->row < cur->batch.length) return 1;
  if (cur->batch.release) cur->batch.release(&cur->batch);
  cur->batch.release = NULL;
  cur->batch.length = cur->row = 0;
  if (mortar_result_is_local(cur->result)) {
    st = mortar_result_next(cur->result, NULL, &cur->batch, &err);
  } else {
    native_wait_begin(&w);
    st = mortar_result_next(cur->result, &w.call, &cur->batch, &err);
    native_wait_end(&w);
  }
  if (st != MORTAR_OK) {
    (void)native_raise(cur->conn->state, &err);
    return -1;
  }
  return cur->batch.release != NULL;
}

static PyObject *next_row(CursorObject *cur)
{
  PyObject *row;

  if (load_batch(cur) <= 0) return NULL;
  row = native_plan_row(cur->plan, &cur->batch, cur->row);
  if (row) {
    cur->row++;
    cur->rownumber++;
  }
  return row;
}

/* Up to limit rows; a row that can't be converted is not used up. */
static PyObject *take_rows(CursorObject *cur, Py_ssize_t limit)
{
  PyObject *list = PyList_New(0);

  while (list && PyList_GET_SIZE(list) < limit) {
    PyObject *row = next_row(cur);
    if (!row) {
      if (PyErr_Occurred()) Py_CLEAR(list);
      break;
    }
    if (PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_DECREF(row);
  }
  return list;
}

static PyObject *fetch_rows(CursorObject *cur, Py_ssize_t limit)
{
  PyObject *list;

  if (!claim_result(cur)) return NULL;
  list = take_rows(cur, limit);
  yield_claim(cur);
  return list;
}

static PyObject *cur_fetchone(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  CursorObject *cur = CUR(op);
  PyObject *row;

  if (!claim_result(cur)) return NULL;
  row = next_row(cur);
  yield_claim(cur);
  if (!row && !PyErr_Occurred()) Py_RETURN_NONE;
  return row;
}

static PyObject *cur_fetchall(PyObject *op, PyObject *Py_UNUSED(ignored))
{
  return fetch_rows(CUR(op), PY_SSIZE_T_MAX);
}

/* -1 with an exception. */
static Py_ssize_t parse_size(CursorObject *cur, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"size", NULL};
  PyObject *given = Py_None;
  Py_ssize_t size = cur->arraysize;

  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &given)) return -1;
  if (given != Py_None) {
    size = PyNumber_AsSsize_t(given, PyExc_OverflowError);
    if (size == -1 && PyErr_Occurred()) return -1;
  }
  if (size >= 0) return size;
  PyErr_Format(PyExc_ValueError, "size must not be negative: %zd", size);
  return -1;
}

static PyObject *cur_fetchmany(PyObject *op, PyObject *args, PyObject *kwargs)
{
  Py_ssize_t size = parse_size(CUR(op), args, kwargs);
  return size < 0 ? NULL : fetch_rows(CUR(op), size);
}

/* All batches up to limit rows, as a Table that owns them. */
static PyObject *take_table(CursorObject *cur, int64_t limit)
{
  PyObject *table = native_table_new(cur->conn->state, cur->result);
  int64_t taken = 0;

  while (table && taken < limit) {
    int more = load_batch(cur);
    int64_t n = cur->batch.length - cur->row;
    if (more < 0) Py_CLEAR(table);
    if (more <= 0) break;
    if (n > limit - taken) n = limit - taken;
    if (native_table_add(table, &cur->batch, cur->row, n) < 0) {
      Py_CLEAR(table);
      break;
    }
    taken += n;
    cur->row += n;
    cur->rownumber += n;
  }
  return table;
}

static PyObject *fetch_table(CursorObject *cur, int64_t limit)
{
  PyObject *table;

  if (!claim_result(cur)) return NULL;
  table = take_table(cur, limit);
  yield_claim(cur);
  return table;
}

static PyObject *cur_take_arrow(PyObject *op, PyObject *arg)
{
  Py_ssize_t size;

  if (arg == Py_None) return fetch_table(CUR(op), INT64_MAX);
  size = PyNumber_AsSsize_t(arg, PyExc_OverflowError);
  if (size == -1 && PyErr_Occurred()) return NULL;
  if (size < 0) return PyErr_Format(PyExc_ValueError, "size must not be negative: %zd", size);
  return fetch_table(CUR(op), size);
}

static PyObject *cur_iternext(PyObject *op)
{
  CursorObject *cur = CUR(op);
  PyObject *row;

  if (!cur->result)
    return native_raise_text(cur->conn->state, "ProgrammingError", "There is no active result set");
  if (!claim_result(cur)) return NULL;
  row = next_row(cur);
  yield_claim(cur);
  return row;
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
  if (!CUR(op)->plan) Py_RETURN_NONE;
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

static PyObject *cur_get_lastrowid(PyObject *op, void *closure)
{
  (void)op;
  (void)closure;
  Py_RETURN_NONE;
}

static PyMethodDef cur_methods[] = {
    {"execute", (PyCFunction)(void (*)(void))cur_execute, METH_FASTCALL | METH_KEYWORDS,
     "execute(operation, parameters=None)\n--\n\nRun a statement and wait for it. Returns self."},
    {"cancel", cur_cancel, METH_NOARGS,
     "cancel()\n--\n\nAsk the server to stop the running statement. From any thread."},
    {"close", cur_close, METH_NOARGS, "close()\n--\n\nLet the result go. Closing twice is fine."},
    {"fetchone", cur_fetchone, METH_NOARGS, "fetchone()\n--\n\nThe next row, or None."},
    {"fetchmany", (PyCFunction)(void (*)(void))cur_fetchmany, METH_VARARGS | METH_KEYWORDS,
     "fetchmany(size=None)\n--\n\nUp to size rows; arraysize when it is left out."},
    {"fetchall", cur_fetchall, METH_NOARGS, "fetchall()\n--\n\nAll rows that are left."},
    {"_take_arrow", cur_take_arrow, METH_O, NULL},
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
    {"lastrowid", cur_get_lastrowid, NULL, "Always None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef cur_members[] = {
    {"connection", T_OBJECT_EX, offsetof(CursorObject, conn), READONLY, "The connection."},
    {"arraysize", T_PYSSIZET, offsetof(CursorObject, arraysize), 0,
     "How many rows fetchmany() takes when it is not told."},
    {"rowcount", T_LONGLONG, offsetof(CursorObject, rowcount), READONLY,
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
    {Py_tp_iternext, cur_iternext},
    {Py_tp_traverse, cur_traverse},
    {Py_tp_clear, cur_clear},
    {Py_tp_dealloc, cur_dealloc},
    {0, NULL},
};

static PyType_Spec cur_spec = {
    .name = "mortar._native.Cursor",
    .basicsize = sizeof(CursorObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = cur_slots,
};

PyTypeObject *native_cursor_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &cur_spec, NULL);
}
