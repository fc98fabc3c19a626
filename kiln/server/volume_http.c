/* Bodies go to and from files without a copy in between: a reply's is mapped, a request's is
 * written as evhttp has it. Refuses what the link does not say. */
#include "kiln/server/volume_http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kiln/server/http.h"
#include "kiln/server/volume.h"

/* In the words of an object store. */
static void refuse(struct kiln_core *core, struct evhttp_request *http, int status,
                   const char *code, const char *text)
{
  core->stats.errors++;
  (void)evbuffer_add_printf(evhttp_request_get_output_buffer(http),
                            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                            "<Error><Code>%s</Code><Message>%s</Message></Error>",
                            code, text);
  kiln_http_reply(core, http, status, "application/xml");
}

static void refuse_file(struct kiln_core *core, struct evhttp_request *http, int error)
{
  if (error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP)
    refuse(core, http, 404, "NoSuchKey", "The specified key does not exist.");
  else
    refuse(core, http, 500, "InternalError", strerror(error));
}

static void answer_get(struct kiln_core *core, struct evhttp_request *http, const char *path)
{
  struct evbuffer *out = evhttp_request_get_output_buffer(http);
  const int fd = kiln_volume_open(core->volumes, path);
  struct stat st;

  if (fd < 0) {
    refuse_file(core, http, errno);
    return;
  }
  if (fstat(fd, &st) != 0 || st.st_size == 0)
    (void)close(fd);
  else if (evbuffer_add_file(out, fd, 0, st.st_size) != 0) {
    refuse(core, http, 500, "InternalError", "The file can't be mapped.");
    return;
  }
  kiln_http_reply(core, http, 200, "application/octet-stream");
}

static bool write_body(struct evbuffer *body, int fd)
{
  while (evbuffer_get_length(body) > 0)
    if (evbuffer_write(body, fd) <= 0) return false;
  return true;
}

static void answer_put(struct kiln_core *core, struct evhttp_request *http, const char *path)
{
  struct kiln_volume_upload upload;
  bool whole;

  if (evhttp_find_header(evhttp_request_get_input_headers(http), "Transfer-Encoding")) {
    refuse(core, http, 501, "NotImplemented", "A file comes with its Content-Length.");
    return;
  }
  if (!kiln_volume_upload_begin(core->volumes, path, &upload)) {
    refuse_file(core, http, errno);
    return;
  }
  whole = write_body(evhttp_request_get_input_buffer(http), upload.fd);
  if (kiln_volume_upload_end(&upload, whole))
    kiln_http_reply(core, http, 200, NULL);
  else
    refuse_file(core, http, errno);
}

static void answer_delete(struct kiln_core *core, struct evhttp_request *http, const char *path)
{
  if (kiln_volume_remove(core->volumes, path))
    kiln_http_reply(core, http, 204, NULL);
  else
    refuse_file(core, http, errno);
}

typedef void answer_fn(struct kiln_core *core, struct evhttp_request *http, const char *path);

/* What a link must be signed for, by the request's method. */
static const char *operation_of(struct evhttp_request *http, answer_fn **fn)
{
  switch (evhttp_request_get_command(http)) {
    case EVHTTP_REQ_PUT:
      *fn = answer_put;
      return "PUT";
    case EVHTTP_REQ_GET:
      *fn = answer_get;
      return "GET";
    case EVHTTP_REQ_DELETE:
      *fn = answer_delete;
      return "REMOVE";
    default:
      return NULL;
  }
}

static enum kiln_volume_verdict judge(const struct kiln_core *core, struct evhttp_request *http,
                                      const char *operation, const char *path)
{
  const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(http));
  struct evkeyvalq values = {NULL, NULL};
  enum kiln_volume_verdict verdict = KILN_VOLUME_FORGED;

  if (!query || evhttp_parse_query_str(query, &values) != 0) return verdict;
  verdict = kiln_volume_check(
      core->volumes, operation, path, evhttp_find_header(&values, "X-Kiln-Expires"),
      evhttp_find_header(&values, "X-Kiln-Signature"), kiln_clock_now(&core->clock) / 1000000);
  evhttp_clear_headers(&values);
  return verdict;
}

/* The path has been signed, so it is one that is ok; it is looked at again all the same. */
static void answer_signed(struct kiln_core *core, struct evhttp_request *http, const char *encoded,
                          answer_fn *fn)
{
  size_t size = 0;
  char *path = evhttp_uridecode(encoded, 0, &size);

  if (path && strlen(path) == size && kiln_volume_path_ok(path, false))
    fn(core, http, path);
  else
    refuse(core, http, 400, "InvalidURI", "The path is none of a file in a volume.");
  free(path);
}

bool kiln_volume_is_path(const struct kiln_core *core, const char *path)
{
  return core->volumes && strncmp(path, "/Volumes/", KILN_VOLUME_PREFIX) == 0;
}

bool kiln_volume_request(struct kiln_core *core, const char *path, struct evhttp_request *http)
{
  answer_fn *fn = NULL;
  const char *operation;

  if (!kiln_volume_is_path(core, path)) return false;
  operation = operation_of(http, &fn);
  switch (judge(core, http, operation, path)) {
    case KILN_VOLUME_FORGED:
      refuse(core, http, 403, "SignatureDoesNotMatch",
             "The signature of the link is not that of this request.");
      break;
    case KILN_VOLUME_EXPIRED:
      refuse(core, http, 403, "AccessDenied", "Request has expired");
      break;
    case KILN_VOLUME_FINE:
      answer_signed(core, http, path, fn);
  }
  return true;
}
