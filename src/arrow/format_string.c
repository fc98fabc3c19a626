/* Format strings and type rules, see format_string.h. Refuses types outside MTR_ARROW_TYPE_MAP by
 * name; does not look at names or metadata. */
#include "arrow/format_string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Formats that are the whole string. */
static const struct {
  const char *text;
  uint8_t type, unit;
} plain[] = {
    {"n", MTR_ARROW_NULL, 0},
    {"b", MTR_ARROW_BOOL, 0},
    {"c", MTR_ARROW_INT8, 0},
    {"C", MTR_ARROW_UINT8, 0},
    {"s", MTR_ARROW_INT16, 0},
    {"S", MTR_ARROW_UINT16, 0},
    {"i", MTR_ARROW_INT32, 0},
    {"I", MTR_ARROW_UINT32, 0},
    {"l", MTR_ARROW_INT64, 0},
    {"L", MTR_ARROW_UINT64, 0},
    {"e", MTR_ARROW_HALF, 0},
    {"f", MTR_ARROW_FLOAT, 0},
    {"g", MTR_ARROW_DOUBLE, 0},
    {"z", MTR_ARROW_BINARY, 0},
    {"Z", MTR_ARROW_LARGE_BINARY, 0},
    {"u", MTR_ARROW_UTF8, 0},
    {"U", MTR_ARROW_LARGE_UTF8, 0},
    {"tdD", MTR_ARROW_DATE32, 0},
    {"tdm", MTR_ARROW_DATE64, 0},
    {"tts", MTR_ARROW_TIME32, MTR_UNIT_SECOND},
    {"ttm", MTR_ARROW_TIME32, MTR_UNIT_MILLI},
    {"ttu", MTR_ARROW_TIME64, MTR_UNIT_MICRO},
    {"ttn", MTR_ARROW_TIME64, MTR_UNIT_NANO},
    {"tDs", MTR_ARROW_DURATION, MTR_UNIT_SECOND},
    {"tDm", MTR_ARROW_DURATION, MTR_UNIT_MILLI},
    {"tDu", MTR_ARROW_DURATION, MTR_UNIT_MICRO},
    {"tDn", MTR_ARROW_DURATION, MTR_UNIT_NANO},
    {"tiM", MTR_ARROW_INTERVAL_MONTHS, 0},
    {"tiD", MTR_ARROW_INTERVAL_DAY_TIME, 0},
    {"tin", MTR_ARROW_INTERVAL_MONTH_DAY_NANO, 0},
    {"+l", MTR_ARROW_LIST, 0},
    {"+L", MTR_ARROW_LARGE_LIST, 0},
    {"+s", MTR_ARROW_STRUCT, 0},
    {"+m", MTR_ARROW_MAP, 0},
};

/* What Mortar knows by its beginning, only to say its name. */
static const struct {
  const char *start, *name;
} refused[] = {
    {"vz", "binary view"},      {"vu", "utf8 view"},     {"+vl", "list view"},
    {"+vL", "large list view"}, {"+ud:", "dense union"}, {"+us:", "sparse union"},
    {"+r", "run-end encoded"},
};

static bool starts(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

static bool parse_plain(const char *format, struct mtr_arrow_field *out)
{
  size_t i;

  for (i = 0; i < sizeof plain / sizeof *plain; i++) {
    if (strcmp(plain[i].text, format) != 0) continue;
    out->type = (enum mtr_arrow_type)plain[i].type;
    out->unit = plain[i].unit;
    return true;
  }
  return false;
}

/* A decimal int32 at *text, which moves behind it. No locale, no blanks, unlike strtol. */
static bool parse_i32(const char **text, int32_t *out)
{
  const char *p = *text;
  bool minus = *p == '-';
  int64_t v = 0;

  p += minus;
  if (*p < '0' || *p > '9') return false;
  for (; *p >= '0' && *p <= '9'; p++)
    if ((v = v * 10 + (*p - '0')) > INT32_MAX) return false;
  *out = (int32_t)(minus ? -v : v);
  *text = p;
  return true;
}

static bool parse_decimal(const char *text, struct mtr_arrow_field *out)
{
  int32_t bits = 128;

  out->type = MTR_ARROW_DECIMAL;
  if (!parse_i32(&text, &out->precision) || *text++ != ',') return false;
  if (!parse_i32(&text, &out->scale)) return false;
  if (*text == ',') {
    text++;
    if (!parse_i32(&text, &bits)) return false;
  }
  if (bits % 8) return false;
  out->byte_width = bits / 8;
  return *text == '\0';
}

static bool parse_width(const char *text, enum mtr_arrow_type type, struct mtr_arrow_field *out)
{
  out->type = type;
  return parse_i32(&text, &out->byte_width) && *text == '\0';
}

static bool parse_timestamp(const char *format, struct mtr_arrow_field *out)
{
  static const char units[] = "smun";
  const char *unit = format[2] ? strchr(units, format[2]) : NULL;

  if (!unit || format[3] != ':') return false;
  out->type = MTR_ARROW_TIMESTAMP;
  out->unit = (uint8_t)(unit - units);
  out->timezone = format[4] ? format + 4 : NULL;
  return true;
}

static bool parse_parametric(const char *format, struct mtr_arrow_field *out)
{
  if (starts(format, "d:")) return parse_decimal(format + 2, out);
  if (starts(format, "w:")) return parse_width(format + 2, MTR_ARROW_FIXED_BINARY, out);
  if (starts(format, "+w:")) return parse_width(format + 3, MTR_ARROW_FIXED_LIST, out);
  return starts(format, "ts") && parse_timestamp(format, out);
}

enum mortar_status mtr_format_parse(const char *format, struct mtr_arrow_field *out,
                                    struct mortar_error *err)
{
  size_t i;

  if (!format) return mtr_fail(err, MORTAR_INVALID, "the schema has no format string");
  if (parse_plain(format, out) || parse_parametric(format, out)) return MORTAR_OK;
  for (i = 0; i < sizeof refused / sizeof *refused; i++)
    if (starts(format, refused[i].start))
      return mtr_fail(err, MORTAR_UNSUPPORTED, "Arrow type %s is not supported", refused[i].name);
  return mtr_fail(err, MORTAR_INVALID, "Arrow format string \"%.40s\" is not known", format);
}

static const char *make_text(struct mtr_arena *arena, const char *fmt, int32_t a, int32_t b,
                             int32_t c)
{
  char text[64];
  int n = snprintf(text, sizeof text, fmt, a, b, c);

  return mtr_arena_text(arena, text, (size_t)n);
}

static const char *make_timestamp(const struct mtr_arrow_field *field, struct mtr_arena *arena)
{
  static const char heads[4][5] = {"tss:", "tsm:", "tsu:", "tsn:"};
  size_t n = field->timezone ? strlen(field->timezone) : 0;
  char *text;

  if (n == 0) return heads[field->unit & 3];
  text = mtr_arena_alloc(arena, 1, n + 5);
  if (!text) return NULL;
  memcpy(text, heads[field->unit & 3], 4);
  memcpy(text + 4, field->timezone, n);
  return text;
}

const char *mtr_format_make(const struct mtr_arrow_field *field, struct mtr_arena *arena)
{
  size_t i;

  for (i = 0; i < sizeof plain / sizeof *plain; i++)
    if (plain[i].type == field->type && plain[i].unit == field->unit) return plain[i].text;
  if (field->type == MTR_ARROW_TIMESTAMP) return make_timestamp(field, arena);
  if (field->type == MTR_ARROW_FIXED_BINARY)
    return make_text(arena, "w:%" PRId32, field->byte_width, 0, 0);
  if (field->type == MTR_ARROW_FIXED_LIST)
    return make_text(arena, "+w:%" PRId32, field->byte_width, 0, 0);
  if (field->byte_width == 16)
    return make_text(arena, "d:%" PRId32 ",%" PRId32, field->precision, field->scale, 0);
  return make_text(arena, "d:%" PRId32 ",%" PRId32 ",%" PRId32, field->precision, field->scale,
                   field->byte_width * 8);
}
