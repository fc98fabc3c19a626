/* How Arrow columns are called in SQL: TTypeId, SQL name, JSON type, and the TTableSchema.
 *
 * Names follow recorded replies: "MAP<STRING, STRING>", "STRUCT<a: INT>", {"type":"array",...}. An
 * engine that knows better says so in the field metadata "Spark:DataType:SqlName". Arrow types
 * without a SQL type (unsigned integers, times of day, half floats) are refused by name. */
#ifndef KILN_SERVER_SQLTYPE_H
#define KILN_SERVER_SQLTYPE_H

#include "arrow/schema.h"
#include "codec/thrift/tcli.h"

/* Gives every column of schema both metadata keys, in arena. UNSUPPORTED names the column that has
 * no SQL type. */
MORTAR_MUST_USE enum mortar_status kiln_sqltype_annotate(struct mtr_arrow_schema *schema,
                                                         struct mtr_arena *arena,
                                                         struct mortar_error *err);

/* The same columns as Thrift has them. The schema must be annotated. */
MORTAR_MUST_USE enum mortar_status kiln_sqltype_table(const struct mtr_arrow_schema *schema,
                                                      struct mtr_arena *arena,
                                                      struct mtr_TTableSchema *out,
                                                      struct mortar_error *err);

#endif
