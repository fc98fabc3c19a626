/* Derives description and row type from a result, once for each shape. Holds no rows. */
#include "python/native/plan.h"

#include <ctype.h>
#include <string.h>

#include "python/native/errors.h"
#include "python/native/row.h"

/* "DECIMAL(10,2)" -> "decimal"; "INTERVAL YEAR TO MONTH" -> "interval_year_month". The codes are
 * those of the Thrift interface, in small letters. */
static PyObject *type_code(const char *sql_type)
{
  static const struct {
    const char *prefix, *code;
  } special[] = {
      {"INTERVAL YEAR", "interval_year_month"},
      {"INTERVAL MONTH", "interval_year_month"},
      {"INTERVAL", "interval_day_time"},
      {"TIMESTAMP_NTZ", "timestamp"},
      {"VOID", "null"},
  };
  char word[64];
  size_t i;

  for (i = 0; i < sizeof special / sizeof *special; i++)
    if (strncmp(sql_type, special[i].prefix, strlen(special[i].prefix)) == 0)
      return PyUnicode_FromString(special[i].code);
  for (i = 0; i + 1 < sizeof word && (isalnum((unsigned char)sql_type[i]) || sql_type[i] == '_');
       i++)
    word[i] = (char)tolower((unsigned char)sql_type[i]);
  return PyUnicode_FromStringAndSize(word, (Py_ssize_t)i);
}

/* (name, type, None, None, precision, scale, None) */
static PyObject *describe(const char *name, const char *sql_type)
{
  PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
  PyObject *code = text ? type_code(sql_type) : NULL, *entry = NULL;
  int precision, scale;

  if (code && sscanf(sql_type, "DECIMAL(%d,%d)", &precision, &scale) == 2)
    entry = Py_BuildValue("OOOOiiO", text, code, Py_None, Py_None, precision, scale, Py_None);
  else if (code)
    entry = Py_BuildValue("OOOOOOO", text, code, Py_None, Py_None, Py_None, Py_None, Py_None);
  Py_XDECREF(code);
  Py_XDECREF(text);
  return entry;
}

static int derive_description(PlanObject *plan, const struct mortar_result *result)
{
  PyObject *names = PyList_New(plan->column_count);
  int64_t i;

  plan->description = PyList_New(plan->column_count);
  for (i = 0; names && plan->description && i < plan->column_count; i++) {
    PyObject *entry =
        describe(mortar_result_column_name(result, i), mortar_result_column_type(result, i));
    if (!entry) break;
    PyList_SET_ITEM(plan->description, i, entry);
    PyList_SET_ITEM(names, i, Py_NewRef(PyTuple_GET_ITEM(entry, 0)));
  }
  if (names && plan->description && i == plan->column_count)
    plan->row_type = native_row_subtype(plan->state, names);
  Py_XDECREF(names);
  return plan->row_type ? 0 : -1;
}

static int derive_columns(PlanObject *plan, const struct ArrowSchema *schema)
{
  int64_t i;

  plan->columns = PyMem_Calloc((size_t)plan->column_count + 1, sizeof *plan->columns);
  if (!plan->columns) {
    PyErr_NoMemory();
    return -1;
  }
  for (i = 0; i < plan->column_count; i++) {
    if (native_column_init(&plan->columns[i], plan->state, schema->children[i]) < 0) return -1;
    if (plan->columns[i].child_count > 0) plan->holds_containers = 1;
  }
  return 0;
}

PlanObject *native_plan_new(struct native_state *state, const struct mortar_result *result)
{
  PlanObject *plan = PyObject_GC_New(PlanObject, state->plan_type);
  struct ArrowSchema schema;
  struct mortar_error err;

  if (!plan) return NULL;
  plan->state = state;
  plan->description = NULL;
  plan->row_type = NULL;
  plan->columns = NULL;
  plan->holds_containers = 0;
  plan->column_count = mortar_result_column_count(result);
  PyObject_GC_Track(plan);
  if (mortar_result_schema(result, &schema, &err) != MORTAR_OK) {
    Py_DECREF(plan);
    (void)native_raise(state, &err);
    return NULL;
  }
  if (derive_description(plan, result) < 0 || derive_columns(plan, &schema) < 0) Py_CLEAR(plan);
  schema.release(&schema);
  return plan;
}

static void drop_rows(PyObject **rows, Py_ssize_t count)
{
  while (count > 0)
    Py_DECREF(rows[--count]);
}

/* Rows are hidden from the garbage collector while they have empty places. */
static int make_rows(const PlanObject *plan, Py_ssize_t count, PyObject **rows)
{
  Py_ssize_t i;

  for (i = 0; i < count; i++) {
    rows[i] = native_row_alloc(plan->row_type, (Py_ssize_t)plan->column_count);
    if (!rows[i]) {
      drop_rows(rows, i);
      return -1;
    }
    PyObject_GC_UnTrack(rows[i]);
  }
  return 0;
}

static int fill_column(const struct column *col, Py_ssize_t place, const struct ArrowArray *array,
                       int64_t first, Py_ssize_t count, PyObject **rows)
{
  Py_ssize_t i;

  for (i = 0; i < count; i++) {
    PyObject *value = native_convert(col, array, first + i);
    if (!value) return -1;
    PyTuple_SET_ITEM(rows[i], place, value);
  }
  return 0;
}

int native_plan_rows(const PlanObject *plan, const struct ArrowArray *batch, int64_t first,
                     Py_ssize_t count, PyObject **rows)
{
  Py_ssize_t i;

  if (make_rows(plan, count, rows) < 0) return -1;
  first += batch->offset;
  for (i = 0; i < plan->column_count; i++)
    if (fill_column(&plan->columns[i], i, batch->children[i], first, count, rows) < 0) {
      drop_rows(rows, count);
      return -1;
    }
  /* A row of plain values is in no cycle: the collector need never look at it. */
  for (i = 0; plan->holds_containers && i < count; i++)
    PyObject_GC_Track(rows[i]);
  return 0;
}

static int plan_traverse(PyObject *op, visitproc visit, void *arg)
{
  PlanObject *plan = (PlanObject *)op;

  Py_VISIT(Py_TYPE(op));
  Py_VISIT(plan->description);
  Py_VISIT(plan->row_type);
  return 0;
}

static int plan_clear(PyObject *op)
{
  PlanObject *plan = (PlanObject *)op;

  Py_CLEAR(plan->description);
  Py_CLEAR(plan->row_type);
  return 0;
}

static void plan_dealloc(PyObject *op)
{
  PlanObject *plan = (PlanObject *)op;
  PyTypeObject *type = Py_TYPE(op);
  int64_t i;

  PyObject_GC_UnTrack(op);
  (void)plan_clear(op);
  for (i = 0; plan->columns && i < plan->column_count; i++)
    native_column_fini(&plan->columns[i]);
  PyMem_Free(plan->columns);
  PyObject_GC_Del(op);
  Py_DECREF(type);
}

static PyType_Slot plan_slots[] = {
    {Py_tp_doc, "What a connection keeps for one shape of result."},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_clear, plan_clear},
    {Py_tp_dealloc, plan_dealloc},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "mortar._native.Plan",
    .basicsize = sizeof(PlanObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = plan_slots,
};

PyTypeObject *native_plan_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &plan_spec, NULL);
}
