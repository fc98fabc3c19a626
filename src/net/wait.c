/* The tick of a wait. Not called before 100 ms have passed, so a quick exchange never pays for it.
 */
#include "net/wait.h"

enum { TICK_MS = 100 }; /* mortar.h promises it */

int64_t mtr_wait_first_tick(const struct mtr_wait *wait, int64_t now)
{
  return wait->tick ? mtr_deadline_after(now, TICK_MS) : MTR_NEVER;
}

bool mtr_wait_tick(const struct mtr_wait *wait, bool interrupted, int64_t *now, int64_t *tick_at)
{
  bool ends;

  if (!wait->tick || (*now < *tick_at && !interrupted)) return false;
  ends = wait->tick(wait->tick_ctx) != 0;
  *now = mtr_clock_now(); /* it may have taken long */
  *tick_at = mtr_deadline_after(*now, TICK_MS);
  return ends;
}
