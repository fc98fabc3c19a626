/* Options and URIs: what is taken, and what is said of the rest. */
#include "client/config.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static struct mortar_config *new_config(void)
{
  struct mortar_config *config;

  assert_int_equal(mortar_config_new(NULL, &config, NULL), MORTAR_OK);
  return config;
}

static void a_transport_has_its_port(void **state)
{
  static const struct {
    const char *transport;
    int port;
  } cases[] = {{"http", 443}, {"nosasl", 10000}, {"sasl", 10000}, {NULL, 443}};
  struct mortar_config *config = new_config();
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mortar_config_set(config, "transport", cases[i].transport, NULL), MORTAR_OK);
    assert_int_equal(mtr_options_port(&config->options), cases[i].port);
  }
  assert_int_equal(mortar_config_set(config, "transport", "SASL", &err), MORTAR_INVALID);
  assert_string_equal(err.message, "option 'transport' takes http, nosasl or sasl, not 'SASL'");
  mortar_config_free(config);
}

static void a_uri_is_taken_apart(void **state)
{
  static const struct {
    const char *uri, *host, *path;
    int port;
    bool tls;
  } cases[] = {
      {"https://h.example/sql/1.0/warehouses/a?o=1", "h.example", "/sql/1.0/warehouses/a?o=1", 443,
       true},
      {"http://127.0.0.1:8080", "127.0.0.1", "/", 80, false},
      {"https://[::1]:9000/cliservice", "::1", "/cliservice", 9000, true},
  };
  struct mortar_config *config = new_config();
  size_t i;

  (void)state;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct mtr_options *o = &config->options;
    assert_int_equal(mortar_config_set_uri(config, cases[i].uri, NULL), MORTAR_OK);
    assert_string_equal(o->host, cases[i].host);
    assert_string_equal(o->http_path, cases[i].path);
    assert_int_equal(o->tls, cases[i].tls);
    assert_int_equal(mtr_options_port(o), i == 1 ? 8080 : cases[i].port);
  }
  mortar_config_free(config);
}

static void a_bad_uri_is_refused(void **state)
{
  static const char *const bad[] = {"",
                                    "ftp://h/",
                                    "h:80/path",
                                    "https://",
                                    "http://:80",
                                    "http://h:0x1/",
                                    "http://h:99999/",
                                    "http://[::1/",
                                    "http://[::1]x/",
                                    "http://user:pw@h/",
                                    "http://h/a\nb",
                                    "http://h h/",
                                    "http://h%00/"};
  struct mortar_config *config = new_config();
  struct mortar_error err;
  size_t i;

  (void)state;
  for (i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(mortar_config_set_uri(config, bad[i], &err), MORTAR_INVALID);
    assert_null(strstr(err.message, "pw"));
  }
  assert_int_equal(mortar_config_set_uri(config, NULL, &err), MORTAR_INVALID);
  mortar_config_free(config);
}

static void options_are_checked_by_the_table(void **state)
{
  struct mortar_config *config = new_config();
  struct mortar_error err;

  (void)state;
  assert_int_equal(mortar_config_set(config, "acces_token", "x", &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, "access_token"));
  assert_int_equal(mortar_config_set(config, "port", "70000", &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, "65535"));
  assert_int_equal(mortar_config_set(config, "tls", "maybe", &err), MORTAR_INVALID);
  assert_int_equal(mortar_config_set(config, "tls", "False", &err), MORTAR_OK);
  assert_false(config->options.tls);
  assert_int_equal(mortar_config_set(config, "tls", NULL, &err), MORTAR_OK);
  assert_true(config->options.tls);
  assert_int_equal(mortar_config_set(config, "page_bytes", "12", &err), MORTAR_INVALID);
  assert_int_equal(mortar_config_set(config, "access_token", "t", &err), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "access_token", NULL, &err), MORTAR_OK);
  assert_null(config->options.access_token);
  assert_int_equal(mortar_config_set(config, NULL, "x", &err), MORTAR_INVALID);
  mortar_config_free(config);
}

static void a_session_needs_a_host_and_clean_headers(void **state)
{
  struct mortar_config *config = new_config();
  struct mortar_session *session;
  struct mortar_error err;

  (void)state;
  assert_int_equal(mortar_session_open(config, NULL, &session, &err), MORTAR_INVALID);
  assert_non_null(strstr(err.message, "host"));
  assert_int_equal(mortar_session_open(NULL, NULL, &session, &err), MORTAR_INVALID);
  assert_int_equal(mortar_config_set_uri(config, "http://127.0.0.1:1/a", &err), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "access_token", "a\r\nHost: b", &err), MORTAR_OK);
  assert_int_equal(mortar_session_open(config, NULL, &session, &err), MORTAR_INVALID);
  assert_null(strstr(err.message, "Host: b"));
  assert_int_equal(mortar_config_set(config, "access_token", NULL, &err), MORTAR_OK);
  assert_int_equal(mortar_config_set(config, "http_path", "/a b", &err), MORTAR_OK);
  assert_int_equal(mortar_session_open(config, NULL, &session, &err), MORTAR_INVALID);
  mortar_config_free(config);
}

static void memory_that_runs_out_is_reported(void **state)
{
  struct failing_alloc fa;

  (void)state;
  MTR_EVERY_ALLOC_FAILS(fa)
  {
    struct mortar_config *config = NULL;
    struct mtr_options copy;
    enum mortar_status st = mortar_config_new(&fa.alloc, &config, NULL);
    if (st == MORTAR_OK) st = mortar_config_set_uri(config, "https://host:1/path", NULL);
    if (st == MORTAR_OK) st = mortar_config_set_session_setting(config, "a", "b", NULL);
    if (st == MORTAR_OK) st = mortar_config_set_session_setting(config, "c", "d", NULL);
    if (st == MORTAR_OK) {
      st = mtr_options_copy(&copy, &config->options, NULL);
      if (st == MORTAR_OK) mtr_options_fini(&copy);
    }
    assert_int_equal(st, fa.failed ? MORTAR_NOMEM : MORTAR_OK);
    mortar_config_free(config);
  }
  assert_true(fa.rounds > 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_transport_has_its_port),
      cmocka_unit_test(a_uri_is_taken_apart),
      cmocka_unit_test(a_bad_uri_is_refused),
      cmocka_unit_test(options_are_checked_by_the_table),
      cmocka_unit_test(a_session_needs_a_host_and_clean_headers),
      cmocka_unit_test(memory_that_runs_out_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
