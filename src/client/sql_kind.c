/* A scanner of words: blanks, comments and quoted text are stepped over, nothing is parsed. What it
 * does not understand, such as a comment without an end or a second statement, is no read. */
#include "client/sql_kind.h"

#include "base/text.h"

struct scan {
  struct mtr_span rest;
  bool broken; /* a quote or a comment has no end */
};

static bool at(const struct scan *s, const char *two)
{
  return s->rest.size >= 2 && memcmp(s->rest.data, two, 2) == 0;
}

static void skip(struct scan *s, size_t n)
{
  s->rest = mtr_span_of(s->rest.data + n, s->rest.size - n);
}

static void skip_line(struct scan *s)
{
  const uint8_t *end = memchr(s->rest.data, '\n', s->rest.size);

  skip(s, end ? (size_t)(end - s->rest.data) : s->rest.size);
}

/* Bracketed comments nest. */
static void skip_comment(struct scan *s)
{
  size_t depth = 0;

  do {
    if (at(s, "/*")) {
      depth++;
      skip(s, 2);
    } else if (at(s, "*/")) {
      depth--;
      skip(s, 2);
    } else if (s->rest.size) {
      skip(s, 1);
    }
  } while (depth && s->rest.size);
  s->broken |= depth != 0;
}

/* A doubled quote ends the text and begins another at once, which comes to the same. Whether a
 * quote behind a backslash ends the text depends on the server's settings: not understood. */
static void skip_quoted(struct scan *s)
{
  const uint8_t quote = s->rest.data[0];
  uint8_t before = 0;
  bool closed = false;

  skip(s, 1);
  while (s->rest.size && !closed) {
    closed = s->rest.data[0] == quote;
    s->broken |= closed && before == '\\';
    before = s->rest.data[0];
    skip(s, 1);
  }
  s->broken |= !closed;
}

static bool is_word_byte(uint8_t c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c >= 0x80;
}

static struct mtr_span take_word(struct scan *s)
{
  struct mtr_span word = mtr_span_of(s->rest.data, 0);

  while (word.size < s->rest.size && is_word_byte(s->rest.data[word.size]))
    word.size++;
  skip(s, word.size);
  return word;
}

/* Blanks and comments. */
static void skip_space(struct scan *s)
{
  while (s->rest.size && !s->broken)
    if (at(s, "--"))
      skip_line(s);
    else if (at(s, "/*"))
      skip_comment(s);
    else if (s->rest.data[0] <= ' ')
      skip(s, 1);
    else
      return;
}

/* The next word, or one byte of punctuation that is no quoted text; empty at the end. */
static struct mtr_span next(struct scan *s)
{
  for (skip_space(s); s->rest.size && !s->broken; skip_space(s)) {
    const uint8_t c = s->rest.data[0];
    if (is_word_byte(c)) return take_word(s);
    if (c != '\'' && c != '"' && c != '`') {
      skip(s, 1);
      return mtr_span_of(s->rest.data - 1, 1);
    }
    skip_quoted(s);
  }
  return mtr_span_of(NULL, 0);
}

static bool is_one_of(struct mtr_span word, const char *const *words)
{
  for (; *words; words++)
    if (mtr_text_same(word, mtr_span_text(*words))) return true;
  return false;
}

static bool is_mark(struct mtr_span token, char mark)
{
  return token.size == 1 && token.data[0] == (uint8_t)mark;
}

/* The first word may stand in brackets: (SELECT 1) UNION ALL (SELECT 2). */
static struct mtr_span first_word(struct scan *s)
{
  struct mtr_span token = next(s);

  while (is_mark(token, '('))
    token = next(s);
  return token;
}

enum mtr_volume_verb mtr_sql_volume_verb(struct mtr_span sql)
{
  static const char *const verbs[] = {
      [MTR_VOLUME_PUT] = "PUT", [MTR_VOLUME_GET] = "GET", [MTR_VOLUME_REMOVE] = "REMOVE"};
  struct scan s = {sql, false};
  struct mtr_span word;
  int i;

  skip_space(&s);
  word = take_word(&s);
  for (i = MTR_VOLUME_PUT; !s.broken && i <= MTR_VOLUME_REMOVE; i++)
    if (mtr_text_same(word, mtr_span_text(verbs[i]))) return (enum mtr_volume_verb)i;
  return MTR_VOLUME_NONE;
}

bool mtr_sql_is_read(struct mtr_span sql)
{
  static const char *const reads[] = {"SELECT", "VALUES",  "TABLE", "SHOW", "DESCRIBE",
                                      "DESC",   "EXPLAIN", "LIST",  "WITH", NULL};
  static const char *const writes[] = {"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", NULL};
  static const char *const fronts[] = {"WITH", "EXPLAIN", NULL};
  struct scan s = {sql, false};
  const struct mtr_span first = first_word(&s);
  const bool may_write = is_one_of(first, fronts);
  struct mtr_span token;

  if (!is_one_of(first, reads)) return false;
  while ((token = next(&s)).size) {
    if (is_mark(token, ';')) return next(&s).size == 0 && !s.broken;
    if (may_write && is_one_of(token, writes)) return false;
  }
  return !s.broken;
}
