/* One reader, one writer and one dump for every TCLIService struct, driven by descriptors.
 *
 * Decoding is in place: strings, lists of plain values and maps are spans into the input; only
 * structs are made, in the caller's arena. A field of an unknown id, or of a known id and another
 * type, is skipped by its type. `has` tells which fields were there, `wire` where the struct was.
 */
#ifndef MTR_CODEC_THRIFT_CODEC_H
#define MTR_CODEC_THRIFT_CODEC_H

#include "base/arena.h"
#include "codec/thrift/binary.h"

enum mtr_field_kind {
  MTR_KIND_BOOL,
  MTR_KIND_I8,
  MTR_KIND_I16,
  MTR_KIND_I32,
  MTR_KIND_I64,
  MTR_KIND_DOUBLE,
  MTR_KIND_STRING,
  MTR_KIND_BINARY,
  MTR_KIND_STRUCT,
  MTR_KIND_LIST_STRUCT,
  MTR_KIND_LIST,
  MTR_KIND_MAP,
  MTR_KIND_MAP_STRUCT
};

struct mtr_struct_info;

struct mtr_field_info {
  int16_t id;
  bool required;
  uint8_t kind;    /* enum mtr_field_kind */
  uint8_t wire;    /* enum mtr_thrift_type of the field */
  uint8_t element; /* LIST and MAP: wire type of elements or values; else MTR_T_STOP */
  uint16_t offset; /* of the value in the C struct */
  uint64_t bit;    /* in `has`: 1 << index */
  const char *name;
  const struct mtr_struct_info *sub; /* STRUCT, LIST_STRUCT and MAP_STRUCT */
};

/* Fields ascend by id. Behind them stands, not counted, one of the largest id and of no type: every
 * search ends there at the latest. */
struct mtr_struct_info {
  const char *name;
  uint16_t size, field_count;
  const struct mtr_field_info *fields;
};

/* How every C struct begins. */
struct mtr_struct_head {
  uint64_t has;         /* bit i belongs to fields[i] */
  struct mtr_span wire; /* the struct in the input, STOP included. Not looked at when writing. */
};

/* A list of structs in the C struct of its owner; the typed forms in tcli.h have this layout. */
struct mtr_struct_list {
  void *items;
  size_t count;
};

/* A cursor and where to make what is found there. */
struct mtr_struct_reader {
  struct mtr_tr rd;
  struct mtr_arena *arena;
  const struct mtr_struct_info *leave; /* structs of this type get `wire` only; NULL: none */
  int depth;  /* structs around the one that is next: 0 for a whole input */
  bool nomem; /* set, and the cursor spoiled, when the arena gave no more */
};

/* Reads one struct into out, which it clears first. Spoils the cursor on bad or short input. What
 * is left for its type is checked to be whole and can be decoded from its `wire` at any time. */
void mtr_thrift_read_struct(struct mtr_struct_reader *sr, const struct mtr_struct_info *info,
                            void *out);

/* The same for a whole input that holds one struct: OK, MORE, PROTOCOL or NOMEM. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_decode(struct mtr_span bytes,
                                                     const struct mtr_struct_info *info, void *out,
                                                     struct mtr_arena *arena,
                                                     struct mortar_error *err);

/* Writes the fields whose bit is set, by ascending id, then STOP. */
void mtr_thrift_write_struct(struct mtr_tw *wr, const struct mtr_struct_info *info, const void *in);

/* The struct as JSON, keys are field names. BINARY fields are "hex:..", and so is text that is not
 * UTF-8; NaN and infinities are texts. On failure out holds a part of it. For people, tests and
 * tools: it holds everything, SQL text and signed links too, so it never goes to a log. */
MORTAR_MUST_USE enum mortar_status mtr_thrift_dump(const struct mtr_struct_info *info,
                                                   const void *in, struct mtr_buf *out,
                                                   struct mortar_error *err);

#endif
