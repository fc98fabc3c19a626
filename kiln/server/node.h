/* Columns made by hand in an arena: an Arrow schema and an Arrow array side by side. Their release
 * functions only mark them, since the arena owns everything. For tables that live as long as
 * their arena. */
#ifndef KILN_SERVER_NODE_H
#define KILN_SERVER_NODE_H

#include "base/arena.h"
#include "mortar/mortar.h"

struct kiln_node {
  struct ArrowSchema schema;
  struct ArrowArray array;
  struct kiln_node **children;
};

/* A node of `rows` rows with room for buffers (validity included) and children, all nullable. NULL
 * when memory ran out. */
struct kiln_node *kiln_node_new(struct mtr_arena *arena, const char *name, const char *format,
                                int64_t rows, int64_t buffers, int64_t children);
void kiln_node_adopt(struct kiln_node *parent, int64_t index, struct kiln_node *child);

/* Zeroed memory for buffer `index`; NULL when memory ran out. */
void *kiln_node_buffer(struct mtr_arena *arena, struct kiln_node *node, int64_t index, size_t size);

/* Makes row `row` null. false when memory ran out. */
bool kiln_node_null(struct mtr_arena *arena, struct kiln_node *node, int64_t row);

/* Bytes and offsets of a string or binary column: append the value of one row after another. */
struct kiln_text_column {
  struct kiln_node *node;
  int32_t *offsets;
  uint8_t *bytes;
  size_t size, room;
};

/* room: bytes of all values together, at most. */
bool kiln_text_begin(struct mtr_arena *arena, struct kiln_node *node, size_t room,
                     struct kiln_text_column *out);
/* false when there is no room. */
bool kiln_text_append(struct kiln_text_column *column, int64_t row, const void *data, size_t size);

#endif
