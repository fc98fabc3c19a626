/* A reader of the little JSON that stands in for a list of headers: an object of texts. It reads no
 * other, and nothing nested. */
#include "base/error.h"
#include "client/volume_row.h"

enum { HEADERS_MAX = 64, TEXT_MAX = 64 << 10 };

struct json {
  const char *at, *end;
};

static enum mortar_status bad(struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_PROTOCOL,
                  "the headers in the server's answer to a volume statement are no JSON object of "
                  "texts");
}

static void skip_blanks(struct json *j)
{
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
    j->at++;
}

/* The next character behind blanks, if it is this one. */
static bool take(struct json *j, char c)
{
  skip_blanks(j);
  if (j->at == j->end || *j->at != c) return false;
  j->at++;
  return true;
}

static bool take_word(struct json *j, const char *word)
{
  const size_t n = strlen(word);

  skip_blanks(j);
  if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) return false;
  j->at += n;
  return true;
}

static bool take_hex(struct json *j, unsigned *out)
{
  int i;

  *out = 0;
  for (i = 0; i < 4; i++, j->at++) {
    const char c = j->at < j->end ? *j->at : '\0';
    if (c >= '0' && c <= '9')
      *out = *out * 16 + (unsigned)(c - '0');
    else if ((c | 32) >= 'a' && (c | 32) <= 'f')
      *out = *out * 16 + (unsigned)((c | 32) - 'a' + 10);
    else
      return false;
  }
  return true;
}

/* Of a character that is no ASCII a header has no use: JSON writes marks such as = and & so. */
static bool take_escape(struct json *j, char *out)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *found;
  unsigned code;

  if (j->at == j->end) return false;
  if (*j->at == 'u') {
    j->at++;
    if (!take_hex(j, &code) || code == 0 || code > 0x7f) return false;
    *out = (char)code;
    return true;
  }
  found = memchr(from, *j->at, sizeof from - 1);
  if (!found) return false;
  j->at++;
  *out = to[found - from];
  return true;
}

/* A text, ended with NUL, which it does not hold. */
static enum mortar_status take_text(struct json *j, struct mtr_arena *arena, const char **out,
                                    struct mortar_error *err)
{
  char *text;
  size_t n = 0;

  if (!take(j, '"')) return bad(err);
  text = mtr_arena_alloc(arena, (size_t)(j->end - j->at) + 1, 1);
  if (!text) return mtr_fail_nomem(err, "headers");
  while (j->at < j->end && *j->at != '"') {
    const char c = *j->at++;
    if ((unsigned char)c < 0x20) return bad(err);
    text[n] = c;
    if (c == '\\' && !take_escape(j, &text[n])) return bad(err);
    n++;
  }
  *out = text;
  return take(j, '"') ? MORTAR_OK : bad(err);
}

static enum mortar_status take_pairs(struct json *j, struct mtr_arena *arena,
                                     struct mtr_transfer_header *list, size_t *count,
                                     struct mortar_error *err)
{
  if (take(j, '}')) return MORTAR_OK;
  do {
    struct mtr_transfer_header *header = &list[*count];
    if (*count == HEADERS_MAX)
      return mtr_fail(err, MORTAR_LIMIT, "the server asks for more than %d headers", HEADERS_MAX);
    MTR_TRY(take_text(j, arena, &header->name, err));
    if (!take(j, ':')) return bad(err);
    if (take_word(j, "null")) continue;
    MTR_TRY(take_text(j, arena, &header->value, err));
    (*count)++;
  } while (take(j, ','));
  return take(j, '}') ? MORTAR_OK : bad(err);
}

static enum mortar_status take_object(struct json *j, struct mtr_arena *arena,
                                      struct mtr_volume_row *out, struct mortar_error *err)
{
  struct mtr_transfer_header *list;

  if (!take(j, '{')) return MORTAR_OK;
  list = mtr_arena_alloc(arena, HEADERS_MAX, sizeof *list);
  if (!list) return mtr_fail_nomem(err, "headers");
  out->headers = list;
  return take_pairs(j, arena, list, &out->header_count, err);
}

enum mortar_status mtr_volume_headers(struct mtr_span json, struct mtr_arena *arena,
                                      struct mtr_volume_row *out, struct mortar_error *err)
{
  struct json j = {(const char *)json.data, (const char *)json.data + json.size};
  bool bracket;

  if (json.size == 0) return MORTAR_OK;
  if (json.size > TEXT_MAX)
    return mtr_fail(err, MORTAR_LIMIT, "the server's headers for a file are longer than %d bytes",
                    TEXT_MAX);
  if (!take_word(&j, "null")) {
    bracket = take(&j, '[');
    MTR_TRY(take_object(&j, arena, out, err));
    if (bracket && !take(&j, ']')) return bad(err);
  }
  skip_blanks(&j);
  return j.at == j.end ? MORTAR_OK : bad(err);
}
