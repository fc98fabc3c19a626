/* From Python's arguments to a struct mortar_metadata. Which filter goes with which call is known
 * below. */
#include "python/native/metadata.h"

#include <string.h>

#include "python/native/errors.h"

static const struct {
  const char *name;
  enum mortar_metadata_kind kind;
} kinds[] = {
    {"catalogs", MORTAR_METADATA_CATALOGS},
    {"schemas", MORTAR_METADATA_SCHEMAS},
    {"tables", MORTAR_METADATA_TABLES},
    {"columns", MORTAR_METADATA_COLUMNS},
    {"table_types", MORTAR_METADATA_TABLE_TYPES},
    {"type_info", MORTAR_METADATA_TYPE_INFO},
    {"functions", MORTAR_METADATA_FUNCTIONS},
    {"primary_keys", MORTAR_METADATA_PRIMARY_KEYS},
    {"foreign_keys", MORTAR_METADATA_CROSS_REFERENCE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The arguments, borrowed, and the texts of table_types. */
struct question {
  const char *kind;
  PyObject *catalog, *schema, *table, *column, *types;
  PyObject *function, *foreign_catalog, *foreign_schema, *foreign_table;
  PyObject *type_list; /* counted */
  const char **type_texts;
  struct mortar_metadata metadata;
};

/* A C text can't hold NUL, and no name does. */
static int text_of(CursorObject *cur, const char *name, PyObject *given, const char **out)
{
  Py_ssize_t size;

  *out = native_cursor_text(cur, name, "must be a str or None", given, &size);
  if (!*out) return -1;
  if (strlen(*out) == (size_t)size) return 0;
  native_cursor_refuse(cur, name, "holds a NUL character");
  return -1;
}

static int name_of(CursorObject *cur, const char *name, PyObject *given, const char **out)
{
  return given == Py_None ? 0 : text_of(cur, name, given, out);
}

static int fill_names(CursorObject *cur, struct question *q)
{
  struct mortar_metadata *m = &q->metadata;
  const struct {
    const char *name;
    PyObject *given;
    const char **out;
  } names[] = {
      {"catalog_name", q->catalog, &m->catalog},
      {"schema_name", q->schema, &m->schema},
      {"table_name", q->table, &m->table},
      {"column_name", q->column, &m->column},
      {"function_name", q->function, &m->function},
      {"foreign_catalog_name", q->foreign_catalog, &m->foreign_catalog},
      {"foreign_schema_name", q->foreign_schema, &m->foreign_schema},
      {"foreign_table_name", q->foreign_table, &m->foreign_table},
  };
  size_t i;

  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (name_of(cur, names[i].name, names[i].given, names[i].out) < 0) return -1;
  return 0;
}

static int fill_types(CursorObject *cur, struct question *q)
{
  Py_ssize_t i, count;

  if (q->types == Py_None) return 0;
  if (PyUnicode_Check(q->types)) {
    native_cursor_refuse(cur, "table_types", "must be a list of str, or None");
    return -1;
  }
  q->type_list = PySequence_Tuple(q->types);
  if (!q->type_list) return -1;
  count = PyTuple_GET_SIZE(q->type_list);
  q->type_texts = PyMem_New(const char *, (size_t)count + 1);
  if (!q->type_texts) {
    (void)PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < count; i++)
    if (text_of(cur, "table_types", PyTuple_GET_ITEM(q->type_list, i), &q->type_texts[i]) < 0)
      return -1;
  q->metadata.table_types = q->type_texts;
  q->metadata.table_type_count = (size_t)count;
  return 0;
}

static int fill_kind(struct question *q)
{
  size_t i;

  for (i = 0; i < KINDS; i++) {
    if (strcmp(q->kind, kinds[i].name) != 0) continue;
    q->metadata.kind = kinds[i].kind;
    return 0;
  }
  PyErr_Format(PyExc_ValueError, "there is no metadata call %s", q->kind);
  return -1;
}

static int prepare(CursorObject *cur, void *question)
{
  struct question *q = question;
  struct mortar_error err;

  if (fill_kind(q) < 0 || fill_names(cur, q) < 0 || fill_types(cur, q) < 0) return -1;
  if (mortar_statement_set_timeout(cur->stmt, 0, &err) == MORTAR_OK &&
      mortar_statement_set_metadata(cur->stmt, &q->metadata, &err) == MORTAR_OK)
    return 0;
  (void)native_raise(cur->conn->state, &err);
  return -1;
}

PyObject *native_metadata(PyObject *op, PyObject *args)
{
  struct question q = {.function = Py_None,
                       .foreign_catalog = Py_None,
                       .foreign_schema = Py_None,
                       .foreign_table = Py_None};
  PyObject *result;

  if (!PyArg_ParseTuple(args, "sOOOOO|OOOO", &q.kind, &q.catalog, &q.schema, &q.table, &q.column,
                        &q.types, &q.function, &q.foreign_catalog, &q.foreign_schema,
                        &q.foreign_table))
    return NULL;
  result = native_cursor_run((CursorObject *)op, prepare, &q, native_cursor_go);
  Py_XDECREF(q.type_list);
  PyMem_Free(q.type_texts);
  return result;
}
