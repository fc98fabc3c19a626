/* mortar_config: options by name, a URI taken apart, session settings. */
#include "client/config.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

enum mortar_status mortar_config_new(const struct mortar_alloc *alloc, struct mortar_config **out,
                                     struct mortar_error *err)
{
  struct mortar_config *config;

  if (!out) return mtr_fail(err, MORTAR_INVALID, "out must not be NULL");
  *out = NULL;
  config = mtr_calloc(alloc, 1, sizeof *config);
  if (!config) return mtr_fail_nomem(err, "config");
  config->alloc = alloc ? *alloc : *mtr_alloc_default();
  mtr_options_init(&config->options, &config->alloc);
  *out = config;
  return MORTAR_OK;
}

void mortar_config_free(struct mortar_config *config)
{
  struct mortar_alloc alloc;

  if (!config) return;
  alloc = config->alloc;
  mtr_options_fini(&config->options);
  mtr_settings_fini(&config->settings, &alloc);
  mtr_free(&alloc, config, sizeof *config);
}

enum mortar_status mortar_config_set(struct mortar_config *config, const char *name,
                                     const char *value, struct mortar_error *err)
{
  if (!config || !name) return mtr_fail(err, MORTAR_INVALID, "config and name must not be NULL");
  return mtr_options_set(&config->options, name, value, err);
}

enum mortar_status mortar_config_set_log(struct mortar_config *config, enum mortar_log_level level,
                                         mortar_log_fn fn, void *ctx, struct mortar_error *err)
{
  if (!config) return mtr_fail(err, MORTAR_INVALID, "config must not be NULL");
  if (level < MORTAR_LOG_WARNING || level > MORTAR_LOG_SQL)
    return mtr_fail(err, MORTAR_INVALID, "%d is no level of the log", (int)level);
  config->log = (struct mtr_log){.fn = fn, .ctx = ctx, .level = level};
  return MORTAR_OK;
}

enum mortar_status mortar_config_set_log_owner(struct mortar_config *config,
                                               void (*hold)(void *ctx), void (*release)(void *ctx),
                                               struct mortar_error *err)
{
  if (!config || !hold != !release)
    return mtr_fail(err, MORTAR_INVALID, "config must not be NULL; hold and release go together");
  config->log.hold = hold;
  config->log.release = release;
  return MORTAR_OK;
}

enum mortar_status mortar_config_set_session_setting(struct mortar_config *config, const char *name,
                                                     const char *value, struct mortar_error *err)
{
  if (!config || !name || !value)
    return mtr_fail(err, MORTAR_INVALID, "config, name and value must not be NULL");
  return mtr_settings_add(&config->settings, &config->alloc, name, value, err);
}

/* scheme://host[:port][/path]; a host in brackets is an IPv6 address. */
struct uri_parts {
  bool tls;
  struct mtr_span host, port, path;
};

static bool take_scheme(const char **rest, bool *tls)
{
  *tls = strncmp(*rest, "https://", 8) == 0;
  if (!*tls && strncmp(*rest, "http://", 7) != 0) return false;
  *rest += *tls ? 8 : 7;
  return true;
}

static enum mortar_status split_uri(const char *uri, struct uri_parts *parts,
                                    struct mortar_error *err)
{
  const char *rest = uri, *end, *host_end;

  memset(parts, 0, sizeof *parts);
  for (rest = uri; *rest; rest++)
    if ((unsigned char)*rest <= 0x20 || *rest == 0x7f)
      return mtr_fail(err, MORTAR_INVALID, "the URI holds a blank or control character");
  rest = uri;
  if (!take_scheme(&rest, &parts->tls))
    return mtr_fail(err, MORTAR_INVALID, "a URI begins with https:// or http://");
  end = rest + strcspn(rest, "/?#");
  if (memchr(rest, '@', (size_t)(end - rest)))
    return mtr_fail(err, MORTAR_INVALID,
                    "a URI must not hold a user or password: set access_token instead");
  if (*rest == '[') {
    const char *close = memchr(rest, ']', (size_t)(end - rest));
    if (!close) return mtr_fail(err, MORTAR_INVALID, "the URI's address has no closing bracket");
    parts->host = mtr_span_of(rest + 1, (size_t)(close - rest - 1));
    host_end = close + 1;
  } else {
    const char *colon = memchr(rest, ':', (size_t)(end - rest));
    host_end = colon ? colon : end;
    parts->host = mtr_span_of(rest, (size_t)(host_end - rest));
  }
  if (parts->host.size == 0) return mtr_fail(err, MORTAR_INVALID, "the URI names no host");
  if (memchr(parts->host.data, '%', parts->host.size))
    return mtr_fail(err, MORTAR_INVALID, "the URI's host must not hold a %% sign");
  if (host_end < end && *host_end != ':')
    return mtr_fail(err, MORTAR_INVALID, "the URI's address is followed by rubbish");
  if (host_end < end) parts->port = mtr_span_of(host_end + 1, (size_t)(end - host_end - 1));
  parts->path = mtr_span_text(*end ? end : "/");
  return MORTAR_OK;
}

static enum mortar_status set_span(struct mtr_options *options, const char *name,
                                   struct mtr_span value, struct mortar_error *err)
{
  char *text = mtr_strndup(options->alloc, (const char *)value.data, value.size);
  enum mortar_status st;

  if (!text) return mtr_fail_nomem(err, "option");
  st = mtr_options_set(options, name, text, err);
  mtr_free_text(options->alloc, text);
  return st;
}

enum mortar_status mortar_config_set_uri(struct mortar_config *config, const char *uri,
                                         struct mortar_error *err)
{
  struct uri_parts parts;
  struct mtr_options *options;

  if (!config || !uri) return mtr_fail(err, MORTAR_INVALID, "config and uri must not be NULL");
  options = &config->options;
  MTR_TRY(split_uri(uri, &parts, err));
  MTR_TRY(set_span(options, "host", parts.host, err));
  MTR_TRY(set_span(options, "port", parts.port.size ? parts.port : mtr_span_text("0"), err));
  MTR_TRY(set_span(options, "http_path", parts.path, err));
  return mtr_options_set(options, "tls", parts.tls ? "true" : "false", err);
}
