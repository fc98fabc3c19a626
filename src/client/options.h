/* Every option of a connection, one table: its name, kind, default and words. mortar_config_set,
 * the docs page (docs/options.md, checked against this table by a test) and the faces' keywords
 * come from here.
 *
 *     X(kind, name, default, minimum, maximum, words)     TEXT and WIRE have no bounds: 0, 0
 */
#ifndef MTR_CLIENT_OPTIONS_H
#define MTR_CLIENT_OPTIONS_H

#include "base/buf.h"
#include "net/endpoint.h"
#include "net/retry.h"

#define MTR_KIB INT64_C(1024)
#define MTR_MIB (MTR_KIB * MTR_KIB)
#define MTR_GIB (MTR_KIB * MTR_MIB)

#define MTR_OPTION_MAP(X)                                                                          \
  X(TEXT, host, NULL, 0, 0, "name or address of the server; required")                             \
  X(INT, port, 0, 0, 65535, "port; 0: 443 with TLS, 80 without, 10000 but for `http`")             \
  X(WIRE, transport, MTR_WIRE_HTTP, 0, 0,                                                          \
    "how to speak to the server; `nosasl` and `sasl` are HiveServer2's binary transports, `sasl` " \
    "with a login (PLAIN)")                                                                        \
  X(TEXT, http_path, "/", 0, 0, "path of the warehouse, such as /sql/1.0/warehouses/ID")           \
  X(TEXT, access_token, NULL, 0, 0, "bearer token; never written to a log or an error")            \
  X(TEXT, username, NULL, 0, 0,                                                                    \
    "user for basic authorisation (Spark, Hive), if no token is set, and for `sasl`, where "       \
    "without one it is `anonymous`")                                                               \
  X(TEXT, password, NULL, 0, 0, "password of the user; for `sasl` without one: `anonymous`")       \
  X(BOOL, tls, true, 0, 1, "speak TLS; false only for servers on a network of your own")           \
  X(TEXT, tls_ca_file, NULL, 0, 0, "PEM file of trusted certificates; default: the system's")      \
  X(BOOL, tls_verify, true, 0, 1, "check the server's certificate")                                \
  X(BOOL, tls_verify_host, true, 0, 1, "check that the certificate is for this host")              \
  X(TEXT, tls_client_cert_file, NULL, 0, 0, "PEM file of a client certificate")                    \
  X(TEXT, tls_client_key_file, NULL, 0, 0, "its key, if that is not in the same file")             \
  X(TEXT, tls_client_key_password, NULL, 0, 0, "password of the key; never written anywhere")      \
  X(TEXT, proxy, NULL, 0, 0,                                                                       \
    "http://[USER:PASSWORD@]HOST:PORT of a proxy that knows CONNECT; percent-encode special "      \
    "characters of the password, which no error shows")                                            \
  X(TEXT, no_proxy, NULL, 0, 0, "hosts, domains and networks reached without it, with commas")     \
  X(BOOL, proxy_from_env, false, 0, 1,                                                             \
    "without `proxy`: take `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy` of the process")   \
  X(TEXT, catalog, NULL, 0, 0, "catalog in which the session starts")                              \
  X(TEXT, schema, NULL, 0, 0, "schema in which the session starts")                                \
  X(TEXT, user_agent, NULL, 0, 0, "words added to the User-Agent header")                          \
  X(INT, connect_timeout_ms, 30000, 1, 86400000, "for one connect: names, TCP, proxy and TLS")     \
  X(INT, read_timeout_ms, 900000, 1, 86400000,                                                     \
    "for one request and its reply; with a file of a volume: while no byte of it moves")           \
  X(INT, retry_attempts, 30, 0, 1000, "times a request is sent again at most; see retries.md")     \
  X(INT, retry_delay_min_ms, 1000, 1, 3600000, "the first wait before that; it doubles")           \
  X(INT, retry_delay_max_ms, 60000, 1, 3600000, "and grows up to this")                            \
  X(INT, retry_total_ms, 900000, 0, 86400000, "no attempt begins later than this after the first") \
  X(INT, idle_ms, 60000, 0, 86400000, "an idle connection older than this is not used again")      \
  X(BOOL, arrow, true, 0, 1,                                                                       \
    "ask for results as Arrow; false: as Thrift columns, which are slower")                        \
  X(INT, page_rows, 1000000, 1, 2147483647, "rows of one page asked for")                          \
  X(INT, page_bytes, 8 * MTR_MIB, MTR_KIB, MTR_GIB, "bytes of one page asked for")                 \
  X(INT, max_reply_bytes, MTR_GIB, MTR_KIB, 4 * MTR_GIB, "a longer reply is refused")              \
  X(INT, window_bytes, 32 * MTR_MIB, MTR_KIB, MTR_GIB, "decoded bytes of one page held at a time")

#define MTR_OPTION_TYPE_TEXT char *
#define MTR_OPTION_TYPE_INT int64_t
#define MTR_OPTION_TYPE_BOOL bool
#define MTR_OPTION_TYPE_WIRE enum mtr_wire

struct mtr_options {
  const struct mortar_alloc *alloc;
#define X(kind, name, def, min, max, words) MTR_OPTION_TYPE_##kind name;
  MTR_OPTION_MAP(X)
#undef X
};

/* Defaults; cannot fail (a default text of the table stays NULL here, see mtr_options_text). */
void mtr_options_init(struct mtr_options *options, const struct mortar_alloc *alloc);
void mtr_options_fini(struct mtr_options *options);

MORTAR_MUST_USE enum mortar_status mtr_options_set(struct mtr_options *options, const char *name,
                                                   const char *value, struct mortar_error *err);
MORTAR_MUST_USE enum mortar_status mtr_options_copy(struct mtr_options *to,
                                                    const struct mtr_options *from,
                                                    struct mortar_error *err);

/* The port in force. */
int mtr_options_port(const struct mtr_options *options);

struct mtr_retry_policy mtr_options_retry(const struct mtr_options *options);

/* Appends how the library and the program name themselves. */
MORTAR_MUST_USE enum mortar_status mtr_options_user_agent(const struct mtr_options *options,
                                                          struct mtr_buf *out,
                                                          struct mortar_error *err);

#endif
