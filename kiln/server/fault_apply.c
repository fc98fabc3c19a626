/* Carries out what a rule says.
 *
 * evhttp writes every reply itself and in one go into the connection's output buffer. A fault that
 * concerns the connection (cut, reset, hang, trickle, close) takes the bytes out again before the
 * loop gets to send them, puts its own callbacks in the place of evhttp's and sends what shall be
 * seen. If the connection shall live, evhttp's callbacks come back before the last piece is
 * written, so that evhttp goes on as if nothing had been.
 *
 *     call or path -> [delay before] -> executed or not -> [delay after] -> deliver
 *     deliver: change the reply -> give it to evhttp -> finished
 *                                                    -> closed later, when idle
 *                                                    -> taken out, sent in pieces -> ended
 *
 * A connection is never freed while evhttp calls us, but from the loop or from its own events. */
#include "kiln/server/fault_apply.h"

#include <event2/buffer.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "kiln/server/fault_change.h"
#include "kiln/server/http.h"
#include "kiln/server/operation.h"
#include "kiln/server/session.h"

/* What a client may send while its connection is held; it is kept for evhttp. */
enum { READ_LIMIT = 64 * 1024 };

enum stage {
  HELD,    /* http is ours to answer, now or later */
  SENDING, /* the connection is ours */
  IDLE,    /* the reply is out, the connection will be closed if nothing comes */
  DOOMED   /* a new connection that will be ended; evhttp may not know it yet */
};

struct run {
  struct kiln_link link;
  struct kiln_core *core;
  struct kiln_fault_rule *rule;
  enum stage stage;
  struct kiln_fault_reply reply;                            /* HELD */
  void (*answer)(void *front, struct evhttp_request *http); /* of a path, before its delay ends */
  void *front;
  struct event timer;
  void (*on_timer)(struct run *run);

  struct evhttp_connection *conn; /* SENDING, IDLE */
  struct bufferevent *bev;        /* SENDING; of DOOMED with a reference of ours */
  struct evbuffer *out;           /* bytes of the reply that were taken out */
  size_t left;                    /* of them, to be sent */
  bufferevent_data_cb read_cb, write_cb;
  bufferevent_event_cb event_cb;
  void *cb_arg;
};

/* ---- A run ------------------------------------------------------------------------------------
 */

static void on_time(evutil_socket_t fd, short what, void *arg)
{
  struct run *run = arg;

  (void)fd;
  (void)what;
  run->on_timer(run);
}

static void after(struct run *run, int64_t ms, void (*fn)(struct run *run))
{
  struct timeval tv;

  if (run->core->stopping) ms = 0;
  tv.tv_sec = (time_t)(ms / 1000);
  tv.tv_usec = (suseconds_t)(ms % 1000 * 1000);
  run->on_timer = fn;
  (void)evtimer_add(&run->timer, &tv);
}

/* Takes over the caller's use of the rule. NULL when memory ran out: then nothing happens. */
static struct run *begin(struct kiln_core *core, struct kiln_fault_rule *rule, enum stage stage)
{
  struct run *run = mtr_calloc(NULL, 1, sizeof *run);

  if (!run) {
    kiln_fault_rule_unref(rule);
    return NULL;
  }
  run->core = core;
  run->rule = rule;
  run->stage = stage;
  (void)evtimer_assign(&run->timer, core->base, on_time, run);
  kiln_list_append(&core->faults->runs, &run->link);
  return run;
}

static void finish(struct run *run)
{
  (void)evtimer_del(&run->timer);
  if (run->stage == IDLE) evhttp_connection_set_closecb(run->conn, NULL, NULL);
  if (run->stage == DOOMED) (void)bufferevent_decref(run->bev);
  if (run->out) evbuffer_free(run->out);
  kiln_list_remove(&run->link);
  kiln_fault_rule_unref(run->rule);
  mtr_free(NULL, run, sizeof *run);
}

static struct run *run_at(struct kiln_link *link) { return KILN_OWNER(link, struct run, link); }

static struct run *find_held(struct kiln_core *core, const struct evhttp_request *http)
{
  struct kiln_link *head = &core->faults->runs, *link;

  for (link = head->next; link != head; link = link->next) {
    struct run *run = run_at(link);
    if (run->stage == HELD && run->reply.http == http) return run;
  }
  return NULL;
}

/* ---- Ends of a connection ---------------------------------------------------------------------
 */

/* Dissolving the association makes the system send RST at once; a close after SO_LINGER 0 would
 * come behind the FIN that evhttp sends first. */
static void reset(struct bufferevent *bev)
{
  struct sockaddr none;

  memset(&none, 0, sizeof none);
  none.sa_family = AF_UNSPEC;
  (void)connect(bufferevent_getfd(bev), &none, sizeof none);
}

static void drop_connection(struct run *run)
{
  struct evhttp_connection *conn = run->conn;

  finish(run);
  evhttp_connection_free(conn);
}

/* All that shall be sent has been. Whoever hangs waits for the client to leave. */
static void end_connection(struct run *run)
{
  if (run->rule->hang) return;
  if (run->rule->reset) reset(run->bev);
  drop_connection(run);
}

static void on_conn_closed(struct evhttp_connection *conn, void *arg)
{
  (void)conn;
  finish(arg);
}

/* The reply is evhttp's now; what comes next on this connection calls the closing off. */
static void close_when_idle(struct run *run)
{
  if (run->rule->close_after_ms < 0) {
    finish(run);
    return;
  }
  run->stage = IDLE;
  evhttp_connection_set_closecb(run->conn, on_conn_closed, run);
  after(run, run->rule->close_after_ms, drop_connection);
}

/* ---- Sending in our own way -------------------------------------------------------------------
 */

static void send_piece(struct run *run);

static void on_sent(struct bufferevent *bev, void *arg)
{
  struct run *run = arg;

  (void)bev;
  if (run->left > 0)
    after(run, run->rule->trickle_ms, send_piece);
  else
    end_connection(run);
}

static void on_gone(struct bufferevent *bev, short what, void *arg)
{
  (void)bev;
  if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) drop_connection(arg);
}

/* Reading goes on, so that a client that leaves is noticed. */
static void take_connection(struct run *run)
{
  run->stage = SENDING;
  run->bev = evhttp_connection_get_bufferevent(run->conn);
  bufferevent_getcb(run->bev, &run->read_cb, &run->write_cb, &run->event_cb, &run->cb_arg);
  bufferevent_setcb(run->bev, NULL, on_sent, on_gone, run);
  bufferevent_setwatermark(run->bev, EV_READ, 0, READ_LIMIT);
  (void)bufferevent_disable(run->bev, EV_WRITE);
  (void)bufferevent_enable(run->bev, EV_READ);
}

static void give_back(struct run *run)
{
  (void)bufferevent_disable(run->bev, EV_READ);
  bufferevent_setwatermark(run->bev, EV_READ, 0, 0);
  bufferevent_setcb(run->bev, run->read_cb, run->write_cb, run->event_cb, run->cb_arg);
}

/* Whether evhttp may go on with the connection behind this reply. */
static bool lives_on(const struct kiln_fault_rule *rule)
{
  return rule->cut < 0 && !rule->reset && !rule->hang && rule->close_after_ms != 0;
}

static void send_piece(struct run *run)
{
  const struct kiln_fault_rule *rule = run->rule;
  size_t n = run->left;
  bool last;

  if (rule->trickle_bytes > 0 && n > (size_t)rule->trickle_bytes) n = (size_t)rule->trickle_bytes;
  run->left -= n;
  last = run->left == 0 && lives_on(rule);
  if (last) give_back(run);
  (void)evbuffer_remove_buffer(run->out, bufferevent_get_output(run->bev), n);
  (void)bufferevent_enable(run->bev, EV_WRITE);
  if (last) close_when_idle(run);
}

/* libevent guards the front of a socket's output against everybody but the writer. */
static bool take_output(struct run *run)
{
  struct evbuffer *output = bufferevent_get_output(run->bev);
  bool guarded = evbuffer_drain(output, 0) != 0, ok;

  run->out = evbuffer_new();
  if (!run->out) return false;
  if (guarded) (void)evbuffer_unfreeze(output, 1);
  ok = evbuffer_add_buffer(run->out, output) == 0;
  if (guarded) (void)evbuffer_freeze(output, 1);
  return ok;
}

static size_t head_size(struct evbuffer *reply)
{
  struct evbuffer_ptr end = evbuffer_search(reply, "\r\n\r\n", 4, NULL);

  return end.pos < 0 ? 0 : (size_t)end.pos + 4;
}

static void send_own_way(struct run *run)
{
  size_t size, cut;

  take_connection(run);
  if (!take_output(run)) {
    drop_connection(run);
    return;
  }
  size = evbuffer_get_length(run->out);
  cut = run->rule->cut < 0 ? size : head_size(run->out) + (size_t)run->rule->cut;
  run->left = cut < size ? cut : size;
  send_piece(run);
}

/* ---- A reply ----------------------------------------------------------------------------------
 */

static bool is_silent(const struct kiln_fault_rule *rule)
{
  return (rule->reset || rule->hang) && rule->cut < 0;
}

/* The client may have left meanwhile; then evhttp frees the request and there is no connection. */
static void deliver(struct run *run)
{
  struct kiln_fault_reply *reply = &run->reply;
  const struct kiln_fault_rule *rule = run->rule;

  run->conn = evhttp_request_get_connection(reply->http);
  if (run->conn && is_silent(rule)) {
    take_connection(run);
    end_connection(run);
    return;
  }
  if (!kiln_fault_change(rule, reply)) run->rule->missed++;
  kiln_http_send(reply->http, reply->status, reply->type);
  if (!run->conn)
    finish(run);
  else if (lives_on(rule) && rule->trickle_bytes == 0)
    close_when_idle(run);
  else
    send_own_way(run);
}

bool kiln_fault_on_reply(struct kiln_core *core, struct evhttp_request *http, int status,
                         const char *type)
{
  struct run *run = find_held(core, http);

  if (!run) return false;
  run->reply.status = status;
  run->reply.type = type;
  after(run, run->rule->delay_after_ms, deliver);
  return true;
}

/* ---- A call -----------------------------------------------------------------------------------
 */

/* The handle that a request begins with, if it is of that type. */
static const void *handle_of(const struct kiln_exchange *x, const struct mtr_struct_info *type)
{
  const struct mtr_field_info *first = x->call->request->fields;
  const void *handle = NULL;

  if (x->call->request->field_count > 0 && first->sub == type)
    memcpy(&handle, (const char *)x->request + first->offset, sizeof handle);
  return handle;
}

static struct kiln_operation *operation_of(const struct kiln_exchange *x)
{
  return kiln_operation_find(x->core, handle_of(x, &mtr_TOperationHandle_info));
}

static struct kiln_session *session_of(const struct kiln_exchange *x)
{
  return kiln_session_find(x->core, handle_of(x, &mtr_TSessionHandle_info));
}

/* The statement that a call brings, or that its operation runs. */
static struct mtr_span text_of(const struct kiln_exchange *x)
{
  const struct mtr_TExecuteStatementReq *req = x->request;
  const struct kiln_operation *op;

  if (x->call->kind == KILN_CALL_EXECUTE) return req->statement;
  op = operation_of(x);
  return op ? mtr_span_of(op->statement.sql, op->statement.size) : mtr_span_of(NULL, 0);
}

/* What is lost is lost for everybody: the server itself then answers as it does to old handles. */
static bool lose(const struct kiln_exchange *x, const char *what)
{
  struct kiln_operation *op = operation_of(x);
  struct kiln_session *session = op ? op->session : session_of(x);

  if (strcmp(what, "operation") == 0) {
    if (op) kiln_operation_close(op);
    return op != NULL;
  }
  if (session) kiln_session_close(session);
  return session != NULL;
}

static void handle(struct kiln_exchange *x)
{
  struct kiln_core *core = x->core;
  struct run *run = find_held(core, x->http);
  struct evhttp_request *http;

  if (run->rule->lose && !lose(x, run->rule->lose)) run->rule->missed++;
  if (!run->rule->before) {
    x->call->handle(x);
    return;
  }
  http = kiln_exchange_give_up(x);
  kiln_http_reply(core, http, 200, NULL);
}

static void count(struct kiln_exchange *x)
{
  const struct mtr_TExecuteStatementReq *req = x->request;

  kiln_attempts_called(&x->core->faults->attempts, x->call->kind);
  if (x->call->kind == KILN_CALL_EXECUTE)
    kiln_attempts_note(&x->core->faults->attempts, req, x->http);
}

bool kiln_fault_on_call(struct kiln_exchange *x)
{
  struct kiln_core *core = x->core;
  struct kiln_fault_rule *rule;
  struct run *run;

  count(x);
  if (kiln_list_empty(&core->faults->rules)) return false;
  rule = kiln_faults_meet(core->faults, x->call->name, NULL, text_of(x));
  run = rule ? begin(core, rule, HELD) : NULL;
  if (!run) return false;
  core->faults->attempts.faults[x->call->kind]++;
  run->reply.http = x->http;
  run->reply.call = x->call;
  run->reply.seqid = x->seqid;
  if (rule->delay_before_ms > 0)
    kiln_exchange_after(x, rule->delay_before_ms * 1000, handle);
  else
    handle(x);
  return true;
}

/* ---- A path -----------------------------------------------------------------------------------
 */

static void answer_path(struct run *run)
{
  if (run->rule->before)
    kiln_http_reply(run->core, run->reply.http, 200, NULL);
  else
    run->answer(run->front, run->reply.http);
}

bool kiln_fault_on_path(struct kiln_core *core, struct evhttp_request *http, const char *path,
                        void (*answer)(void *front, struct evhttp_request *http), void *front)
{
  struct kiln_fault_rule *rule = kiln_faults_meet(core->faults, NULL, path, mtr_span_of(NULL, 0));
  struct run *run = rule ? begin(core, rule, HELD) : NULL;

  if (!run) return false;
  core->faults->attempts.other_faults++;
  run->reply.http = http;
  run->answer = answer;
  run->front = front;
  if (rule->delay_before_ms > 0)
    after(run, rule->delay_before_ms, answer_path);
  else
    answer_path(run);
  return true;
}

/* ---- A connection -----------------------------------------------------------------------------
 */

/* Without a request evhttp reads, and so notices by itself that the connection has ended. */
static void end_new(struct run *run)
{
  if (run->rule->reset)
    reset(run->bev);
  else
    (void)shutdown(bufferevent_getfd(run->bev), SHUT_RDWR);
  finish(run);
}

struct kiln_fault_rule *kiln_fault_meet_connection(struct kiln_core *core)
{
  return kiln_faults_meet(core->faults, "connect", NULL, mtr_span_of(NULL, 0));
}

/* The reference keeps the descriptor open until the timer has come, whatever evhttp does. */
void kiln_fault_on_connection(struct kiln_core *core, struct kiln_fault_rule *rule,
                              struct bufferevent *bev)
{
  int64_t ms = rule->close_after_ms > 0 ? rule->close_after_ms : 0;
  struct run *run = begin(core, rule, DOOMED);

  if (!run) return;
  core->faults->attempts.other_faults++;
  run->bev = bev;
  bufferevent_incref(bev);
  after(run, ms, end_new);
}

/* A request that was faster than the timer of its doomed connection is not looked at. */
static bool is_doomed(const struct run *run, const struct bufferevent *bev)
{
  return run->stage == DOOMED && run->bev == bev && run->rule->close_after_ms <= 0;
}

static void catch_doomed(struct run *run, struct evhttp_connection *conn)
{
  (void)bufferevent_decref(run->bev);
  run->conn = conn;
  take_connection(run);
  after(run, 0, end_connection);
}

bool kiln_fault_on_request(struct kiln_core *core, struct evhttp_request *http)
{
  struct evhttp_connection *conn = evhttp_request_get_connection(http);
  struct bufferevent *bev = evhttp_connection_get_bufferevent(conn);
  struct kiln_link *head = &core->faults->runs, *link, *next;

  for (link = head->next; link != head; link = next) {
    struct run *run = run_at(link);
    next = link->next;
    if (is_doomed(run, bev)) {
      catch_doomed(run, conn);
      return true;
    }
    if (run->stage == IDLE && run->conn == conn) finish(run);
  }
  return false;
}

/* ---- The end ----------------------------------------------------------------------------------
 */

void kiln_fault_end(struct kiln_core *core)
{
  struct kiln_link *head = &core->faults->runs, *link, *next;

  for (link = head->next; link != head; link = next) {
    struct run *run = run_at(link);
    next = link->next;
    if (evtimer_pending(&run->timer, NULL)) after(run, 0, run->on_timer);
  }
}

void kiln_fault_forget(struct kiln_core *core)
{
  while (!kiln_list_empty(&core->faults->runs))
    finish(run_at(core->faults->runs.next));
}
