/* The values bound to a statement's markers: copies of the caller's, which die together. */
#ifndef MTR_CLIENT_PARAMETERS_H
#define MTR_CLIENT_PARAMETERS_H

#include "base/arena.h"

struct mtr_parameters {
  struct mtr_arena arena;
  const struct mortar_parameter *items; /* in the arena, as is all that they point to */
  size_t count;
};

void mtr_parameters_init(struct mtr_parameters *parameters, const struct mortar_alloc *alloc);

/* Lets the values go; what is left is empty and can be set again. */
void mtr_parameters_fini(struct mtr_parameters *parameters);

/* Replaces the values by copies of list, as mortar_statement_bind says. Empty on failure. */
MORTAR_MUST_USE enum mortar_status mtr_parameters_set(struct mtr_parameters *parameters,
                                                      const struct mortar_parameter *list,
                                                      size_t count, struct mortar_error *err);

#endif
