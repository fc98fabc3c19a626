/* The structs of TCLIService as C structs, made from the table in tcli_fields.h.
 *
 *     struct mtr_TStatus st = {0};
 *     MTR_SET(&st, TStatus, status_code, MTR_STATUS_SUCCESS);
 *     if (MTR_HAS(&st, TStatus, sql_state)) ... st.sql_state ...
 *
 * Names of structs are the interface's own; fields are in snake case. Enums are int32_t, since a
 * peer may know numbers that we do not. Each begins as struct mtr_struct_head says. */
#ifndef MTR_CODEC_THRIFT_TCLI_H
#define MTR_CODEC_THRIFT_TCLI_H

#include "codec/thrift/codec.h"
#include "codec/thrift/tcli_fields.h"

#define MTR_FORWARD_(S) struct mtr_##S;
TCLI_STRUCTS(MTR_FORWARD_)
#undef MTR_FORWARD_

#define MTR_MEMBER_BOOL(name, sub) bool name;
#define MTR_MEMBER_I8(name, sub) int8_t name;
#define MTR_MEMBER_I16(name, sub) int16_t name;
#define MTR_MEMBER_I32(name, sub) int32_t name;
#define MTR_MEMBER_I64(name, sub) int64_t name;
#define MTR_MEMBER_DOUBLE(name, sub) double name;
#define MTR_MEMBER_STRING(name, sub) struct mtr_span name;
#define MTR_MEMBER_BINARY(name, sub) struct mtr_span name;
#define MTR_MEMBER_STRUCT(name, sub) struct mtr_##sub *name;
#define MTR_MEMBER_LIST_STRUCT(name, sub)                                                          \
  struct {                                                                                         \
    struct mtr_##sub *items;                                                                       \
    size_t count;                                                                                  \
  } name;
#define MTR_MEMBER_LIST(name, sub) struct mtr_thrift_values name;
#define MTR_MEMBER_MAP(name, sub) struct mtr_thrift_values name;
#define MTR_MEMBER_MAP_STRUCT(name, sub) struct mtr_thrift_values name;
#define MTR_MEMBER_(S, id, req, kind, name, sub) MTR_MEMBER_##kind(name, sub)
#define MTR_BIT_(S, id, req, kind, name, sub) MTR_BIT_##S##_##name,

#define MTR_DECLARE_(S)                                                                            \
  enum { TCLI_##S(MTR_BIT_) };                                                                     \
  struct mtr_##S {                                                                                 \
    uint64_t has;                                                                                  \
    struct mtr_span wire;                                                                          \
    TCLI_##S(MTR_MEMBER_)                                                                          \
  };                                                                                               \
  extern const struct mtr_struct_info mtr_##S##_info;
TCLI_STRUCTS(MTR_DECLARE_)
#undef MTR_DECLARE_

/* Was the field there, and: set it. Structs and lists of values are set from a pointer and from a
 * struct mtr_thrift_values. */
#define MTR_HAS(ptr, S, name) (((ptr)->has >> MTR_BIT_##S##_##name & 1) != 0)
#define MTR_SET(ptr, S, name, ...)                                                                 \
  ((void)((ptr)->has |= UINT64_C(1) << MTR_BIT_##S##_##name), (void)((ptr)->name = __VA_ARGS__))

/* The same for a list of structs. */
#define MTR_SET_LIST(ptr, S, name, first, n)                                                       \
  ((void)((ptr)->has |= UINT64_C(1) << MTR_BIT_##S##_##name), (void)((ptr)->name.items = (first)), \
   (void)((ptr)->name.count = (n)))

/* Every struct's descriptor, for tools and tests; *count is their number. */
const struct mtr_struct_info *const *mtr_tcli_structs(size_t *count);
const struct mtr_struct_info *mtr_tcli_find(struct mtr_span name); /* NULL: unknown */

/* Numbers of the interface that Mortar uses. */
enum {
  MTR_STATUS_SUCCESS = 0,
  MTR_STATUS_SUCCESS_WITH_INFO = 1,
  MTR_STATUS_STILL_EXECUTING = 2,
  MTR_STATUS_ERROR = 3,
  MTR_STATUS_INVALID_HANDLE = 4
};
enum {
  MTR_OPERATION_INITIALIZED = 0,
  MTR_OPERATION_RUNNING = 1,
  MTR_OPERATION_FINISHED = 2,
  MTR_OPERATION_CANCELED = 3,
  MTR_OPERATION_CLOSED = 4,
  MTR_OPERATION_ERROR = 5,
  MTR_OPERATION_UNKNOWN = 6,
  MTR_OPERATION_PENDING = 7,
  MTR_OPERATION_TIMEDOUT = 8
};
enum { MTR_ROWSET_ARROW = 0, MTR_ROWSET_COLUMNS = 1, MTR_ROWSET_ROWS = 2, MTR_ROWSET_URLS = 3 };
enum {
  MTR_TYPE_BOOLEAN = 0,
  MTR_TYPE_TINYINT,
  MTR_TYPE_SMALLINT,
  MTR_TYPE_INT,
  MTR_TYPE_BIGINT,
  MTR_TYPE_FLOAT,
  MTR_TYPE_DOUBLE,
  MTR_TYPE_STRING,
  MTR_TYPE_TIMESTAMP,
  MTR_TYPE_BINARY,
  MTR_TYPE_ARRAY,
  MTR_TYPE_MAP,
  MTR_TYPE_STRUCT,
  MTR_TYPE_UNION,
  MTR_TYPE_USER_DEFINED,
  MTR_TYPE_DECIMAL,
  MTR_TYPE_NULL,
  MTR_TYPE_DATE,
  MTR_TYPE_VARCHAR,
  MTR_TYPE_CHAR,
  MTR_TYPE_INTERVAL_YEAR_MONTH,
  MTR_TYPE_INTERVAL_DAY_TIME
};
enum {
  MTR_PROTOCOL_HIVE_V1 = 0,
  MTR_PROTOCOL_HIVE_V6 = 5,
  MTR_PROTOCOL_HIVE_V10 = 9,
  MTR_PROTOCOL_SPARK_V1 = 0xA501,
  MTR_PROTOCOL_SPARK_V3 = 0xA503,
  MTR_PROTOCOL_SPARK_V4 = 0xA504,
  MTR_PROTOCOL_SPARK_V5 = 0xA505,
  MTR_PROTOCOL_SPARK_V6 = 0xA506,
  MTR_PROTOCOL_SPARK_V7 = 0xA507,
  MTR_PROTOCOL_SPARK_V8 = 0xA508,
  MTR_PROTOCOL_SPARK_V9 = 0xA509
};

#endif
