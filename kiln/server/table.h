/* Sessions or operations by their 16-byte id. Entries are members of their objects; the table
 * allocates nothing. The ids are random, so their first bytes are the hash. Loop thread only. */
#ifndef KILN_SERVER_TABLE_H
#define KILN_SERVER_TABLE_H

#include "base/span.h"
#include "kiln/server/ids.h"

struct kiln_entry {
  struct kiln_entry *next;
  uint8_t id[KILN_ID_SIZE], secret[KILN_ID_SIZE];
};

/* 4,096 chains keep the largest number of sessions (65,536) at 16 steps each. */
enum { KILN_TABLE_CHAINS = 4096, KILN_TABLE_MAX = 65536 };

struct kiln_table {
  struct kiln_entry *chains[KILN_TABLE_CHAINS];
  size_t count;
};

/* Draws id and secret and adds the entry. LIMIT when the table is full. */
MORTAR_MUST_USE enum mortar_status kiln_table_add(struct kiln_table *table, struct kiln_ids *ids,
                                                  const char *what, struct kiln_entry *entry,
                                                  struct mortar_error *err);

/* NULL unless both id and secret are right. */
struct kiln_entry *kiln_table_find(const struct kiln_table *table, struct mtr_span id,
                                   struct mtr_span secret);
void kiln_table_remove(struct kiln_table *table, struct kiln_entry *entry);

/* Any entry, NULL when there is none: for taking all of them out. */
struct kiln_entry *kiln_table_any(const struct kiln_table *table);

/* Calls fn for every entry; fn may take that entry out. */
void kiln_table_each(const struct kiln_table *table, void (*fn)(struct kiln_entry *entry));

#endif
