/* Reads flatbuffers in place with every step checked against the bytes that are there.
 *
 *     bytes:   [u32 root] ... [vtable: u16 size, u16 table size, u16 slot...] ... [table: i32,
 * fields] table at T: its vtable lies at T - i32(T); slot 0 or a missing slot means the default
 * value
 *
 * The getters never fail loudly: what lies outside spoils the reader (`bad`) and reads as absent,
 * so that the caller tests once at the end. Nothing is required of alignment. A table may be
 * reached by many paths: whoever walks a tree must bound depth and count. */
#ifndef MTR_ARROW_FLATBUF_H
#define MTR_ARROW_FLATBUF_H

#include "base/span.h"

struct mtr_flat {
  struct mtr_span bytes;
  bool bad;
};

/* All zero: an absent table, every field of which is absent. */
struct mtr_flat_table {
  size_t at, vtable;
  unsigned slots, size; /* slots in the vtable; bytes of the table */
};

struct mtr_flat_vector {
  size_t at, count; /* of the first element; elements */
};

struct mtr_flat_table mtr_flat_root(struct mtr_flat *flat);

bool mtr_flat_has(const struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id);

/* A signed integer of width 1, 2, 4 or 8 bytes. */
int64_t mtr_flat_int(struct mtr_flat *flat, const struct mtr_flat_table *table, unsigned id,
                     unsigned width, int64_t absent);
struct mtr_flat_table mtr_flat_child(struct mtr_flat *flat, const struct mtr_flat_table *table,
                                     unsigned id);
struct mtr_flat_vector mtr_flat_list(struct mtr_flat *flat, const struct mtr_flat_table *table,
                                     unsigned id, unsigned width);
struct mtr_span mtr_flat_text(struct mtr_flat *flat, const struct mtr_flat_table *table,
                              unsigned id);

/* Element i < count of a vector of tables. */
struct mtr_flat_table mtr_flat_item(struct mtr_flat *flat, struct mtr_flat_vector list, size_t i);

#endif
