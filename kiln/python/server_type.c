/* Starts, watches and stops a server. Its loop and workers never hold the interpreter lock and
 * never call into Python; this file lets go of the lock whenever it waits for them. */
#include "kiln/python/server_type.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "kiln/engine/duckdb/duck_engine.h"
#include "kiln/replay/replay.h"
#include "kiln/server/server.h"

enum { MAX_WORDS = 16, LOOK_MS = 100 };

typedef struct {
  PyObject_HEAD struct kiln_server *server; /* NULL: stopped */
  struct duck_engine *engine;
  struct kiln_replay *replay;
  pthread_mutex_t lock; /* guards stopped */
  pthread_cond_t changed;
  bool stopped;
  int port;
  pid_t pid; /* of the process that started it: a forked child has none of its threads */
} ServerObject;

#define SERVER(op) ((ServerObject *)(op))

struct start_options {
  struct kiln_options server;
  struct duck_engine_options engine;
  const char *words[MAX_WORDS + 1];
  const char *replay;
};

/* ---- Start -------------------------------------------------------------------------------- */

const char kiln_server_type_start_doc[] =
    "start(*, library='', setup_sql='', work_folder='', translator=(), replay=None, address=None,\n"
    "      port=0, tls=False, cert_file=None, key_file=None, cert_out=None, workers=0,\n"
    "      batch_rows=0, page_batches=0, checksum=False, columns=False, protocol=None,\n"
    "      token=None, faults=False, faults_file=None, session_idle_ms=0, "
    "operation_idle_ms=0,\n"
    "      direct_wait_ms=0, volumes=None)\n--\n\n"
    "Start a server and return it: on the recordings that replay names, or else on the DuckDB\n"
    "engine, which needs the first four.";

static int read_words(PyObject *translator, struct start_options *options)
{
  Py_ssize_t i, count = translator ? PyTuple_GET_SIZE(translator) : 0;

  if (options->replay) return 0;
  if (count < 1 || count > MAX_WORDS) {
    PyErr_Format(PyExc_ValueError, "translator has 1 to %d words, not %zd", MAX_WORDS, count);
    return -1;
  }
  for (i = 0; i < count; i++) {
    options->words[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(translator, i));
    if (!options->words[i]) return -1;
  }
  options->engine.translator = options->words;
  return 0;
}

static int read_options(PyObject *args, PyObject *kwargs, struct start_options *options)
{
  static char *names[] = {"library",
                          "setup_sql",
                          "work_folder",
                          "translator",
                          "replay",
                          "address",
                          "port",
                          "tls",
                          "cert_file",
                          "key_file",
                          "cert_out",
                          "workers",
                          "batch_rows",
                          "page_batches",
                          "checksum",
                          "columns",
                          "protocol",
                          "token",
                          "faults",
                          "faults_file",
                          "session_idle_ms",
                          "operation_idle_ms",
                          "direct_wait_ms",
                          "volumes",
                          NULL};
  struct kiln_options *server = &options->server;
  PyObject *translator = NULL;
  int tls = 0, checksum = 0, columns = 0, faults = 0;
  long long batch_rows = 0, page_batches = 0, session_idle = 0, operation_idle = 0, direct_wait = 0;

  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "|$sssO!zzipzzziLLppzzpzLLLz:start", names, &options->engine.library,
          &options->engine.setup_sql, &options->engine.work_folder, &PyTuple_Type, &translator,
          &options->replay, &server->address, &server->port, &tls, &server->cert_file,
          &server->key_file, &server->cert_out, &server->workers, &batch_rows, &page_batches,
          &checksum, &columns, &server->protocol, &server->token, &faults, &server->faults_file,
          &session_idle, &operation_idle, &direct_wait, &server->volumes))
    return -1;
  server->tls = tls != 0;
  server->checksum = checksum != 0;
  server->columns = columns != 0;
  server->faults = faults != 0;
  server->batch_rows = batch_rows;
  server->page_batches = page_batches;
  server->session_idle_ms = session_idle;
  server->operation_idle_ms = operation_idle;
  server->direct_wait_ms = direct_wait;
  return read_words(translator, options);
}

static enum mortar_status start_native(const struct start_options *options, ServerObject *self,
                                       struct mortar_error *err)
{
  const struct kiln_engine *functions = &duck_engine_functions;

  if (options->replay) {
    functions = &kiln_replay_engine;
    MTR_TRY(kiln_replay_new(options->replay, &self->replay, err));
  } else {
    MTR_TRY(duck_engine_new(&options->engine, &self->engine, err));
  }
  MTR_TRY(kiln_server_start(&options->server, functions,
                            options->replay ? (void *)self->replay : (void *)self->engine,
                            &self->server, err));
  self->port = kiln_server_port(self->server);
  return MORTAR_OK;
}

static ServerObject *server_new(PyTypeObject *type)
{
  ServerObject *self = SERVER(type->tp_alloc(type, 0));

  if (!self) return NULL;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  self->pid = getpid();
  return self;
}

PyObject *kiln_server_type_start(PyObject *module, PyObject *args, PyObject *kwargs)
{
  struct kiln_state *state = PyModule_GetState(module);
  struct start_options options = {0};
  struct mortar_error err = {0};
  enum mortar_status st;
  ServerObject *self;

  if (read_options(args, kwargs, &options) < 0) return NULL;
  self = server_new(state->server_type);
  if (!self) return NULL;
  Py_BEGIN_ALLOW_THREADS st = start_native(&options, self, &err);
  Py_END_ALLOW_THREADS if (st == MORTAR_OK) return (PyObject *)self;
  PyErr_SetString(state->error, err.message);
  Py_DECREF(self);
  return NULL;
}

/* ---- Stop --------------------------------------------------------------------------------- */

static void mark_stopped(ServerObject *self)
{
  pthread_mutex_lock(&self->lock);
  self->stopped = true;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
}

/* Takes the handles out of the object first, so that a second call finds nothing to do. */
static void stop_native(ServerObject *self)
{
  struct kiln_server *server = self->server;
  struct duck_engine *engine = self->engine;
  struct kiln_replay *replay = self->replay;

  self->server = NULL;
  self->engine = NULL;
  self->replay = NULL;
  if (self->pid != getpid()) return;
  Py_BEGIN_ALLOW_THREADS kiln_server_stop(server);
  duck_engine_free(engine);
  kiln_replay_free(replay);
  mark_stopped(self);
  Py_END_ALLOW_THREADS
}

static PyObject *server_stop(PyObject *self, PyObject *unused)
{
  (void)unused;
  stop_native(SERVER(self));
  Py_RETURN_NONE;
}

/* ---- Wait --------------------------------------------------------------------------------- */

static bool wait_a_little(ServerObject *self)
{
  struct timespec until;
  bool stopped;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000L;
  }
  pthread_mutex_lock(&self->lock);
  if (!self->stopped) (void)pthread_cond_timedwait(&self->changed, &self->lock, &until);
  stopped = self->stopped;
  pthread_mutex_unlock(&self->lock);
  return stopped;
}

/* Signals are for the main thread, which may be the one that waits here. */
static PyObject *server_wait(PyObject *self, PyObject *unused)
{
  bool stopped = false;

  (void)unused;
  while (!stopped) {
    Py_BEGIN_ALLOW_THREADS stopped = wait_a_little(SERVER(self));
    Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return NULL;
  }
  Py_RETURN_NONE;
}

/* ---- The type ----------------------------------------------------------------------------- */

static PyObject *server_port(PyObject *self, void *closure)
{
  (void)closure;
  return PyLong_FromLong(SERVER(self)->port);
}

static PyObject *server_duckdb(PyObject *self, void *closure)
{
  const struct duck_engine *engine = SERVER(self)->engine;

  (void)closure;
  if (!engine) Py_RETURN_NONE;
  return PyUnicode_FromString(duck_engine_version(engine));
}

static PyObject *server_recorded(PyObject *self, void *closure)
{
  struct kiln_replay_counts counts;

  (void)closure;
  if (!SERVER(self)->replay) Py_RETURN_NONE;
  counts = kiln_replay_count(SERVER(self)->replay);
  return Py_BuildValue("nnnn", (Py_ssize_t)counts.files, (Py_ssize_t)counts.exchanges,
                       (Py_ssize_t)counts.statements, (Py_ssize_t)counts.passed_over);
}

static int server_traverse(PyObject *self, visitproc visit, void *arg)
{
  Py_VISIT(Py_TYPE(self));
  return 0;
}

static void server_dealloc(PyObject *self)
{
  PyTypeObject *type = Py_TYPE(self);

  PyObject_GC_UnTrack(self);
  stop_native(SERVER(self));
  pthread_cond_destroy(&SERVER(self)->changed);
  pthread_mutex_destroy(&SERVER(self)->lock);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"stop", server_stop, METH_NOARGS,
     "stop()\n--\n\nEnd running statements, threads and translators. Stopping twice is fine."},
    {"wait", server_wait, METH_NOARGS,
     "wait()\n--\n\nReturn once the server was stopped; signal handlers run meanwhile."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef getset[] = {
    {"port", server_port, NULL, "The port that it listens on.", NULL},
    {"duckdb_version", server_duckdb, NULL, "Of the DuckDB in use; None once stopped.", NULL},
    {"recorded", server_recorded, NULL,
     "What a replay has read: files, exchanges, statements, lines passed over. None otherwise.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "A running Kiln; made by start()."},
                              {Py_tp_dealloc, server_dealloc},
                              {Py_tp_traverse, server_traverse},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, getset},
                              {0, NULL}};

PyType_Spec kiln_server_type_spec = {
    .name = "mortar.kiln._kiln.Server",
    .basicsize = sizeof(ServerObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
