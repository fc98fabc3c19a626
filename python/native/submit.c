/* Submits, asks, fetches, goes on with what another cursor submitted. What the last statement was
 * is known here also when it was not submitted. */
#include "python/native/submit.h"

#include <string.h>

#include "python/native/errors.h"
#include "python/native/volume.h"
#include "python/native/wait.h"

#define CUR(op) ((CursorObject *)(op))

/* What is submitted stays the cursor's, also when a handler has raised meanwhile. */
static int named(CursorObject *cur)
{
  cur->submitted = 1;
  Py_XSETREF(cur->query_id, PyUnicode_FromString(mortar_statement_query_id(cur->stmt)));
  return PyErr_Occurred() ? -1 : 0;
}

static int submit(CursorObject *cur)
{
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;

  native_wait_begin(&w, cur->conn, &cur->open);
  st = mortar_statement_submit(cur->stmt, &w.call, &err);
  (void)native_wait_end(&w);
  return st == MORTAR_OK ? named(cur) : native_cursor_adopt(cur, st, NULL, &err);
}

PyObject *native_submit(PyObject *op, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
  return native_cursor_execute(CUR(op), args, nargs, kwnames, submit);
}

/* ---- How far it is ---- */

static const char *name_of(enum mortar_statement_state state)
{
  switch (state) {
    case MORTAR_STATEMENT_PENDING:
      return "PENDING";
    case MORTAR_STATEMENT_RUNNING:
      return "RUNNING";
    case MORTAR_STATEMENT_FINISHED:
      return "SUCCEEDED";
    case MORTAR_STATEMENT_NONE:
      break;
  }
  return NULL;
}

/* The states in which it is an answer that the statement has ended badly. */
static const char *bad_end(enum mortar_status st, const struct mortar_error *err)
{
  if (err->outcome != MORTAR_OUTCOME_DONE) return NULL;
  if (st == MORTAR_CANCELED) return "CANCELLED";
  return st == MORTAR_TIMEOUT ? "FAILED" : NULL;
}

/* NULL with an exception. */
static const char *ask(CursorObject *cur)
{
  enum mortar_statement_state state;
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;
  const char *name;

  native_wait_begin(&w, cur->conn, &cur->open);
  st = mortar_statement_poll(cur->stmt, &w.call, &state, &err);
  if (native_wait_end(&w) < 0) return NULL;
  name = st == MORTAR_OK ? name_of(state) : bad_end(st, &err);
  if (!name) native_cursor_raise(cur, &err);
  return name;
}

static const char *state_of(CursorObject *cur)
{
  if (cur->result) return "SUCCEEDED";
  if (cur->submitted) return ask(cur);
  if (cur->query_id) return "FAILED";
  (void)native_raise_text(cur->conn->state, "Error", "No active command to get state for");
  return NULL;
}

PyObject *native_poll(PyObject *op, PyObject *ignored)
{
  const char *name;

  (void)ignored;
  if (!native_cursor_claim(CUR(op))) return NULL;
  name = state_of(CUR(op));
  native_cursor_yield(CUR(op));
  return name ? PyUnicode_FromString(name) : NULL;
}

/* ---- Its result ---- */

static int wait_for_result(CursorObject *cur)
{
  struct mortar_result *result = NULL;
  struct mortar_error err;
  struct native_wait w;
  enum mortar_status st;

  if (cur->result) return 0; /* it stays where it is */
  if (!cur->submitted) {
    (void)native_raise_text(cur->conn->state, "Error", "No active command to get a result of");
    return -1;
  }
  native_wait_begin(&w, cur->conn, &cur->open);
  st = mortar_statement_result(cur->stmt, &w.call, &result, &err);
  (void)native_wait_end(&w);
  return native_cursor_adopt(cur, st, result, &err);
}

PyObject *native_take_result(PyObject *op, PyObject *ignored)
{
  int failed;

  (void)ignored;
  if (!native_cursor_claim(CUR(op))) return NULL;
  failed = wait_for_result(CUR(op)) < 0;
  native_cursor_yield(CUR(op));
  return failed ? NULL : Py_NewRef(op);
}

/* ---- Handles ---- */

PyObject *native_handle(PyObject *op, PyObject *ignored)
{
  (void)ignored;
  if (!CUR(op)->submitted) Py_RETURN_NONE;
  return PyUnicode_FromString(mortar_statement_handle(CUR(op)->stmt));
}

static int attach(CursorObject *cur, PyObject *handle)
{
  struct native_volume no_streams = {.input = NULL, .output = NULL};
  struct mortar_error err;
  Py_ssize_t size;
  const char *text;

  native_cursor_forget(cur);
  if (handle == Py_None) return 0;
  text = native_cursor_text(cur, "the handle of a statement", "must be a str", handle, &size);
  if (!text || native_cursor_statement(cur) < 0) return -1;
  if (mortar_statement_attach(cur->stmt, text, &err) == MORTAR_OK)
    return native_volume_set(&no_streams, cur) < 0 ? -1 : named(cur);
  (void)native_raise(cur->conn->state, &err);
  return -1;
}

PyObject *native_attach(PyObject *op, PyObject *handle)
{
  int failed;

  if (!native_cursor_claim(CUR(op))) return NULL;
  failed = attach(CUR(op), handle) < 0;
  native_cursor_yield(CUR(op));
  if (failed) return NULL;
  Py_RETURN_NONE;
}
