/* Which proxy a session takes: the option, the environment on demand, and none by default. */
#include "client/proxy.h"

#include "base/alloc.h"
#include "net/endpoint.h"
#include "tests/support/test.h"

static void set(const char *name, const char *value)
{
  assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static int clear_environment(void **state)
{
  static const char *const names[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                      "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
  size_t i;

  (void)state;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    set(names[i], NULL);
  return 0;
}

static struct mtr_proxy proxy_of(bool tls, bool from_env, char *proxy, char *no_proxy)
{
  struct mtr_options options;

  mtr_options_init(&options, mtr_alloc_default());
  options.tls = tls;
  options.proxy_from_env = from_env;
  options.proxy = proxy;
  options.no_proxy = no_proxy;
  return mtr_proxy_of(&options);
}

static void the_environment_is_left_alone(void **state)
{
  (void)state;
  set("https_proxy", "http://a:1");
  set("no_proxy", "b");
  assert_null(proxy_of(true, false, NULL, NULL).proxy);
  assert_null(proxy_of(true, false, NULL, NULL).no_proxy);
}

static void the_environment_is_asked_on_demand(void **state)
{
  (void)state;
  assert_null(proxy_of(true, true, NULL, NULL).proxy);
  set("ALL_PROXY", "http://all:1");
  assert_string_equal(proxy_of(true, true, NULL, NULL).proxy, "http://all:1");
  assert_string_equal(proxy_of(false, true, NULL, NULL).proxy, "http://all:1");
  set("HTTPS_PROXY", "http://https:1");
  set("http_proxy", "http://plain:1");
  assert_string_equal(proxy_of(true, true, NULL, NULL).proxy, "http://https:1");
  assert_string_equal(proxy_of(false, true, NULL, NULL).proxy, "http://plain:1");
  set("https_proxy", ""); /* empty is not set */
  set("NO_PROXY", "c.test");
  assert_string_equal(proxy_of(true, true, NULL, NULL).proxy, "http://https:1");
  assert_string_equal(proxy_of(true, true, NULL, NULL).no_proxy, "c.test");
}

/* A web server fills it from a header of whoever asks it. */
static void http_proxy_in_capitals_is_not_trusted(void **state)
{
  (void)state;
  set("HTTP_PROXY", "http://evil:1");
  assert_null(proxy_of(false, true, NULL, NULL).proxy);
}

static void the_options_come_first(void **state)
{
  char proxy[] = "http://mine:1", no_proxy[] = "d.test";

  (void)state;
  set("https_proxy", "http://a:1");
  set("no_proxy", "b");
  assert_string_equal(proxy_of(true, true, proxy, NULL).proxy, "http://mine:1");
  assert_null(proxy_of(true, true, proxy, NULL).no_proxy);
  assert_string_equal(proxy_of(true, true, NULL, no_proxy).no_proxy, "d.test");
}

/* Sessions share connections only where the way to the server is the same. */
static void another_way_is_another_endpoint(void **state)
{
  struct mtr_endpoint_options a = {.host = "h.test", .port = 80, .max_reply = 1}, b[4];
  struct mtr_endpoint *first = NULL, *same = NULL, *other;
  size_t i;

  (void)state;
  for (i = 0; i < 4; i++)
    b[i] = a;
  b[0].no_proxy = "h.test";
  b[1].client_cert_file = "cert.pem";
  b[2].client_key_file = "key.pem";
  b[3].client_key_password = "secret";
  assert_int_equal(mtr_endpoint_get(&a, NULL, &first, NULL), MORTAR_OK);
  assert_int_equal(mtr_endpoint_get(&a, NULL, &same, NULL), MORTAR_OK);
  assert_ptr_equal(first, same);
  for (i = 0; i < 4; i++) {
    assert_int_equal(mtr_endpoint_get(&b[i], NULL, &other, NULL), MORTAR_OK);
    assert_ptr_not_equal(first, other);
    mtr_endpoint_unref(other);
  }
  mtr_endpoint_unref(same);
  mtr_endpoint_unref(first);
}

/* Nothing listens there: a session that went past the proxy would say so. */
static void a_session_never_goes_past_its_proxy(void **state)
{
  struct mortar_session *session = NULL;
  struct mortar_config *config;
  struct mortar_error err;

  (void)state;
  assert_int_equal(mortar_config_new(NULL, &config, NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set_uri(config, "http://127.0.0.1:1/sql", NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "access_token", "token", NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "retry_attempts", "0", NULL), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "proxy", "http://user:secret%0a@127.0.0.1:2", NULL),
                   MORTAR_OK);
  assert_int_equal(mortar_session_open(config, NULL, &session, &err), MORTAR_INVALID);
  assert_null(strstr(err.message, "secret"));
  mortar_config_free(config);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_environment_is_left_alone, clear_environment),
      cmocka_unit_test_setup(the_environment_is_asked_on_demand, clear_environment),
      cmocka_unit_test_setup(http_proxy_in_capitals_is_not_trusted, clear_environment),
      cmocka_unit_test_setup(the_options_come_first, clear_environment),
      cmocka_unit_test(another_way_is_another_endpoint),
      cmocka_unit_test(a_session_never_goes_past_its_proxy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
