/* Queues lines and hands them over. Refuses to take the interpreter's lock, and to lose an
 * exception of the call that it works for. */
#include "python/native/log.h"

/* ---- The queue ---- */

static void drop_oldest(struct native_log_queue *q)
{
  struct native_log_line *line = &q->lines[q->first];

  if (!q->dropped || line->level < q->worst_dropped) q->worst_dropped = line->level;
  q->dropped++;
  free(line->text);
  q->first = (q->first + 1) % NATIVE_LOG_LINES_MAX;
  q->count--;
}

/* A mortar_log_fn. Where memory ran out a line is missing, and the call goes on. */
static void put(void *ctx, enum mortar_log_level level, const char *text)
{
  struct native_log *log = ctx;
  struct native_log_queue *q = &log->queue;
  const size_t size = strlen(text) + 1;
  char *copy = log->wanted >> level & 1U ? malloc(size) : NULL;

  if (!copy) return;
  memcpy(copy, text, size);
  (void)pthread_mutex_lock(&log->lock);
  if (q->count == NATIVE_LOG_LINES_MAX) drop_oldest(q);
  q->lines[(q->first + q->count++) % NATIVE_LOG_LINES_MAX] = (struct native_log_line){level, copy};
  atomic_store_explicit(&log->waiting, true, memory_order_relaxed);
  (void)pthread_mutex_unlock(&log->lock);
}

static struct native_log_queue take_all(struct native_log *log)
{
  struct native_log_queue taken;

  (void)pthread_mutex_lock(&log->lock);
  taken = log->queue;
  memset(&log->queue, 0, sizeof log->queue);
  atomic_store_explicit(&log->waiting, false, memory_order_relaxed);
  (void)pthread_mutex_unlock(&log->lock);
  return taken;
}

/* ---- Life ---- */

static void hold(void *ctx)
{
  struct native_log *log = ctx;

  atomic_fetch_add_explicit(&log->users, 1, memory_order_relaxed);
}

static void release(void *ctx)
{
  struct native_log *log = ctx;
  struct native_log_queue *q = &log->queue;

  if (atomic_fetch_sub_explicit(&log->users, 1, memory_order_acq_rel) != 1) return;
  while (q->count)
    drop_oldest(q);
  (void)pthread_mutex_destroy(&log->lock);
  free(log);
}

void native_log_unref(struct native_log *log)
{
  if (log) release(log);
}

int native_log_new(struct native_state *state, struct native_log **out)
{
  PyObject *answer = PyObject_CallMethod(state->log, "wanted", NULL);
  unsigned long wanted = answer ? PyLong_AsUnsignedLong(answer) : 0;

  *out = NULL;
  Py_XDECREF(answer);
  if (PyErr_Occurred()) return -1;
  if (!wanted) return 0;
  *out = calloc(1, sizeof **out);
  if (!*out) {
    PyErr_NoMemory();
    return -1;
  }
  atomic_init(&(*out)->users, 1);
  (*out)->wanted = (unsigned)wanted;
  (void)pthread_mutex_init(&(*out)->lock, NULL);
  return 0;
}

enum mortar_status native_log_attach(struct native_log *log, struct mortar_config *config,
                                     struct mortar_error *err)
{
  enum mortar_log_level level = MORTAR_LOG_SQL;
  enum mortar_status st;

  if (!log) return MORTAR_OK;
  while (!(log->wanted >> level & 1U) && level > MORTAR_LOG_WARNING)
    level--;
  st = mortar_config_set_log(config, level, put, log, err);
  return st == MORTAR_OK ? mortar_config_set_log_owner(config, hold, release, err) : st;
}

/* ---- To Python ---- */

static bool is_ending(void)
{
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

/* What a handler raised stays set only if it is not a mere Exception, and it is the first. */
static void keep_exception(PyObject *where, PyObject **type, PyObject **value, PyObject **trace)
{
  if (!PyErr_Occurred()) return;
  if (*type || PyErr_ExceptionMatches(PyExc_Exception))
    PyErr_WriteUnraisable(where);
  else
    PyErr_Fetch(type, value, trace);
}

static void write_line(struct native_state *state, enum mortar_log_level level, const char *text,
                       PyObject *session_id)
{
  PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

  if (line)
    Py_XDECREF(PyObject_CallMethod(state->log, "write", "iNO", (int)level, line,
                                   session_id ? session_id : Py_None));
}

static void write_dropped(struct native_state *state, const struct native_log_queue *q,
                          PyObject *session_id)
{
  char text[64];

  (void)PyOS_snprintf(text, sizeof text, "%llu lines of the log were dropped", q->dropped);
  write_line(state, q->worst_dropped, text, session_id);
}

int native_log_hand_over(struct native_log *log, struct native_state *state, PyObject *session_id)
{
  struct native_log_queue q = take_all(log);
  const bool speak = state->log && !is_ending();
  PyObject *type, *value, *trace;
  const bool raised = PyErr_Occurred() != NULL;
  size_t i;

  PyErr_Fetch(&type, &value, &trace);
  if (speak && q.dropped) write_dropped(state, &q, session_id);
  keep_exception(state->log, &type, &value, &trace);
  for (i = 0; i < q.count; i++) {
    const struct native_log_line *line = &q.lines[(q.first + i) % NATIVE_LOG_LINES_MAX];
    if (speak) write_line(state, line->level, line->text, session_id);
    keep_exception(state->log, &type, &value, &trace);
    free(line->text);
  }
  PyErr_Restore(type, value, trace);
  return !raised && PyErr_Occurred() ? -1 : 0;
}
