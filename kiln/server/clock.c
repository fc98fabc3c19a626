/* A clock that can be moved forward, and the sweep that closes idle sessions and operations. What
 * runs, or is making a page, is not idle; a session is used by the calls on its operations, too. */
#include "kiln/server/clock.h"

#include "base/clock.h"
#include "base/error.h"
#include "kiln/server/operation.h"
#include "kiln/server/session.h"

/* How often is looked: a few times within the shortest limit, so that what is shown as open is
 * true; a call on something that has expired is refused at any moment. */
enum { SWEEP_MIN_MS = 10, SWEEP_MAX_MS = 1000, SWEEPS_PER_LIMIT = 4 };

int64_t kiln_clock_now(const struct kiln_clock *clock) { return mtr_clock_now() + clock->ahead_ns; }

bool kiln_clock_expired(const struct kiln_clock *clock, int64_t last_used, int64_t limit_ms)
{
  return limit_ms > 0 && kiln_clock_now(clock) - last_used > limit_ms * MTR_MS;
}

static int64_t shortest(const struct kiln_clock *clock)
{
  int64_t a = clock->session_idle_ms, b = clock->operation_idle_ms;

  if (a == 0 || (b > 0 && b < a)) return b;
  return a;
}

static void arm(struct kiln_clock *clock)
{
  int64_t ms = shortest(clock) / SWEEPS_PER_LIMIT;
  struct timeval tv;

  (void)evtimer_del(clock->sweep);
  if (shortest(clock) == 0) return;
  if (ms < SWEEP_MIN_MS) ms = SWEEP_MIN_MS;
  if (ms > SWEEP_MAX_MS) ms = SWEEP_MAX_MS;
  tv.tv_sec = (time_t)(ms / 1000);
  tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
  (void)evtimer_add(clock->sweep, &tv);
}

static void sweep_operation(struct kiln_entry *entry)
{
  struct kiln_operation *op = KILN_OWNER(entry, struct kiln_operation, entry);

  if (kiln_operation_expired(op)) kiln_operation_close(op);
}

static void sweep_session(struct kiln_entry *entry)
{
  struct kiln_session *session = KILN_OWNER(entry, struct kiln_session, entry);

  if (kiln_session_expired(session)) kiln_session_close(session);
}

static void sweep(struct kiln_core *core)
{
  kiln_table_each(&core->operations, sweep_operation);
  kiln_table_each(&core->sessions, sweep_session);
  arm(&core->clock);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
  (void)fd;
  (void)what;
  sweep(arg);
}

enum mortar_status kiln_clock_start(struct kiln_core *core, struct mortar_error *err)
{
  struct kiln_clock *clock = &core->clock;

  if (core->options.session_idle_ms < 0 || core->options.operation_idle_ms < 0)
    return mtr_fail(err, MORTAR_INVALID, "an idle limit is negative");
  clock->session_idle_ms = core->options.session_idle_ms;
  clock->operation_idle_ms = core->options.operation_idle_ms;
  clock->watched = core->options.faults || shortest(clock) > 0;
  clock->sweep = evtimer_new(core->base, on_sweep, core);
  if (!clock->sweep) return mtr_fail_nomem(err, "clock");
  arm(clock);
  return MORTAR_OK;
}

void kiln_clock_advance(struct kiln_core *core, int64_t ms)
{
  core->clock.ahead_ns += ms * MTR_MS;
  sweep(core);
}

void kiln_clock_limit(struct kiln_core *core, int64_t session_idle_ms, int64_t operation_idle_ms)
{
  core->clock.session_idle_ms = session_idle_ms;
  core->clock.operation_idle_ms = operation_idle_ms;
  sweep(core);
}

void kiln_clock_stop(struct kiln_core *core)
{
  if (core->clock.sweep) event_free(core->clock.sweep);
  core->clock.sweep = NULL;
}
