/* Prints the cells of a batch, as the library shows them. */
#ifndef MTR_TOOLS_RECORDINGS_VALUES_H
#define MTR_TOOLS_RECORDINGS_VALUES_H

#include "arrow/schema.h"

/* One line of JSON for each row: {"file":..., "line":..., "row":[...]}; a null is null, every other
 * cell the text that mortar_format_cell makes of it. */
MORTAR_MUST_USE enum mortar_status values_print(const char *file, size_t line,
                                                const struct mtr_arrow_schema *schema,
                                                const struct ArrowArray *batch,
                                                struct mortar_error *err);

#endif
