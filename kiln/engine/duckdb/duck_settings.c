/* Writes the statements that make a session's own schema. */
#include "kiln/engine/duckdb/duck_settings.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "codec/thrift/binary.h"

static bool keeps(struct mtr_span text)
{
  return mtr_utf8_valid(text) && (text.size == 0 || !memchr(text.data, '\0', text.size));
}

enum mortar_status duck_put_text(struct mtr_buf *out, struct mtr_span text,
                                 struct mortar_error *err)
{
  size_t i;

  MTR_TRY(mtr_buf_append(out, "'", 1, err));
  for (i = 0; i < text.size; i++) {
    if (text.data[i] == '\'') MTR_TRY(mtr_buf_append(out, "'", 1, err));
    MTR_TRY(mtr_buf_append(out, text.data + i, 1, err));
  }
  return mtr_buf_append(out, "'", 1, err);
}

static bool is_schema_name(struct mtr_span key)
{
  return mtr_span_equal(key, mtr_span_text("use:database"));
}

/* Clients of Hive's family say what kind of setting it is. */
static struct mtr_span bare_key(struct mtr_span key)
{
  static const char *const kinds[] = {"set:hiveconf:", "set:hivevar:", "set:"};
  size_t i, size;

  for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size = strlen(kinds[i]);
    if (key.size > size && memcmp(key.data, kinds[i], size) == 0)
      return mtr_span_of(key.data + size, key.size - size);
  }
  return key;
}

bool duck_settings_name_schema(const struct mtr_thrift_values *settings)
{
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, settings->bytes);
  for (i = 0; i < settings->count; i++) {
    if (is_schema_name(mtr_tr_string(&rd))) return true;
    (void)mtr_tr_string(&rd);
  }
  return false;
}

int64_t duck_settings_timeout(const struct mtr_thrift_values *settings)
{
  uint64_t seconds = 0;
  struct mtr_tr rd;
  uint32_t i;

  mtr_tr_init(&rd, settings->bytes);
  for (i = 0; i < settings->count; i++) {
    struct mtr_span key = bare_key(mtr_tr_string(&rd)), value = mtr_tr_string(&rd);

    if (mtr_text_same(key, mtr_span_text("statement_timeout")) &&
        !mtr_text_u64(value, DUCK_TIMEOUT_MAX, &seconds))
      seconds = 0;
  }
  return (int64_t)seconds;
}

static enum mortar_status put_setting(struct mtr_buf *out, uint64_t number, struct mtr_span key,
                                      struct mtr_span value, struct mortar_error *err)
{
  MTR_TRY(
      mtr_buf_printf(out, err, "; INSERT INTO kiln.s_%" PRIu64 ".kiln_settings VALUES (", number));
  MTR_TRY(duck_put_text(out, key, err));
  MTR_TRY(mtr_buf_append(out, ", ", 2, err));
  MTR_TRY(duck_put_text(out, value, err));
  return mtr_buf_append(out, ")", 1, err);
}

enum mortar_status duck_settings_write(struct mtr_buf *out, uint64_t number,
                                       const struct mtr_thrift_values *settings,
                                       struct mortar_error *err)
{
  struct mtr_tr rd;
  uint32_t i;

  MTR_TRY(mtr_buf_printf(out, err,
                         "CREATE SCHEMA kiln.s_%" PRIu64 "; CREATE TABLE kiln.s_%" PRIu64
                         ".kiln_settings (key VARCHAR, value VARCHAR)",
                         number, number));
  mtr_tr_init(&rd, settings->bytes);
  for (i = 0; i < settings->count; i++) {
    struct mtr_span key = mtr_tr_string(&rd), value = mtr_tr_string(&rd);

    if (!keeps(key) || !keeps(value) || is_schema_name(key)) continue;
    MTR_TRY(put_setting(out, number, bare_key(key), value, err));
  }
  return mtr_buf_append(out, "", 1, err);
}
