/* Reads the command line. Refuses what it does not know. */
#include "kiln/canned/options.h"

#include <getopt.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"

enum option_id {
  OPT_PORT = 1,
  OPT_ADDRESS,
  OPT_TLS,
  OPT_CERT_OUT,
  OPT_SERVER_TIME,
  OPT_BATCHES,
  OPT_ROWS,
  OPT_CHECKSUM,
  OPT_REPLY,
  OPT_REPLY_TIME,
  OPT_FAULTS,
  OPT_READY_FILE,
  OPT_HELP,
  OPT_VERSION
};

static const struct option known[] = {
    {"port", required_argument, NULL, OPT_PORT},
    {"address", required_argument, NULL, OPT_ADDRESS},
    {"tls", no_argument, NULL, OPT_TLS},
    {"cert-out", required_argument, NULL, OPT_CERT_OUT},
    {"server-time", required_argument, NULL, OPT_SERVER_TIME},
    {"batches", required_argument, NULL, OPT_BATCHES},
    {"rows", required_argument, NULL, OPT_ROWS},
    {"checksum", no_argument, NULL, OPT_CHECKSUM},
    {"reply", required_argument, NULL, OPT_REPLY},
    {"reply-time", required_argument, NULL, OPT_REPLY_TIME},
    {"faults", required_argument, NULL, OPT_FAULTS},
    {"ready-file", required_argument, NULL, OPT_READY_FILE},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

const char *kiln_canned_usage(void)
{
  return "usage: kiln-canned [options]\n"
         "\n"
         "A SQL warehouse's Thrift wire with prepared replies, for load tests and clients.\n"
         "\n"
         "  --port N             listen there; 0, the default, takes a free port\n"
         "  --address ADDRESS    numeric address to listen on (127.0.0.1)\n"
         "  --tls                HTTPS, with a certificate made at start\n"
         "  --cert-out FILE      write that certificate (PEM) there\n"
         "  --server-time MS     hold every statement's reply back for so long (0)\n"
         "  --rows N             rows of SELECT * FROM rows_N (1000)\n"
         "  --batches N          record batches of that reply (72)\n"
         "  --checksum           LZ4 frames with checksums\n"
         "  --reply PATH=STATUS:TYPE:FILE\n"
         "                       answer this path with a file; may be repeated\n"
         "  --reply-time MS      hold the replies of each following --reply back for so long (0)\n"
         "  --faults FILE        misbehave by this fault script; \"on\" begins without rules\n"
         "  --ready-file FILE    write the ready line there too\n"
         "  --help, --version\n"
         "\n"
         "Prints one line when it is ready: listening on http://ADDRESS:PORT/sql/1.0/"
         "warehouses/canned\n"
         "Stops on SIGINT and SIGTERM.\n";
}

static enum mortar_status number(const char *name, const char *text, uint64_t min, uint64_t max,
                                 int64_t *out, struct mortar_error *err)
{
  uint64_t value;

  if (!mtr_text_u64(mtr_span_text(text), max, &value) || value < min)
    return mtr_fail(err, MORTAR_INVALID, "--%s %s: a number from %llu to %llu is wanted", name,
                    text, (unsigned long long)min, (unsigned long long)max);
  *out = (int64_t)value;
  return MORTAR_OK;
}

/* Milliseconds, with a fraction if wanted. */
static enum mortar_status milliseconds(const char *name, const char *text, int64_t *us,
                                       struct mortar_error *err)
{
  char *end = NULL;
  double ms = strtod(text, &end);

  if (end == text || *end || !(ms >= 0 && ms <= 3600000))
    return mtr_fail(err, MORTAR_INVALID, "--%s %s: milliseconds up to an hour are wanted", name,
                    text);
  *us = (int64_t)(ms * 1000);
  return MORTAR_OK;
}

static enum mortar_status add_reply(char *text, struct kiln_canned_command *out,
                                    struct mortar_error *err)
{
  struct kiln_canned_reply *reply = &out->replies[out->reply_count];
  char *equals = strchr(text, '=');
  char *first = equals ? strchr(equals, ':') : NULL,
       *second = first ? strchr(first + 1, ':') : NULL;
  uint64_t status;

  if (out->reply_count == KILN_CANNED_MAX_REPLIES)
    return mtr_fail(err, MORTAR_LIMIT, "more than %d times --reply", KILN_CANNED_MAX_REPLIES);
  if (!second || text[0] != '/' ||
      !mtr_text_u64(mtr_span_of(equals + 1, (size_t)(first - equals - 1)), 599, &status) ||
      status < 200)
    return mtr_fail(err, MORTAR_INVALID,
                    "--reply %s: /PATH=STATUS:TYPE:FILE with a status from 200 to 599 is wanted",
                    text);
  *equals = *first = *second = '\0';
  reply->path = text;
  reply->status = (int)status;
  reply->type = first + 1;
  reply->file = second + 1;
  reply->delay_us = out->reply_delay_us;
  out->reply_count++;
  return MORTAR_OK;
}

/* A file that is called "on" is "./on". */
static void take_faults(const char *value, struct kiln_options *server)
{
  server->faults = true;
  if (strcmp(value, "on") != 0) server->faults_file = value;
}

static enum mortar_status take_port(const char *text, int *port, struct mortar_error *err)
{
  int64_t value = 0;

  MTR_TRY(number("port", text, 0, 65535, &value, err));
  *port = (int)value;
  return MORTAR_OK;
}

static enum mortar_status take(int id, char *value, struct kiln_canned_command *out,
                               struct mortar_error *err)
{
  switch (id) {
    case OPT_PORT:
      return take_port(value, &out->server.port, err);
    case OPT_ADDRESS:
      out->server.address = value;
      return MORTAR_OK;
    case OPT_TLS:
      out->server.tls = true;
      return MORTAR_OK;
    case OPT_CERT_OUT:
      out->server.cert_out = value;
      return MORTAR_OK;
    case OPT_SERVER_TIME:
      return milliseconds("server-time", value, &out->canned.server_time_us, err);
    case OPT_BATCHES:
      return number("batches", value, 1, KILN_CANNED_MAX_BATCHES, &out->canned.batches, err);
    case OPT_ROWS:
      return number("rows", value, 1, KILN_CANNED_MAX_ROWS, &out->canned.rows, err);
    case OPT_CHECKSUM:
      out->canned.checksum = true;
      return MORTAR_OK;
    case OPT_REPLY:
      return add_reply(value, out, err);
    case OPT_REPLY_TIME:
      return milliseconds("reply-time", value, &out->reply_delay_us, err);
    case OPT_FAULTS:
      take_faults(value, &out->server);
      return MORTAR_OK;
    case OPT_READY_FILE:
      out->ready_file = value;
      return MORTAR_OK;
    case OPT_HELP:
      out->help = true;
      return MORTAR_OK;
    case OPT_VERSION:
      out->version = true;
      return MORTAR_OK;
    default:
      return mtr_fail(err, MORTAR_INVALID, "unknown option, or one without its value");
  }
}

enum mortar_status kiln_canned_parse(int argc, char **argv, struct kiln_canned_command *out,
                                     struct mortar_error *err)
{
  int id;

  memset(out, 0, sizeof *out);
  out->canned.rows = 1000;
  out->canned.batches = 72;
  opterr = 0;
  while ((id = getopt_long(argc, argv, "", known, NULL)) != -1) {
    enum mortar_status st = take(id, optarg, out, err);
    if (st != MORTAR_OK && id == '?') mtr_error_prefix(err, "%s", argv[optind - 1]);
    if (st != MORTAR_OK) return st;
  }
  if (optind < argc)
    return mtr_fail(err, MORTAR_INVALID, "%s: no arguments are taken but options", argv[optind]);
  if (out->server.cert_out && !out->server.tls)
    return mtr_fail(err, MORTAR_INVALID, "--cert-out makes sense with --tls only");
  out->server.precise = out->canned.server_time_us || out->reply_delay_us;
  return MORTAR_OK;
}
