/* Encodes parameters for the translator and binds them for DuckDB. */
#include "kiln/engine/duckdb/duck_parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "codec/thrift/tcli.h"
#include "kiln/engine/translate/field.h"

enum mortar_status duck_parameters_encode(const struct kiln_statement *statement,
                                          struct mtr_buf *out, struct mortar_error *err)
{
  size_t i;

  for (i = 0; i < statement->parameter_count; i++) {
    const struct mtr_TSparkParameter *parameter = &statement->parameters[i];

    if (parameter->arguments.count > 0)
      return mtr_fail(err, MORTAR_UNSUPPORTED, "parameter %zu has the nested type %.*s", i + 1,
                      MTR_SPAN_ARG(parameter->type));
    MTR_TRY(kiln_field_put(out, parameter->name, err));
    MTR_TRY(kiln_field_put(out, parameter->type, err));
  }
  return MORTAR_OK;
}

/* A value as text; scratch holds numbers. An empty data pointer stands for NULL. */
static struct mtr_span value_text(const struct mtr_TSparkParameter *parameter, char scratch[32])
{
  const struct mtr_TSparkParameterValue *value = parameter->value;

  if (!MTR_HAS(parameter, TSparkParameter, value) || !value) return mtr_span_of(NULL, 0);
  if (MTR_HAS(value, TSparkParameterValue, string_value))
    return mtr_span_of(value->string_value.size ? (const void *)value->string_value.data : "",
                       value->string_value.size);
  if (MTR_HAS(value, TSparkParameterValue, boolean_value))
    return mtr_span_text(value->boolean_value ? "true" : "false");
  if (!MTR_HAS(value, TSparkParameterValue, double_value)) return mtr_span_of(NULL, 0);
  (void)snprintf(scratch, 32, "%.17g", value->double_value);
  return mtr_span_text(scratch);
}

static bool bind_one(const struct duck_api *api, duck_handle prepared, duck_idx index,
                     const struct mtr_TSparkParameter *parameter)
{
  char scratch[32];
  struct mtr_span text = value_text(parameter, scratch);

  if (!text.data) return api->bind_null(prepared, index) == 0;
  return api->bind_varchar_length(prepared, index, (const char *)text.data, text.size) == 0;
}

bool duck_parameters_bind(const struct duck_api *api, duck_handle prepared,
                          const struct kiln_statement *statement, struct kiln_error *err)
{
  size_t i;

  for (i = 0; i < statement->parameter_count; i++) {
    char name[32];
    duck_idx index;

    (void)snprintf(name, sizeof name, "k%zu", i);
    if (api->bind_parameter_index(prepared, &index, name) != 0) continue;
    if (bind_one(api, prepared, index, &statement->parameters[i])) continue;
    kiln_fail(err, "42000",
              "[INVALID_PARAMETER_VALUE] Parameter %zu can't be bound. SQLSTATE: "
              "42000",
              i + 1);
    return false;
  }
  return true;
}
