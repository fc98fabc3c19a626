/* What a text is, by its words only. */
#ifndef MTR_CLIENT_SQL_KIND_H
#define MTR_CLIENT_SQL_KIND_H

#include "base/span.h"

/* True for a volume statement: the first word behind blanks and comments is PUT, GET or REMOVE.
 * Looks no further than that word. */
bool mtr_sql_is_volume(struct mtr_span sql);

/* Is it plainly a read? "No" is always a safe answer: it means that the statement counts as a write
 * and is not sent twice. True for one statement that begins with SELECT, VALUES, TABLE, SHOW,
 * DESCRIBE, DESC or LIST, or with WITH or EXPLAIN where no word that writes stands outside quotes
 * and comments. */
bool mtr_sql_is_read(struct mtr_span sql);

#endif
