/* One table from the beginnings of DuckDB's messages to conditions; the first row that fits counts.
 * The texts differ a little between DuckDB 1.5 and 2.0; the words chosen are in both. */
#include "kiln/engine/duckdb/duck_error.h"

#include <string.h>

#include "base/span.h"

/* A table's name with its schema and catalog: warehouses take 255 characters each. Longer ones are
 * cut. */
enum { NAME_MAX_SIZE = 1024, LINE_MAX_SIZE = 4096 };

struct rule {
  const char *kind; /* the message starts with this */
  const char *has;  /* and has this in its first line; NULL: anything */
  const char *condition, *sqlstate;
  const char *before; /* the warehouse's words are before, a name, after; NULL: DuckDB's own */
  const char *after;
};

static const struct rule rules[] = {
    {"INTERRUPT", NULL, "OPERATION_CANCELED", "HY008", "Operation has been canceled.", NULL},
    {"Catalog Error: SET search_path", NULL, "SCHEMA_NOT_FOUND", "42704", "The schema or catalog `",
     "` cannot be found. Verify the spelling of both names."},
    {"Catalog Error: Table with name", "does not exist", "TABLE_OR_VIEW_NOT_FOUND", "42P01",
     "The table or view `",
     "` cannot be found. Verify the spelling and correctness of the schema and catalog."},
    {"Catalog Error: View with name", "does not exist", "TABLE_OR_VIEW_NOT_FOUND", "42P01",
     "The table or view `",
     "` cannot be found. Verify the spelling and correctness of the schema and catalog."},
    {"Catalog Error: Schema with name", "does not exist", "SCHEMA_NOT_FOUND", "42704",
     "The schema `", "` cannot be found. Verify the spelling and correctness of the name."},
    {"Binder Error: Catalog ", "does not exist", "TABLE_OR_VIEW_NOT_FOUND", "42P01",
     "The catalog `", "` cannot be found. Verify the spelling and correctness of the name."},
    {"Catalog Error: Table with name", "already exists", "TABLE_OR_VIEW_ALREADY_EXISTS", "42P07",
     "Cannot create table or view `", "` because it already exists."},
    {"Catalog Error: View with name", "already exists", "TABLE_OR_VIEW_ALREADY_EXISTS", "42P07",
     "Cannot create table or view `", "` because it already exists."},
    {"Catalog Error: Column with name", "already exists", "COLUMN_ALREADY_EXISTS", "42711",
     "The column `", "` already exists. Choose another name."},
    {"Binder Error: Failed to attach", "already exists", "CATALOG_ALREADY_EXISTS", "42710",
     "Cannot create catalog `", "` because it already exists."},
    {"Catalog Error: Schema with name", "already exists", "SCHEMA_ALREADY_EXISTS", "42P06",
     "Cannot create schema `", "` because it already exists."},
    {"Catalog Error: ", "Function with name", "UNRESOLVED_ROUTINE", "42883",
     "Cannot resolve routine `", "` on search path."},
    {"Catalog Error: Existing object", NULL, "WRONG_OBJECT_TYPE", "42809", NULL, NULL},
    {"Dependency Error: ", NULL, "SCHEMA_NOT_EMPTY", "2BP01", NULL, NULL},
    {"Binder Error: Referenced column", NULL, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703",
     "A column, variable, or function parameter with name `", "` cannot be resolved."},
    {"Binder Error: Referenced table", NULL, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703",
     "A column of table `", "` cannot be resolved: no such table is in the FROM clause."},
    {"Binder Error: Referenced update column", NULL, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
     "42703", "A column with name `", "` cannot be resolved."},
    {"Binder Error: ", "does not have a column", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", "42703",
     NULL, NULL},
    {"Binder Error: Ambiguous reference", NULL, "AMBIGUOUS_REFERENCE", "42704", "Reference `",
     "` is ambiguous."},
    {"Binder Error: ", "must appear in the GROUP BY", "MISSING_AGGREGATION", "42803",
     "The non-aggregating expression `",
     "` is based on columns which are not participating in "
     "the GROUP BY clause."},
    {"Binder Error: ", "columns but", "INSERT_COLUMN_ARITY_MISMATCH", "21S01", NULL, NULL},
    {"Binder Error: ", "function", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", NULL, NULL},
    {"Binder Error: ", NULL, "INVALID_STATEMENT", "42000", NULL, NULL},
    {"Parser Error: ", NULL, "PARSE_SYNTAX_ERROR", "42601", NULL, NULL},
    {"Conversion Error: ", "field value out of range", "CAST_INVALID_INPUT", "22018", NULL, NULL},
    {"Conversion Error: ", "out of range", "CAST_OVERFLOW", "22003", NULL, NULL},
    {"Conversion Error: ", NULL, "CAST_INVALID_INPUT", "22018", NULL, NULL},
    {"Invalid Input Error: ", "More than one row returned", "SCALAR_SUBQUERY_TOO_MANY_ROWS",
     "21000", "More than one row returned by a subquery used as an expression.", NULL},
    {"Out of Range Error: ", NULL, "ARITHMETIC_OVERFLOW", "22003", NULL, NULL},
    {"Constraint Error: ", "NOT NULL", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "23502", NULL, NULL},
    {"Constraint Error: ", NULL, "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "23001", NULL, NULL},
    {"Permission Error: ", NULL, "INSUFFICIENT_PERMISSIONS", "42501", NULL, NULL},
    {"Not implemented Error: ", NULL, "UNSUPPORTED_FEATURE", "0A000", NULL, NULL},
    {"TransactionContext Error: ", NULL, "CONCURRENT_WRITE", "40001", NULL, NULL},
    {"Out of Memory Error: ", NULL, "OUT_OF_MEMORY", "53200", NULL, NULL},
};

static struct mtr_span first_line(const char *text)
{
  return mtr_span_of(text, strcspn(text, "\n"));
}

/* Where word begins in line, or the line's size. */
static size_t find(struct mtr_span line, const char *word)
{
  size_t n = strlen(word), i;

  for (i = 0; i + n <= line.size; i++)
    if (memcmp(line.data + i, word, n) == 0) return i;
  return line.size;
}

static bool starts_with(const char *text, const char *start)
{
  return strncmp(text, start, strlen(start)) == 0;
}

static const struct rule *rule_for(const char *text)
{
  size_t i;

  for (i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct rule *rule = &rules[i];

    if (!starts_with(text, rule->kind)) continue;
    if (!rule->has || find(first_line(text), rule->has) < first_line(text).size) return rule;
  }
  return NULL;
}

static struct mtr_span after_kind(const char *text)
{
  const char *colon = strstr(text, ": ");

  return colon ? first_line(colon + 2) : first_line(text);
}

static struct mtr_span cut_at(struct mtr_span text, size_t from, const char *stops)
{
  size_t end = from;

  while (end < text.size && !strchr(stops, text.data[end]))
    end++;
  return mtr_span_of(text.data + from, end - from);
}

/* Catalogs carry a prefix inside DuckDB that nobody else should see. */
static struct mtr_span without_prefix(struct mtr_span name)
{
  if (name.size > 2 && memcmp(name.data, "k_", 2) == 0)
    return mtr_span_of(name.data + 2, name.size - 2);
  return name;
}

/* The name a message is about: in double quotes, or a bare word behind one of these. */
static struct mtr_span name_in(struct mtr_span line)
{
  static const char *const bare[] = {"with name ", "update column "};
  size_t at, i;

  for (i = 0; i < sizeof bare / sizeof *bare; i++) {
    at = find(line, bare[i]) + strlen(bare[i]);
    if (at < line.size && line.data[at] != '"') return without_prefix(cut_at(line, at, " !"));
  }
  at = find(line, "\"");
  return without_prefix(at < line.size ? cut_at(line, at + 1, "\"") : line);
}

/* ---- Names of tables ---------------------------------------------------------------------- */

static bool is_word(char c)
{
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Where the part of a dotted name begins that ends before end, its quotes included. */
static size_t part_before(const char *sql, size_t end)
{
  size_t at = end;

  if (at > 0 && sql[at - 1] == '"') {
    at--;
    while (at > 0 && sql[at - 1] != '"')
      at--;
    return at > 0 ? at - 1 : 0;
  }
  while (at > 0 && is_word(sql[at - 1]))
    at--;
  return at;
}

/* Where the dotted name begins whose last part is at from. */
static size_t chain_start(const char *sql, size_t from)
{
  size_t at = from > 0 && sql[from - 1] == '"' ? from - 1 : from;

  while (at > 1 && sql[at - 1] == '.')
    at = part_before(sql, at - 1);
  return at;
}

/* Writes the name as the statement has it first with a schema, without quotes. */
static struct mtr_span name_in_full(const char *sql, struct mtr_span name, char out[NAME_MAX_SIZE])
{
  struct mtr_span text = mtr_span_text(sql ? sql : "");
  size_t i, at, n = 0;

  for (i = 0; name.size > 0 && i + name.size <= text.size; i++) {
    if (memcmp(text.data + i, name.data, name.size) != 0) continue;
    if (is_word(sql[i + name.size])) continue;
    at = chain_start(sql, i);
    if (i - at < 2) continue;
    for (; at < i + name.size && n < NAME_MAX_SIZE; at++)
      if (sql[at] != '"') out[n++] = sql[at];
    return without_prefix(mtr_span_of(out, n));
  }
  return name;
}

/* ---- Names of types ----------------------------------------------------------------------- */

static const struct {
  const char *inner, *outer;
} types[] = {
    {"INT8", "TINYINT"},          {"INT16", "SMALLINT"},      {"INT32", "INT"},
    {"INTEGER", "INT"},           {"INT64", "BIGINT"},        {"INT128", "DECIMAL(38,0)"},
    {"BOOL", "BOOLEAN"},          {"VARCHAR", "STRING"},      {"BLOB", "BINARY"},
    {"STRING_LITERAL", "STRING"}, {"INTEGER_LITERAL", "INT"},
};

static const char *outer_type(struct mtr_span word)
{
  size_t i;

  for (i = 0; i < sizeof types / sizeof *types; i++)
    if (mtr_span_equal(word, mtr_span_text(types[i].inner))) return types[i].outer;
  return NULL;
}

/* The line with a warehouse's names of types in the place of DuckDB's. */
static void write_line(struct mtr_span line, char out[LINE_MAX_SIZE])
{
  size_t i = 0, n = 0;

  while (i < line.size) {
    struct mtr_span word = mtr_span_of(line.data + i, 1);
    const char *type;

    while (is_word((char)line.data[i]) && i + word.size < line.size &&
           is_word((char)line.data[i + word.size]))
      word.size++;
    i += word.size;
    type = outer_type(word);
    if (type) word = mtr_span_text(type);
    if (word.size >= LINE_MAX_SIZE - n) break;
    memcpy(out + n, word.data, word.size);
    n += word.size;
  }
  out[n] = '\0';
}

/* An error that a CHECK raises stands at the end of the line, in parentheses. */
static struct mtr_span raised_by_check(struct mtr_span line)
{
  static const char word[] = "(Error: [";
  size_t from = find(line, word) + strlen(word) - 1;

  if (from >= line.size || line.data[line.size - 1] != ')') return mtr_span_of(NULL, 0);
  return mtr_span_of(line.data + from, line.size - from - 1);
}

/* Errors that Kiln's own macros and statements raise carry their condition and SQLSTATE. */
static bool pass_through(const char *text, struct kiln_error *err)
{
  struct mtr_span line = after_kind(text);
  static const char word[] = "SQLSTATE: ";
  char five[6] = "XX000";
  size_t at;

  if (starts_with(text, "Constraint Error: CHECK"))
    line = raised_by_check(line);
  else if (!starts_with(text, "Invalid Input Error: ["))
    return false;
  if (line.size == 0) return false;
  at = find(line, word);
  if (at + strlen(word) + 5 <= line.size) memcpy(five, line.data + at + strlen(word), 5);
  kiln_fail(err, five, "%.*s", MTR_SPAN_ARG(line));
  return true;
}

void duck_error_map(const char *text, const char *sql, struct kiln_error *err)
{
  char full[NAME_MAX_SIZE], shown[LINE_MAX_SIZE];
  const struct rule *rule;
  struct mtr_span line, name;

  if (!text) text = "DuckDB gave no reason";
  if (pass_through(text, err)) return;
  rule = rule_for(text);
  line = after_kind(text);
  if (!rule) {
    kiln_fail(err, "XX000", "[INTERNAL_ERROR] %s SQLSTATE: XX000", text);
  } else if (!rule->before) {
    write_line(line, shown);
    kiln_fail(err, rule->sqlstate, "[%s] %s SQLSTATE: %s", rule->condition, shown, rule->sqlstate);
  } else if (!rule->after) {
    kiln_fail(err, rule->sqlstate, "[%s] %s SQLSTATE: %s", rule->condition, rule->before,
              rule->sqlstate);
  } else {
    name = name_in(line);
    if (starts_with(rule->condition, "TABLE_OR_VIEW")) name = name_in_full(sql, name, full);
    kiln_fail(err, rule->sqlstate, "[%s] %s%.*s%s SQLSTATE: %s", rule->condition, rule->before,
              MTR_SPAN_ARG(name), rule->after, rule->sqlstate);
  }
}
