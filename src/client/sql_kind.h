/* What a text is, by its words only. */
#ifndef MTR_CLIENT_SQL_KIND_H
#define MTR_CLIENT_SQL_KIND_H

#include "base/span.h"

enum mtr_volume_verb { MTR_VOLUME_NONE, MTR_VOLUME_PUT, MTR_VOLUME_GET, MTR_VOLUME_REMOVE };

/* Of a volume statement, by the first word behind blanks and comments. Looks no further. */
enum mtr_volume_verb mtr_sql_volume_verb(struct mtr_span sql);

static inline bool mtr_sql_is_volume(struct mtr_span sql)
{
  return mtr_sql_volume_verb(sql) != MTR_VOLUME_NONE;
}

/* Is it plainly a read? "No" is always a safe answer: it means that the statement counts as a write
 * and is not sent twice. True for one statement that begins with SELECT, VALUES, TABLE, SHOW,
 * DESCRIBE, DESC or LIST, or with WITH or EXPLAIN where no word that writes stands outside quotes
 * and comments. */
bool mtr_sql_is_read(struct mtr_span sql);

#endif
