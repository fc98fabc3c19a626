/* Makes the shared part of an endpoint's connections. */
#include "net/curl_target.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "net/ca_cache.h"

enum { MAX_URL = 512 }; /* a host name has at most 253 bytes */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode init_result;

static void init_curl(void) { init_result = curl_global_init(CURL_GLOBAL_DEFAULT); }

/* libcurl must use OpenSSL: the shared CA store is an object of it. */
static enum mortar_status check_curl(bool tls, struct mortar_error *err)
{
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

  (void)pthread_once(&once, init_curl);
  if (init_result != CURLE_OK)
    return mtr_fail(err, MORTAR_UNSUPPORTED, "libcurl does not start: %s",
                    curl_easy_strerror(init_result));
  if (tls && (!info->ssl_version || !strstr(info->ssl_version, "OpenSSL")))
    return mtr_fail(err, MORTAR_UNSUPPORTED, "libcurl was built with %s; OpenSSL is needed",
                    info->ssl_version ? info->ssl_version : "no TLS");
  return MORTAR_OK;
}

/* Letters, digits and what addresses have; it goes into a URL and a header line. */
static enum mortar_status check_host(const char *host, struct mortar_error *err)
{
  const char *p;

  if (!host || !*host) return mtr_fail(err, MORTAR_INVALID, "the host is empty");
  if (strlen(host) > 255) return mtr_fail(err, MORTAR_INVALID, "the host is too long");
  for (p = host; *p; p++) {
    const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
    if (!letter && !(*p >= '0' && *p <= '9') && !strchr("-._:%", *p))
      return mtr_fail(err, MORTAR_INVALID, "the host has a forbidden character in it: %s", host);
  }
  return MORTAR_OK;
}

static enum mortar_status copy_text(struct mtr_curl_target *target, const char *text, char **out,
                                    struct mortar_error *err)
{
  *out = mtr_strndup(target->alloc, text, strlen(text));
  return *out ? MORTAR_OK : mtr_fail_nomem(err, "endpoint");
}

static enum mortar_status copy_optional(struct mtr_curl_target *target, const char *text,
                                        char **out, struct mortar_error *err)
{
  return text && *text ? copy_text(target, text, out, err) : MORTAR_OK;
}

static enum mortar_status set_client_cert(struct mtr_curl_target *target,
                                          const struct mtr_endpoint_options *o,
                                          struct mortar_error *err)
{
  MTR_TRY(copy_optional(target, o->client_cert_file, &target->client_cert, err));
  MTR_TRY(copy_optional(target, o->client_key_file, &target->client_key, err));
  return copy_optional(target, o->client_key_password, &target->client_key_password, err);
}

/* ---- The proxy's URL ----------------------------------------------------------------------- */

/* Reads the URL and its parts as libcurl will. With CURLOPT_PROXY some versions go without the
 * proxy, in silence, when they can't decode its user or password. */
static CURLUcode read_proxy(CURLU *url, const char *proxy, char **scheme)
{
  static const CURLUPart parts[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_HOST};
  CURLUcode code;
  size_t i;

  code = curl_url_set(url, CURLUPART_URL, proxy, CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME);
  for (i = 0; !code && i < sizeof parts / sizeof *parts; i++) {
    char *text = NULL;
    code = curl_url_get(url, parts[i], &text, CURLU_URLDECODE);
    curl_free(text);
    if (code == CURLUE_NO_USER || code == CURLUE_NO_PASSWORD) code = CURLUE_OK;
  }
  return code ? code : curl_url_get(url, CURLUPART_SCHEME, scheme, 0);
}

/* No text shows the URL, which may hold a password in any place when it is malformed. */
static enum mortar_status fail_proxy(const char *why, struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_INVALID,
                  "the proxy's URL can't be used (%s): it is http://[USER:PASSWORD@]HOST:PORT, "
                  "special characters in the user and the password percent-encoded",
                  why);
}

/* Only proxies that speak HTTP know CONNECT. */
static enum mortar_status check_scheme(const char *scheme, struct mortar_error *err)
{
  if (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) return MORTAR_OK;
  return mtr_fail(err, MORTAR_INVALID, "a proxy is given as http://HOST:PORT, not as %.16s://",
                  scheme);
}

static enum mortar_status check_proxy(const char *proxy, struct mortar_error *err)
{
  CURLU *url = curl_url();
  char *scheme = NULL;
  CURLUcode code = url ? read_proxy(url, proxy, &scheme) : CURLUE_OUT_OF_MEMORY;
  enum mortar_status st;

  if (code == CURLUE_OK)
    st = check_scheme(scheme, err);
  else if (code == CURLUE_OUT_OF_MEMORY)
    st = mtr_fail_nomem(err, "proxy");
  else if (code == CURLUE_URLDECODE)
    st = fail_proxy("it holds a control character", err);
  else
    st = fail_proxy(curl_url_strerror(code), err);
  curl_free(scheme);
  curl_url_cleanup(url);
  return st;
}

/* Host and port of a URL that libcurl can read. A slash in a password would have ended them early.
 */
static enum mortar_status find_place(const char *proxy, struct mtr_span *place,
                                     struct mortar_error *err)
{
  const char *slashes = strstr(proxy, "://"), *start = slashes ? slashes + 3 : proxy;
  const char *end = start + strcspn(start, "/?#"), *at = memchr(start, '@', (size_t)(end - start));

  if (*end && strcmp(end, "/") != 0) return fail_proxy("something follows the host and port", err);
  if (at) start = at + 1;
  *place = mtr_span_of(start, (size_t)(end - start));
  return MORTAR_OK;
}

/* Whether a name is in no_proxy is libcurl's business, and older ones don't tell. */
static enum mortar_status set_way(struct mtr_curl_target *target, struct mtr_span place,
                                  struct mortar_error *err)
{
  char text[MAX_URL];

  (void)snprintf(text, sizeof text, "through the proxy %.*s%s", MTR_SPAN_ARG(place),
                 *target->no_proxy ? " (unless 'no_proxy' names the server)" : "");
  return copy_text(target, text, &target->way, err);
}

static enum mortar_status set_proxy(struct mtr_curl_target *target, const char *proxy,
                                    const char *no_proxy, struct mortar_error *err)
{
  struct mtr_span place = {NULL, 0};

  if (!proxy) proxy = "";
  MTR_TRY(copy_text(target, proxy, &target->proxy, err));
  MTR_TRY(copy_text(target, no_proxy ? no_proxy : "", &target->no_proxy, err));
  if (!*proxy) return MORTAR_OK;
  MTR_TRY(check_proxy(proxy, err));
  MTR_TRY(find_place(proxy, &place, err));
  return set_way(target, place, err);
}

static enum mortar_status set_texts(struct mtr_curl_target *target,
                                    const struct mtr_endpoint_options *o, struct mortar_error *err)
{
  const bool v6 = strchr(o->host, ':') != NULL;
  char url[MAX_URL];

  (void)snprintf(url, sizeof url, "%s://%s%s%s:%d/", o->tls ? "https" : "http", v6 ? "[" : "",
                 o->host, v6 ? "]" : "", o->port);
  MTR_TRY(copy_text(target, url, &target->url, err));
  MTR_TRY(set_proxy(target, o->proxy, o->no_proxy, err));
  return set_client_cert(target, o, err);
}

/* All that is said to such a proxy is encrypted, our own bytes included. */
static bool is_tls_proxy(const char *proxy)
{
  return mtr_text_same(mtr_span_of(proxy, strcspn(proxy, ":")), mtr_span_text("https"));
}

/* ---- Shared TLS sessions ------------------------------------------------------------------- */

static void lock_share(CURL *easy, curl_lock_data data, curl_lock_access access, void *arg)
{
  struct mtr_curl_target *target = arg;

  (void)easy;
  (void)access;
  (void)pthread_mutex_lock(&target->locks[data]);
}

static void unlock_share(CURL *easy, curl_lock_data data, void *arg)
{
  struct mtr_curl_target *target = arg;

  (void)easy;
  (void)pthread_mutex_unlock(&target->locks[data]);
}

static enum mortar_status make_share(struct mtr_curl_target *target, struct mortar_error *err)
{
  size_t i;

  for (i = 0; i < CURL_LOCK_DATA_LAST; i++)
    (void)pthread_mutex_init(&target->locks[i], NULL);
  target->locks_ready = true;
  target->share = curl_share_init();
  if (!target->share || curl_share_setopt(target->share, CURLSHOPT_LOCKFUNC, lock_share) ||
      curl_share_setopt(target->share, CURLSHOPT_UNLOCKFUNC, unlock_share) ||
      curl_share_setopt(target->share, CURLSHOPT_USERDATA, target) ||
      curl_share_setopt(target->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION))
    return mtr_fail_nomem(err, "shared TLS sessions");
  return MORTAR_OK;
}

static const char *fallback_ca_file(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }

static enum mortar_status set_tls(struct mtr_curl_target *target,
                                  const struct mtr_endpoint_options *o, struct mortar_error *err)
{
  target->tls = o->tls;
  target->verify_peer = o->verify_peer;
  target->verify_host = o->verify_host;
  target->plain = !o->tls && !is_tls_proxy(target->proxy);
  if (!o->tls) return MORTAR_OK;
  MTR_TRY(make_share(target, err));
  if (!o->verify_peer) return MORTAR_OK;
  return mtr_ca_cache_get(o->ca_file, fallback_ca_file(), &target->ca_store, err);
}

/* A text with its NUL, which keeps it apart from what follows; NULL and "" are the same. */
static enum mortar_status add_text(struct mtr_buf *key, const char *text, struct mortar_error *err)
{
  if (!text) text = "";
  return mtr_buf_append(key, text, strlen(text) + 1, err);
}

enum mortar_status mtr_curl_target_key(const struct mtr_endpoint_options *o, struct mtr_buf *key,
                                       struct mortar_error *err)
{
  MTR_TRY(mtr_buf_printf(key, err, "%d %d%d%d ", o->port, o->tls, o->verify_peer, o->verify_host));
  MTR_TRY(add_text(key, o->host, err));
  MTR_TRY(add_text(key, o->proxy, err));
  MTR_TRY(add_text(key, o->no_proxy, err));
  MTR_TRY(add_text(key, o->client_cert_file, err));
  MTR_TRY(add_text(key, o->client_key_file, err));
  MTR_TRY(add_text(key, o->client_key_password, err));
  if (!o->tls || !o->verify_peer) return MORTAR_OK;
  return mtr_ca_cache_key(o->ca_file, fallback_ca_file(), key, err);
}

enum mortar_status mtr_curl_target_new(const struct mtr_endpoint_options *options,
                                       const struct mortar_alloc *alloc,
                                       struct mtr_curl_target **out, struct mortar_error *err)
{
  enum mortar_status st = MORTAR_OK;
  struct mtr_curl_target *target = NULL;

  *out = NULL;
  MTR_GOTO(check_host(options->host, err));
  if (options->port < 1 || options->port > 65535) {
    st = mtr_fail(err, MORTAR_INVALID, "port %d is not in 1..65535", options->port);
    goto done;
  }
  MTR_GOTO(check_curl(options->tls, err));
  target = mtr_calloc(alloc, 1, sizeof *target);
  if (!target) {
    st = mtr_fail_nomem(err, "endpoint");
    goto done;
  }
  target->alloc = alloc;
  MTR_GOTO(set_texts(target, options, err));
  MTR_GOTO(set_tls(target, options, err));
  *out = target;
  target = NULL;
done:
  mtr_curl_target_free(target, false);
  return st;
}

void mtr_curl_target_free(struct mtr_curl_target *target, bool inherited)
{
  size_t i;

  if (!target) return;
  if (!inherited) {
    if (target->share) (void)curl_share_cleanup(target->share);
    X509_STORE_free(target->ca_store);
    for (i = 0; target->locks_ready && i < CURL_LOCK_DATA_LAST; i++)
      (void)pthread_mutex_destroy(&target->locks[i]);
  }
  mtr_free_text(target->alloc, target->url);
  mtr_free_text(target->alloc, target->proxy);
  mtr_free_text(target->alloc, target->way);
  mtr_free_text(target->alloc, target->no_proxy);
  mtr_free_text(target->alloc, target->client_cert);
  mtr_free_text(target->alloc, target->client_key);
  mtr_free_text(target->alloc, target->client_key_password);
  mtr_free(target->alloc, target, sizeof *target);
}
