/* The wire behind a session: a table of functions. Nothing above it knows which wire it is.
 *
 * Each call is one exchange on the caller's channel, sent again as net/retry.h says. What an answer
 * points to lives in the channel until its next exchange. Errors carry outcome, SQLSTATE, the
 * server's words and, where the reply named them, the ids. */
#ifndef MTR_CLIENT_BACKEND_H
#define MTR_CLIENT_BACKEND_H

#include "arrow/ipc_reader.h"
#include "client/channel.h"
#include "client/config.h"

/* A handle that the server gave: an id to show and a secret to send back, both of any size. */
enum { MTR_HANDLE_PART_MAX = 64 };
struct mtr_handle {
  uint8_t guid[MTR_HANDLE_PART_MAX], secret[MTR_HANDLE_PART_MAX];
  uint8_t guid_size, secret_size; /* guid_size 0: no handle */
  int32_t type;                   /* of an operation, the backend's own number */
};

struct mtr_run {
  struct mtr_span sql;
  const struct mortar_parameter *parameters; /* as mtr_parameters_set took them */
  size_t parameter_count;
  const struct mortar_metadata *metadata; /* the call to make in place of running sql; or NULL */
  int64_t timeout_seconds;                /* 0: the server's default */
  int64_t row_limit;                      /* negative: none */
  struct mtr_settings settings;           /* of this statement alone */
  bool idempotent;                        /* the caller says so; see net/retry.h */
  bool submit;                            /* its name is enough: no rows with the reply */
};

/* One batch of Arrow IPC bytes as the server sent it. */
struct mtr_packed_batch {
  struct mtr_span bytes;
  int64_t rows; /* declared */
};

struct mtr_page;

/* Makes one batch of rows in a backend's own form. out->release NULL on failure. */
typedef enum mortar_status mtr_build_fn(const struct mtr_page *page,
                                        const struct mtr_arrow_schema *schema,
                                        const struct mortar_alloc *alloc, struct ArrowArray *out,
                                        struct mortar_error *err);

/* Reads one batch of a page, as mtr_ipc_read_batch does. */
typedef enum mortar_status mtr_read_fn(const struct mtr_arrow_schema *schema,
                                       const struct mtr_ipc_message *message,
                                       struct mtr_slab *owner, struct ArrowArray *out,
                                       struct mortar_error *err);

/* Rows of one reply, not decoded: Arrow batches, or own rows. */
struct mtr_page {
  struct mtr_packed_batch *batches; /* each has rows */
  size_t batch_count;
  bool lz4; /* each batch is one LZ4 frame or more */
  mtr_read_fn
      *read; /* for batches whose schema the backend only knows roughly; NULL: it is theirs */
  int64_t first_row; /* of the result, as the server counts; -1: it did not say */
  const void *own;   /* rows that build knows to read */
  int64_t own_rows;  /* 0: none */
  mtr_build_fn *build;
};

static inline bool mtr_page_has_rows(const struct mtr_page *page)
{
  return page->batch_count > 0 || page->own_rows > 0;
}

/* What a server said of a statement. */
struct mtr_answer {
  bool live;       /* still running: ask again */
  bool pending;    /* live, and has not begun */
  bool closed;     /* the server has closed the operation: never name it again */
  bool has_schema; /* schema holds the encapsulated Arrow Schema message, empty: no columns */
  bool has_page;
  bool volume; /* the row is a link to a file, and the transfer is the client's */
  bool more;   /* there may be rows behind this page */
  struct mtr_handle operation;
  int64_t rows_affected; /* -1: not told */
  struct mtr_span schema;
  struct mtr_page page;
};

struct mtr_backend_session; /* the backend's own: handles, version, request heads */

struct mtr_backend {
  const char *name;
  /* On failure *out may be set as well: then its handle is known although the session is of no use,
   * or the channel's lease is pending and finish_open may still learn it. Both are closed. */
  enum mortar_status (*open)(const struct mortar_config *config, const struct mortar_alloc *alloc,
                             struct mtr_channel *ch, const struct mtr_wait *wait,
                             struct mtr_backend_session **out, struct mortar_error *err);
  /* Takes the reply of an open that was given up, and no more than the handle of it. */
  enum mortar_status (*finish_open)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                    const struct mtr_wait *wait, struct mortar_error *err);
  void (*free)(struct mtr_backend_session *bs);
  /* The session's handle, for ids in errors. */
  const struct mtr_handle *(*handle)(const struct mtr_backend_session *bs);
  enum mortar_status (*close)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                              const struct mtr_wait *wait, struct mortar_error *err);
  enum mortar_status (*execute)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                const struct mtr_run *run, const struct mtr_wait *wait,
                                struct mtr_answer *out, struct mortar_error *err);
  /* Takes the reply of an execute that was given up, while the channel's lease is pending. */
  enum mortar_status (*finish_execute)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                       const struct mtr_wait *wait, struct mtr_answer *out,
                                       struct mortar_error *err);
  /* Fills live, pending, closed, rows_affected and, where the server says it, more; keeps the rest.
   */
  enum mortar_status (*poll)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                             const struct mtr_handle *op, const struct mtr_wait *wait,
                             struct mtr_answer *out, struct mortar_error *err);
  enum mortar_status (*schema)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                               const struct mtr_handle *op, const struct mtr_wait *wait,
                               struct mtr_answer *out, struct mortar_error *err);
  enum mortar_status (*fetch)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                              const struct mtr_handle *op, const struct mtr_wait *wait,
                              struct mtr_answer *out, struct mortar_error *err);
  enum mortar_status (*cancel)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                               const struct mtr_handle *op, const struct mtr_wait *wait,
                               struct mortar_error *err);
  enum mortar_status (*close_operation)(struct mtr_backend_session *bs, struct mtr_channel *ch,
                                        const struct mtr_handle *op, const struct mtr_wait *wait,
                                        struct mortar_error *err);
};

extern const struct mtr_backend mtr_backend_thrift;

#endif
