/* Starts a Kiln that misbehaves, and reads its numbers over HTTP. */
#include "tests/kiln/kiln_fault_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cmocka.h>

void fault_begin(struct fixture *fx, const struct kiln_engine *engine, const char *rules)
{
  struct kiln_options options = {.faults = true};

  fixture_start(fx, engine, &options);
  fault_set(fx, rules);
}

int fault_control(struct fixture *fx, const char *method, const char *path, const char *body,
                  json_t **out)
{
  struct wire wire;
  int status;

  wire_open(&wire, fx->wire.port);
  wire_http(&wire, method, path, body, strlen(body));
  status = wire.status;
  if (out) {
    *out = json_loadb((const char *)wire.body.data, wire.body.size, 0, NULL);
    assert_non_null(*out);
  }
  wire_close(&wire);
  return status;
}

void fault_set(struct fixture *fx, const char *rules)
{
  char script[4096];
  json_t *answer;
  int n = snprintf(script, sizeof script, "{\"replace\": true, \"rules\": %s}", rules);

  assert_in_range(n, 1, sizeof script - 1);
  if (fault_control(fx, "POST", "/kiln/faults", script, &answer) != 200)
    fail_msg("%s", json_string_value(json_object_get(answer, "message")));
  json_decref(answer);
}

static int64_t number_in(json_t *object, const char *name)
{
  json_t *value = json_object_get(object, name);

  return json_is_integer(value) ? json_integer_value(value) : -1;
}

int64_t fault_stat(struct fixture *fx, const char *name)
{
  json_t *stats;
  int64_t value;

  assert_int_equal(fault_control(fx, "GET", "/kiln/stats", "", &stats), 200);
  value = number_in(stats, name);
  json_decref(stats);
  return value;
}

int64_t fault_rule(struct fixture *fx, size_t index, const char *name)
{
  json_t *faults;
  int64_t value;

  assert_int_equal(fault_control(fx, "GET", "/kiln/faults", "", &faults), 200);
  value = number_in(json_array_get(json_object_get(faults, "rules"), index), name);
  json_decref(faults);
  return value;
}

static int64_t deep_number(struct fixture *fx, const char *table, const char *key, const char *name)
{
  json_t *stats;
  int64_t value;

  assert_int_equal(fault_control(fx, "GET", "/kiln/stats", "", &stats), 200);
  value = number_in(json_object_get(json_object_get(stats, table), key), name);
  json_decref(stats);
  return value;
}

int64_t fault_text(struct fixture *fx, const char *text, const char *name)
{
  return deep_number(fx, "texts", text, name);
}

int64_t fault_call(struct fixture *fx, const char *call, const char *name)
{
  return deep_number(fx, "calls", call, name);
}

bool fault_run(struct fixture *fx, const char *sql)
{
  wire_send_execute(&fx->wire, &fx->session, sql, &ask_direct);
  return wire_receive(&fx->wire);
}

void fault_reconnect(struct fixture *fx)
{
  int port = fx->wire.port;

  wire_close(&fx->wire);
  wire_open(&fx->wire, port);
}

void fault_patience(struct wire *wire, int ms)
{
  struct timeval limit = {ms / 1000, ms % 1000 * 1000};

  assert_int_equal(setsockopt(wire->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
}
