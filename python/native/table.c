/* Arrow batches as a Python object that hands them over once. Looks at no value. */
#include "python/native/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "python/native/errors.h"
#include "python/native/shared_batch.h"

/* What a table holds, apart from the object: the stream made of it takes it over. */
struct batches {
  struct ArrowSchema schema;
  struct ArrowArray *items;
  size_t count, capacity, next;
};

typedef struct {
  PyObject_HEAD struct native_state *state;
  struct batches *batches; /* NULL once a stream took them */
  long long num_rows;
} TableObject;

#define TABLE(op) ((TableObject *)(op))

static void batches_free(struct batches *b)
{
  size_t i;

  if (!b) return;
  for (i = 0; i < b->count; i++)
    if (b->items[i].release) b->items[i].release(&b->items[i]);
  if (b->schema.release) b->schema.release(&b->schema);
  free(b->items);
  free(b);
}

PyObject *native_table_new(struct native_state *state, const struct mortar_result *result)
{
  TableObject *table = PyObject_New(TableObject, state->table_type);
  struct mortar_error err;

  if (!table) return NULL;
  table->state = state;
  table->num_rows = 0;
  table->batches = calloc(1, sizeof *table->batches);
  if (!table->batches) {
    Py_DECREF(table);
    return PyErr_NoMemory();
  }
  if (mortar_result_schema(result, &table->batches->schema, &err) != MORTAR_OK) {
    Py_DECREF(table);
    return native_raise(state, &err);
  }
  return (PyObject *)table;
}

static int make_room(struct batches *b)
{
  size_t want = b->capacity ? b->capacity * 2 : 8;
  struct ArrowArray *grown;

  if (b->count < b->capacity) return 0;
  grown = realloc(b->items, want * sizeof *grown);
  if (!grown) return -1;
  b->items = grown;
  b->capacity = want;
  return 0;
}

int native_table_add(PyObject *op, struct ArrowArray *batch, int64_t first, int64_t count)
{
  struct batches *b = TABLE(op)->batches;
  bool done = make_room(b) == 0;

  done = done && shared_batch_window(batch, first, count, &b->items[b->count]);
  if (!done) {
    PyErr_NoMemory();
    return -1;
  }
  b->count++;
  TABLE(op)->num_rows += count;
  return 0;
}

/* ---- The stream ---- */

static int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *to);

static void release_schema(struct ArrowSchema *schema)
{
  int64_t i;

  for (i = 0; schema->children && i < schema->n_children; i++) {
    if (schema->children[i] && schema->children[i]->release)
      schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  free((char *)(uintptr_t)schema->format);
  free((char *)(uintptr_t)schema->name);
  free((char *)(uintptr_t)schema->metadata);
  schema->release = NULL;
}

/* Metadata of the C data interface: a count, then key and value, each with its length before it. */
static size_t metadata_size(const char *metadata)
{
  const char *p = metadata;
  int32_t pairs, n, i;

  memcpy(&pairs, p, 4);
  p += 4;
  for (i = 0; i < 2 * pairs; i++) {
    memcpy(&n, p, 4);
    p += 4 + n;
  }
  return (size_t)(p - metadata);
}

static int copy_children(const struct ArrowSchema *from, struct ArrowSchema *to)
{
  int64_t i;

  to->children = calloc((size_t)from->n_children + 1, sizeof *to->children);
  if (!to->children) return -1;
  to->n_children = from->n_children;
  for (i = 0; i < from->n_children; i++) {
    to->children[i] = calloc(1, sizeof **to->children);
    if (!to->children[i] || copy_schema(from->children[i], to->children[i]) < 0) return -1;
  }
  return 0;
}

static int copy_schema(const struct ArrowSchema *from, struct ArrowSchema *to)
{
  size_t size;

  memset(to, 0, sizeof *to);
  to->release = release_schema;
  to->flags = from->flags;
  to->format = strdup(from->format);
  to->name = strdup(from->name ? from->name : "");
  if (!to->format || !to->name) return -1;
  if (from->metadata) {
    size = metadata_size(from->metadata);
    to->metadata = malloc(size);
    if (!to->metadata) return -1;
    memcpy((char *)(uintptr_t)to->metadata, from->metadata, size);
  }
  return copy_children(from, to);
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
  struct batches *b = stream->private_data;

  if (copy_schema(&b->schema, out) == 0) return 0;
  out->release(out);
  return ENOMEM;
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
  struct batches *b = stream->private_data;

  memset(out, 0, sizeof *out);
  if (b->next == b->count) return 0;
  *out = b->items[b->next];
  b->items[b->next++].release = NULL;
  return 0;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
  (void)stream;
  return "out of memory"; /* the only thing that can go wrong */
}

static void stream_release(struct ArrowArrayStream *stream)
{
  batches_free(stream->private_data);
  stream->release = NULL;
}

static void capsule_destructor(PyObject *capsule)
{
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");

  if (stream && stream->release) stream->release(stream);
  free(stream);
}

static PyObject *table_c_stream(PyObject *op, PyObject *args, PyObject *kwargs)
{
  static char *names[] = {"requested_schema", NULL};
  struct ArrowArrayStream *stream;
  PyObject *requested = Py_None, *capsule;

  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", names, &requested)) return NULL;
  if (!TABLE(op)->batches)
    return native_raise_text(TABLE(op)->state, "InterfaceError",
                             "the rows of this table were handed over already");
  stream = calloc(1, sizeof *stream);
  if (!stream) return PyErr_NoMemory();
  capsule = PyCapsule_New(stream, "arrow_array_stream", capsule_destructor);
  if (!capsule) {
    free(stream);
    return NULL;
  }
  stream->get_schema = stream_get_schema;
  stream->get_next = stream_get_next;
  stream->get_last_error = stream_get_last_error;
  stream->release = stream_release;
  stream->private_data = TABLE(op)->batches;
  TABLE(op)->batches = NULL;
  return capsule;
}

/* ---- The object ---- */

static void table_dealloc(PyObject *op)
{
  PyTypeObject *type = Py_TYPE(op);

  batches_free(TABLE(op)->batches);
  PyObject_Free(op);
  Py_DECREF(type);
}

static Py_ssize_t table_length(PyObject *op) { return (Py_ssize_t)TABLE(op)->num_rows; }

static PyObject *table_get_num_rows(PyObject *op, void *closure)
{
  (void)closure;
  return PyLong_FromLongLong(TABLE(op)->num_rows);
}

static PyMethodDef table_methods[] = {
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))table_c_stream,
     METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__(requested_schema=None)\n--\n\nHand the rows over, once, as an Arrow "
     "stream."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef table_getset[] = {
    {"num_rows", table_get_num_rows, NULL, "How many rows it has.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_doc, "Rows as Arrow, for any library that knows __arrow_c_stream__."},
    {Py_tp_methods, table_methods},
    {Py_tp_getset, table_getset},
    {Py_mp_length, table_length},
    {Py_tp_dealloc, table_dealloc},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "mortar._native.Table",
    .basicsize = sizeof(TableObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = table_slots,
};

PyTypeObject *native_table_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &table_spec, NULL);
}
