/* From bound values to the structs of the wire.
 *
 *     ?       ordinal (from 1)    type    value.stringValue, or nothing where it is null
 *     :name   name                type    the same
 *
 * ARRAY and MAP have arguments in place of a value. */
#include "client/thrift/parameters.h"

#include "base/error.h"

/* NULL: memory ran out. Never deeper than mtr_parameters_set allows. */
static struct mtr_TSparkParameterValueArg *make_arguments(const struct mortar_parameter *list,
                                                          size_t count, struct mtr_arena *arena)
{
  struct mtr_TSparkParameterValueArg *args = mtr_arena_alloc(arena, count, sizeof *args), *inner;
  size_t i;

  for (i = 0; args && i < count; i++) {
    MTR_SET(&args[i], TSparkParameterValueArg, type, mtr_span_text(list[i].type));
    if (list[i].value)
      MTR_SET(&args[i], TSparkParameterValueArg, value,
              mtr_span_of(list[i].value, list[i].value_size));
    if (!list[i].arguments) continue;
    inner = make_arguments(list[i].arguments, list[i].argument_count, arena);
    if (!inner) return NULL;
    MTR_SET_LIST(&args[i], TSparkParameterValueArg, arguments, inner, list[i].argument_count);
  }
  return args;
}

/* False: memory ran out. */
static bool fill_parameter(const struct mortar_parameter *p, size_t place, struct mtr_arena *arena,
                           struct mtr_TSparkParameter *out)
{
  struct mtr_TSparkParameterValueArg *args;
  struct mtr_TSparkParameterValue *value;

  if (p->name)
    MTR_SET(out, TSparkParameter, name, mtr_span_text(p->name));
  else
    MTR_SET(out, TSparkParameter, ordinal, (int32_t)place);
  MTR_SET(out, TSparkParameter, type, mtr_span_text(p->type));
  if (p->value) {
    value = mtr_arena_alloc(arena, 1, sizeof *value);
    if (!value) return false;
    MTR_SET(value, TSparkParameterValue, string_value, mtr_span_of(p->value, p->value_size));
    MTR_SET(out, TSparkParameter, value, value);
  }
  if (!p->arguments) return true;
  args = make_arguments(p->arguments, p->argument_count, arena);
  MTR_SET_LIST(out, TSparkParameter, arguments, args, p->argument_count);
  return args != NULL;
}

enum mortar_status mtr_thrift_put_parameters(const struct mtr_run *run, struct mtr_arena *arena,
                                             struct mtr_TExecuteStatementReq *req,
                                             struct mortar_error *err)
{
  struct mtr_TSparkParameter *list = mtr_arena_alloc(arena, run->parameter_count, sizeof *list);
  size_t i;

  for (i = 0; list && i < run->parameter_count; i++)
    if (!fill_parameter(&run->parameters[i], i + 1, arena, &list[i])) list = NULL;
  if (!list) return mtr_fail_nomem(err, "parameters");
  MTR_SET_LIST(req, TExecuteStatementReq, parameters, list, run->parameter_count);
  return MORTAR_OK;
}
