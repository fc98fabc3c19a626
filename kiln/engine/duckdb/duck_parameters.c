/* Encodes parameters for the translator and binds them for DuckDB. */
#include "kiln/engine/duckdb/duck_parameters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "codec/thrift/tcli.h"
#include "kiln/engine/translate/field.h"

/* An empty text is not the same as none. */
static struct mtr_span present(struct mtr_span text)
{
  return text.size ? text : mtr_span_of("", 0);
}

/* A value as text; scratch holds numbers. An empty data pointer stands for NULL. */
static struct mtr_span value_text(const struct mtr_TSparkParameter *parameter, char scratch[32])
{
  const struct mtr_TSparkParameterValue *value = parameter->value;

  if (!MTR_HAS(parameter, TSparkParameter, value) || !value) return mtr_span_of(NULL, 0);
  if (MTR_HAS(value, TSparkParameterValue, string_value)) return present(value->string_value);
  if (MTR_HAS(value, TSparkParameterValue, boolean_value))
    return mtr_span_text(value->boolean_value ? "true" : "false");
  if (!MTR_HAS(value, TSparkParameterValue, double_value)) return mtr_span_of(NULL, 0);
  (void)snprintf(scratch, 32, "%.17g", value->double_value);
  return mtr_span_text(scratch);
}

/* Values that names of columns show are no longer than that. */
enum { SHOWN_MAX = 256 };

struct encoder {
  bool values;
  struct mtr_buf *out;
  struct mortar_error *err;
};

/* count -1: it is no nested value. */
static enum mortar_status put_value(const struct encoder *e, struct mtr_span type, int64_t count,
                                    struct mtr_span text)
{
  char shape[24] = "";

  if (count >= 0)
    (void)snprintf(shape, sizeof shape, "%" PRId64, count);
  else if (!text.data)
    (void)snprintf(shape, sizeof shape, "null");
  MTR_TRY(kiln_field_put(e->out, type, e->err));
  MTR_TRY(kiln_field_put(e->out, mtr_span_text(shape), e->err));
  if (!e->values) return MORTAR_OK;
  if (text.size > SHOWN_MAX) text.size = mtr_utf8_cut((const char *)text.data, SHOWN_MAX);
  return kiln_field_put(e->out, text, e->err);
}

static struct mtr_span argument_text(const struct mtr_TSparkParameterValueArg *arg)
{
  const bool there = MTR_HAS(arg, TSparkParameterValueArg, value);

  return there ? present(arg->value) : mtr_span_of(NULL, 0);
}

/* No deeper than the codec reads. */
static enum mortar_status put_arguments(const struct encoder *e,
                                        const struct mtr_TSparkParameterValueArg *args,
                                        size_t count)
{
  size_t i;

  for (i = 0; i < count; i++) {
    const struct mtr_TSparkParameterValueArg *arg = &args[i];
    const bool nested = MTR_HAS(arg, TSparkParameterValueArg, arguments);
    MTR_TRY(
        put_value(e, arg->type, nested ? (int64_t)arg->arguments.count : -1, argument_text(arg)));
    MTR_TRY(put_arguments(e, arg->arguments.items, arg->arguments.count));
  }
  return MORTAR_OK;
}

enum mortar_status duck_parameters_encode(const struct kiln_statement *statement, bool values,
                                          struct mtr_buf *out, struct mortar_error *err)
{
  const struct encoder e = {values, out, err};
  size_t i;

  for (i = 0; i < statement->parameter_count; i++) {
    const struct mtr_TSparkParameter *parameter = &statement->parameters[i];
    const bool nested = MTR_HAS(parameter, TSparkParameter, arguments);
    char scratch[32];
    MTR_TRY(kiln_field_put(out, parameter->name, err));
    MTR_TRY(put_value(&e, parameter->type, nested ? (int64_t)parameter->arguments.count : -1,
                      value_text(parameter, scratch)));
    MTR_TRY(put_arguments(&e, parameter->arguments.items, parameter->arguments.count));
  }
  return MORTAR_OK;
}

/* Where in the walk through the values; each of them has a number, whether it is bound or not. */
struct binding {
  const struct duck_api *api;
  duck_handle prepared;
  size_t next;
};

/* True too when the statement does not mention the value. */
static bool bind_next(struct binding *b, struct mtr_span text)
{
  duck_idx index;
  char name[32];

  (void)snprintf(name, sizeof name, "k%zu", b->next++);
  if (b->api->bind_parameter_index(b->prepared, &index, name) != 0) return true;
  if (!text.data) return b->api->bind_null(b->prepared, index) == 0;
  return b->api->bind_varchar_length(b->prepared, index, (const char *)text.data, text.size) == 0;
}

static bool bind_arguments(struct binding *b, const struct mtr_TSparkParameterValueArg *args,
                           size_t count)
{
  size_t i;

  for (i = 0; i < count; i++) {
    if (!bind_next(b, argument_text(&args[i]))) return false;
    if (!bind_arguments(b, args[i].arguments.items, args[i].arguments.count)) return false;
  }
  return true;
}

bool duck_parameters_bind(const struct duck_api *api, duck_handle prepared,
                          const struct kiln_statement *statement, struct kiln_error *err)
{
  struct binding b = {api, prepared, 0};
  size_t i;

  for (i = 0; i < statement->parameter_count; i++) {
    const struct mtr_TSparkParameter *parameter = &statement->parameters[i];
    char scratch[32];
    if (bind_next(&b, value_text(parameter, scratch)) &&
        bind_arguments(&b, parameter->arguments.items, parameter->arguments.count))
      continue;
    kiln_fail(err, "42000",
              "[INVALID_PARAMETER_VALUE] Parameter %zu can't be bound. SQLSTATE: "
              "42000",
              i + 1);
    return false;
  }
  return true;
}
