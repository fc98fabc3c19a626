/* Opens sessions on the fake server and checks the rows that it makes. */
#include "tests/client/client_fixture.h"

#include <stdio.h>

enum mortar_status client_open(struct client *c, const struct mortar_alloc *alloc,
                               const char *option, const char *value)
{
  struct mortar_config *config = NULL;
  enum mortar_status st;
  char uri[100];

  snprintf(uri, sizeof uri, "http://127.0.0.1:%d/sql/1.0/warehouses/fake", c->fs.port);
  st = mortar_config_new(alloc, &config, &c->err);
  if (st == MORTAR_OK) st = mortar_config_set_uri(config, uri, &c->err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "access_token", "secret-token", &c->err);
  if (st == MORTAR_OK && c->fs.wire != MTR_WIRE_HTTP)
    st = mortar_config_set(config, "transport", mtr_wire_name(c->fs.wire), &c->err);
  /* The waits between attempts are as short as they may be. */
  if (st == MORTAR_OK) st = mortar_config_set(config, "retry_delay_min_ms", "1", &c->err);
  if (st == MORTAR_OK) st = mortar_config_set(config, "retry_delay_max_ms", "4", &c->err);
  if (st == MORTAR_OK && option) st = mortar_config_set(config, option, value, &c->err);
  if (st == MORTAR_OK && c->option) st = mortar_config_set(config, c->option, c->value, &c->err);
  if (st == MORTAR_OK && c->log)
    st = mortar_config_set_log(config, c->log_level, c->log, c->log_ctx, &c->err);
  if (st == MORTAR_OK) st = mortar_config_set_session_setting(config, "ansi_mode", "true", &c->err);
  if (st == MORTAR_OK) st = mortar_session_open(config, NULL, &c->session, &c->err);
  mortar_config_free(config);
  return st;
}

void client_start_with(struct client *c)
{
  fake_server_start(&c->fs);
  assert_int_equal(client_open(c, NULL, NULL, NULL), MORTAR_OK);
}

void client_start(struct client *c)
{
  memset(c, 0, sizeof *c);
  client_start_with(c);
}

void client_stop(struct client *c)
{
  mortar_session_free(c->session);
  c->session = NULL;
  fake_server_stop(&c->fs);
}

static void check_row(const struct ArrowArray *batch, int64_t i, int64_t expect)
{
  const struct ArrowArray *n = batch->children[0], *s = batch->children[1];
  const int64_t *values = n->buffers[1];
  const uint8_t *valid = s->buffers[0];
  const int32_t *offsets = s->buffers[1];
  bool null = valid && !(valid[i / 8] >> i % 8 & 1);
  char text[24];
  int size = snprintf(text, sizeof text, "s%lld", (long long)expect);

  assert_int_equal(values[i], expect);
  assert_int_equal(null, expect % 3 == 0);
  if (null) return;
  assert_int_equal(offsets[i + 1] - offsets[i], size);
  assert_memory_equal((const char *)s->buffers[2] + offsets[i], text, (size_t)size);
}

void client_check_batch(const struct ArrowArray *batch, int64_t first)
{
  int64_t i;

  assert_true(batch->length > 0);
  for (i = 0; i < batch->length; i++)
    check_row(batch, i, first + i);
}

enum mortar_status client_drain(struct mortar_result *res, int64_t *rows, struct mortar_error *err)
{
  struct ArrowArray batch;
  enum mortar_status st;

  *rows = 0;
  for (;;) {
    st = mortar_result_next(res, NULL, &batch, err);
    if (st != MORTAR_OK || !batch.release) return st;
    client_check_batch(&batch, *rows);
    *rows += batch.length;
    batch.release(&batch);
  }
}

enum mortar_status client_rows(struct client *c, int64_t *rows)
{
  struct mortar_result *res = NULL;
  enum mortar_status st = mortar_query(c->session, "SELECT n, s", NULL, &res, &c->err);

  *rows = 0;
  if (st == MORTAR_OK) st = client_drain(res, rows, &c->err);
  mortar_result_free(res);
  return st;
}
