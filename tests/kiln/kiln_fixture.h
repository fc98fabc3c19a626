/* A running server with the tiny engine, one session, and one connection. */
#ifndef TESTS_KILN_FIXTURE_H
#define TESTS_KILN_FIXTURE_H

#include "kiln/server/server.h"
#include "tests/kiln/tiny_engine.h"
#include "tests/kiln/wire.h"

struct fixture {
  struct tiny_engine engine;
  struct kiln_server *server;
  struct wire wire;
  struct wire_handle session;
};

/* options NULL: the defaults. */
void fixture_start(struct fixture *fx, const struct kiln_engine *engine,
                   const struct kiln_options *options);

/* Stops the server and checks that the engine got everything back. */
void fixture_stop(struct fixture *fx);

/* Waits until the counter has the value, ten seconds at the most. */
void fixture_await(_Atomic int *counter, int value);

/* FetchResults, CloseOperation, CancelOperation and GetOperationStatus of an operation. */
struct mtr_TFetchResultsResp *fixture_fetch(struct fixture *fx, struct wire_handle *op,
                                            int64_t max_rows, int64_t max_bytes);
int32_t fixture_close(struct fixture *fx, struct wire_handle *op);
int32_t fixture_cancel(struct fixture *fx, struct wire_handle *op);
struct mtr_TGetOperationStatusResp *fixture_poll(struct fixture *fx, struct wire_handle *op);

extern const struct wire_ask ask_direct, ask_async, ask_sync;

#endif
