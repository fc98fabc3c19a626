/* What every wait in net is given: until when, and what else may end it. */
#ifndef MTR_NET_WAIT_H
#define MTR_NET_WAIT_H

#include "base/clock.h"
#include "base/wake.h"

struct mtr_wait {
  int64_t deadline;         /* on base/clock.h; MTR_NEVER */
  struct mortar_wake *wake; /* NULL: none */
};

#endif
