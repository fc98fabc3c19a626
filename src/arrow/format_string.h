/* The format strings of the C data interface, both ways, and the rules that type parameters obey.
 * Shared by the IPC reader, the schema import and the cell formatter. Allocates nothing but the
 * made string. */
#ifndef MTR_ARROW_FORMAT_STRING_H
#define MTR_ARROW_FORMAT_STRING_H

#include "arrow/schema.h"

/* Sets type and parameters of out and leaves the rest; timezone points into format. UNSUPPORTED
 * with the type's name for types that Mortar refuses, INVALID for text that is no format. */
MORTAR_MUST_USE enum mortar_status mtr_format_parse(const char *format, struct mtr_arrow_field *out,
                                                    struct mortar_error *err);

/* The format string of a field, in arena or constant; NULL when memory ran out. */
const char *mtr_format_make(const struct mtr_arrow_field *field, struct mtr_arena *arena);

/* Checks type parameters and the number and shape of children, and normalises: byte_width is set,
 * map entries and keys are never null whatever the sender's flag says (the batches are checked). */
MORTAR_MUST_USE enum mortar_status mtr_field_check(struct mtr_arrow_field *field,
                                                   struct mortar_error *err);

/* Puts the field's name before the text of an error: the column's on top level. */
void mtr_field_blame(struct mortar_error *err, int depth, const char *name);

/* Fills the counts of a schema whose fields are complete. */
void mtr_schema_count(struct mtr_arrow_schema *schema);

/* The failure of an arena: memory or its limit ran out. */
enum mortar_status mtr_schema_nomem(const struct mtr_arena *arena, struct mortar_error *err);

#endif
