/* What an Arrow field is called in SQL. The server's own word for it (field metadata
 * "Spark:DataType:SqlName") wins; without it the name follows from the Arrow type. */
#ifndef MTR_CLIENT_SQL_TYPE_H
#define MTR_CLIENT_SQL_TYPE_H

#include "arrow/schema.h"
#include "base/buf.h"

/* Appends the name to out, without NUL. */
MORTAR_MUST_USE enum mortar_status mtr_sql_type_name(const struct mtr_arrow_field *field,
                                                     struct mtr_buf *out, struct mortar_error *err);

#endif
