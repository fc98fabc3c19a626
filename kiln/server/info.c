/* Answers to GetInfo from one table. Types that are not in it are refused by number. */
#include "kiln/server/info.h"

#include "kiln/server/session.h"
#include "kiln/server/status.h"

/* Names are those of the server that clients expect; the version is that of the SQL dialect. */
struct info {
  int32_t type;
  const char *text; /* NULL: a length */
  int64_t length;
};

static const struct info infos[] = {
    {13, "Spark SQL", 0}, /* CLI_SERVER_NAME */
    {14, "\\", 0},        /* CLI_SEARCH_PATTERN_ESCAPE */
    {17, "Spark SQL", 0}, /* CLI_DBMS_NAME */
    {18, "4.0.0", 0},     /* CLI_DBMS_VER */
    {29, "`", 0},         /* CLI_IDENTIFIER_QUOTE_CHAR */
    {30, NULL, 255},      /* CLI_MAX_COLUMN_NAME_LEN */
    {32, NULL, 255},      /* CLI_MAX_SCHEMA_NAME_LEN */
    {34, NULL, 255},      /* CLI_MAX_CATALOG_NAME_LEN */
    {35, NULL, 255},      /* CLI_MAX_TABLE_NAME_LEN */
    /* CLI_ODBC_KEYWORDS: reserved words that SQL:2003 has not, as JDBC asks for them. */
    {10006, "ANTI,MINUS,SEMI", 0},
};

static const struct info *find(int32_t type)
{
  size_t i;

  for (i = 0; i < sizeof infos / sizeof infos[0]; i++)
    if (infos[i].type == type) return &infos[i];
  return NULL;
}

static void reply(struct kiln_exchange *x, const struct info *info)
{
  struct mtr_TGetInfoResp resp = {0};
  struct mtr_TGetInfoValue value = {0};

  if (info->text)
    MTR_SET(&value, TGetInfoValue, string_value, mtr_span_text(info->text));
  else
    MTR_SET(&value, TGetInfoValue, len_value, info->length);
  MTR_SET(&resp, TGetInfoResp, status, &kiln_status_success);
  MTR_SET(&resp, TGetInfoResp, info_value, &value);
  kiln_exchange_reply(x, &resp);
}

/* infoValue is a required field: readers such as Hive's refuse a reply without it. */
static void refuse(struct kiln_exchange *x, int32_t type)
{
  struct mtr_TGetInfoResp resp = {0};
  struct mtr_TGetInfoValue value = {0};
  struct kiln_error error;
  struct mtr_TStatus status;

  x->core->stats.errors++;
  kiln_fail(&error, "HY096", "GetInfo type %d is not known here", (int)type);
  kiln_status_error(&status, &error);
  MTR_SET(&value, TGetInfoValue, string_value, mtr_span_text(""));
  MTR_SET(&resp, TGetInfoResp, status, &status);
  MTR_SET(&resp, TGetInfoResp, info_value, &value);
  kiln_exchange_reply(x, &resp);
}

void kiln_info_answer(struct kiln_exchange *x)
{
  const struct mtr_TGetInfoReq *req = x->request;
  const struct info *info = find(req->info_type);

  if (info)
    reply(x, info);
  else
    refuse(x, req->info_type);
}

void kiln_info_on_get(struct kiln_exchange *x)
{
  const struct mtr_TGetInfoReq *req = x->request;

  if (kiln_session_find(x->core, req->session_handle))
    kiln_info_answer(x);
  else
    kiln_session_refuse(x, req->session_handle);
}
