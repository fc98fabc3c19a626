/* Reads and agrees on protocol versions. */
#include "kiln/server/protocol.h"

#include <stdlib.h>
#include <strings.h>

#include "base/error.h"

static bool is_known(int64_t version)
{
  return (version >= MTR_PROTOCOL_HIVE_V1 && version <= MTR_PROTOCOL_HIVE_V10) ||
         (version >= MTR_PROTOCOL_SPARK_V1 && version <= KILN_PROTOCOL_NEWEST);
}

static const char *skip(const char *text, const char *word)
{
  const size_t size = strlen(word);

  return strncasecmp(text, word, size) == 0 ? text + size : text;
}

/* The number behind a family's name, counted from that of its first version; -1: none. */
static int64_t read_name(const char *text, const char *family, int64_t first)
{
  const char *rest = skip(text, family);
  char *end = NULL;
  long n;

  if (rest == text) return -1;
  rest = skip(rest, "_CLI_SERVICE_PROTOCOL");
  if (strncasecmp(rest, "_V", 2) != 0 || rest[2] < '1' || rest[2] > '9') return -1;
  n = strtol(rest + 2, &end, 10);
  return *end || n > 99 ? -1 : first + n - 1;
}

static int64_t read_number(const char *text)
{
  char *end = NULL;
  const long n = strtol(text, &end, 0);

  return *text < '0' || *text > '9' || *end ? -1 : n;
}

enum mortar_status kiln_protocol_read(const char *text, int32_t *out, struct mortar_error *err)
{
  int64_t version = read_name(text, "HIVE", MTR_PROTOCOL_HIVE_V1);

  if (version > MTR_PROTOCOL_HIVE_V10) version = -1;
  if (version < 0) version = read_name(text, "SPARK", MTR_PROTOCOL_SPARK_V1);
  if (version < 0) version = read_number(text);
  if (!is_known(version))
    return mtr_fail(err, MORTAR_INVALID,
                    "'%.64s' is no protocol version: HIVE_V1 to HIVE_V10 (0 to 9) and SPARK_V1 to "
                    "SPARK_V%d (0x%X to 0x%X) are known",
                    text, KILN_PROTOCOL_NEWEST - MTR_PROTOCOL_SPARK_V1 + 1, MTR_PROTOCOL_SPARK_V1,
                    KILN_PROTOCOL_NEWEST);
  *out = (int32_t)version;
  return MORTAR_OK;
}

static int64_t lower(int64_t a, int64_t b) { return a < b ? a : b; }

/* Field 1282 counts when it is there: it is a number so that one which this side has never heard of
 * does no harm. */
int32_t kiln_protocol_agree(int32_t own, const struct mtr_TOpenSessionReq *req)
{
  int64_t offered = MTR_PROTOCOL_HIVE_V10;

  if (MTR_HAS(req, TOpenSessionReq, client_protocol_i64))
    offered = req->client_protocol_i64;
  else if (MTR_HAS(req, TOpenSessionReq, client_protocol) && req->client_protocol >= 0)
    offered = req->client_protocol;
  if (offered < MTR_PROTOCOL_SPARK_V1) offered = lower(offered, MTR_PROTOCOL_HIVE_V10);
  offered = lower(offered, own);
  return offered > 0 ? (int32_t)offered : MTR_PROTOCOL_HIVE_V1;
}
