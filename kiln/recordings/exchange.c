/* Lines of recordings, read with jansson. A body file is looked for beside the recording and in the
 * folder above it, and nowhere else: a recording is somebody else's text. */
#include "kiln/recordings/exchange.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

void kiln_recorded_init(struct kiln_recorded *x)
{
  memset(x, 0, sizeof *x);
  mtr_buf_init(&x->request, NULL, "request body", KILN_RECORDING_MAX);
  mtr_buf_init(&x->response, NULL, "response body", KILN_RECORDING_MAX);
}

void kiln_recorded_fini(struct kiln_recorded *x)
{
  mtr_buf_fini(&x->request);
  mtr_buf_fini(&x->response);
}

static enum mortar_status read_stream(FILE *file, const char *path, struct mtr_buf *out,
                                      struct mortar_error *err)
{
  size_t n;

  do {
    MTR_TRY(mtr_buf_reserve(out, 65536, err));
    n = fread(out->data + out->size, 1, 65536, file);
    out->size += n;
  } while (n > 0);
  if (ferror(file)) return mtr_fail(err, MORTAR_IO, "%s: can't be read", path);
  return MORTAR_OK;
}

enum mortar_status kiln_recording_read(const char *path, struct mtr_buf *out,
                                       struct mortar_error *err)
{
  FILE *file = fopen(path, "rb");
  enum mortar_status st;

  if (!file) return mtr_fail(err, MORTAR_IO, "%s: %s", path, strerror(errno));
  st = read_stream(file, path, out, err);
  (void)fclose(file);
  return st;
}

static int base64_digit(unsigned char c)
{
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

/* Decodes four letters, of which the last `padding` are '='. False: not base64. */
static bool base64_group(const char *in, size_t padding, struct mtr_buf *out)
{
  uint32_t bits = 0;
  size_t i;

  for (i = 0; i < 4; i++) {
    int digit = i < 4 - padding ? base64_digit((unsigned char)in[i]) : 0;
    if (digit < 0) return false;
    bits = bits << 6 | (uint32_t)digit;
  }
  for (i = 0; i < 3 - padding; i++)
    out->data[out->size++] = (uint8_t)(bits >> (16 - 8 * i));
  return true;
}

static enum mortar_status decode_base64(const char *key, const char *in, size_t size,
                                        struct mtr_buf *out, struct mortar_error *err)
{
  size_t i, padding;

  if (size % 4) return mtr_fail(err, MORTAR_INVALID, "%s: not base64: %zu letters", key, size);
  MTR_TRY(mtr_buf_reserve(out, size / 4 * 3, err));
  for (i = 0; i < size; i += 4) {
    bool last = i + 4 == size;
    padding = last && in[i + 3] == '=' ? (in[i + 2] == '=' ? 2 : 1) : 0;
    if (!base64_group(in + i, padding, out))
      return mtr_fail(err, MORTAR_INVALID, "%s: not base64 at letter %zu", key, i);
  }
  return MORTAR_OK;
}

static bool file_name_is_safe(const char *name)
{
  return *name && *name != '/' && strstr(name, "..") == NULL;
}

static enum mortar_status read_body_file(const char *folder, const char *name, struct mtr_buf *out,
                                         struct mortar_error *err)
{
  char path[4096];

  if (!file_name_is_safe(name))
    return mtr_fail(err, MORTAR_INVALID, "response_file: a path that leads elsewhere");
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (kiln_recording_read(path, out, err) == MORTAR_OK) return MORTAR_OK;
  (void)snprintf(path, sizeof path, "%s/../%s", folder, name);
  mtr_buf_reset(out);
  return kiln_recording_read(path, out, err);
}

/* Takes a text of the line into out; absent is fine. */
static enum mortar_status take_base64(json_t *line, const char *key, struct mtr_buf *out,
                                      struct mortar_error *err)
{
  json_t *text = json_object_get(line, key);

  if (!text) return MORTAR_OK;
  if (!json_is_string(text)) return mtr_fail(err, MORTAR_INVALID, "%s: not a text", key);
  return decode_base64(key, json_string_value(text), json_string_length(text), out, err);
}

static enum mortar_status take_response(struct kiln_recorded *x, json_t *line, const char *folder,
                                        struct mortar_error *err)
{
  json_t *file = json_object_get(line, "response_file");

  x->json_response = json_object_get(line, "response") != NULL;
  if (file && !json_is_string(file))
    return mtr_fail(err, MORTAR_INVALID, "response_file: not a text");
  if (file) return read_body_file(folder, json_string_value(file), &x->response, err);
  return take_base64(line, "response_b64", &x->response, err);
}

/* Names of headers have no case. */
static const char *content_type(json_t *line)
{
  const char *name, *type = "";
  json_t *value;

  json_object_foreach(json_object_get(line, "headers"), name, value)
  {
    if (strcasecmp(name, "content-type") == 0 && json_is_string(value))
      type = json_string_value(value);
  }
  return type;
}

static bool begins_like_thrift(const struct mtr_buf *request)
{
  return request->size >= 4 && memcmp(request->data, "\x80\x01\x00\x01", 4) == 0;
}

/* A path on which Thrift is spoken. Enough for a line whose bytes are too broken to tell. */
static bool is_thrift_path(const char *path)
{
  return strstr(path, "/sql/protocolv1/") || strstr(path, "/sql/1.0/warehouses/") ||
         strstr(path, "/sql/1.0/endpoints/") || strstr(path, "/cliservice");
}

static bool is_thrift(const struct kiln_recorded *x, json_t *line)
{
  const char *path = json_string_value(json_object_get(line, "path"));

  if (strstr(content_type(line), "application/x-thrift")) return true;
  if (!json_object_get(line, "request_b64")) return false;
  return begins_like_thrift(&x->request) || (path && is_thrift_path(path));
}

static void set_kind(struct kiln_recorded *x, json_t *line)
{
  if (is_thrift(x, line))
    x->kind = KILN_RECORDED_THRIFT;
  else if (x->json_response)
    x->kind = KILN_RECORDED_JSON;
  else
    x->kind = x->response.size ? KILN_RECORDED_BODY : KILN_RECORDED_EMPTY;
}

static enum mortar_status take_parts(struct kiln_recorded *x, json_t *line, const char *folder,
                                     struct mortar_error *err)
{
  enum mortar_status request = take_base64(line, "request_b64", &x->request, err);
  struct mortar_error *response_err = request == MORTAR_OK ? err : NULL;
  enum mortar_status response = take_response(x, line, folder, response_err);
  json_t *status = json_object_get(line, "status");

  x->status = json_is_integer(status) ? (int)json_integer_value(status) : 0;
  set_kind(x, line);
  if (request != MORTAR_OK) return request;
  if (response != MORTAR_OK) return response;
  if (x->status < 100 || x->status > 599) return mtr_fail(err, MORTAR_INVALID, "no HTTP status");
  return MORTAR_OK;
}

enum mortar_status kiln_recorded_parse(struct kiln_recorded *x, struct mtr_span line,
                                       const char *folder, struct mortar_error *err)
{
  json_error_t why;
  json_t *root = json_loadb((const char *)line.data, line.size, JSON_ALLOW_NUL, &why);
  enum mortar_status st;

  mtr_buf_reset(&x->request);
  mtr_buf_reset(&x->response);
  x->kind = KILN_RECORDED_THRIFT; /* a line that can't be read counts as one that was wanted */
  if (!root) return mtr_fail(err, MORTAR_INVALID, "not JSON: %s", why.text);
  if (json_is_object(root))
    st = take_parts(x, root, folder, err);
  else
    st = mtr_fail(err, MORTAR_INVALID, "not a JSON object");
  json_decref(root);
  return st;
}
