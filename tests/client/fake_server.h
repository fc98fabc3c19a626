/* A warehouse of a few lines for the client's tests: HTTP/1.1 or the binary wires over loopback,
 * our own codec. What it answers is set by the fields below; tests of the wire itself use Kiln and
 * the recordings. */
#ifndef MTR_TESTS_FAKE_SERVER_H
#define MTR_TESTS_FAKE_SERVER_H

#include <pthread.h>

#include "arrow/schema.h"
#include "base/buf.h"
#include "net/endpoint.h"

enum { FAKE_BATCHES_MAX = 128 };

/* What the Schema message before a batch says; the batch is as it is without. */
enum fake_schema {
  FAKE_SCHEMA_NONE,
  FAKE_SCHEMA_SAME,
  FAKE_SCHEMA_RENAMED,
  FAKE_SCHEMA_SWAPPED,
  FAKE_SCHEMA_OTHER_TYPE,
  FAKE_SCHEMA_EXTRA,
  FAKE_SCHEMA_FEWER,
  FAKE_SCHEMA_EMPTY,
  FAKE_SCHEMA_CUT /* half of the right one's flatbuffer is zeros */
};

struct fake_batch {
  int64_t first,
      rows; /* values of column n are first, first + 1, ...; s is "s<n>", null if n % 3 == 0 */
  int64_t declared; /* row count told to the client */
  int end_markers;  /* so many end-of-stream markers stand before the batch, inside its bytes */
  int schema;       /* enum fake_schema: a Schema message stands before it */
  int corrupt_at;   /* byte of the packed batch to change, counted from its end; -1: none */
  int cut;          /* so many bytes are missing at its end */
};

/* What happens to a call in place of its answer. */
enum fake_event {
  FAKE_NONE,
  FAKE_RESET,     /* the connection is reset before the first byte of the reply */
  FAKE_CUT,       /* half of the reply, then the connection is closed */
  FAKE_HALF_HEAD, /* a reset inside the reply's head */
  FAKE_EMPTY,
  FAKE_WEB_PAGE,
  FAKE_GARBAGE, /* a body that is no Thrift */
  FAKE_STATUS,  /* HTTP status and headers of the fault */
  FAKE_HANG,    /* no reply, ever */
  FAKE_LATE,    /* the right reply, after delay_ms */
  FAKE_NOT_STARTED,
  FAKE_GONE,
  FAKE_LOST,  /* the server does not know the session */
  FAKE_ERROR, /* Thrift errors */
  FAKE_EXCEPTION
};

enum { FAKE_TIMES_MAX = 64, FAKE_STATEMENTS_MAX = 64 };

struct fake_fault {
  const char *call; /* "ExecuteStatement" */
  enum fake_event event;
  int last; /* strikes requests 1 .. last of that call; 0: all */
  int skip; /* the first so many are left alone; last counts them */
  int status, delay_ms;
  const char *headers;
  bool runs; /* the call does its work on the server all the same */
};

enum fake_table {
  FAKE_TABLE_NONE,
  FAKE_TABLE_DDL,     /* one column "Result", and an Arrow schema without fields */
  FAKE_TABLE_ONLY,    /* a column of each type, and no Arrow schema */
  FAKE_TABLE_ARROW,   /* no Arrow schema either, and the batches have the columns n and s */
  FAKE_TABLE_COLUMNS, /* no Arrow at all: the rows come as Thrift columns */
  FAKE_TABLE_ROWS     /* the same as Thrift rows */
};

/* What hasMoreRows says, whatever is true. */
enum fake_more { FAKE_MORE_TRUTH, FAKE_MORE_ALWAYS_FALSE, FAKE_MORE_ABSENT };

/* Members that replies lack, one bit each. */
enum {
  FAKE_NO_STATE = 1,    /* directResults.operationStatus */
  FAKE_NO_METADATA = 2, /* directResults.resultSetMetadata */
  FAKE_NO_PAGE = 4,     /* directResults.resultSet */
  FAKE_NO_RESULTS = 8,  /* resultSet.results */
  FAKE_NO_BATCHES = 16, /* results.arrowBatches */
  FAKE_NO_OFFSET = 32,  /* results.startRowOffset */
  FAKE_NO_SCHEMA = 64,  /* both schemas of the metadata */
  FAKE_NO_CLOSE = 128,  /* directResults.closeOperation */
  FAKE_LACKS_ALL = 255
};

struct fake_server {
  struct fake_fault fault; /* see fake_server_fault */
  pthread_mutex_t fault_lock;
  _Atomic int fault_requests;                  /* of the fault's call */
  _Atomic int64_t fault_times[FAKE_TIMES_MAX]; /* when they came */

  /* Behaviour, to be set while no client is connected. */
  struct fake_batch batches[FAKE_BATCHES_MAX];
  int batch_count;
  _Atomic int pages; /* the batches are dealt out over the pages */
  bool lz4, checksum, other_schema;
  bool every_type;       /* in place of n and s random columns, one of each Arrow type */
  enum fake_table table; /* the Thrift schema beside the Arrow schema */
  enum fake_more more;
  int empty_pages;      /* so many pages without rows come behind the last one with rows */
  unsigned lacks;       /* FAKE_NO_... */
  bool closes_too_soon; /* the first reply says closeOperation although there are more pages */
  bool early_metadata;  /* resultSetMetadata comes with a statement that still runs */
  bool repeats;         /* every page after the first begins a row earlier than it should */
  enum {
    FAKE_RESULT_TOLD,
    FAKE_RESULT_LATE,
    FAKE_RESULT_NONE
  } result_set; /* who says there is one:
the handle; the state alone; both say that there is none */
  _Atomic bool no_schema;
  _Atomic int live_polls;               /* so many polls say RUNNING before the statement ends */
  bool pending;                         /* PENDING, not RUNNING */
  bool always_direct;                   /* direct results also where they are not asked for */
  bool ends_canceled;                   /* once CancelOperation was seen, polls say CANCELED */
  const char *sqlstate, *failure;       /* the statement fails with these words */
  int fail_page;                        /* that page (from 1) is an error status; 0: none */
  _Atomic int http_status;              /* answer of ExecuteStatement; 0: 200 */
  const char *http_headers, *http_body; /* with it */
  long cut_to;         /* ExecuteStatement's reply body is cut to so many bytes; -1: whole */
  _Atomic bool hang;   /* ExecuteStatement is never answered */
  _Atomic bool let_go; /* connections that hang are closed */
  bool exception;      /* ExecuteStatement is answered with an EXCEPTION */
  _Atomic bool close_after_reply; /* every connection ends silently behind its next reply */
  int version;                    /* of the protocol that it answers */
  bool tells_unchanged;           /* states say that the statement changed no row */
  /* With a binary wire a session ends with the connection that it was opened on. */
  enum mtr_wire wire;
  const char *login_refusal; /* SASL: the answer to every login; NULL: welcome */

  /* Seen so far. */
  _Atomic int opened, closed, executed, ran, polled, fetched, schemas, canceled, operations_closed;
  _Atomic int connections, logins;
  _Atomic int owner; /* the descriptor that the session was opened on */
  _Atomic bool session_ended;
  _Atomic long reply_size; /* of the last ExecuteStatement reply */
  _Atomic long
      packed_size;        /* of the batch that was last packed to be corrupt or cut, before that */
  _Atomic int parameters; /* that the last ExecuteStatement had */
  _Atomic int operation_type; /* that the last statement or metadata call was named with */
  _Atomic int misnamed;       /* calls about an operation that named another type */
  /* The last OpenSession or metadata call, ExecuteStatement and FetchResults as JSON; read them
   * when they were answered. */
  char asked[2048], execute_asked[2048], fetch_asked[1024];

  int port, listener;
  pthread_t thread;
  _Atomic bool stop;
  _Atomic int page_next[FAKE_STATEMENTS_MAX]; /* of the latest statements, by their number */
};

/* Starts it with one batch of three rows. */
void fake_server_start(struct fake_server *fs);
void fake_server_stop(struct fake_server *fs);
/* Until it has closed every connection that it accepted. */
void fake_server_wait_closed(const struct fake_server *fs);

/* From now on; counts from here. */
void fake_server_fault(struct fake_server *fs, const struct fake_fault *fault);

/* count batches of `rows` rows each, numbered through. */
void fake_server_batches(struct fake_server *fs, int count, int64_t rows);

#endif
