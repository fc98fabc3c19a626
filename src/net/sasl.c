/* Writes and reads the messages of a SASL login. */
#include "net/sasl.h"

#include "base/be.h"
#include "base/error.h"

enum status { START = 1, OK = 2, BAD = 3, ERROR = 4, COMPLETE = 5 };
enum { HEAD = 5 };

static enum mortar_status append_message(struct mtr_buf *out, enum status status, const void *text,
                                         size_t size, struct mortar_error *err)
{
  uint8_t head[HEAD] = {(uint8_t)status};

  mtr_put_be32(head + 1, (uint32_t)size);
  MTR_TRY(mtr_buf_append(out, head, HEAD, err));
  return mtr_buf_append(out, text, size, err);
}

/* No authorisation identity, then user and password: a NUL before each. */
enum mortar_status mtr_sasl_write_plain(struct mtr_buf *out, const char *user, const char *password,
                                        struct mortar_error *err)
{
  const size_t n = strlen(user), m = strlen(password);
  uint8_t head[HEAD] = {OK};

  if (n > MTR_SASL_MAX_TEXT || m > MTR_SASL_MAX_TEXT)
    return mtr_fail(err, MORTAR_INVALID, "'username' or 'password' is too long for a login");
  MTR_TRY(append_message(out, START, "PLAIN", 5, err));
  mtr_put_be32(head + 1, (uint32_t)(n + m + 2));
  MTR_TRY(mtr_buf_append(out, head, HEAD, err));
  MTR_TRY(mtr_buf_append(out, "", 1, err));
  MTR_TRY(mtr_buf_append(out, user, n + 1, err)); /* its NUL stands before the password */
  return mtr_buf_append(out, password, m, err);
}

static enum mortar_status refused(struct mtr_span text, struct mortar_error *err)
{
  if (!text.size) text = mtr_span_text("it gives no reason");
  return mtr_fail(
      err, MORTAR_AUTH,
      "the server refused the login (SASL PLAIN): %.*s; check 'username' and 'password'",
      MTR_SPAN_ARG(text));
}

enum mortar_status mtr_sasl_read_answer(struct mtr_span answer, struct mortar_error *err)
{
  uint32_t size;

  if (answer.size && (answer.data[0] < START || answer.data[0] > COMPLETE))
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the server's answer to the login is no SASL: check 'transport' and 'tls'");
  if (answer.size < HEAD) return MORTAR_MORE;
  size = mtr_be32(answer.data + 1);
  if (size > MTR_SASL_MAX_TEXT)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's answer to the login has %lu bytes",
                    (unsigned long)size);
  if (answer.size < HEAD + size) return MORTAR_MORE;
  if (answer.data[0] == BAD || answer.data[0] == ERROR)
    return refused(mtr_span_of(answer.data + HEAD, size), err);
  if (answer.data[0] != COMPLETE || answer.size != HEAD + size)
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the server goes on with the login (status %d), which PLAIN does not know",
                    answer.data[0]);
  return MORTAR_OK;
}
