/* Dates in HTTP headers. Reads the one form that servers may still write (IMF-fixdate, "Sun, 06
 * Nov 1994 08:49:37 GMT"); the two obsolete forms are refused. Knows no clock. */
#ifndef MTR_NET_HTTP_DATE_H
#define MTR_NET_HTTP_DATE_H

#include "base/span.h"

/* Seconds since 1970-01-01 UTC; false when the text is not such a date. */
bool mtr_http_date(struct mtr_span text, int64_t *seconds);

#endif
