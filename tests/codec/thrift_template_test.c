/* A message from a template is byte for byte the one that the writer makes. */
#include "codec/thrift/template.h"

#include "codec/thrift/tcli.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { BYTES_MAX = 1 << 20 };

static void fill(struct mtr_TExecuteStatementReq *req, struct mtr_TSessionHandle *session,
                 struct mtr_THandleIdentifier *id, struct mtr_span sql)
{
  memset(req, 0, sizeof *req);
  memset(session, 0, sizeof *session);
  memset(id, 0, sizeof *id);
  MTR_SET(id, THandleIdentifier, guid, mtr_span_text("sixteen letters!"));
  MTR_SET(id, THandleIdentifier, secret, mtr_span_text("sixteen of them!"));
  MTR_SET(session, TSessionHandle, session_id, id);
  MTR_SET(req, TExecuteStatementReq, session_handle, session);
  MTR_SET(req, TExecuteStatementReq, statement, sql);
  MTR_SET(req, TExecuteStatementReq, run_async, true);
  MTR_SET(req, TExecuteStatementReq, can_read_arrow_result, true);
}

static enum mortar_status make(struct mtr_message_template *t, struct mortar_error *err)
{
  struct mtr_TExecuteStatementReq req;
  struct mtr_TSessionHandle session;
  struct mtr_THandleIdentifier id;

  fill(&req, &session, &id, mtr_span_of(NULL, 0));
  return mtr_message_template_make(t, "ExecuteStatement", &mtr_TExecuteStatementReq_info, &req,
                                   MTR_BIT_TExecuteStatementReq_statement, err);
}

static void same_bytes_as_the_writers(void **state)
{
  static const char *const texts[] = {"", "SELECT 1", "SELECT 'gr\xc3\xb6n'"};
  struct mtr_message_template t;
  struct mtr_TExecuteStatementReq req;
  struct mtr_TSessionHandle session;
  struct mtr_THandleIdentifier id;
  struct mtr_buf want, have;
  size_t i;

  (void)state;
  mtr_message_template_init(&t, NULL);
  mtr_buf_init(&want, NULL, "want", BYTES_MAX);
  mtr_buf_init(&have, NULL, "have", BYTES_MAX);
  assert_int_equal(make(&t, NULL), MORTAR_OK);
  for (i = 0; i < sizeof texts / sizeof *texts; i++) {
    const int32_t seqid = (int32_t)i * 70000 + 1;
    fill(&req, &session, &id, mtr_span_text(texts[i]));
    assert_int_equal(mtr_message_write(&want, MTR_MESSAGE_CALL, "ExecuteStatement", seqid,
                                       &mtr_TExecuteStatementReq_info, &req, NULL),
                     MORTAR_OK);
    assert_int_equal(mtr_message_template_write(&t, seqid, mtr_span_text(texts[i]), &have, NULL),
                     MORTAR_OK);
    assert_true(mtr_span_equal(mtr_buf_span(&want), mtr_buf_span(&have)));
  }
  mtr_buf_fini(&want);
  mtr_buf_fini(&have);
  mtr_message_template_fini(&t);
}

static void a_message_that_does_not_fit_leaves_nothing(void **state)
{
  struct mtr_message_template t;
  struct mortar_error err;
  struct mtr_buf out;

  (void)state;
  mtr_message_template_init(&t, NULL);
  mtr_buf_init(&out, NULL, "request body", 100);
  assert_int_equal(make(&t, NULL), MORTAR_OK);
  assert_int_equal(mtr_buf_append(&out, "before", 6, NULL), MORTAR_OK);
  assert_int_equal(mtr_message_template_write(&t, 1, mtr_span_text("SELECT 1"), &out, &err),
                   MORTAR_LIMIT);
  assert_int_equal(out.size, 6);
  mtr_buf_fini(&out);
  mtr_message_template_fini(&t);
}

static void memory_runs_out(void **state)
{
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mtr_message_template t;
    enum mortar_status st;
    mtr_message_template_init(&t, &fa.alloc);
    st = make(&t, NULL);
    mtr_message_template_fini(&t);
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bytes_as_the_writers),
      cmocka_unit_test(a_message_that_does_not_fit_leaves_nothing),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
