/* Takes the interpreter's lock for each call of a stream's method, and for nothing else. */
#include "python/native/volume.h"

#include "python/native/errors.h"
#include "python/native/wait.h"

/* ---- Folders ------------------------------------------------------------------------------- */

static int is_path(PyObject *value)
{
  return PyUnicode_Check(value) || PyBytes_Check(value) ||
         PyObject_HasAttrString((PyObject *)Py_TYPE(value), "__fspath__");
}

/* A tuple of what was given: one path, or several. */
static PyObject *as_tuple(PyObject *value)
{
  const int empty = value == Py_None || (PyUnicode_Check(value) && !PyUnicode_GET_LENGTH(value));

  if (empty) return PyTuple_New(0);
  return is_path(value) ? PyTuple_Pack(1, value) : PySequence_Tuple(value);
}

/* The paths as the system takes them: a tuple of bytes. */
static PyObject *encode(PyObject *paths)
{
  const Py_ssize_t count = PyTuple_GET_SIZE(paths);
  PyObject *encoded = PyTuple_New(count), *bytes;
  Py_ssize_t i;

  for (i = 0; encoded && i < count; i++) {
    if (PyUnicode_FSConverter(PyTuple_GET_ITEM(paths, i), &bytes))
      PyTuple_SET_ITEM(encoded, i, bytes);
    else
      Py_CLEAR(encoded);
  }
  return encoded;
}

static PyObject *refuse_folders(CursorObject *cur)
{
  if (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
    PyErr_Clear();
    native_cursor_refuse(cur, "staging_allowed_local_path", "must be a path or a list of paths");
  }
  return NULL;
}

/* Read at each statement, so that it can be changed on a connection. */
static PyObject *folders_of(CursorObject *cur)
{
  PyObject *value = PyObject_GetAttrString((PyObject *)cur->conn, "staging_allowed_local_path");
  PyObject *paths = value ? as_tuple(value) : NULL;
  PyObject *encoded = paths ? encode(paths) : NULL;

  Py_XDECREF(value);
  Py_XDECREF(paths);
  return encoded ? encoded : refuse_folders(cur);
}

/* ---- Positions ----------------------------------------------------------------------------- */

static Py_ssize_t as_position(PyObject *number)
{
  const Py_ssize_t position = number ? PyLong_AsSsize_t(number) : -1;

  Py_XDECREF(number);
  return position;
}

/* Streams that can't tell raise all sorts of things. -1: it can't; an exception that is set then is
 * one that ends programs. */
static Py_ssize_t no_position(void)
{
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return -1;
}

static Py_ssize_t tell(PyObject *stream)
{
  PyObject *can = PyObject_CallMethod(stream, "seekable", NULL);
  const int yes = can ? PyObject_IsTrue(can) : -1;
  const Py_ssize_t position =
      yes == 1 ? as_position(PyObject_CallMethod(stream, "tell", NULL)) : -1;

  Py_XDECREF(can);
  return position >= 0 ? position : no_position();
}

static Py_ssize_t seek(PyObject *stream, Py_ssize_t position, int whence)
{
  return as_position(PyObject_CallMethod(stream, "seek", "ni", position, whence));
}

/* What is left of the stream from start on; -1: nobody knows, or with an exception: it did not come
 * back from its end. */
static Py_ssize_t measure(PyObject *stream, Py_ssize_t start)
{
  const Py_ssize_t end = start >= 0 ? seek(stream, 0, SEEK_END) : -1;

  if (end < 0) return no_position();
  if (seek(stream, start, SEEK_SET) == start) return end > start ? end - start : 0;
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_OSError, "input_stream does not seek");
  return -1;
}

/* ---- What the library calls ---------------------------------------------------------------- */

static void take_lock(struct native_volume *v) { PyEval_RestoreThread(v->cur->wait->saved); }

static void let_lock_go(struct native_volume *v)
{
  v->cur->conn->lock_releases++;
  v->cur->wait->saved = PyEval_SaveThread();
}

/* -1 with an exception: the stream gave no bytes, or too many. */
static int copy_bytes(PyObject *given, void *data, size_t size, size_t *n)
{
  Py_buffer view;

  if (PyUnicode_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "input_stream gives text: open it in binary mode");
    return -1;
  }
  if (PyObject_GetBuffer(given, &view, PyBUF_SIMPLE) < 0) return -1;
  *n = (size_t)view.len;
  if (*n <= size)
    memcpy(data, view.buf, *n);
  else
    PyErr_SetString(PyExc_ValueError, "input_stream gives more bytes than it was asked for");
  PyBuffer_Release(&view);
  return *n <= size ? 0 : -1;
}

static int on_read(void *ctx, void *data, size_t size, size_t *n)
{
  struct native_volume *v = ctx;
  PyObject *given;
  int failed;

  take_lock(v);
  given = PyObject_CallMethod(v->input, "read", "n", (Py_ssize_t)size);
  failed = !given || copy_bytes(given, data, size, n) < 0;
  Py_XDECREF(given);
  let_lock_go(v);
  return failed;
}

/* How much of size bytes a call of write took: raw files may take less, others say nothing. */
static Py_ssize_t taken_of(PyObject *answer, Py_ssize_t size)
{
  Py_ssize_t n = size;

  if (answer && answer != Py_None) n = PyLong_AsSsize_t(answer);
  if (!answer || PyErr_Occurred()) return -1;
  if (n > 0 && n <= size) return n;
  PyErr_SetString(PyExc_OSError, "output_stream takes no bytes");
  return -1;
}

static int write_all(PyObject *stream, const char *data, Py_ssize_t size)
{
  while (size > 0) {
    PyObject *answer = PyObject_CallMethod(stream, "write", "y#", data, size);
    const Py_ssize_t n = taken_of(answer, size);
    Py_XDECREF(answer);
    if (n < 0) return -1;
    data += n;
    size -= n;
  }
  return 0;
}

static int on_write(void *ctx, const void *data, size_t size)
{
  struct native_volume *v = ctx;
  int failed;

  take_lock(v);
  failed = write_all(v->output, data, (Py_ssize_t)size) < 0;
  let_lock_go(v);
  return failed;
}

/* The one that is in use has bytes to take back; for the other it changes nothing. */
static int rewind_streams(struct native_volume *v)
{
  PyObject *cut;

  if (v->input && seek(v->input, v->input_start, SEEK_SET) < 0) return -1;
  if (!v->output) return 0;
  if (seek(v->output, v->output_start, SEEK_SET) < 0) return -1;
  cut = PyObject_CallMethod(v->output, "truncate", NULL);
  Py_XDECREF(cut);
  return cut ? 0 : -1;
}

static int on_rewind(void *ctx)
{
  struct native_volume *v = ctx;
  int failed;

  take_lock(v);
  failed = rewind_streams(v) < 0;
  if (failed) (void)no_position(); /* then the transfer's own failure stands */
  let_lock_go(v);
  return failed;
}

/* ---- Telling the statement ----------------------------------------------------------------- */

static void use_input(struct native_volume *v, struct mortar_volume *out)
{
  if (v->input == Py_None) v->input = NULL;
  if (!v->input) return;
  v->input_start = tell(v->input);
  out->read_size = PyErr_Occurred() ? -1 : measure(v->input, v->input_start);
  out->read = on_read;
}

static void use_output(struct native_volume *v, struct mortar_volume *out)
{
  if (v->output == Py_None) v->output = NULL;
  if (!v->output) return;
  v->output_start = tell(v->output);
  out->write = on_write;
}

static int set_volume(struct native_volume *v, struct mortar_volume *volume, PyObject *folders)
{
  const Py_ssize_t count = PyTuple_GET_SIZE(folders);
  const char **paths = PyMem_Calloc((size_t)count + 1, sizeof *paths);
  struct mortar_error err = {0};
  enum mortar_status st;
  Py_ssize_t i;

  if (!paths) {
    PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < count; i++)
    paths[i] = PyBytes_AS_STRING(PyTuple_GET_ITEM(folders, i));
  volume->folders = paths;
  volume->folder_count = (size_t)count;
  st = mortar_statement_set_volume(v->cur->stmt, volume, &err);
  PyMem_Free(paths);
  if (st != MORTAR_OK) (void)native_raise(v->cur->conn->state, &err);
  return st == MORTAR_OK ? 0 : -1;
}

int native_volume_set(struct native_volume *v, CursorObject *cur)
{
  struct mortar_volume volume = {.read_size = -1};
  PyObject *folders = folders_of(cur);
  int failed;

  if (!folders) return -1;
  v->cur = cur;
  v->input_start = v->output_start = -1;
  use_input(v, &volume);
  if (!PyErr_Occurred()) use_output(v, &volume);
  if (v->input || v->output) volume.ctx = v;
  if (volume.ctx && (!v->input || v->input_start >= 0) && (!v->output || v->output_start >= 0))
    volume.rewind = on_rewind;
  failed = PyErr_Occurred() || set_volume(v, &volume, folders) < 0;
  Py_DECREF(folders);
  return failed ? -1 : 0;
}
