/* From the Thrift rows of one page to one Arrow batch: what servers send that agreed on a protocol
 * of Hive's before its version 6. The cells are turned into columns, and those are read as
 * columns.h says; so what is refused there is refused here, too, and so are rows of unequal length.
 */
#ifndef MTR_CLIENT_THRIFT_ROW_LIST_H
#define MTR_CLIENT_THRIFT_ROW_LIST_H

#include "client/backend.h"
#include "codec/thrift/tcli.h"

/* Makes page hold the rows of set, which has some. They lie in the channel, as set does. */
void mtr_thrift_take_row_list(const struct mtr_TRowSet *set, struct mtr_page *page);

#endif
