/* Replays of our own recordings over the wire, and what becomes of damaged ones: an error or a
 * replay, under the sanitizers too. MORTAR_SEED repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kiln/recordings/exchange.h"
#include "kiln/replay/replay.h"
#include "tests/kiln/kiln_fixture.h"

enum { SPOILED = 300 };

struct replay_fixture {
  struct kiln_replay *replay;
  struct kiln_server *server;
  struct wire wire;
  struct wire_handle session;
};

static void start(struct replay_fixture *fx)
{
  struct kiln_options server = {.workers = 1};
  struct mortar_error err = {0};

  memset(fx, 0, sizeof *fx);
  if (kiln_replay_new(RECORDINGS, &fx->replay, &err) != MORTAR_OK) fail_msg("%s", err.message);
  if (kiln_server_start(&server, &kiln_replay_engine, fx->replay, &fx->server, &err) != MORTAR_OK)
    fail_msg("%s", err.message);
  wire_open(&fx->wire, kiln_server_port(fx->server));
  wire_open_session(&fx->wire, &fx->session);
}

static void stop(struct replay_fixture *fx)
{
  kiln_server_stop(fx->server);
  kiln_replay_free(fx->replay);
  wire_close(&fx->wire);
}

static void statements_come_as_recorded(void **state)
{
  struct mtr_TExecuteStatementResp *resp;
  struct replay_fixture fx;
  size_t i;

  (void)state;
  start(&fx);
  for (i = 1; i <= 4; i++) {
    resp = wire_execute(&fx.wire, &fx.session, "SELECT 'again'", &ask_direct);
    assert_non_null(resp->direct_results->close_operation);
    assert_int_equal(resp->direct_results->result_set->results->arrow_batches.items[0].row_count,
                     i < 3 ? i : 3);
  }
  resp = wire_execute(&fx.wire, &fx.session, "SELECT 'else'", &ask_direct);
  assert_int_equal(resp->status->status_code, MTR_STATUS_ERROR);
  assert_true(wire_contains(resp->status->error_message, "SELECT 'else'"));
  stop(&fx);
}

/* Whatever is left open goes with the server. */
static void rows_are_fetched_by_live_handles(void **state)
{
  struct mtr_TFetchResultsReq fetch = {0};
  struct mtr_TCloseOperationReq close = {0};
  struct mtr_TExecuteStatementResp *resp;
  struct mtr_TFetchResultsResp *page;
  struct replay_fixture fx;
  struct wire_handle op;

  (void)state;
  start(&fx);
  resp = wire_execute(&fx.wire, &fx.session, "SELECT 'slower'", &ask_sync);
  wire_keep(&op, resp->operation_handle->operation_id);
  MTR_SET(&fetch, TFetchResultsReq, operation_handle, &op.operation);
  MTR_SET(&fetch, TFetchResultsReq, include_result_set_metadata, true);
  page = WIRE_CALL(&fx.wire, FetchResults, &fetch);
  assert_int_equal(page->results->arrow_batches.count, 2);
  assert_non_null(page->result_set_metadata);
  page = WIRE_CALL(&fx.wire, FetchResults, &fetch);
  assert_false(page->has_more_rows);
  assert_non_null(page->result_set_metadata);
  (void)wire_execute(&fx.wire, &fx.session, "SELECT 'slow'", &ask_sync);
  MTR_SET(&close, TCloseOperationReq, operation_handle, &op.operation);
  assert_int_equal(WIRE_CALL(&fx.wire, CloseOperation, &close)->status->status_code,
                   MTR_STATUS_SUCCESS);
  assert_int_equal(WIRE_CALL(&fx.wire, FetchResults, &fetch)->status->status_code,
                   MTR_STATUS_ERROR);
  stop(&fx);
}

static uint32_t next(uint64_t *random)
{
  *random ^= *random >> 12;
  *random ^= *random << 25;
  *random ^= *random >> 27;
  return (uint32_t)((*random * UINT64_C(2685821657736338717)) >> 32);
}

/* A letter of base64 for another keeps a line readable and damages the message in it. */
static void spoil(struct mtr_buf *text, uint64_t *random)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint32_t i, count = 1 + next(random) % 3;

  for (i = 0; i < count; i++)
    text->data[next(random) % text->size] = (uint8_t)letters[next(random) % 64];
}

static void write_file(const char *path, const struct mtr_buf *text)
{
  FILE *file = fopen(path, "wb");

  assert_non_null(file);
  assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
  assert_int_equal(fclose(file), 0);
}

static void damaged_recordings_are_survived(void **state)
{
  const char *seed = getenv("MORTAR_SEED");
  uint64_t random = (seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL)) | UINT64_C(1) << 63;
  char path[] = "replay-XXXXXX";
  int i, refused = 0, fd = mkstemp(path);
  struct mtr_buf text;

  (void)state;
  assert_true(fd >= 0);
  (void)close(fd);
  print_message("MORTAR_SEED=%" PRIu64 "\n", random);
  mtr_buf_init(&text, NULL, "recording", 1 << 20);
  for (i = 0; i < SPOILED; i++) {
    struct mortar_error err = {0};
    struct kiln_replay *replay;

    mtr_buf_reset(&text);
    assert_int_equal(kiln_recording_read(RECORDINGS "/thrift/questions.jsonl", &text, NULL),
                     MORTAR_OK);
    spoil(&text, &random);
    write_file(path, &text);
    if (kiln_replay_new(path, &replay, &err) != MORTAR_OK) {
      assert_non_null(strstr(err.message, path));
      refused++;
    }
    kiln_replay_free(replay);
  }
  mtr_buf_fini(&text);
  (void)unlink(path);
  assert_true(refused > 0 && refused < SPOILED);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statements_come_as_recorded),
      cmocka_unit_test(rows_are_fetched_by_live_handles),
      cmocka_unit_test(damaged_recordings_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
