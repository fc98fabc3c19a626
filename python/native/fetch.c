/* A call that fails leaves the cursor where it began: batches stay in the queue until it succeeds,
 * so nothing is lost to a date that Python can't hold or to Ctrl-C. */
#include "python/native/fetch.h"

#include "python/native/errors.h"
#include "python/native/table.h"
#include "python/native/wait.h"

enum {
  ROWS_AT_ONCE = 256,          /* what is made column by column; their memory stays in the cache */
  ROWS_OF_A_TABLE = 64 * 1024, /* small batches of a table are joined up to this */
  ROWS_BETWEEN_PAUSES = 4096   /* a few milliseconds: then other threads and signals get a turn */
};

#define CUR(op) ((CursorObject *)(op))

/* ---- Batches ---- */

/* joined 0: as they come. */
static int receive(CursorObject *cur, int64_t joined, struct ArrowArray *batch)
{
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;

  if (mortar_result_is_local(cur->result)) {
    st = mortar_result_next_joined(cur->result, NULL, joined, batch, &err);
  } else {
    native_wait_begin(&w, cur->conn, &cur->open);
    st = mortar_result_next_joined(cur->result, &w.call, joined, batch, &err);
    (void)native_wait_end(&w);
  }
  if (st != MORTAR_OK) native_cursor_raise(cur, &err);
  return PyErr_Occurred() ? -1 : 0;
}

/* Sees to it that the next row is in the queue. 1: it is, 0: the end, -1: an exception. */
static int load(CursorObject *cur, int64_t joined)
{
  struct ArrowArray batch = {0};
  int64_t left;
  int failed;

  if (native_queue_front(&cur->queue, &left)) return 1;
  if (!native_queue_reserve(&cur->queue)) {
    PyErr_NoMemory();
    return -1;
  }
  failed = receive(cur, joined, &batch) < 0;
  if (batch.release) native_queue_push(&cur->queue, &batch);
  if (failed) return -1;
  return native_queue_front(&cur->queue, &left) != NULL;
}

static void advance(CursorObject *cur, int64_t rows)
{
  cur->queue.row += rows;
  cur->rownumber += rows;
}

/* ---- A call ---- */

/* Where a call began. */
struct start {
  struct queue_place place;
  long long rownumber;
};

static bool begin(CursorObject *cur, struct start *start)
{
  if (!native_cursor_claim_result(cur)) return false;
  start->place = native_queue_tell(&cur->queue);
  start->rownumber = cur->rownumber;
  return true;
}

/* Takes made over, which may be NULL; returns it, or NULL with the cursor where it began. */
static PyObject *end(CursorObject *cur, const struct start *start, PyObject *made, int filled)
{
  if (made && filled < 0) {
    Py_CLEAR(made);
    native_queue_seek(&cur->queue, start->place);
    cur->rownumber = start->rownumber;
  }
  native_queue_settle(&cur->queue);
  native_cursor_yield(cur);
  return made;
}

/* ---- Rows ---- */

static PyObject *next_row(CursorObject *cur)
{
  const struct ArrowArray *batch;
  PyObject *row;
  int64_t left;

  if (load(cur, 0) <= 0) return NULL;
  batch = native_queue_front(&cur->queue, &left);
  if (native_plan_rows(cur->plan, batch, cur->queue.row, 1, &row) < 0) return NULL;
  advance(cur, 1);
  native_queue_settle(&cur->queue);
  return row;
}

static int append_all(PyObject *list, PyObject **rows, Py_ssize_t count)
{
  int failed = 0;
  Py_ssize_t i;

  for (i = 0; i < count; i++) {
    if (!failed) failed = PyList_Append(list, rows[i]);
    Py_DECREF(rows[i]);
  }
  return failed;
}

/* Adds rows of the front batch, limit at the most. */
static int add_rows(CursorObject *cur, PyObject *list, Py_ssize_t limit)
{
  PyObject *rows[ROWS_AT_ONCE];
  int64_t left;
  const struct ArrowArray *batch = native_queue_front(&cur->queue, &left);
  Py_ssize_t n = limit < ROWS_AT_ONCE ? limit : ROWS_AT_ONCE;

  if (n > left) n = (Py_ssize_t)left;
  if (native_plan_rows(cur->plan, batch, cur->queue.row, n, rows) < 0) return -1;
  if (append_all(list, rows, n) < 0) return -1;
  advance(cur, n);
  return 0;
}

/* Lets other threads run and signal handlers too. */
static int pause_for_others(CursorObject *cur)
{
  cur->conn->lock_releases++;
  PyEval_RestoreThread(PyEval_SaveThread());
  return PyErr_CheckSignals();
}

static int fill(CursorObject *cur, PyObject *list, Py_ssize_t limit)
{
  Py_ssize_t pause = ROWS_BETWEEN_PAUSES, size = 0;

  while (size < limit) {
    int more = load(cur, 0);
    if (more <= 0) return more;
    if (add_rows(cur, list, limit - size) < 0) return -1;
    size = PyList_GET_SIZE(list);
    if (size < pause) continue;
    pause = size + ROWS_BETWEEN_PAUSES;
    if (pause_for_others(cur) < 0) return -1;
  }
  return 0;
}

static PyObject *fetch_rows(CursorObject *cur, Py_ssize_t limit)
{
  struct start start;
  PyObject *list;

  if (!begin(cur, &start)) return NULL;
  list = PyList_New(0);
  return end(cur, &start, list, list ? fill(cur, list, limit) : -1);
}

PyObject *native_fetchone(PyObject *op, PyObject *ignored)
{
  PyObject *row;

  (void)ignored;
  if (!native_cursor_claim_result(CUR(op))) return NULL;
  row = next_row(CUR(op));
  native_cursor_yield(CUR(op));
  if (!row && !PyErr_Occurred()) Py_RETURN_NONE;
  return row;
}

PyObject *native_fetchall(PyObject *op, PyObject *ignored)
{
  (void)ignored;
  return fetch_rows(CUR(op), PY_SSIZE_T_MAX);
}

/* -1 with an exception. */
static Py_ssize_t as_size(PyObject *given)
{
  Py_ssize_t size = PyNumber_AsSsize_t(given, PyExc_OverflowError);

  if (size >= 0 || PyErr_Occurred()) return size;
  PyErr_Format(PyExc_ValueError, "size must not be negative: %zd", size);
  return -1;
}

/* What fetchmany was given, borrowed; None: nothing. NULL with an exception. */
static PyObject *only_argument(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
  const Py_ssize_t names = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

  if (nargs + names == 0) return Py_None;
  if (nargs + names > 1)
    PyErr_Format(PyExc_TypeError, "fetchmany() takes at most one argument (%zd given)",
                 nargs + names);
  else if (names && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "size") != 0)
    PyErr_Format(PyExc_TypeError, "fetchmany() got an unexpected argument %R",
                 PyTuple_GET_ITEM(kwnames, 0));
  else
    return args[0];
  return NULL;
}

PyObject *native_fetchmany(PyObject *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
  PyObject *given = only_argument(args, nargs, kwnames);
  Py_ssize_t size;

  if (!given) return NULL;
  size = given == Py_None ? CUR(op)->arraysize : as_size(given);
  return size < 0 ? NULL : fetch_rows(CUR(op), size);
}

/* Without a result on an open or closed cursor alike: ProgrammingError. */
PyObject *native_fetch_next(PyObject *op)
{
  static const char nothing[] = "There is no active result set";
  ConnectionObject *conn = CUR(op)->conn;
  PyObject *row;

  if (!CUR(op)->result && conn->session && native_connection_check(conn, nothing) < 0) return NULL;
  if (!CUR(op)->result) return native_raise_text(conn->state, "ProgrammingError", nothing);
  if (!native_cursor_claim_result(CUR(op))) return NULL;
  row = next_row(CUR(op));
  native_cursor_yield(CUR(op));
  return row;
}

/* ---- Tables ---- */

static int fill_table(CursorObject *cur, PyObject *table, int64_t limit)
{
  int64_t taken = 0, n;

  while (taken < limit) {
    struct ArrowArray *batch;
    int more = load(cur, ROWS_OF_A_TABLE);
    if (more <= 0) return more;
    batch = native_queue_front(&cur->queue, &n);
    if (n > limit - taken) n = limit - taken;
    if (native_table_add(table, batch, cur->queue.row, n) < 0) return -1;
    taken += n;
    advance(cur, n);
  }
  return 0;
}

static PyObject *fetch_table(CursorObject *cur, int64_t limit)
{
  struct start start;
  PyObject *table;

  if (!begin(cur, &start)) return NULL;
  table = native_table_new(cur->conn->state, cur->result);
  return end(cur, &start, table, table ? fill_table(cur, table, limit) : -1);
}

PyObject *native_take_arrow(PyObject *op, PyObject *arg)
{
  Py_ssize_t size;

  if (arg == Py_None) return fetch_table(CUR(op), INT64_MAX);
  size = as_size(arg);
  return size < 0 ? NULL : fetch_table(CUR(op), size);
}
