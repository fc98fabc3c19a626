/* Chained hashing over random ids. Never grows: the number of entries is limited instead. */
#include "kiln/server/table.h"

#include "base/error.h"

static size_t chain_of(const uint8_t *id)
{
  return ((size_t)id[0] << 8 | id[1]) & (KILN_TABLE_CHAINS - 1);
}

enum mortar_status kiln_table_add(struct kiln_table *table, struct kiln_ids *ids, const char *what,
                                  struct kiln_entry *entry, struct mortar_error *err)
{
  size_t chain;

  if (table->count >= KILN_TABLE_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "the server holds %d %ss, its limit", KILN_TABLE_MAX, what);
  if (!kiln_ids_uuid(ids, entry->id) || !kiln_ids_secret(ids, entry->secret))
    return mtr_fail(err, MORTAR_IO, "no random bytes for the handle of a new %s", what);
  chain = chain_of(entry->id);
  entry->next = table->chains[chain];
  table->chains[chain] = entry;
  table->count++;
  return MORTAR_OK;
}

struct kiln_entry *kiln_table_find(const struct kiln_table *table, struct mtr_span id,
                                   struct mtr_span secret)
{
  struct kiln_entry *entry;

  if (id.size != KILN_ID_SIZE) return NULL;
  for (entry = table->chains[chain_of(id.data)]; entry; entry = entry->next)
    if (memcmp(entry->id, id.data, KILN_ID_SIZE) == 0) break;
  if (!entry || !mtr_span_equal(secret, mtr_span_of(entry->secret, KILN_ID_SIZE))) return NULL;
  return entry;
}

void kiln_table_remove(struct kiln_table *table, struct kiln_entry *entry)
{
  struct kiln_entry **at = &table->chains[chain_of(entry->id)];

  while (*at && *at != entry)
    at = &(*at)->next;
  if (!*at) return;
  *at = entry->next;
  table->count--;
}

struct kiln_entry *kiln_table_any(const struct kiln_table *table)
{
  size_t i;

  for (i = 0; table->count && i < KILN_TABLE_CHAINS; i++)
    if (table->chains[i]) return table->chains[i];
  return NULL;
}

void kiln_table_each(const struct kiln_table *table, void (*fn)(struct kiln_entry *entry))
{
  struct kiln_entry *entry, *next;
  size_t i;

  for (i = 0; table->count && i < KILN_TABLE_CHAINS; i++) {
    for (entry = table->chains[i]; entry; entry = next) {
      next = entry->next;
      fn(entry);
    }
  }
}
