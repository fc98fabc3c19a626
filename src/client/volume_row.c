/* Finds the columns by their names. Refuses no row or several of them. */
#include "client/volume_row.h"

#include "base/error.h"
#include "base/text.h"

enum { SECRET_PART_MAX = 4096 };

static enum mortar_status not_one_row(struct mortar_error *err)
{
  return mtr_fail(err, MORTAR_PROTOCOL, "the server's answer to a volume statement is not one row");
}

static int64_t find_column(const struct mortar_result *result, const char *name)
{
  const int64_t count = mortar_result_column_count(result);
  int64_t i;

  for (i = 0; i < count; i++)
    if (mtr_text_same(mtr_span_text(mortar_result_column_name(result, i)), mtr_span_text(name)))
      return i;
  return -1;
}

/* A batch with its schema. */
struct batch {
  const struct mortar_result *result;
  struct ArrowSchema schema;
  struct ArrowArray array;
  struct mtr_arena *arena;
};

static bool is_null(const struct ArrowArray *column, int64_t row)
{
  const uint8_t *valid = column->n_buffers > 0 ? column->buffers[0] : NULL;
  const int64_t at = column->offset + row;

  return valid && !(valid[at / 8] >> (at % 8) & 1);
}

/* NULL when there is no such column, or a null in it. A map's text is that of a JSON object. */
static enum mortar_status take_text(const struct batch *b, const char *name, const char **out,
                                    struct mortar_error *err)
{
  const int64_t column = find_column(b->result, name);
  size_t size;
  char *text;

  *out = NULL;
  if (column < 0 || is_null(b->array.children[column], 0)) return MORTAR_OK;
  MTR_TRY(mortar_format_cell(&b->schema, &b->array, column, 0, NULL, 0, &size, err));
  text = mtr_arena_alloc(b->arena, size + 1, 1);
  if (!text) return mtr_fail_nomem(err, "volume statement");
  MTR_TRY(mortar_format_cell(&b->schema, &b->array, column, 0, text, size + 1, &size, err));
  if (strlen(text) != size)
    return mtr_fail(err, MORTAR_PROTOCOL, "the server's answer has a NUL in its column %s", name);
  *out = text;
  return MORTAR_OK;
}

static enum mortar_status take_row(const struct batch *b, struct mtr_volume_row *out,
                                   struct mortar_error *err)
{
  const char *headers = NULL;

  memset(out, 0, sizeof *out);
  if (b->array.length != 1) return not_one_row(err);
  MTR_TRY(take_text(b, "operation", &out->operation, err));
  MTR_TRY(take_text(b, "presignedUrl", &out->link, err));
  MTR_TRY(take_text(b, "localFile", &out->local_file, err));
  MTR_TRY(take_text(b, "headers", &headers, err));
  if (!out->operation || !out->link)
    return mtr_fail(err, MORTAR_PROTOCOL,
                    "the server's answer to a volume statement names no operation or no link");
  return mtr_volume_headers(mtr_span_text(headers), b->arena, out, err);
}

/* Reads on to the end, so that nothing of the answer is left. */
static enum mortar_status finish(struct mortar_result *result, const struct mtr_wait *wait,
                                 struct mortar_error *err)
{
  struct ArrowArray more;

  MTR_TRY(mtr_result_next(result, wait, &more, err));
  if (!more.release) return MORTAR_OK;
  more.release(&more);
  return not_one_row(err);
}

enum mortar_status mtr_volume_row_take(struct mortar_result *result, const struct mtr_wait *wait,
                                       struct mtr_arena *arena, struct mtr_volume_row *out,
                                       struct mortar_error *err)
{
  struct batch b = {.result = result, .arena = arena};
  enum mortar_status st;

  MTR_GOTO(mortar_result_schema(result, &b.schema, err));
  MTR_GOTO(mtr_result_next(result, wait, &b.array, err));
  if (!b.array.release) {
    st = not_one_row(err);
    goto done;
  }
  MTR_GOTO(take_row(&b, out, err));
  MTR_GOTO(finish(result, wait, err));
done:
  if (b.array.release) b.array.release(&b.array);
  if (b.schema.release) b.schema.release(&b.schema);
  return st;
}

/* ---- Secrets ------------------------------------------------------------------------------- */

static int hex_of(char c)
{
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}

/* In place. */
static void percent_decode(char *text)
{
  char *to = text;

  for (; *text; text++, to++) {
    const int high = *text == '%' ? hex_of(text[1]) : -1;
    const int low = high >= 0 ? hex_of(text[2]) : -1;
    *to = low >= 0 ? (char)(high * 16 + low) : *text;
    if (low >= 0) text += 2;
  }
  *to = '\0';
}

/* A part of the link's query, as it stands there and as it reads decoded. */
static void mask_part(struct mortar_error *err, const char *part, size_t size)
{
  char text[SECRET_PART_MAX];

  if (size >= sizeof text) size = sizeof text - 1;
  memcpy(text, part, size);
  text[size] = '\0';
  mtr_error_mask(err, text);
  percent_decode(text);
  mtr_error_mask(err, text);
}

/* A store may send back what it was sent: whoever has the query, or the signature in it, has the
 * file. */
void mtr_volume_row_hide(const struct mtr_volume_row *row, struct mortar_error *err)
{
  const char *query = strchr(row->link, '?');
  size_t i;

  mtr_error_mask(err, query);
  while (query) {
    const char *value = query + 1 + strcspn(query + 1, "=&");
    const size_t size = *value == '=' ? strcspn(value + 1, "&") : 0;
    if (size) mask_part(err, value + 1, size);
    query = strchr(query + 1, '&');
  }
  for (i = 0; i < row->header_count; i++)
    mtr_error_mask(err, row->headers[i].value);
}
