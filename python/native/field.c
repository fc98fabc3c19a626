/* Field: a descriptor that gets one place of a row. Python finds it in its cache of attributes,
 * which makes row.name as quick as a tuple's index. */
#include "python/native/field.h"

typedef struct {
  PyObject_HEAD Py_ssize_t place;
} FieldObject;

static PyObject *field_get(PyObject *op, PyObject *row, PyObject *type)
{
  Py_ssize_t place = ((FieldObject *)op)->place;

  (void)type;
  if (!row) return Py_NewRef(op);
  if (PyTuple_Check(row) && place < PyTuple_GET_SIZE(row))
    return Py_NewRef(PyTuple_GET_ITEM(row, place));
  PyErr_SetString(PyExc_AttributeError, "this row is too short for the field");
  return NULL;
}

static void field_dealloc(PyObject *op)
{
  PyTypeObject *type = Py_TYPE(op);

  PyObject_Free(op);
  Py_DECREF(type);
}

PyObject *native_field_new(struct native_state *state, Py_ssize_t place)
{
  FieldObject *field = PyObject_New(FieldObject, state->field_type);

  if (field) field->place = place;
  return (PyObject *)field;
}

static PyType_Slot field_slots[] = {
    {Py_tp_doc, "One place of a row."},
    {Py_tp_descr_get, field_get},
    {Py_tp_dealloc, field_dealloc},
    {0, NULL},
};

static PyType_Spec field_spec = {
    .name = "mortar._native.Field",
    .basicsize = sizeof(FieldObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = field_slots,
};

PyTypeObject *native_field_type_new(PyObject *module)
{
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &field_spec, NULL);
}
