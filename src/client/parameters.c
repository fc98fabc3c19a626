/* Checks the shape of bound values and copies them. It does not look into types and values: what
 * they mean is the server's business. */
#include "client/parameters.h"

#include <string.h>

#include "base/error.h"

enum {
  PARAMETERS_MAX = 256,    /* servers take 255 */
  BYTES_MAX = 64 << 20,    /* of one statement's names, types and values; as of its text */
  ARENA_MAX = 256 << 20,   /* those and the structs around them */
  ARGUMENTS_MAX = 1 << 20, /* of one statement */
  NESTED_MAX = 32          /* arrays within arrays; the wire's structs go deeper */
};

/* What one statement has used up so far. */
struct sums {
  size_t bytes, arguments;
};

static enum mortar_status check_value(const struct mortar_parameter *p, size_t number,
                                      struct mortar_error *err)
{
  if (!p->type || !*p->type)
    return mtr_fail(err, MORTAR_INVALID, "parameter %zu has no type", number);
  if (!p->value && p->value_size)
    return mtr_fail(err, MORTAR_INVALID, "parameter %zu has a size and no value", number);
  if (p->argument_count && !p->arguments)
    return mtr_fail(err, MORTAR_INVALID, "parameter %zu has a count and no arguments", number);
  if (p->arguments && p->value)
    return mtr_fail(err, MORTAR_INVALID, "parameter %zu has both a value and arguments", number);
  return MORTAR_OK;
}

/* False: a limit is crossed. */
static bool add_up(const struct mortar_parameter *p, struct sums *sums)
{
  const size_t texts = strlen(p->type) + (p->name ? strlen(p->name) : 0);

  if (p->argument_count > ARGUMENTS_MAX - sums->arguments) return false;
  if (texts > BYTES_MAX || p->value_size > BYTES_MAX) return false;
  sums->arguments += p->argument_count;
  sums->bytes += texts + p->value_size;
  return sums->bytes <= BYTES_MAX;
}

/* One parameter and all below it; number is the parameter's, for errors. */
static enum mortar_status check_tree(const struct mortar_parameter *p, size_t number, int depth,
                                     struct sums *sums, struct mortar_error *err)
{
  size_t i;

  MTR_TRY(check_value(p, number, err));
  if (!add_up(p, sums))
    return mtr_fail(
        err, MORTAR_LIMIT,
        "parameter %zu crosses a limit: a statement's parameters hold at most %d MB and "
        "%d arguments",
        number, BYTES_MAX >> 20, ARGUMENTS_MAX);
  if (depth == NESTED_MAX && p->argument_count)
    return mtr_fail(err, MORTAR_LIMIT, "parameter %zu is nested more than %d deep", number,
                    NESTED_MAX);
  for (i = 0; i < p->argument_count; i++)
    MTR_TRY(check_tree(&p->arguments[i], number, depth + 1, sums, err));
  return MORTAR_OK;
}

static enum mortar_status check_list(const struct mortar_parameter *list, size_t count,
                                     struct mortar_error *err)
{
  struct sums sums = {0, 0};
  size_t i;

  if (count > PARAMETERS_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "%zu parameters: a statement takes at most %d", count,
                    PARAMETERS_MAX);
  for (i = 0; i < count; i++) {
    if (!list[i].name != !list[0].name)
      return mtr_fail(err, MORTAR_INVALID,
                      "parameters are told by their names or by their places, not both: parameter "
                      "%zu differs from the first",
                      i + 1);
    if (list[i].name && !*list[i].name)
      return mtr_fail(err, MORTAR_INVALID, "parameter %zu has an empty name", i + 1);
    MTR_TRY(check_tree(&list[i], i + 1, 0, &sums, err));
  }
  return MORTAR_OK;
}

/* NULL: memory ran out. */
static const struct mortar_parameter *copy_list(struct mtr_arena *arena,
                                                const struct mortar_parameter *list, size_t count)
{
  struct mortar_parameter *copies = mtr_arena_alloc(arena, count, sizeof *copies);
  size_t i;

  for (i = 0; copies && i < count; i++) {
    struct mortar_parameter *p = &copies[i];
    *p = list[i];
    p->type = mtr_arena_text(arena, list[i].type, strlen(list[i].type));
    if (p->name) p->name = mtr_arena_text(arena, p->name, strlen(p->name));
    if (p->value) p->value = mtr_arena_text(arena, p->value, p->value_size);
    if (p->arguments) p->arguments = copy_list(arena, p->arguments, p->argument_count);
    if (!p->type || !p->name != !list[i].name || !p->value != !list[i].value ||
        !p->arguments != !list[i].arguments)
      return NULL;
  }
  return copies;
}

void mtr_parameters_init(struct mtr_parameters *parameters, const struct mortar_alloc *alloc)
{
  mtr_arena_init(&parameters->arena, alloc, ARENA_MAX);
  parameters->items = NULL;
  parameters->count = 0;
}

void mtr_parameters_fini(struct mtr_parameters *parameters)
{
  mtr_arena_fini(&parameters->arena);
  parameters->items = NULL;
  parameters->count = 0;
}

enum mortar_status mtr_parameters_set(struct mtr_parameters *parameters,
                                      const struct mortar_parameter *list, size_t count,
                                      struct mortar_error *err)
{
  mtr_parameters_fini(parameters);
  if (count && !list) return mtr_fail(err, MORTAR_INVALID, "list must not be NULL");
  if (!count) return MORTAR_OK;
  MTR_TRY(check_list(list, count, err));
  parameters->items = copy_list(&parameters->arena, list, count);
  if (!parameters->items) {
    mtr_parameters_fini(parameters);
    return mtr_fail_nomem(err, "parameters");
  }
  parameters->count = count;
  return MORTAR_OK;
}
