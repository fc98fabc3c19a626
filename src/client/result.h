/* The inside of mortar_result: a shape, a page reader and, while the server holds more, the way
 * back to it. */
#ifndef MTR_CLIENT_RESULT_H
#define MTR_CLIENT_RESULT_H

#include "arrow/join.h"
#include "client/page_reader.h"
#include "client/session.h"

struct mortar_result {
  struct mortar_alloc alloc;
  struct mortar_session *session; /* counted */
  struct mtr_channel *channel;    /* held only while the page has windows to decode */
  struct mtr_shape *shape;        /* counted */
  struct mtr_handle operation;
  struct mtr_page_reader reader;
  struct mtr_joiner joiner;
  int64_t rows_loaded; /* declared in the pages so far */
  int64_t rows_affected;
  bool more, closed; /* as in mtr_answer */
  bool failed;       /* then failure is what every further call says */
  struct mortar_error failure;
  char query_id[37];
};

/* Makes a result of an answer that is no longer live. Takes the channel, also on failure: it goes
 * back to the session as soon as the page allows. Fetches the schema if the answer lacks it. */
MORTAR_MUST_USE enum mortar_status mtr_result_new(
    struct mortar_session *session, struct mtr_channel *channel, const struct mtr_wait *wait,
    struct mtr_answer *answer, struct mortar_result **out, struct mortar_error *err);

/* As mortar_result_next, of a result that has not failed. */
MORTAR_MUST_USE enum mortar_status mtr_result_next(struct mortar_result *result,
                                                   const struct mtr_wait *wait,
                                                   struct ArrowArray *out,
                                                   struct mortar_error *err);

#endif
