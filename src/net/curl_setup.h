/* What all of libcurl's handles of one target have in common, whoever speaks HTTP over them. */
#ifndef MTR_NET_CURL_SETUP_H
#define MTR_NET_CURL_SETUP_H

#include "net/curl_target.h"

/* Proxy, HTTP/1.1, TLS but for the CA store (which needs CURLOPT_SSL_CTX_FUNCTION), and manners
 * that a library owes its program. The target must outlive the handle. */
CURLcode mtr_curl_setup(CURL *easy, const struct mtr_curl_target *target);

#endif
