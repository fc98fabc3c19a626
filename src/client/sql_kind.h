/* Is a statement plainly a read? Looks at words only, so "no" is always a safe answer: it means
 * that the statement counts as a write and is not sent twice. */
#ifndef MTR_CLIENT_SQL_KIND_H
#define MTR_CLIENT_SQL_KIND_H

#include "base/span.h"

/* True for one statement that begins with SELECT, VALUES, TABLE, SHOW, DESCRIBE, DESC or LIST, or
 * with WITH or EXPLAIN where no word that writes stands outside quotes and comments. */
bool mtr_sql_is_read(struct mtr_span sql);

#endif
