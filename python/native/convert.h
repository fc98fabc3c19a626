/* The converters: one function for each format of the C data interface that a result can have. For
 * column.c, which chooses among them. */
#ifndef MORTAR_NATIVE_CONVERT_H
#define MORTAR_NATIVE_CONVERT_H

#include "python/native/column.h"

#define NATIVE_CONVERTER(name)                                                                     \
  PyObject *native_from_##name(const struct column *col, const struct ArrowArray *array, int64_t i)

/* convert_scalar.c */
NATIVE_CONVERTER(null);
NATIVE_CONVERTER(bool);
NATIVE_CONVERTER(i8);
NATIVE_CONVERTER(i16);
NATIVE_CONVERTER(i32);
NATIVE_CONVERTER(i64);
NATIVE_CONVERTER(u8);
NATIVE_CONVERTER(u16);
NATIVE_CONVERTER(u32);
NATIVE_CONVERTER(u64);
NATIVE_CONVERTER(half);
NATIVE_CONVERTER(float);
NATIVE_CONVERTER(double);
NATIVE_CONVERTER(utf8);
NATIVE_CONVERTER(large_utf8);
NATIVE_CONVERTER(binary);
NATIVE_CONVERTER(large_binary);
NATIVE_CONVERTER(fixed_binary);

/* convert_decimal.c: col->width and col->scale say which. |scale| is at most
 * NATIVE_DECIMAL_SCALE_MAX, width one of 4, 8, 16 and 32. */
enum { NATIVE_DECIMAL_SCALE_MAX = 76 }; /* the digits of the widest, 256 bits */
NATIVE_CONVERTER(decimal);

/* convert_time.c: col->units and col->zone say which. */
NATIVE_CONVERTER(date32);
NATIVE_CONVERTER(date64);
NATIVE_CONVERTER(timestamp);
NATIVE_CONVERTER(time32);
NATIVE_CONVERTER(time64);
NATIVE_CONVERTER(months);
NATIVE_CONVERTER(day_time);
NATIVE_CONVERTER(duration);

/* The tzinfo of a zone's name: the standard library's UTC, a fixed offset or a ZoneInfo. NULL with
 * an exception. */
PyObject *native_zone(struct native_state *state, const char *name);

/* convert_nested.c: col->children say of what. */
NATIVE_CONVERTER(list);
NATIVE_CONVERTER(large_list);
NATIVE_CONVERTER(fixed_list);
NATIVE_CONVERTER(map);
NATIVE_CONVERTER(struct);

#endif
