/* The tables that kiln-canned answers with. Every value follows from its row number, so that a
 * client can check what it got; docs/kiln-canned.md has the rules. */
#ifndef KILN_CANNED_TABLES_H
#define KILN_CANNED_TABLES_H

#include "kiln/server/node.h"

/* All give a struct node whose children are the columns; NULL when memory ran out. */
struct kiln_node *kiln_table_one(struct mtr_arena *arena);
struct kiln_node *kiln_table_rows(struct mtr_arena *arena, int64_t rows);
struct kiln_node *kiln_table_mixed(struct mtr_arena *arena, int64_t rows);

#endif
