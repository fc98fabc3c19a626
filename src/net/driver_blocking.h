/* Turns an exchange on the caller's thread, waiting with poll(2). */
#ifndef MTR_NET_DRIVER_BLOCKING_H
#define MTR_NET_DRIVER_BLOCKING_H

#include "net/exchange.h"
#include "net/wait.h"

/* From start to end; returns the exchange's status. wake may be NULL. A reply that is complete
 * when the wake-up comes is delivered. */
MORTAR_MUST_USE enum mortar_status mtr_drive_blocking(struct mtr_exchange *exchange,
                                                      struct mortar_wake *wake);

#endif
