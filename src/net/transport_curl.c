/* The curl transport: a connect-only easy handle driven by a multi handle of its own, then
 * curl_easy_send and curl_easy_recv for TLS, send(2) and recv(2) for plain HTTP. Refuses HTTP/2,
 * netrc files, proxies from the environment and protocols other than http and https. */
#include "net/transport_curl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/curl_setup.h"

enum {
  TLS_RECORD = 16 * 1024, /* the most that one TLS record carries */
  LONG_WAIT_MS = INT_MAX  /* libcurl's own connect timeout; ours is the exchange's */
};

enum handshake { NOT_BEGUN, BEGUN, FINISHED };

struct curl_transport {
  struct mtr_transport base;
  struct mtr_curl_target *target;
  CURL *easy;
  CURLM *multi;
  enum handshake handshake; /* libcurl's own timers say too little */
  const SSL *ssl;           /* libcurl's; NULL before the handshake is done */
  int alert;                /* the last TLS alert from the peer, -1: none */
  bool asked_for_cert;      /* the peer asked for a client certificate, and we have none */
  char words[CURL_ERROR_SIZE];
};

static struct curl_transport *of(struct mtr_transport *transport)
{
  return (struct curl_transport *)transport;
}

static const char *words_of(const struct curl_transport *t, CURLcode code)
{
  return t->words[0] ? t->words : curl_easy_strerror(code);
}

/* ---- Set-up -------------------------------------------------------------------------------- */

/* Follows the handshake and keeps the alert: libcurl's words differ from version to version. */
static void on_tls_info(const SSL *ssl, int where, int value)
{
  struct curl_transport *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

  if (!t) return;
  if (where & SSL_CB_HANDSHAKE_START) t->handshake = BEGUN;
  if (where & SSL_CB_HANDSHAKE_DONE) {
    t->handshake = FINISHED;
    t->ssl = ssl;
  }
  if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) t->alert = value & 0xFF;
}

/* OpenSSL calls it when the peer asks for a certificate; 0: go on without one. */
static int on_cert_request(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
  struct curl_transport *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

  (void)cert;
  (void)key;
  if (t) t->asked_for_cert = !t->target->client_cert;
  return 0;
}

static CURLcode on_tls_context(CURL *easy, void *context, void *arg)
{
  struct curl_transport *t = arg;
  SSL_CTX *ctx = context;

  (void)easy;
  if (t->target->ca_store) SSL_CTX_set1_cert_store(ctx, t->target->ca_store);
  (void)SSL_CTX_set_app_data(ctx, t);
  SSL_CTX_set_info_callback(ctx, on_tls_info);
  SSL_CTX_set_client_cert_cb(ctx, on_cert_request);
  /* Else OpenSSL receives twice a record: its head, then the rest. */
  SSL_CTX_set_read_ahead(ctx, 1);
  return CURLE_OK;
}

static CURLcode set_connection(const struct curl_transport *t)
{
  CURLcode code = mtr_curl_setup(t->easy, t->target);

  if (!code) code = curl_easy_setopt(t->easy, CURLOPT_URL, t->target->url);
  if (!code) code = curl_easy_setopt(t->easy, CURLOPT_CONNECT_ONLY, 1L);
  if (!code) code = curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)LONG_WAIT_MS);
  return code;
}

static CURLcode set_callbacks(struct curl_transport *t)
{
  CURLcode code = curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->words);

  if (code || !t->target->tls) return code;
  code = curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
  if (!code) code = curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_DATA, t);
  if (!code) code = curl_easy_setopt(t->easy, CURLOPT_SHARE, t->target->share);
  return code;
}

static enum mtr_io start(struct curl_transport *t, struct mortar_error *err)
{
  CURLcode code = CURLE_OUT_OF_MEMORY;

  t->words[0] = '\0';
  t->alert = -1;
  t->asked_for_cert = false;
  t->handshake = NOT_BEGUN;
  t->easy = curl_easy_init();
  t->multi = curl_multi_init();
  if (t->easy && t->multi) {
    code = set_connection(t);
    if (!code) code = set_callbacks(t);
    if (!code && curl_multi_add_handle(t->multi, t->easy)) code = CURLE_OUT_OF_MEMORY;
  }
  if (!code) return MTR_IO_AGAIN;
  (void)mtr_fail(err, code == CURLE_OUT_OF_MEMORY ? MORTAR_NOMEM : MORTAR_UNSUPPORTED,
                 "libcurl refuses to connect: %s", words_of(t, code));
  return MTR_IO_FAILED;
}

/* ---- Failures of connecting ---------------------------------------------------------------- */

static enum mortar_status fail_verify(struct curl_transport *t, CURLcode code,
                                      struct mortar_error *err)
{
  long result = X509_V_OK;

  (void)curl_easy_getinfo(t->easy, CURLINFO_SSL_VERIFYRESULT, &result);
  /* libcurl compares the name once the handshake, and with it the chain's check, is done. */
  if (t->handshake == FINISHED)
    return mtr_fail(err, MORTAR_TLS,
                    "the server's certificate is for another host (%s); check the host, or "
                    "switch 'tls_verify_host' off if it is right",
                    words_of(t, code));
  if (result == X509_V_ERR_CERT_HAS_EXPIRED || result == X509_V_ERR_CERT_NOT_YET_VALID)
    return mtr_fail(err, MORTAR_TLS, "the server's certificate is not valid at this time: %s",
                    X509_verify_cert_error_string(result));
  return mtr_fail(err, MORTAR_TLS,
                  "the server's certificate is not trusted (%s); set 'tls_ca_file' to the PEM "
                  "file of the authority that signed it, or switch the check off with 'tls_verify'",
                  X509_verify_cert_error_string(result));
}

/* Servers of TLS 1.2 say "handshake failure" for it, and some only close: then it is a guess. */
static bool wants_client_cert(const struct curl_transport *t)
{
  const int certificate_required = 116; /* RFC 8446 */

  return t->alert == certificate_required;
}

static const char *cert_hint(const struct curl_transport *t)
{
  return t->asked_for_cert ? "; the server asked for a client certificate: if it must have one, "
                             "set 'tls_client_cert_file'"
                           : "";
}

static enum mortar_status fail_handshake(struct curl_transport *t, CURLcode code,
                                         struct mortar_error *err)
{
  const int no_application_protocol = 120; /* RFC 7301 */

  if (t->alert == no_application_protocol)
    return mtr_fail(err, MORTAR_TLS,
                    "the server speaks HTTP/2 only (it refused ALPN http/1.1); HTTP/1.1 is needed");
  if (wants_client_cert(t))
    return mtr_fail(err, MORTAR_TLS,
                    "the server wants a client certificate: set 'tls_client_cert_file'");
  if (strstr(t->words, "wrong version number"))
    return mtr_fail(err, MORTAR_TLS, "the server does not speak TLS on this port (%s); use http",
                    words_of(t, code));
  return mtr_fail(err, MORTAR_TLS, "the TLS handshake failed: %s%s", words_of(t, code),
                  cert_hint(t));
}

static enum mortar_status fail_connect(struct curl_transport *t, CURLcode code,
                                       struct mortar_error *err)
{
  long proxy_status = 0;

  (void)curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
  if (proxy_status >= 300)
    return mtr_fail(err, MORTAR_CONNECT, "it refused the tunnel with HTTP status %ld%s",
                    proxy_status, proxy_status == 407 ? " (it wants a user and password)" : "");
  switch (code) {
    case CURLE_OUT_OF_MEMORY:
      return mtr_fail_nomem(err, "connection");
    case CURLE_PEER_FAILED_VERIFICATION:
      return fail_verify(t, code, err);
    case CURLE_SSL_CERTPROBLEM:
      return mtr_fail(err, MORTAR_TLS,
                      "the client certificate can't be used (%s); check 'tls_client_cert_file', "
                      "'tls_client_key_file' and 'tls_client_key_password'",
                      words_of(t, code));
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return fail_handshake(t, code, err);
    default:
      return mtr_fail(err, MORTAR_CONNECT, "no connection: %s", words_of(t, code));
  }
}

/* ---- The table ----------------------------------------------------------------------------- */

static bool is_not_now(int error)
{
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* libcurl leaves it in a mode in which nothing waits. */
static bool make_patient(int fd)
{
  const struct timeval limit = {0, MTR_RECV_WAIT_MS * 1000};
  const int flags = fcntl(fd, F_GETFL);

  return flags >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
         fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* Connected: the socket is asked for once. */
static enum mtr_io finish(struct curl_transport *t, CURLcode code, struct mortar_error *err)
{
  curl_socket_t fd = CURL_SOCKET_BAD;

  if (!code) code = curl_easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd);
  if (!code && fd == CURL_SOCKET_BAD) code = CURLE_COULDNT_CONNECT;
  if (code) {
    (void)fail_connect(t, code, err);
    return MTR_IO_FAILED;
  }
  t->base.fd = fd;
  t->base.can_wait = t->target->plain && make_patient(fd);
  return MTR_IO_DONE;
}

static enum mtr_io do_connect(struct mtr_transport *transport, struct mortar_error *err)
{
  struct curl_transport *t = of(transport);
  int running = 0, queued = 0;
  CURLMcode code;
  CURLMsg *message;

  if (!t->multi && start(t, err) == MTR_IO_FAILED) return MTR_IO_FAILED;
  code = curl_multi_perform(t->multi, &running);
  if (code) {
    (void)mtr_fail(err, MORTAR_CONNECT, "no connection: %s", curl_multi_strerror(code));
    return MTR_IO_FAILED;
  }
  message = curl_multi_info_read(t->multi, &queued);
  if (!message || message->msg != CURLMSG_DONE) return MTR_IO_AGAIN;
  return finish(t, message->data.result, err);
}

static bool do_wait_connect(struct mtr_transport *transport, int timeout_ms, int wake_fd)
{
  struct curl_waitfd wake = {wake_fd, CURL_WAIT_POLLIN, 0};

  /* A failure shows in the next step. That a signal ended the poll is not told but by errno. */
  errno = 0;
  (void)curl_multi_poll(of(transport)->multi, wake_fd >= 0 ? &wake : NULL, wake_fd >= 0,
                        timeout_ms < 0 ? INT_MAX : timeout_ms, NULL);
  return errno == EINTR;
}

static const char *do_stage(const struct mtr_transport *transport)
{
  const struct curl_transport *t = (const struct curl_transport *)transport;
  curl_off_t named = 0;

  if (t->handshake != NOT_BEGUN) return "shaking hands (TLS)";
  (void)curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &named);
  return named ? "connecting" : "looking up the name";
}

/* libcurl looks its connection up twice a call and does no more than this. */
static enum mtr_io send_plain(struct mtr_transport *transport, struct mtr_span data, size_t *n,
                              struct mortar_error *err)
{
  const ssize_t sent = send(transport->fd, data.data, data.size, MSG_NOSIGNAL | MSG_DONTWAIT);

  *n = sent > 0 ? (size_t)sent : 0;
  if (sent > 0) return MTR_IO_DONE;
  if (sent == 0 || is_not_now(errno)) return MTR_IO_AGAIN;
  (void)mtr_fail(err, MORTAR_IO, "sending failed: %s", strerror(errno));
  return MTR_IO_FAILED;
}

static enum mtr_io recv_plain(struct mtr_transport *transport, void *data, size_t size, size_t *n,
                              struct mortar_error *err)
{
  const ssize_t got = recv(transport->fd, data, size, transport->patient ? 0 : MSG_DONTWAIT);

  transport->patient = false;
  transport->interrupted = got < 0 && errno == EINTR;
  *n = got > 0 ? (size_t)got : 0;
  if (got >= 0) return got ? MTR_IO_DONE : MTR_IO_CLOSED;
  if (is_not_now(errno)) return MTR_IO_AGAIN;
  (void)mtr_fail(err, MORTAR_IO, "receiving failed: %s", strerror(errno));
  return MTR_IO_FAILED;
}

/* With TLS 1.3 the client is done before the server has looked at its certificate. */
static enum mtr_io fail_tls(const struct curl_transport *t, const char *doing, CURLcode code,
                            struct mortar_error *err)
{
  if (wants_client_cert(t))
    (void)mtr_fail(err, MORTAR_TLS,
                   "the server wants a client certificate: set 'tls_client_cert_file'");
  else
    (void)mtr_fail(err, MORTAR_IO, "%s failed: %s%s", doing, words_of(t, code), cert_hint(t));
  return MTR_IO_FAILED;
}

/* Why a peer no longer takes our bytes may stand among its own, which nobody reads any more. */
static void look_for_alert(struct curl_transport *t)
{
  char byte;
  size_t n;

  (void)curl_easy_recv(t->easy, &byte, 1, &n);
}

static enum mtr_io send_tls(struct mtr_transport *transport, struct mtr_span data, size_t *n,
                            struct mortar_error *err)
{
  struct curl_transport *t = of(transport);
  /* One record a call: a failure then means that the peer cannot read a byte of it, while OpenSSL
   * may have sent some of the records of a larger piece before it failed. */
  size_t size = data.size > TLS_RECORD ? TLS_RECORD : data.size;
  CURLcode code;

  *n = 0;
  t->words[0] = '\0';
  code = curl_easy_send(t->easy, data.data, size, n);
  if (!code && *n) return MTR_IO_DONE;
  if (!code || code == CURLE_AGAIN) return MTR_IO_AGAIN;
  look_for_alert(t);
  return fail_tls(t, "sending", code, err);
}

static enum mtr_io recv_tls(struct mtr_transport *transport, void *data, size_t size, size_t *n,
                            struct mortar_error *err)
{
  struct curl_transport *t = of(transport);
  CURLcode code;

  *n = 0;
  t->words[0] = '\0';
  code = curl_easy_recv(t->easy, data, size, n);
  if (!code) return *n ? MTR_IO_DONE : MTR_IO_CLOSED;
  if (code == CURLE_AGAIN) return MTR_IO_AGAIN;
  return fail_tls(t, "receiving", code, err);
}

static bool quiet_plain(struct mtr_transport *transport)
{
  uint8_t byte;
  size_t n;

  return recv_plain(transport, &byte, 1, &n, NULL) == MTR_IO_AGAIN;
}

/* What has come may be nothing for us, such as a ticket of TLS 1.3: libcurl has to look. It mostly
 * has not to: that OpenSSL and the socket hold nothing is cheaper to see. */
static bool quiet_tls(struct mtr_transport *transport)
{
  struct curl_transport *t = of(transport);
  uint8_t byte;
  size_t n;

  if (t->ssl && !SSL_has_pending(t->ssl) &&
      recv(t->base.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && is_not_now(errno))
    return true;
  return recv_tls(transport, &byte, 1, &n, NULL) == MTR_IO_AGAIN;
}

static void do_close(struct mtr_transport *transport)
{
  struct curl_transport *t = of(transport);

  if (t->multi && t->easy) (void)curl_multi_remove_handle(t->multi, t->easy);
  curl_easy_cleanup(t->easy);
  if (t->multi) (void)curl_multi_cleanup(t->multi);
  t->easy = NULL;
  t->multi = NULL;
  t->ssl = NULL;
  t->base.fd = -1;
}

static void do_free(struct mtr_transport *transport, bool inherited)
{
  struct curl_transport *t = of(transport);

  if (inherited) {
    /* TLS would send its goodbye over the parent's connection. libcurl still holds the addresses
     * of t and of its error text, but nobody calls it again for this handle. */
    if (t->base.fd >= 0) (void)close(t->base.fd);
  } else {
    do_close(transport);
  }
  mtr_free(t->target->alloc, t, sizeof *t);
}

static const struct mtr_transport_ops tls_ops = {do_connect, do_wait_connect, do_stage, send_tls,
                                                 recv_tls,   quiet_tls,       do_close, do_free};
static const struct mtr_transport_ops plain_ops = {
    do_connect, do_wait_connect, do_stage, send_plain, recv_plain, quiet_plain, do_close, do_free};

enum mortar_status mtr_transport_curl_new(struct mtr_curl_target *target,
                                          struct mtr_transport **out, struct mortar_error *err)
{
  struct curl_transport *t = mtr_calloc(target->alloc, 1, sizeof *t);

  *out = NULL;
  if (!t) return mtr_fail_nomem(err, "connection");
  t->base.ops = target->plain ? &plain_ops : &tls_ops;
  t->base.fd = -1;
  t->base.way = target->way;
  t->base.bare = !target->tls;
  t->target = target;
  t->alert = -1;
  *out = &t->base;
  return MORTAR_OK;
}
