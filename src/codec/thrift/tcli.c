/* The descriptors of TCLIService, made from the table in tcli_fields.h. No field is named here. */
#include "codec/thrift/tcli.h"

#include <stddef.h>

#define IS_REQ true
#define IS_OPT false

/* Names of element types in the table, as wire types. */
#define WIRE_BOOL MTR_T_BOOL
#define WIRE_I8 MTR_T_I8
#define WIRE_I16 MTR_T_I16
#define WIRE_I32 MTR_T_I32
#define WIRE_I64 MTR_T_I64
#define WIRE_DOUBLE MTR_T_DOUBLE
#define WIRE_STRING MTR_T_STRING
#define WIRE_BINARY MTR_T_STRING
#define WIRE_LIST MTR_T_LIST

/* What kind and the table's last column make: the field's type, the element's and its descriptor.
 */
#define PARTS_BOOL(sub) MTR_T_BOOL, MTR_T_STOP, NULL
#define PARTS_I8(sub) MTR_T_I8, MTR_T_STOP, NULL
#define PARTS_I16(sub) MTR_T_I16, MTR_T_STOP, NULL
#define PARTS_I32(sub) MTR_T_I32, MTR_T_STOP, NULL
#define PARTS_I64(sub) MTR_T_I64, MTR_T_STOP, NULL
#define PARTS_DOUBLE(sub) MTR_T_DOUBLE, MTR_T_STOP, NULL
#define PARTS_STRING(sub) MTR_T_STRING, MTR_T_STOP, NULL
#define PARTS_BINARY(sub) MTR_T_STRING, MTR_T_STOP, NULL
#define PARTS_STRUCT(sub) MTR_T_STRUCT, MTR_T_STOP, &mtr_##sub##_info
#define PARTS_LIST_STRUCT(sub) MTR_T_LIST, MTR_T_STRUCT, &mtr_##sub##_info
#define PARTS_LIST(sub) MTR_T_LIST, WIRE_##sub, NULL
#define PARTS_MAP(sub) MTR_T_MAP, WIRE_##sub, NULL
#define PARTS_MAP_STRUCT(sub) MTR_T_MAP, MTR_T_STRUCT, &mtr_##sub##_info

#define FIELD(S, id, req, kind, name, sub)                                                         \
  FIELD_OF(S, id, IS_##req, MTR_KIND_##kind, name, PARTS_##kind(sub))
#define FIELD_OF(...) FIELD_MAKE(__VA_ARGS__)
#define FIELD_MAKE(S, id_, req_, kind_, name_, wire_, element_, sub_)                              \
  {.id = id_,                                                                                      \
   .required = req_,                                                                               \
   .kind = kind_,                                                                                  \
   .wire = wire_,                                                                                  \
   .element = element_,                                                                            \
   .offset = (uint16_t)offsetof(struct mtr_##S, name_),                                            \
   .bit = UINT64_C(1) << MTR_BIT_##S##_##name_,                                                    \
   .name = #name_,                                                                                 \
   .sub = sub_},

/* The field of the largest id and of no type; it is not counted. */
#define END                                                                                        \
  {                                                                                                \
    .id = INT16_MAX, .wire = MTR_T_STOP                                                            \
  }
#define COUNT(fields) (sizeof(fields) / sizeof(fields)[0] - 1)

#define DEFINE(S)                                                                                  \
  static const struct mtr_field_info S##_fields[] = {TCLI_##S(FIELD) END};                         \
  _Static_assert(COUNT(S##_fields) <= 64, "bits of `has`");                                        \
  _Static_assert(sizeof(struct mtr_##S) <= UINT16_MAX, "offsets are 16 bits");                     \
  _Static_assert(offsetof(struct mtr_##S, wire) == offsetof(struct mtr_struct_head, wire),         \
                 "begin");                                                                         \
  const struct mtr_struct_info mtr_##S##_info = {.name = #S,                                       \
                                                 .size = (uint16_t)sizeof(struct mtr_##S),         \
                                                 .field_count = (uint16_t)COUNT(S##_fields),       \
                                                 .fields = S##_fields};
TCLI_STRUCTS(DEFINE)

#define ADDRESS(S) &mtr_##S##_info,
static const struct mtr_struct_info *const all_structs[] = {TCLI_STRUCTS(ADDRESS)};

const struct mtr_struct_info *const *mtr_tcli_structs(size_t *count)
{
  *count = sizeof all_structs / sizeof *all_structs;
  return all_structs;
}

const struct mtr_struct_info *mtr_tcli_find(struct mtr_span name)
{
  size_t i;

  for (i = 0; i < sizeof all_structs / sizeof *all_structs; i++)
    if (mtr_span_equal(name, mtr_span_text(all_structs[i]->name))) return all_structs[i];
  return NULL;
}
