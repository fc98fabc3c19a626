/* Values made lately, to be handed out again: dates, decimals and short texts repeat within a
 * column, and a hit costs a tenth of a new object. Only for values that nobody can change. */
#ifndef MORTAR_NATIVE_MEMO_H
#define MORTAR_NATIVE_MEMO_H

#include "python/native/column.h"

struct memo_entry {
  uint64_t key;
  PyObject *value; /* NULL: free */
};

enum { MEMO_BITS = 8 }; /* 4 KB for a column: stays in the first cache beside the data */

struct memo {
  struct memo_entry entries[1 << MEMO_BITS];
};

static inline struct memo_entry *memo_entry_of(struct memo *memo, uint64_t key)
{
  return &memo->entries[key * 0x9E3779B97F4A7C15u >> (64 - MEMO_BITS)];
}

static inline PyObject *memo_get(struct memo *memo, uint64_t key)
{
  struct memo_entry *e = memo_entry_of(memo, key);
  return e->value && e->key == key ? Py_NewRef(e->value) : NULL;
}

/* Remembers value, which may be NULL; returns it. */
static inline PyObject *memo_put(struct memo *memo, uint64_t key, PyObject *value)
{
  struct memo_entry *e = memo_entry_of(memo, key);
  PyObject *old = e->value;

  if (!value) return NULL;
  e->key = key;
  e->value = Py_NewRef(value);
  Py_XDECREF(old);
  return value;
}

#endif
