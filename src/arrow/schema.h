/* The schema model: what the columns of a result are. Made by the IPC reader in an arena of its
 * own, then never changed. One row per Arrow type in the table below.
 *
 * Types that Mortar refuses by name (their Schema message is read, the error names column and
 * type): dense and sparse union, run-end encoded, list view, large list view, binary view, utf8
 * view, dictionary. */
#ifndef MTR_ARROW_SCHEMA_H
#define MTR_ARROW_SCHEMA_H

#include "base/arena.h"
#include "base/span.h"
#include "mortar/mortar.h"

/* name, layout: how many buffers (validity included) and what they are. */
#define MTR_ARROW_TYPE_MAP(X)                                                                      \
  X(NULL, NONE)                                                                                    \
  X(BOOL, BITS)                                                                                    \
  X(INT8, FIXED)                                                                                   \
  X(INT16, FIXED)                                                                                  \
  X(INT32, FIXED)                                                                                  \
  X(INT64, FIXED)                                                                                  \
  X(UINT8, FIXED)                                                                                  \
  X(UINT16, FIXED)                                                                                 \
  X(UINT32, FIXED)                                                                                 \
  X(UINT64, FIXED)                                                                                 \
  X(HALF, FIXED)                                                                                   \
  X(FLOAT, FIXED)                                                                                  \
  X(DOUBLE, FIXED)                                                                                 \
  X(DECIMAL, FIXED) /* bit width 32, 64, 128, 256; precision, scale */                             \
  X(DATE32, FIXED)                                                                                 \
  X(DATE64, FIXED)                                                                                 \
  X(TIME32, FIXED)    /* unit */                                                                   \
  X(TIME64, FIXED)    /* unit */                                                                   \
  X(TIMESTAMP, FIXED) /* unit, timezone */                                                         \
  X(DURATION, FIXED)  /* unit */                                                                   \
  X(INTERVAL_MONTHS, FIXED)                                                                        \
  X(INTERVAL_DAY_TIME, FIXED)                                                                      \
  X(INTERVAL_MONTH_DAY_NANO, FIXED)                                                                \
  X(FIXED_BINARY, FIXED) /* byte_width */                                                          \
  X(UTF8, BINARY32)                                                                                \
  X(BINARY, BINARY32)                                                                              \
  X(LARGE_UTF8, BINARY64)                                                                          \
  X(LARGE_BINARY, BINARY64)                                                                        \
  X(LIST, LIST32)                                                                                  \
  X(LARGE_LIST, LIST64)                                                                            \
  X(FIXED_LIST, CHILDREN) /* byte_width holds the list size */                                     \
  X(STRUCT, CHILDREN)                                                                              \
  X(MAP, LIST32) /* one struct child of key, value */

enum mtr_arrow_type {
#define X(name, layout) MTR_ARROW_##name,
  MTR_ARROW_TYPE_MAP(X)
#undef X
};

enum mtr_arrow_layout {
  MTR_LAYOUT_NONE,     /* no buffer */
  MTR_LAYOUT_BITS,     /* validity, bits */
  MTR_LAYOUT_FIXED,    /* validity, values of byte_width */
  MTR_LAYOUT_BINARY32, /* validity, int32 offsets, bytes */
  MTR_LAYOUT_BINARY64, /* validity, int64 offsets, bytes */
  MTR_LAYOUT_LIST32,   /* validity, int32 offsets; one child */
  MTR_LAYOUT_LIST64,   /* validity, int64 offsets; one child */
  MTR_LAYOUT_CHILDREN  /* validity; children */
};

enum mtr_time_unit { MTR_UNIT_SECOND, MTR_UNIT_MILLI, MTR_UNIT_MICRO, MTR_UNIT_NANO };

enum { MTR_SCHEMA_MAX_DEPTH = 64, MTR_SCHEMA_MAX_FIELDS = 100000 };

struct mtr_arrow_metadata {
  const char *key, *value; /* ended with NUL; sizes without it, since both may hold NULs */
  size_t key_size, value_size;
};

struct mtr_arrow_field {
  const char *name; /* never NULL */
  enum mtr_arrow_type type;
  bool nullable, keys_sorted;
  uint8_t unit;       /* enum mtr_time_unit */
  int32_t byte_width; /* of FIXED values; the list size of FIXED_LIST */
  int32_t precision, scale;
  const char *timezone; /* NULL: none */
  const char *format;   /* the C data interface's format string, never NULL */
  int64_t child_count;
  struct mtr_arrow_field *children;
  int64_t metadata_count;
  struct mtr_arrow_metadata *metadata;
};

struct mtr_arrow_schema {
  struct mtr_arrow_field root; /* a STRUCT of the columns */
  int64_t node_count;          /* fields in depth-first order, root left out: IPC field nodes */
  int64_t buffer_count;        /* buffers of all these nodes */
  struct mtr_arrow_metadata *metadata;
  int64_t metadata_count;
};

/* The layout of a type. */
enum mtr_arrow_layout mtr_arrow_layout_of(enum mtr_arrow_type type);
int mtr_arrow_buffer_count(enum mtr_arrow_type type);

/* True when both have the same types in the same order, nested ones and the names of a struct's
 * fields included. The columns' own names may differ. */
bool mtr_arrow_schema_same_types(const struct mtr_arrow_schema *a,
                                 const struct mtr_arrow_schema *b);

/* The value of a metadata key, or an empty span. */
struct mtr_span mtr_arrow_metadata_get(const struct mtr_arrow_field *field, const char *key);

/* Copies schema into the C data interface. Freed by out->release, on any thread, with alloc. */
MORTAR_MUST_USE enum mortar_status mtr_arrow_schema_export(const struct mtr_arrow_schema *schema,
                                                           const struct mortar_alloc *alloc,
                                                           struct ArrowSchema *out,
                                                           struct mortar_error *err);

/* The other way: reads a struct schema ("+s") of the C data interface into arena, with the same
 * refusals as the IPC reader. For Kiln, whose engines speak that interface. */
MORTAR_MUST_USE enum mortar_status mtr_arrow_schema_import(const struct ArrowSchema *in,
                                                           struct mtr_arena *arena,
                                                           struct mtr_arrow_schema *out,
                                                           struct mortar_error *err);

#endif
