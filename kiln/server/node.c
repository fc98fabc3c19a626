/* Arrow structs in an arena. Trusts its callers with indexes and rows. */
#include "kiln/server/node.h"

#include <string.h>

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

struct kiln_node *kiln_node_new(struct mtr_arena *arena, const char *name, const char *format,
                                int64_t rows, int64_t buffers, int64_t children)
{
  struct kiln_node *node = mtr_arena_alloc(arena, 1, sizeof *node);

  if (!node) return NULL;
  node->children = mtr_arena_alloc(arena, (size_t)children, sizeof *node->children);
  node->schema.children = mtr_arena_alloc(arena, (size_t)children, sizeof(struct ArrowSchema *));
  node->array.children = mtr_arena_alloc(arena, (size_t)children, sizeof(struct ArrowArray *));
  node->array.buffers = mtr_arena_alloc(arena, (size_t)buffers, sizeof(void *));
  if (!node->children || !node->schema.children || !node->array.children || !node->array.buffers)
    return NULL;
  node->schema.name = name;
  node->schema.format = format;
  node->schema.flags = ARROW_FLAG_NULLABLE;
  node->schema.n_children = node->array.n_children = children;
  node->schema.release = release_schema;
  node->array.length = rows;
  node->array.n_buffers = buffers;
  node->array.release = release_array;
  return node;
}

void kiln_node_adopt(struct kiln_node *parent, int64_t index, struct kiln_node *child)
{
  parent->children[index] = child;
  parent->schema.children[index] = &child->schema;
  parent->array.children[index] = &child->array;
}

void *kiln_node_buffer(struct mtr_arena *arena, struct kiln_node *node, int64_t index, size_t size)
{
  void *memory = mtr_arena_alloc(arena, size, 1);

  node->array.buffers[index] = memory;
  return memory;
}

bool kiln_node_null(struct mtr_arena *arena, struct kiln_node *node, int64_t row)
{
  size_t size = (size_t)(node->array.length + 7) / 8;
  uint8_t *bits;

  if (!node->array.buffers[0]) {
    bits = kiln_node_buffer(arena, node, 0, size);
    if (!bits) return false;
    memset(bits, 0xFF, size);
  }
  bits = (uint8_t *)(uintptr_t)node->array.buffers[0];
  bits[row / 8] = (uint8_t)(bits[row / 8] & ~(1u << (row % 8)));
  node->array.null_count++;
  return true;
}

bool kiln_text_begin(struct mtr_arena *arena, struct kiln_node *node, size_t room,
                     struct kiln_text_column *out)
{
  size_t count = (size_t)node->array.length + 1;

  out->node = node;
  out->size = 0;
  out->room = room;
  out->offsets = kiln_node_buffer(arena, node, 1, count * sizeof *out->offsets);
  out->bytes = kiln_node_buffer(arena, node, 2, room);
  return out->offsets && out->bytes;
}

bool kiln_text_append(struct kiln_text_column *column, int64_t row, const void *data, size_t size)
{
  if (size > column->room - column->size) return false;
  if (size) memcpy(column->bytes + column->size, data, size);
  column->size += size;
  column->offsets[row + 1] = (int32_t)column->size;
  return true;
}
