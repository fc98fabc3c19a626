/* Replies that are made of several structs: the statement's, its pages, its state. Encodes only;
 * whoever calls sends. */
#ifndef KILN_SERVER_REPLY_H
#define KILN_SERVER_REPLY_H

#include "kiln/server/operation.h"

/* ExecuteStatement or a metadata call without direct results: status and handle. */
MORTAR_MUST_USE enum mortar_status kiln_reply_handle(struct kiln_exchange *x,
                                                     const struct kiln_operation *op,
                                                     struct mortar_error *err);

/* The same with direct results. page NULL: the state alone, with metadata when the
 * statement has finished. closed: the server closes the operation. */
MORTAR_MUST_USE enum mortar_status kiln_reply_direct(struct kiln_exchange *x,
                                                     const struct kiln_operation *op, int32_t state,
                                                     struct mtr_TRowSet *page, bool more,
                                                     bool closed, struct mortar_error *err);

MORTAR_MUST_USE enum mortar_status kiln_reply_page(struct kiln_exchange *x,
                                                   const struct kiln_operation *op,
                                                   struct mtr_TRowSet *page, bool more,
                                                   struct mortar_error *err);

/* FetchResults of an operation log: there is none, so it is empty. */
MORTAR_MUST_USE enum mortar_status kiln_reply_log(struct kiln_exchange *x,
                                                  struct mortar_error *err);

MORTAR_MUST_USE enum mortar_status kiln_reply_state(struct kiln_exchange *x,
                                                    const struct kiln_operation *op,
                                                    struct mortar_error *err);

#endif
