/* Drives one easy handle on a multi handle of its own, so that the wake-up, the tick and the
 * deadline end it as they end an exchange. Keeps nothing of a body but the beginning of an error's
 * text. */
#include "net/transfer.h"

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "net/curl_setup.h"

enum {
  LINK_MAX = 16 << 10, /* signed links have about one KiB */
  PLACE_MAX = 300,     /* a host has at most 255 bytes */
  UPLOAD_PIECE = 256 << 10,
  ASIDE_MAX = 1 << 20, /* of a body that is no file: errors have a few KiB */
  CANCEL_LOOK_MS = 100 /* how long a cancel goes unnoticed at most */
};

struct mtr_transfer {
  const struct mortar_alloc *alloc;
  struct mtr_curl_target *target;
  char *link;
  char place[PLACE_MAX];
  int64_t connect_timeout_ms;
};

/* ---- The link ------------------------------------------------------------------------------ */

/* The parts that an endpoint is made of; each freed with curl_free. */
struct link_parts {
  char *scheme, *host, *port, *user;
};

static void free_parts(struct link_parts *parts)
{
  curl_free(parts->scheme);
  curl_free(parts->host);
  curl_free(parts->port);
  curl_free(parts->user);
}

static enum mortar_status split_link(const char *link, struct link_parts *parts,
                                     struct mortar_error *err)
{
  CURLU *url = curl_url();
  CURLUcode code = url ? curl_url_set(url, CURLUPART_URL, link, 0) : CURLUE_OUT_OF_MEMORY;

  if (!code) code = curl_url_get(url, CURLUPART_SCHEME, &parts->scheme, 0);
  if (!code) code = curl_url_get(url, CURLUPART_HOST, &parts->host, 0);
  if (!code) code = curl_url_get(url, CURLUPART_PORT, &parts->port, CURLU_DEFAULT_PORT);
  if (!code) (void)curl_url_get(url, CURLUPART_USER, &parts->user, 0);
  curl_url_cleanup(url);
  if (code == CURLUE_OUT_OF_MEMORY) return mtr_fail_nomem(err, "link");
  if (code) return mtr_fail(err, MORTAR_PROTOCOL, "the server's link to a file is none");
  return MORTAR_OK;
}

/* IPv6 addresses have brackets in a URL and nowhere else. */
static char *bare_host(char *host)
{
  const size_t size = strlen(host);

  if (host[0] != '[' || size < 2) return host;
  host[size - 1] = '\0';
  return host + 1;
}

static enum mortar_status check_link(const struct link_parts *parts,
                                     const struct mtr_endpoint_options *like,
                                     struct mortar_error *err)
{
  const bool tls = strcmp(parts->scheme, "https") == 0;

  if (!tls && strcmp(parts->scheme, "http") != 0)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's link to a file begins with %.16s://",
                    parts->scheme);
  if (parts->user)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's link to a file holds a user");
  if (like->tls && !tls)
    return mtr_fail(err, MORTAR_TLS, "the server's link to a file on %s is one without TLS",
                    parts->host);
  return MORTAR_OK;
}

static enum mortar_status set_target(struct mtr_transfer *t, struct link_parts *parts,
                                     const struct mtr_endpoint_options *like,
                                     struct mortar_error *err)
{
  struct mtr_endpoint_options options = *like;
  uint64_t port;

  MTR_TRY(check_link(parts, like, err));
  if (!mtr_text_u64(mtr_span_text(parts->port), 65535, &port))
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's link to a file has no port");
  (void)snprintf(t->place, sizeof t->place, "%.255s:%d", parts->host, (int)port);
  options.host = bare_host(parts->host);
  options.port = (int)port;
  options.tls = strcmp(parts->scheme, "https") == 0;
  options.client_cert_file = options.client_key_file = options.client_key_password = NULL;
  t->connect_timeout_ms = like->connect_timeout_ms;
  return mtr_curl_target_new(&options, t->alloc, &t->target, err);
}

enum mortar_status mtr_transfer_new(const char *link, const struct mtr_endpoint_options *like,
                                    const struct mortar_alloc *alloc, struct mtr_transfer **out,
                                    struct mortar_error *err)
{
  struct mtr_transfer *t = mtr_calloc(alloc, 1, sizeof *t);
  struct link_parts parts = {NULL, NULL, NULL, NULL};
  enum mortar_status st;

  *out = NULL;
  if (!t) return mtr_fail_nomem(err, "transfer");
  t->alloc = alloc;
  if (strlen(link) > LINK_MAX) {
    st = mtr_fail(err, MORTAR_LIMIT, "the server's link to a file is longer than %d bytes",
                  LINK_MAX);
    goto done;
  }
  MTR_GOTO(split_link(link, &parts, err));
  MTR_GOTO(set_target(t, &parts, like, err));
  t->link = mtr_strndup(alloc, link, strlen(link));
  st = t->link ? MORTAR_OK : mtr_fail_nomem(err, "link");
done:
  free_parts(&parts);
  if (st != MORTAR_OK) mtr_error_outcome(err, MORTAR_OUTCOME_NOT_SENT);
  if (st == MORTAR_OK)
    *out = t;
  else
    mtr_transfer_free(t);
  return st;
}

void mtr_transfer_free(struct mtr_transfer *t)
{
  if (!t) return;
  mtr_curl_target_free(t->target, false);
  mtr_free_text(t->alloc, t->link);
  mtr_free(t->alloc, t, sizeof *t);
}

const char *mtr_transfer_place(const struct mtr_transfer *t) { return t->place; }

/* ---- What libcurl asks for ------------------------------------------------------------------ */

/* One run of a transfer. */
struct run {
  struct mtr_transfer *transfer;
  const struct mtr_transfer_request *request;
  struct mtr_transfer_reply *reply;
  CURL *easy;
  CURLM *multi;
  struct curl_slist *headers;
  int64_t last_move;
  enum mortar_status source; /* of read and write */
  struct mortar_error *err;  /* not NULL */
  bool has_length;           /* the reply says where it ends */
  size_t text_size;
  size_t aside; /* bytes that were no file's */
  char words[CURL_ERROR_SIZE];
};

static CURLcode on_tls_context(CURL *easy, void *context, void *arg)
{
  const struct mtr_curl_target *target = arg;

  (void)easy;
  if (target->ca_store) SSL_CTX_set1_cert_store(context, target->ca_store);
  return CURLE_OK;
}

/* A source that ends early would leave the server waiting for the rest. */
static size_t on_read(char *data, size_t one, size_t size, void *arg)
{
  struct run *run = arg;
  const int64_t left = run->request->size - run->reply->moved;
  size_t n = 0;

  (void)one;
  if ((int64_t)size > left) size = (size_t)left;
  if (size == 0) return 0;
  run->source = run->request->ends.read(run->request->ends.ctx, data, size, &n, run->err);
  if (run->source == MORTAR_OK && n == 0)
    run->source = mtr_fail(run->err, MORTAR_INVALID,
                           "the source ended after %lld bytes, where %lld had been announced",
                           (long long)run->reply->moved, (long long)run->request->size);
  if (run->source != MORTAR_OK) return CURL_READFUNC_ABORT;
  run->reply->moved += (int64_t)n;
  run->last_move = mtr_clock_now();
  return n;
}

static bool is_success(long status) { return status >= 200 && status < 300; }

static void keep_text(struct run *run, const char *data, size_t size)
{
  const size_t room = sizeof run->reply->text - 1 - run->text_size;

  if (size > room) size = room;
  memcpy(run->reply->text + run->text_size, data, size);
  run->text_size += size;
  run->reply->text[run->text_size] = '\0';
}

/* Bytes that are read and dropped, but for the first ones of an error. */
static enum mortar_status take_aside(struct run *run, const char *data, size_t size, bool error)
{
  if (error) keep_text(run, data, size);
  run->aside += size;
  if (run->aside <= ASIDE_MAX) return MORTAR_OK;
  return mtr_fail(run->err, MORTAR_LIMIT, "%s answers with more than %d bytes that are no file",
                  run->transfer->place, ASIDE_MAX);
}

static enum mortar_status take_file(struct run *run, const char *data, size_t size)
{
  if (!run->has_length)
    return mtr_fail(run->err, MORTAR_PROTOCOL,
                    "%s does not say how long the file is: a cut could not be told from its end",
                    run->transfer->place);
  MTR_TRY(run->request->ends.write(run->request->ends.ctx, data, size, run->err));
  run->reply->moved += (int64_t)size;
  return MORTAR_OK;
}

static size_t on_write(char *data, size_t one, size_t size, void *arg)
{
  struct run *run = arg;
  long status = 0;

  (void)one;
  (void)curl_easy_getinfo(run->easy, CURLINFO_RESPONSE_CODE, &status);
  if (is_success(status) && run->request->method == MTR_TRANSFER_GET)
    run->source = take_file(run, data, size);
  else
    run->source = take_aside(run, data, size, !is_success(status));
  run->last_move = mtr_clock_now();
  return run->source == MORTAR_OK ? size : CURL_WRITEFUNC_ERROR;
}

static bool is_header(struct mtr_span line, const char *name)
{
  const size_t n = strlen(name);

  return line.size > n && line.data[n] == ':' &&
         mtr_text_same(mtr_span_of(line.data, n), mtr_span_text(name));
}

static size_t on_header(char *data, size_t one, size_t size, void *arg)
{
  struct run *run = arg;
  const struct mtr_span line = mtr_span_of(data, size);

  (void)one;
  run->reply->begun = true;
  run->last_move = mtr_clock_now();
  if (size >= 5 && memcmp(data, "HTTP/", 5) == 0) run->has_length = false; /* another reply */
  if (is_header(line, "content-length") || is_header(line, "transfer-encoding"))
    run->has_length = true;
  return size;
}

/* ---- Set-up -------------------------------------------------------------------------------- */

/* Those that are libcurl's to write. */
static bool is_ours(const char *name)
{
  static const char *const ours[] = {"content-length", "transfer-encoding", "connection", "host",
                                     "expect"};
  size_t i;

  for (i = 0; i < sizeof ours / sizeof *ours; i++)
    if (mtr_text_same(mtr_span_text(name), mtr_span_text(ours[i]))) return true;
  return false;
}

/* A line end inside a value would begin another header, or the body. */
static bool is_line(const char *text, const char *forbidden)
{
  const char *p;

  for (p = text; *p; p++)
    if ((unsigned char)*p < 0x20 || *p == 0x7f || strchr(forbidden, *p)) return false;
  return true;
}

static enum mortar_status add_header(struct run *run, const char *name, const char *value)
{
  enum mortar_status st = MORTAR_OK;
  struct curl_slist *more = NULL;
  struct mtr_buf line;

  if (!*name || !is_line(name, " :") || !is_line(value, ""))
    return mtr_fail(run->err, MORTAR_PROTOCOL, "the server's headers for a file can't be sent");
  mtr_buf_init(&line, run->transfer->alloc, "header", LINK_MAX);
  /* libcurl leaves a header without a value out unless it ends so. */
  MTR_GOTO(mtr_buf_printf(&line, run->err, "%s%s%s", name, *value ? ": " : ";", value));
  more = curl_slist_append(run->headers, (const char *)line.data);
  if (more)
    run->headers = more;
  else
    st = mtr_fail_nomem(run->err, "headers");
done:
  mtr_buf_fini(&line);
  return st;
}

static enum mortar_status add_headers(struct run *run)
{
  const struct mtr_transfer_request *request = run->request;
  size_t i;

  MTR_TRY(add_header(run, "User-Agent", request->user_agent));
  for (i = 0; i < request->header_count; i++)
    if (!is_ours(request->headers[i].name))
      MTR_TRY(add_header(run, request->headers[i].name, request->headers[i].value));
  return MORTAR_OK;
}

static CURLcode set_method(const struct run *run)
{
  CURL *easy = run->easy;

  switch (run->request->method) {
    case MTR_TRANSFER_PUT:
      (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
      (void)curl_easy_setopt(easy, CURLOPT_READDATA, run);
      (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_PIECE);
      (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)run->request->size);
      return curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    case MTR_TRANSFER_GET:
      return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    case MTR_TRANSFER_DELETE:
      break;
  }
  return curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
}

/* A function that is set with what it gets. */
#define SET_CALLBACK(option, fn, arg)                                                              \
  if (!code) code = curl_easy_setopt(easy, CURLOPT_##option##FUNCTION, fn);                        \
  if (!code) code = curl_easy_setopt(easy, CURLOPT_##option##DATA, arg)

static CURLcode set_up(struct run *run)
{
  struct mtr_transfer *t = run->transfer;
  CURL *easy = run->easy;
  CURLcode code = mtr_curl_setup(easy, t->target);

  SET_CALLBACK(WRITE, on_write, run);
  SET_CALLBACK(HEADER, on_header, run);
  if (t->target->tls) {
    SET_CALLBACK(SSL_CTX_, on_tls_context, t->target);
  }
  if (!code) code = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, run->words);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_URL, t->link);
  if (!code) code = curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* it is signed as it is */
  if (!code) code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, run->headers);
  if (!code && t->connect_timeout_ms > 0)
    code = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)t->connect_timeout_ms);
  return code ? code : set_method(run);
}

static enum mortar_status start(struct run *run)
{
  CURLcode code;

  run->easy = curl_easy_init();
  run->multi = curl_multi_init();
  if (!run->easy || !run->multi) return mtr_fail_nomem(run->err, "connection");
  MTR_TRY(add_headers(run));
  code = set_up(run);
  if (!code && curl_multi_add_handle(run->multi, run->easy)) code = CURLE_OUT_OF_MEMORY;
  if (code)
    return mtr_fail(run->err, code == CURLE_OUT_OF_MEMORY ? MORTAR_NOMEM : MORTAR_UNSUPPORTED,
                    "libcurl refuses the transfer: %s", curl_easy_strerror(code));
  return MORTAR_OK;
}

static void finish(struct run *run)
{
  if (run->multi && run->easy) (void)curl_multi_remove_handle(run->multi, run->easy);
  curl_easy_cleanup(run->easy);
  if (run->multi) (void)curl_multi_cleanup(run->multi);
  curl_slist_free_all(run->headers);
}

/* ---- The end ------------------------------------------------------------------------------- */

/* Set when libcurl had a connection and was about to send. */
static bool was_sent(const struct run *run)
{
  curl_off_t sent = 0;

  if (run->easy) (void)curl_easy_getinfo(run->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
  return sent > 0;
}

static enum mortar_status status_of(CURLcode code, bool sent)
{
  switch (code) {
    case CURLE_OUT_OF_MEMORY:
      return MORTAR_NOMEM;
    case CURLE_OPERATION_TIMEDOUT:
      return MORTAR_CONNECT; /* libcurl's only limit is that of connecting */
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return MORTAR_TLS;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
      return MORTAR_PROTOCOL;
    default:
      return sent ? MORTAR_IO : MORTAR_CONNECT;
  }
}

static enum mortar_status fail_curl(struct run *run, CURLcode code)
{
  const char *way = run->transfer->target->way;
  const char *words = run->words[0] ? run->words : curl_easy_strerror(code);
  const char *hint = code == CURLE_PEER_FAILED_VERIFICATION
                         ? "; see 'tls_ca_file', 'tls_verify' and 'tls_verify_host'"
                         : "";

  run->reply->source_failed = run->source != MORTAR_OK;
  if (run->source != MORTAR_OK) return run->source;
  return mtr_fail(run->err, status_of(code, was_sent(run)), "%s%s%s: %s%s", run->transfer->place,
                  way ? " " : "", way ? way : "", words, hint);
}

static enum mortar_status fail_wait(struct run *run, enum mortar_status st, const char *what)
{
  return mtr_fail(run->err, st, "%s: %s after %lld bytes", run->transfer->place, what,
                  (long long)run->reply->moved);
}

/* What has come, now that libcurl has said that it is done. */
static enum mortar_status take_reply(struct run *run, CURLcode code)
{
  curl_off_t later = 0;
  long status = 0;

  if (code) return fail_curl(run, code);
  (void)curl_easy_getinfo(run->easy, CURLINFO_RESPONSE_CODE, &status);
  (void)curl_easy_getinfo(run->easy, CURLINFO_RETRY_AFTER, &later);
  run->reply->status = (int)status;
  run->reply->retry_after_ms = later > 0 && later < INT32_MAX ? (int64_t)later * 1000 : 0;
  return MORTAR_OK;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static bool is_canceled(const struct mtr_wait *wait)
{
  return wait->canceled && atomic_load(wait->canceled);
}

/* Until the sockets or the wake-up have something, or until `until`. */
static void poll_sockets(struct run *run, const struct mtr_wait *wait, int64_t until, int64_t now)
{
  struct curl_waitfd wake = {mtr_wake_fd(wait->wake), CURL_WAIT_POLLIN, 0};

  (void)curl_multi_poll(run->multi, wait->wake ? &wake : NULL, wait->wake != NULL,
                        mtr_deadline_poll_ms(until, now), NULL);
}

/* What may end the transfer from outside. */
static enum mortar_status look_around(struct run *run, const struct mtr_wait *wait,
                                      int64_t *tick_at)
{
  int64_t now = mtr_clock_now();
  const int64_t stalled = mtr_deadline_after(run->last_move, run->request->stall_ms);

  if (mtr_wake_signalled(wait->wake))
    return fail_wait(run, MORTAR_INTERRUPTED, "the caller woke the transfer up");
  if (is_canceled(wait)) return fail_wait(run, MORTAR_CANCELED, "the transfer was cancelled");
  if (mtr_wait_tick(wait, false, &now, tick_at))
    return fail_wait(run, MORTAR_INTERRUPTED, "the caller's tick ended the transfer");
  if (now >= wait->deadline)
    return fail_wait(run, MORTAR_TIMEOUT, "the deadline of the transfer passed");
  if (now >= stalled)
    return fail_wait(run, MORTAR_TIMEOUT, "not a byte moved for 'read_timeout_ms'");
  return MORTAR_OK;
}

static enum mortar_status drive(struct run *run, const struct mtr_wait *wait)
{
  int64_t tick_at = mtr_wait_first_tick(wait, run->last_move);

  for (;;) {
    int running = 0, queued = 0;
    const CURLMcode code = curl_multi_perform(run->multi, &running);
    const CURLMsg *message = curl_multi_info_read(run->multi, &queued);
    int64_t now, until;
    if (code) return mtr_fail(run->err, MORTAR_IO, "%s", curl_multi_strerror(code));
    if (message && message->msg == CURLMSG_DONE) return take_reply(run, message->data.result);
    MTR_TRY(look_around(run, wait, &tick_at));
    now = mtr_clock_now();
    until = mtr_deadline_min(mtr_deadline_min(wait->deadline, tick_at),
                             mtr_deadline_after(run->last_move, run->request->stall_ms));
    if (wait->canceled) until = mtr_deadline_min(until, mtr_deadline_after(now, CANCEL_LOOK_MS));
    poll_sockets(run, wait, until, now);
  }
}

enum mortar_status mtr_transfer_run(struct mtr_transfer *t,
                                    const struct mtr_transfer_request *request,
                                    const struct mtr_wait *wait, struct mtr_transfer_reply *reply,
                                    struct mortar_error *err)
{
  struct mortar_error own;
  struct run run = {.transfer = t,
                    .request = request,
                    .reply = reply,
                    .err = err ? err : &own,
                    .last_move = mtr_clock_now()};
  enum mortar_status st;

  memset(reply, 0, sizeof *reply);
  st = start(&run);
  if (st == MORTAR_OK) st = drive(&run, wait);
  if (st != MORTAR_OK)
    mtr_error_outcome(run.err, was_sent(&run) ? MORTAR_OUTCOME_UNKNOWN : MORTAR_OUTCOME_NOT_SENT);
  finish(&run);
  return st;
}
