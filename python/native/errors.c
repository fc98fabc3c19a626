/* Makes exceptions. It invents no text: the library and the server have said what went wrong; only
 * options of the library get the names that they have as keywords. */
#include "python/native/errors.h"

/* The class for a status. The switch has no default, so that a new status is a warning here. */
static const char *class_name(const struct mortar_error *err)
{
  switch (err->status) {
    case MORTAR_INVALID:
      return "ProgrammingError";
    case MORTAR_STATE:
      return "InterfaceError";
    case MORTAR_UNSUPPORTED:
      return "NotSupportedError";
    case MORTAR_CONNECT:
    case MORTAR_TLS:
    case MORTAR_IO:
    case MORTAR_TIMEOUT:
    case MORTAR_AUTH:
    case MORTAR_HTTP:
      return "RequestError";
    case MORTAR_PROTOCOL:
    case MORTAR_CORRUPT:
      return "InvalidServerResponseError";
    case MORTAR_SERVER:
      return err->query_id[0] ? "ServerOperationError" : "DatabaseError";
    case MORTAR_FILE: /* without an os_error; see native_raise */
    case MORTAR_OK:
    case MORTAR_MORE:
    case MORTAR_NOMEM:
    case MORTAR_LIMIT:
    case MORTAR_INTERRUPTED:
    case MORTAR_CANCELED:
      break;
  }
  return "OperationalError";
}

static int put(PyObject *dict, const char *key, PyObject *value)
{
  int failed = !value || PyDict_SetItemString(dict, key, value) < 0;
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

static PyObject *text_or_none(const char *text)
{
  if (text[0] == '\0') Py_RETURN_NONE;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* The keys that programs know: of a statement's failure, and of a request's. */
static int fill_context(PyObject *context, const struct mortar_error *err)
{
  if (err->query_id[0] && put(context, "operation-id", text_or_none(err->query_id)) < 0) return -1;
  if (err->status == MORTAR_SERVER)
    return err->query_id[0] ? put(context, "diagnostic-info", Py_NewRef(Py_None)) : 0;
  if (err->session_id[0] && put(context, "session-id", text_or_none(err->session_id)) < 0)
    return -1;
  return err->http_status ? put(context, "http-code", PyLong_FromLong(err->http_status)) : 0;
}

static PyObject *make_context(const struct mortar_error *err)
{
  PyObject *context = PyDict_New();

  if (context && fill_context(context, err) < 0) Py_CLEAR(context);
  return context;
}

static int set_attribute(PyObject *exception, const char *name, PyObject *value)
{
  int failed = !value || PyObject_SetAttrString(exception, name, value) < 0;
  Py_XDECREF(value);
  return failed ? -1 : 0;
}

static int set_details(PyObject *exception, const struct mortar_error *err)
{
  return set_attribute(exception, "sqlstate", text_or_none(err->sqlstate)) < 0 ||
                 set_attribute(exception, "query_id", text_or_none(err->query_id)) < 0 ||
                 set_attribute(exception, "session_id", text_or_none(err->session_id)) < 0 ||
                 set_attribute(exception, "outcome",
                               text_or_none(mortar_outcome_name(err->outcome))) < 0 ||
                 set_attribute(exception, "status", text_or_none(mortar_status_name(err->status))) <
                     0 ||
                 set_attribute(exception, "server_code", PyLong_FromLong(err->server_code)) < 0 ||
                 set_attribute(exception, "http_status", PyLong_FromLong(err->http_status)) < 0 ||
                 set_attribute(exception, "session_lost", PyBool_FromLong(err->session_lost)) < 0
             ? -1
             : 0;
}

/* A new reference. While the interpreter takes itself apart the module may be gone already. */
static PyObject *class_of(struct native_state *state, const char *name)
{
  return state->exc ? PyObject_GetAttrString(state->exc, name) : Py_NewRef(PyExc_RuntimeError);
}

/* The two statuses whose texts name options. */
static PyObject *make_message(struct native_state *state, const struct mortar_error *err)
{
  PyObject *text = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
  PyObject *renamed;

  if (!text || !state->in_keywords) return text;
  if (err->status != MORTAR_INVALID && err->status != MORTAR_TLS) return text;
  renamed = PyObject_CallOneArg(state->in_keywords, text);
  Py_DECREF(text);
  return renamed;
}

/* As open() would: FileNotFoundError and its like, by the number. */
static PyObject *raise_os_error(const struct mortar_error *err)
{
  PyObject *text = PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
  PyObject *args = text ? Py_BuildValue("(iN)", (int)err->os_error, text) : NULL;

  if (args) PyErr_SetObject(PyExc_OSError, args);
  Py_XDECREF(args);
  return NULL;
}

PyObject *native_raise(struct native_state *state, const struct mortar_error *err)
{
  PyObject *class = NULL, *message = NULL, *context = NULL, *exception = NULL;

  if (PyErr_Occurred()) return NULL;
  if (err->status == MORTAR_NOMEM) return PyErr_NoMemory();
  if (err->status == MORTAR_FILE && err->os_error) return raise_os_error(err);
  class = class_of(state, class_name(err));
  message = class ? make_message(state, err) : NULL;
  context = message ? make_context(err) : NULL;
  exception = context ? PyObject_CallFunctionObjArgs(class, message, context, NULL) : NULL;
  if (exception && set_details(exception, err) == 0) PyErr_SetObject(class, exception);
  Py_XDECREF(exception);
  Py_XDECREF(context);
  Py_XDECREF(message);
  Py_XDECREF(class);
  return NULL;
}

PyObject *native_raise_text(struct native_state *state, const char *name, const char *text)
{
  PyObject *class = class_of(state, name);

  if (class) PyErr_SetString(class, text);
  Py_XDECREF(class);
  return NULL;
}
