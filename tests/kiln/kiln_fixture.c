/* Starts a Kiln on the tiny engine and speaks to it. */
#include "tests/kiln/kiln_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

const struct wire_ask ask_direct = {.direct = true, .async = true, .lz4 = true, .max_rows = 100000};
const struct wire_ask ask_async = {.async = true, .lz4 = true};
const struct wire_ask ask_sync = {.lz4 = true};

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

struct mtr_TFetchResultsResp *fixture_fetch(struct fixture *fx, struct wire_handle *op,
                                            int64_t max_rows, int64_t max_bytes)
{
  struct mtr_TFetchResultsReq req = {0};

  MTR_SET(&req, TFetchResultsReq, operation_handle, &op->operation);
  MTR_SET(&req, TFetchResultsReq, orientation, 0);
  MTR_SET(&req, TFetchResultsReq, max_rows, max_rows);
  if (max_bytes) MTR_SET(&req, TFetchResultsReq, max_bytes, max_bytes);
  return WIRE_CALL(&fx->wire, FetchResults, &req);
}

int32_t fixture_close(struct fixture *fx, struct wire_handle *op)
{
  struct mtr_TCloseOperationReq req = {0};

  MTR_SET(&req, TCloseOperationReq, operation_handle, &op->operation);
  return WIRE_CALL(&fx->wire, CloseOperation, &req)->status->status_code;
}

int32_t fixture_cancel(struct fixture *fx, struct wire_handle *op)
{
  struct mtr_TCancelOperationReq req = {0};

  MTR_SET(&req, TCancelOperationReq, operation_handle, &op->operation);
  return WIRE_CALL(&fx->wire, CancelOperation, &req)->status->status_code;
}

struct mtr_TGetOperationStatusResp *fixture_poll(struct fixture *fx, struct wire_handle *op)
{
  struct mtr_TGetOperationStatusReq req = {0};

  MTR_SET(&req, TGetOperationStatusReq, operation_handle, &op->operation);
  return WIRE_CALL(&fx->wire, GetOperationStatus, &req);
}
