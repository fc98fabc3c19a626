#include "tests/kiln/kiln_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

const struct wire_ask ask_direct = {true, true, true, 100000, 0};
const struct wire_ask ask_async = {false, true, true, 0, 0};
const struct wire_ask ask_sync = {false, false, true, 0, 0};

void fixture_start(struct fixture *fx, const struct kiln_engine *engine,
                   const struct kiln_options *options)
{
  static const struct kiln_options defaults;
  struct mortar_error err = {0};

  memset(fx, 0, sizeof *fx);
  if (kiln_server_start(options ? options : &defaults, engine, &fx->engine, &fx->server, &err) !=
      MORTAR_OK)
    fail_msg("%s", err.message);
  wire_open(&fx->wire, kiln_server_port(fx->server));
  if (options && options->token) return;
  wire_open_session(&fx->wire, &fx->session);
}

void fixture_stop(struct fixture *fx)
{
  kiln_server_stop(fx->server);
  wire_close(&fx->wire);
  assert_int_equal(fx->engine.sessions, 0);
  assert_int_equal(fx->engine.contexts, 0);
  assert_int_equal(fx->engine.streams, 0);
}

void fixture_await(_Atomic int *counter, int value)
{
  struct timespec pause = {0, 1000000};
  int i;

  for (i = 0; i < 10000 && *counter != value; i++)
    (void)nanosleep(&pause, NULL);
  assert_int_equal(*counter, value);
}
