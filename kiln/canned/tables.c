/* Values by formula: i is the row, counted from 0. In the table of mixed types column c (from 0) is
 * NULL where (i + c) % 11 = 10. */
#include "kiln/canned/tables.h"

#include <stdio.h>
#include <string.h>

enum { DAY_0 = 19000, NULL_EVERY = 11 };
static const int64_t second_0 = INT64_C(1600000000);

struct recipe {
  const char *name, *format;
  int64_t buffers, children;
  bool (*fill)(struct mtr_arena *arena, struct kiln_node *node);
};

static int32_t *int32_values(struct mtr_arena *arena, struct kiln_node *node, int64_t count)
{
  return kiln_node_buffer(arena, node, 1, (size_t)count * sizeof(int32_t));
}

static int64_t *int64_values(struct mtr_arena *arena, struct kiln_node *node, int64_t count)
{
  return kiln_node_buffer(arena, node, 1, (size_t)count * sizeof(int64_t));
}

static bool fill_one(struct mtr_arena *arena, struct kiln_node *node)
{
  int32_t *values = int32_values(arena, node, node->array.length);

  if (!values) return false;
  values[0] = 1;
  return true;
}

static bool fill_id(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t *values = int64_values(arena, node, node->array.length), i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = i;
  return true;
}

static bool fill_name(struct mtr_arena *arena, struct kiln_node *node)
{
  struct kiln_text_column column;
  char text[32];
  int64_t i;

  if (!kiln_text_begin(arena, node, (size_t)node->array.length * sizeof text, &column))
    return false;
  for (i = 0; i < node->array.length; i++) {
    int n = snprintf(text, sizeof text, "name %lld", (long long)i);
    if (n < 0 || !kiln_text_append(&column, i, text, (size_t)n)) return false;
  }
  return true;
}

static bool fill_eighths(struct mtr_arena *arena, struct kiln_node *node)
{
  double *values = kiln_node_buffer(arena, node, 1, (size_t)node->array.length * sizeof(double));
  int64_t i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = (double)i / 8;
  return true;
}

static bool fill_even(struct mtr_arena *arena, struct kiln_node *node)
{
  uint8_t *bits = kiln_node_buffer(arena, node, 1, (size_t)(node->array.length + 7) / 8);
  int64_t i;

  if (!bits) return false;
  for (i = 0; i < node->array.length; i += 2)
    bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << (i % 8));
  return true;
}

static bool fill_small(struct mtr_arena *arena, struct kiln_node *node)
{
  int32_t *values = int32_values(arena, node, node->array.length);
  int64_t i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = (int32_t)i - 500;
  return true;
}

static bool fill_big(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t *values = int64_values(arena, node, node->array.length), i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = i * INT64_C(10000000000);
  return true;
}

/* 128-bit little-endian numbers of hundredths: the low word, then the sign. */
static bool fill_price(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t *values = int64_values(arena, node, node->array.length * 2), i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++) {
    values[2 * i] = i * 125 - 5000;
    values[2 * i + 1] = values[2 * i] < 0 ? -1 : 0;
  }
  return true;
}

static bool fill_text(struct mtr_arena *arena, struct kiln_node *node)
{
  static const char *const words[] = {"plain", "größe", "日本語", "smile 😀", ""};
  struct kiln_text_column column;
  char text[64];
  int64_t i;

  if (!kiln_text_begin(arena, node, (size_t)node->array.length * sizeof text, &column))
    return false;
  for (i = 0; i < node->array.length; i++) {
    const char *word = words[i % 5];
    int n = *word ? snprintf(text, sizeof text, "%s %lld", word, (long long)i) : 0;
    if (n < 0 || !kiln_text_append(&column, i, text, (size_t)n)) return false;
  }
  return true;
}

static bool fill_day(struct mtr_arena *arena, struct kiln_node *node)
{
  int32_t *values = int32_values(arena, node, node->array.length);
  int64_t i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = (int32_t)(DAY_0 + i);
  return true;
}

static bool fill_time(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t *values = int64_values(arena, node, node->array.length), i;

  if (!values) return false;
  for (i = 0; i < node->array.length; i++)
    values[i] = second_0 * 1000000 + i * 1000001;
  return true;
}

static bool fill_raw(struct mtr_arena *arena, struct kiln_node *node)
{
  struct kiln_text_column column;
  uint8_t bytes[3];
  int64_t i;

  if (!kiln_text_begin(arena, node, (size_t)node->array.length * sizeof bytes, &column))
    return false;
  for (i = 0; i < node->array.length; i++) {
    memset(bytes, (int)(i % 256), sizeof bytes);
    if (!kiln_text_append(&column, i, bytes, (size_t)(i % 4))) return false;
  }
  return true;
}

/* Offsets of i % every elements in row i; the number of all of them, or -1. */
static int64_t fill_offsets(struct mtr_arena *arena, struct kiln_node *node, int64_t every)
{
  int32_t *offsets = int32_values(arena, node, node->array.length + 1);
  int64_t i, total = 0;

  if (!offsets) return -1;
  for (i = 0; i < node->array.length; i++) {
    total += i % every;
    offsets[i + 1] = (int32_t)total;
  }
  return total;
}

/* Element j of row i is i + j. */
static bool fill_elements(struct mtr_arena *arena, struct kiln_node *node, int64_t rows,
                          int64_t every)
{
  int32_t *values = int32_values(arena, node, node->array.length);
  int64_t i, j, at = 0;

  if (!values) return false;
  for (i = 0; i < rows; i++)
    for (j = 0; j < i % every; j++)
      values[at++] = (int32_t)(i + j);
  return true;
}

static bool fill_numbers(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t total = fill_offsets(arena, node, 4);
  struct kiln_node *element = total < 0 ? NULL : kiln_node_new(arena, "element", "i", total, 2, 0);

  if (!element || !fill_elements(arena, element, node->array.length, 4)) return false;
  kiln_node_adopt(node, 0, element);
  return true;
}

static bool fill_keys(struct mtr_arena *arena, struct kiln_node *node, int64_t rows, int64_t every)
{
  struct kiln_text_column column;
  int64_t i, j, at = 0;

  if (!kiln_text_begin(arena, node, (size_t)node->array.length * 2, &column)) return false;
  for (i = 0; i < rows; i++)
    for (j = 0; j < i % every; j++) {
      char key[2] = {'k', (char)('0' + j)};
      if (!kiln_text_append(&column, at++, key, sizeof key)) return false;
    }
  return true;
}

static bool fill_pairs(struct mtr_arena *arena, struct kiln_node *node)
{
  int64_t total = fill_offsets(arena, node, 3), rows = node->array.length;
  struct kiln_node *entries, *key, *value;

  if (total < 0) return false;
  entries = kiln_node_new(arena, "entries", "+s", total, 1, 2);
  key = kiln_node_new(arena, "key", "u", total, 3, 0);
  value = kiln_node_new(arena, "value", "i", total, 2, 0);
  if (!entries || !key || !value) return false;
  entries->schema.flags = key->schema.flags = 0;
  kiln_node_adopt(entries, 0, key);
  kiln_node_adopt(entries, 1, value);
  kiln_node_adopt(node, 0, entries);
  return fill_keys(arena, key, rows, 3) && fill_elements(arena, value, rows, 3);
}

static bool fill_point(struct mtr_arena *arena, struct kiln_node *node)
{
  struct kiln_node *x = kiln_node_new(arena, "x", "i", node->array.length, 2, 0);
  struct kiln_node *label = kiln_node_new(arena, "label", "u", node->array.length, 3, 0);

  if (!x || !label) return false;
  kiln_node_adopt(node, 0, x);
  kiln_node_adopt(node, 1, label);
  return fill_small(arena, x) && fill_name(arena, label);
}

static const struct recipe one_columns[] = {{"1", "i", 2, 0, fill_one}};

static const struct recipe rows_columns[] = {
    {"id", "l", 2, 0, fill_id}, {"name", "u", 3, 0, fill_name}, {"value", "g", 2, 0, fill_eighths}};

static const struct recipe mixed_columns[] = {
    {"flag", "b", 2, 0, fill_even},        {"small", "i", 2, 0, fill_small},
    {"big", "l", 2, 0, fill_big},          {"ratio", "g", 2, 0, fill_eighths},
    {"price", "d:10,2", 2, 0, fill_price}, {"text", "u", 3, 0, fill_text},
    {"day", "tdD", 2, 0, fill_day},        {"moment", "tsu:Etc/UTC", 2, 0, fill_time},
    {"raw", "z", 3, 0, fill_raw},          {"numbers", "+l", 2, 1, fill_numbers},
    {"pairs", "+m", 2, 1, fill_pairs},     {"point", "+s", 1, 2, fill_point},
};

static struct kiln_node *make(struct mtr_arena *arena, const struct recipe *recipe, int64_t count,
                              int64_t rows)
{
  struct kiln_node *root = kiln_node_new(arena, "", "+s", rows, 1, count);
  int64_t i;

  for (i = 0; root && i < count; i++, recipe++) {
    struct kiln_node *column =
        kiln_node_new(arena, recipe->name, recipe->format, rows, recipe->buffers, recipe->children);
    if (!column || !recipe->fill(arena, column)) return NULL;
    kiln_node_adopt(root, i, column);
  }
  return root;
}

#define MAKE(arena, columns, rows)                                                                 \
  make(arena, columns, (int64_t)(sizeof(columns) / sizeof(columns)[0]), rows)

struct kiln_node *kiln_table_one(struct mtr_arena *arena) { return MAKE(arena, one_columns, 1); }

struct kiln_node *kiln_table_rows(struct mtr_arena *arena, int64_t rows)
{
  return MAKE(arena, rows_columns, rows);
}

struct kiln_node *kiln_table_mixed(struct mtr_arena *arena, int64_t rows)
{
  struct kiln_node *root = MAKE(arena, mixed_columns, rows);
  int64_t i, c;

  for (c = 0; root && c < root->array.n_children; c++)
    for (i = 0; i < rows; i++)
      if ((i + c) % NULL_EVERY == NULL_EVERY - 1 && !kiln_node_null(arena, root->children[c], i))
        return NULL;
  return root;
}
