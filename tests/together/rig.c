/* Starts Kiln, opens sessions on it, sets its rules and reads its numbers. */
#include "tests/together/rig.h"

#include <stdio.h>
#include <time.h>

void rig_start(struct rig *rig, const struct rig_option *options)
{
  const struct kiln_options kiln = {.faults = true, .direct_wait_ms = 1};

  rig_start_on(rig, options, &kiln);
}

void rig_start_on(struct rig *rig, const struct rig_option *options,
                  const struct kiln_options *kiln)
{
  struct mtr_TCloseSessionReq req = {0};

  memset(rig, 0, sizeof *rig);
  rig->options = options;
  fixture_start(&rig->kiln, &tiny_engine, kiln);
  MTR_SET(&req, TCloseSessionReq, session_handle, &rig->kiln.session.session);
  (void)WIRE_CALL(&rig->kiln.wire, CloseSession, &req);
}

/* What Kiln never answered is over once it is gone. */
void rig_stop(struct rig *rig)
{
  rig_close(rig);
  fixture_stop(&rig->kiln);
  assert_true(mortar_background_wait(10000));
}

static void keep_warning(void *ctx, enum mortar_log_level level, const char *line)
{
  struct rig *rig = ctx;

  (void)level;
  (void)snprintf(rig->warning, sizeof rig->warning, "%s", line);
}

enum mortar_status rig_open(struct rig *rig, const struct mortar_call *call)
{
  const struct rig_option *option;
  struct mortar_config *config = NULL;
  enum mortar_status st;
  char uri[60];

  (void)snprintf(uri, sizeof uri, "http://127.0.0.1:%d/sql/1.0/warehouses/kiln",
                 rig->kiln.wire.port);
  assert_int_equal(mortar_config_new(rig->alloc, &config, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_uri(config, uri, NULL), MORTAR_OK);
  for (option = rig->options; option->name; option++)
    assert_int_equal(mortar_config_set(config, option->name, option->value, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_log(config, MORTAR_LOG_WARNING, keep_warning, rig, NULL),
                   MORTAR_OK);
  st = mortar_session_open(config, call, &rig->session, &rig->err);
  mortar_config_free(config);
  return st;
}

void rig_close(struct rig *rig)
{
  mortar_session_free(rig->session);
  rig->session = NULL;
}

void rig_fault(struct rig *rig, const char *format, ...)
{
  char rule[2000], rules[2010];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(rule, sizeof rule, format, args);
  va_end(args);
  (void)snprintf(rules, sizeof rules, "[%s]", rule);
  fault_set(&rig->kiln, rules);
}

static enum mortar_status drain(struct rig *rig, struct mortar_result *res,
                                const struct mortar_call *call)
{
  struct ArrowArray batch;
  enum mortar_status st;

  for (;;) {
    st = mortar_result_next(res, call, &batch, &rig->err);
    if (!batch.release) return st;
    rig->rows += batch.length;
    batch.release(&batch);
  }
}

enum mortar_status rig_run(struct rig *rig, const char *sql, const struct mortar_call *call)
{
  struct mortar_result *res = NULL;
  enum mortar_status st = mortar_query(rig->session, sql, call, &res, &rig->err);

  rig->rows = 0;
  if (st == MORTAR_OK) st = drain(rig, res, call);
  mortar_result_free(res);
  return st;
}

double rig_gap(struct rig *rig, const char *call, int back)
{
  json_t *stats, *gaps;
  double gap;
  int n;

  assert_int_equal(fault_control(&rig->kiln, "GET", "/kiln/stats", "", &stats), 200);
  gaps = json_object_get(json_object_get(json_object_get(stats, "calls"), call), "gaps_ms");
  n = (int)json_array_size(gaps);
  assert_true(n > back);
  gap = json_real_value(json_array_get(gaps, (size_t)(n - 1 - back)));
  json_decref(stats);
  return gap;
}

void rig_await(struct rig *rig, const char *name, int64_t value)
{
  const struct timespec pause = {0, 2 * 1000000};
  int i;

  for (i = 0; i < 5000 && fault_stat(&rig->kiln, name) != value; i++)
    (void)nanosleep(&pause, NULL);
  assert_int_equal(fault_stat(&rig->kiln, name), value);
}
