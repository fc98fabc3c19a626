/* Turns an exchange on the caller's thread, waiting with poll(2). */
#ifndef MTR_NET_DRIVER_BLOCKING_H
#define MTR_NET_DRIVER_BLOCKING_H

#include "net/exchange.h"
#include "net/wait.h"

/* From start, which is now, to end; returns the exchange's status. The deadline is the exchange's
 * own. A reply that is complete when the wake-up or the tick ends the wait is delivered. */
MORTAR_MUST_USE enum mortar_status mtr_drive_blocking(struct mtr_exchange *exchange,
                                                      const struct mtr_wait *wait, int64_t now);

/* The same for one that is pending: goes on until wait's deadline. One that has passed makes it
 * take what has arrived and no more. */
MORTAR_MUST_USE enum mortar_status mtr_drive_resumed(struct mtr_exchange *exchange,
                                                     const struct mtr_wait *wait);

#endif
