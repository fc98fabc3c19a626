/* Sets options, in a row that ends at the first failure. */
#include "net/curl_setup.h"

#include <fcntl.h>

enum {
  RECEIVE_SIZE = 256 * 1024, /* the most that libcurl asks the socket for in one call */
  KEEPALIVE_SECONDS = 60     /* before load balancers drop a silent connection */
};

static int on_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
  (void)arg;
  (void)purpose;
  return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

static CURLcode set_long(CURLcode so_far, CURL *easy, CURLoption option, long value)
{
  return so_far ? so_far : curl_easy_setopt(easy, option, value);
}

static CURLcode set_text(CURLcode so_far, CURL *easy, CURLoption option, const char *value)
{
  return so_far ? so_far : curl_easy_setopt(easy, option, value);
}

static CURLcode set_connection(CURL *easy, const struct mtr_curl_target *target)
{
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);

  code = set_text(code, easy, CURLOPT_PROTOCOLS_STR, "http,https");
  code = set_text(code, easy, CURLOPT_PROXY, target->proxy);
  code = set_text(code, easy, CURLOPT_NOPROXY, target->no_proxy);
  code = set_long(code, easy, CURLOPT_HTTPPROXYTUNNEL, 1);
  /* Else libcurl would negotiate HTTP/2 and send its preface. */
  code = set_long(code, easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  code = set_long(code, easy, CURLOPT_NOSIGNAL, 1);
  /* Else closing waits for a name look-up that hangs. */
  code = set_long(code, easy, CURLOPT_QUICK_EXIT, 1);
  code = set_long(code, easy, CURLOPT_BUFFERSIZE, RECEIVE_SIZE);
  code = set_long(code, easy, CURLOPT_TCP_KEEPALIVE, 1);
  return set_long(code, easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_SECONDS);
}

static CURLcode set_tls(CURL *easy, const struct mtr_curl_target *target)
{
  CURLcode code = set_long(CURLE_OK, easy, CURLOPT_SSL_VERIFYPEER, target->verify_peer);

  code = set_long(code, easy, CURLOPT_SSL_VERIFYHOST, target->verify_host ? 2 : 0);
  code = set_long(code, easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  /* The endpoint's store takes the place of a file that each connection would parse anew. */
  code = set_text(code, easy, CURLOPT_CAINFO, NULL);
  code = set_text(code, easy, CURLOPT_CAPATH, NULL);
  if (!target->client_cert) return code;
  code = set_text(code, easy, CURLOPT_SSLCERT, target->client_cert);
  code = set_text(code, easy, CURLOPT_SSLKEY, target->client_key);
  /* Without a password of ours OpenSSL would print a prompt and wait for the terminal. */
  return set_text(code, easy, CURLOPT_KEYPASSWD,
                  target->client_key_password ? target->client_key_password : "");
}

CURLcode mtr_curl_setup(CURL *easy, const struct mtr_curl_target *target)
{
  const CURLcode code = set_connection(easy, target);

  return code || !target->tls ? code : set_tls(easy, target);
}
