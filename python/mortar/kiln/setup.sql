-- What Kiln makes of an empty DuckDB before the first statement. {work_folder} is the only folder
-- that statements may read files from, and where DuckDB puts what does not fit into memory.
SET threads = {threads};
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
SET GLOBAL TimeZone = 'Etc/UTC';
SET temp_directory = {temp_folder};
SET allowed_directories = [{work_folder}];

ATTACH ':memory:' AS k_main;
ATTACH ':memory:' AS k_samples;
CREATE SCHEMA k_main."default";
CREATE SCHEMA k_samples."default";

-- Kiln's own database: macros, views, properties, and a schema for each session that needs one.
ATTACH ':memory:' AS kiln;

-- Properties of tables, comments of schemas (name empty) and catalogs (schema empty, too).
CREATE TABLE kiln.main.properties
  (catalog VARCHAR, schema VARCHAR, name VARCHAR, key VARCHAR, value VARCHAR);

-- Macros stand last on the search path of every connection, and win over built-in functions. One
-- with several forms picks its form by the types of the arguments.

CREATE MACRO kiln.main.require(found, message) AS CASE WHEN NOT found THEN error(message) END;

-- What a statement names has to be there, and what is dropped has to be empty.
CREATE MACRO kiln.main.require_catalog(c) AS (SELECT kiln.main.require(count(*) > 0,
  '[NO_SUCH_CATALOG_EXCEPTION] Catalog ''' || c || ''' was not found. SQLSTATE: 42704')
  FROM duckdb_databases() WHERE database_name = 'k_' || lower(c));
CREATE MACRO kiln.main.require_schema(c, s) AS (SELECT CASE
  WHEN count(*) = 0 THEN kiln.main.require_catalog(c)
  ELSE kiln.main.require(bool_or(lower(schema_name) = lower(s)), '[SCHEMA_NOT_FOUND] The schema `'
  || c || '`.`' || s || '` cannot be found. Verify the spelling and correctness of the schema and '
  || 'catalog. SQLSTATE: 42704') END
  FROM duckdb_schemas() WHERE database_name = 'k_' || lower(c));
CREATE MACRO kiln.main.require_empty(c) AS (SELECT kiln.main.require(count(*) = 0,
  '[CATALOG_NOT_EMPTY] Cannot drop the catalog `' || c || '` because it contains objects. Use '
  || 'DROP CATALOG ... CASCADE to drop the catalog and all its objects. SQLSTATE: 2BP01')
  FROM (SELECT database_name AS d FROM duckdb_schemas()
      WHERE schema_name NOT IN ('default', 'main') AND NOT internal
    UNION ALL SELECT database_name FROM duckdb_tables()
    UNION ALL SELECT database_name FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT database_name FROM duckdb_functions() WHERE NOT internal)
  WHERE d = 'k_' || lower(c));

-- What CHECK asks of a CHAR(n) or VARCHAR(n) column. Blanks at the end do not count.
CREATE MACRO kiln.main.fits(x, n) AS kiln.main.require(length(rtrim(x, ' ')) <= n,
  '[DELTA_EXCEED_CHAR_VARCHAR_LIMIT] Value exceeds char/varchar type length limitation. '
  || 'Failed check: (length <= ' || n || '). SQLSTATE: 22001');

-- Numbers. Only what is written out in full below calls DuckDB's function of the same name.
CREATE MACRO kiln.main.checked_divide(a, b) AS
  CASE WHEN b = 0 THEN error('[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate '
    || 'divisor being 0 and return NULL instead. SQLSTATE: 22012') ELSE a / b END;
CREATE MACRO kiln.main.checked_div(a, b) AS
  CASE WHEN b = 0 THEN error('[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate '
    || 'divisor being 0 and return NULL instead. SQLSTATE: 22012') ELSE CAST(a // b AS BIGINT) END;
CREATE MACRO kiln.main.checked_remainder(a, b) AS
  CASE WHEN b = 0 THEN error('[REMAINDER_BY_ZERO] Remainder by zero. Use `try_mod` to tolerate '
    || 'divisor being 0 and return NULL instead. SQLSTATE: 22012') ELSE a % b END;
-- What is cast to a whole number. A text has to be one; otherwise it is an error that names the
-- kind, and NULL where that is NULL.
CREATE MACRO kiln.main.whole(x DOUBLE, kind) AS trunc(x), (x FLOAT, kind) AS trunc(x),
  (x BIGINT, kind) AS x, (x HUGEINT, kind) AS x, (x DECIMAL(38,10), kind) AS trunc(x),
  (x TIMESTAMPTZ, kind) AS CAST(system.main.floor(epoch(x)) AS BIGINT), (x BOOLEAN, kind) AS x,
  (x VARCHAR, kind) AS CASE WHEN regexp_full_match(x, '\s*[-+]?[0-9]+\s*') OR x IS NULL THEN x
    WHEN kind IS NOT NULL THEN error('[CAST_INVALID_INPUT] The value ''' || x || ''' of the type '
    || '"STRING" cannot be cast to "' || kind || '" because it is malformed. SQLSTATE: 22018') END,
  (x, kind) AS x;
-- What a text is beside a number, or a time, that it is reckoned with.
CREATE MACRO kiln.main.number_beside(t, x DOUBLE) AS CAST(t AS DOUBLE),
  (t, x DECIMAL(38,10)) AS CAST(t AS DOUBLE), (t, x VARCHAR) AS CAST(t AS DOUBLE),
  (t, x BIGINT) AS CAST(kiln.main.whole(CAST(t AS VARCHAR), 'BIGINT') AS BIGINT),
  (t, x HUGEINT) AS CAST(kiln.main.whole(CAST(t AS VARCHAR), 'BIGINT') AS BIGINT),
  (t, x DATE) AS CAST(t AS DATE), (t, x TIMESTAMPTZ) AS CAST(t AS TIMESTAMPTZ), (t, x) AS t;
CREATE MACRO kiln.main.ceil(x DOUBLE) AS CAST(system.main.ceil(x) AS BIGINT), (x BIGINT) AS x,
  (x DECIMAL(38,10)) AS CAST(system.main.ceil(x) AS DECIMAL(38,0));
CREATE MACRO kiln.main.floor(x DOUBLE) AS CAST(system.main.floor(x) AS BIGINT), (x BIGINT) AS x,
  (x DECIMAL(38,10)) AS CAST(system.main.floor(x) AS DECIMAL(38,0));
CREATE MACRO kiln.main.pmod(a, b) AS ((a % b) + b) % b;
CREATE MACRO kiln.main.bround(x) AS round_even(x, 0), (x, n) AS round_even(x, n);
CREATE MACRO kiln.main.rint(x) AS round_even(CAST(x AS DOUBLE), 0);
CREATE MACRO kiln.main.e() AS exp(1.0::DOUBLE);
CREATE MACRO kiln.main.positive(x) AS x;
CREATE MACRO kiln.main.negative(x) AS -x;
CREATE MACRO kiln.main.hypot(a, b) AS sqrt(a * a + b * b);
CREATE MACRO kiln.main.expm1(x) AS exp(x) - 1;
CREATE MACRO kiln.main.log1p(x) AS ln(1 + x);
CREATE MACRO kiln.main.try_mod(a, b) AS CASE WHEN b <> 0 THEN a % b END;
CREATE MACRO kiln.main.zeroifnull(x) AS coalesce(x, 0);
CREATE MACRO kiln.main.nullifzero(x) AS nullif(x, 0);
CREATE MACRO kiln.main.width_bucket(x, low, high, n) AS CAST(CASE WHEN x < low THEN 0
  WHEN x >= high THEN n + 1 ELSE system.main.floor((x - low) * n / (high - low)) + 1 END AS BIGINT);
CREATE MACRO kiln.main.shiftleft(x, n) AS x << n;
CREATE MACRO kiln.main.shiftright(x, n) AS x >> n;
CREATE MACRO kiln.main.conv(x, a, b) AS
  CASE WHEN a = 16 AND b = 10 THEN CAST(CAST('0x' || x AS BIGINT) AS VARCHAR)
    WHEN a = 10 THEN upper(to_base(CAST(x AS BIGINT), b)) END;

-- NULLs and checks.
CREATE MACRO kiln.main.isnull(x) AS x IS NULL;
CREATE MACRO kiln.main.isnotnull(x) AS x IS NOT NULL;
CREATE MACRO kiln.main.equal_null(a, b) AS a IS NOT DISTINCT FROM b;
CREATE MACRO kiln.main.raise_error(message) AS error('[USER_RAISED_EXCEPTION] ' || message
  || ' SQLSTATE: P0001');
CREATE MACRO kiln.main.assert_true(x) AS CASE WHEN NOT coalesce(x, false) THEN
  error('[USER_RAISED_EXCEPTION] the condition is not true! SQLSTATE: P0001') END,
  (x, message) AS CASE WHEN NOT coalesce(x, false) THEN
  error('[USER_RAISED_EXCEPTION] ' || message || ' SQLSTATE: P0001') END;

-- Texts.
CREATE MACRO kiln.main.as_text(x TIMESTAMPTZ) AS CAST(CAST(x AS TIMESTAMP) AS VARCHAR),
  (x TIMESTAMP) AS CAST(x AS VARCHAR), (x DATE) AS CAST(x AS VARCHAR), (x) AS CAST(x AS VARCHAR);
CREATE MACRO kiln.main.space(n) AS repeat(' ', n);
CREATE MACRO kiln.main."char"(n) AS chr(n % 256);
CREATE MACRO kiln.main.octet_length(x) AS CAST(strlen(x) AS INTEGER);
CREATE MACRO kiln.main.char_length(x) AS CAST(length(x) AS INTEGER);
CREATE MACRO kiln.main.character_length(x) AS CAST(length(x) AS INTEGER);
CREATE MACRO kiln.main.regexp_count(x, pattern) AS CAST(len(regexp_extract_all(x, pattern)) AS INTEGER);
CREATE MACRO kiln.main.regexp_substr(x, pattern) AS nullif(regexp_extract(x, pattern), '');
CREATE MACRO kiln.main.substring_index(x, mark, n) AS CASE WHEN n > 0
  THEN array_to_string(list_slice(string_split(x, mark), 1, n), mark)
  ELSE array_to_string(list_slice(string_split(x, mark), n, len(string_split(x, mark))), mark) END;
CREATE MACRO kiln.main.find_in_set(x, list) AS
  CAST(coalesce(list_position(string_split(list, ','), x), 0) AS INTEGER);
CREATE MACRO kiln.main.format_number(x, n) AS format('{:,.' || n || 'f}', CAST(x AS DOUBLE));
CREATE MACRO kiln.main."overlay"(x, y, start) AS
    left(x, start - 1) || y || substr(x, CAST(start + length(y) AS BIGINT)),
  (x, y, start, n) AS left(x, start - 1) || y || substr(x, CAST(start + n AS BIGINT));
CREATE MACRO kiln.main.upper(x) AS system.main.upper(replace(CAST(x AS VARCHAR), 'ß', 'SS'));
CREATE MACRO kiln.main.ucase(x) AS upper(x);
CREATE MACRO kiln.main.lcase(x) AS lower(x);
CREATE MACRO kiln.main.btrim(x) AS trim(x), (x, letters) AS trim(x, letters);
CREATE MACRO kiln.main.elt(n, a, b) AS CASE n WHEN 1 THEN a WHEN 2 THEN b END,
  (n, a, b, c) AS CASE n WHEN 1 THEN a WHEN 2 THEN b WHEN 3 THEN c END;
CREATE MACRO kiln.main.version() AS '4.0.0';

-- Dates and times.
CREATE MACRO kiln.main.current_timezone() AS 'Etc/UTC';
CREATE MACRO kiln.main.add_interval(d DATE, i INTERVAL) AS CAST(d + i AS DATE),
  (d TIMESTAMP, i INTERVAL) AS d + i, (d TIMESTAMPTZ, i INTERVAL) AS d + i,
  (d INTERVAL, i INTERVAL) AS d + i, (d VARCHAR, i INTERVAL) AS CAST(d AS TIMESTAMPTZ) + i;
CREATE MACRO kiln.main.subtract_interval(d DATE, i INTERVAL) AS CAST(d - i AS DATE),
  (d TIMESTAMP, i INTERVAL) AS d - i, (d TIMESTAMPTZ, i INTERVAL) AS d - i,
  (d INTERVAL, i INTERVAL) AS d - i, (d VARCHAR, i INTERVAL) AS CAST(d AS TIMESTAMPTZ) - i;
CREATE MACRO kiln.main.dayofweek(d) AS CAST(date_part('dow', d) + 1 AS INTEGER);
CREATE MACRO kiln.main.weekday(d) AS CAST(date_part('isodow', d) - 1 AS INTEGER);
CREATE MACRO kiln.main.unix_seconds(x TIMESTAMPTZ) AS CAST(system.main.floor(epoch(x)) AS BIGINT),
  (x TIMESTAMP) AS CAST(system.main.floor(epoch(x)) AS BIGINT), (x DATE) AS CAST(system.main.floor(epoch(x)) AS BIGINT),
  (x VARCHAR) AS CAST(system.main.floor(epoch(CAST(x AS TIMESTAMP))) AS BIGINT);
CREATE MACRO kiln.main.unix_millis(x) AS epoch_ms(x);
CREATE MACRO kiln.main.unix_micros(x) AS epoch_us(x);
CREATE MACRO kiln.main.timestamp_seconds(n) AS to_timestamp(CAST(n AS DOUBLE));
CREATE MACRO kiln.main.timestamp_millis(n) AS to_timestamp(n / 1000);
CREATE MACRO kiln.main.unix_date(d) AS CAST(d - DATE '1970-01-01' AS INTEGER);
CREATE MACRO kiln.main.date_from_unix_date(n) AS DATE '1970-01-01' + CAST(n AS INTEGER);
CREATE MACRO kiln.main.next_day(d, day) AS CAST(d AS DATE) + CAST(1 + (
  list_position(['mo', 'tu', 'we', 'th', 'fr', 'sa', 'su'], lower(left(day, 2)))
  - date_part('isodow', CAST(d AS DATE)) + 6) % 7 AS INTEGER);

-- Arrays and maps. place: what a bracket means, counted from 0, unless it is a map's key.
CREATE MACRO kiln.main.place(i VARCHAR) AS i, (i BIGINT) AS i + 1, (i) AS i;
CREATE MACRO kiln.main.array_at(a, i) AS CASE WHEN i < 0 OR i >= len(a) THEN
  error('[INVALID_ARRAY_INDEX] The index ' || i || ' is out of bounds. The array has ' || len(a)
    || ' elements. Use the SQL function `get()` to tolerate accessing element at invalid index and '
    || 'return NULL instead. SQLSTATE: 22003') ELSE a[i + 1] END;
CREATE MACRO kiln.main.array_element_at(a, i) AS CASE
  WHEN i = 0 THEN error('[INVALID_INDEX_OF_ZERO] The index 0 is invalid: the first element has the '
    || 'index 1, the last one -1. SQLSTATE: 22003')
  WHEN abs(i) > len(a) THEN error('[INVALID_ARRAY_INDEX_IN_ELEMENT_AT] The index ' || i
    || ' is out of bounds. The array has ' || len(a) || ' elements. Use `try_element_at` to get NULL '
    || 'instead. SQLSTATE: 22003') ELSE a[i] END;
CREATE MACRO kiln.main.get(a, i) AS CASE WHEN i >= 0 THEN a[i + 1] END;
CREATE MACRO kiln.main.try_element_at(a, i) AS a[i];
CREATE MACRO kiln.main.cardinality(a MAP(VARCHAR, VARCHAR)) AS
  CAST(system.main.cardinality(a) AS INTEGER), (a) AS CAST(len(a) AS INTEGER);
CREATE MACRO kiln.main.list_distinct(a) AS list_filter(a, lambda x, i : list_position(a, x) = i);
CREATE MACRO kiln.main.array_append(a, x) AS list_append(a, x);
CREATE MACRO kiln.main.array_repeat(x, n) AS list_transform(system.main.range(n), lambda i : x);
CREATE MACRO kiln.main.array_except(a, b) AS list_distinct(list_filter(a, lambda x : NOT list_contains(b, x)));
CREATE MACRO kiln.main.array_union(a, b) AS list_distinct(list_concat(a, b));
CREATE MACRO kiln.main.array_remove(a, x) AS list_filter(a, lambda y : y <> x);
CREATE MACRO kiln.main.array_compact(a) AS list_filter(a, lambda y : y IS NOT NULL);
CREATE MACRO kiln.main.array_size(a) AS CAST(len(a) AS INTEGER);
CREATE MACRO kiln.main.map_contains_key(m, k) AS list_contains(map_keys(m), k);

CREATE MACRO kiln.main.range(n) AS TABLE (SELECT range AS id FROM system.main.range(n)),
  (a, b) AS TABLE (SELECT range AS id FROM system.main.range(a, b)),
  (a, b, step) AS TABLE (SELECT range AS id FROM system.main.range(a, b, step));

-- DuckDB's name of a type as a warehouse writes it. `X[]` becomes ARRAY(X) first: of plain types,
-- then of nested ones, up to three deep; then brackets and words change, each by itself. The
-- parentheses of DECIMAL are braces meanwhile. What is empty has elements of the type "NULL"; a field
-- of that name has its type behind it.
CREATE MACRO kiln.main.nested_arrays(t) AS regexp_replace(t,
  '((?:STRUCT|MAP|ARRAY)\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))\[\d*\]',
  'ARRAY(\1)', 'g');
CREATE MACRO kiln.main.plain_words(t) AS regexp_replace(regexp_replace(regexp_replace(
  regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
  regexp_replace(regexp_replace(t, '\bINTEGER\b', 'int', 'g'), '\bVARCHAR\b', 'string', 'g'),
  '\bBLOB\b', 'binary', 'g'), '\bTIMESTAMP\b', 'timestamp_ntz', 'g'),
  '\bTIMESTAMPTZ\b', 'timestamp', 'g'), '\bBIGINT\b|\bHUGEINT\b', 'bigint', 'g'),
  '\bDOUBLE\b', 'double', 'g'), '\bDATE\b', 'date', 'g'), '\bBOOLEAN\b', 'boolean', 'g'),
  '\bSMALLINT\b', 'smallint', 'g'), '\bTINYINT\b', 'tinyint', 'g');
CREATE MACRO kiln.main.nested_words(t) AS replace(replace(replace(replace(replace(replace(replace(
  replace(replace(t, 'STRUCT(', 'struct<'), 'MAP(', 'map<'), 'ARRAY(', 'array<'), ')', '>'),
  ', ', ','), ' ', ':'), '{', '('), '}', ')'), 'FLOAT', 'float');
CREATE MACRO kiln.main.marked_arrays(t) AS kiln.main.nested_arrays(kiln.main.nested_arrays(
  kiln.main.nested_arrays(regexp_replace(regexp_replace(replace(regexp_replace(t,
  '"NULL"([\[,)]|$)', 'void\1', 'g'), 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ'),
  'DECIMAL\((\d+),\s?(\d+)\)', 'decimal{\1,\2}', 'g'),
  '([A-Za-z]+(?:\{\d+,\d+\})?)\[\d*\]', 'ARRAY(\1)', 'g'))));
CREATE MACRO kiln.main.type_text(t) AS CASE WHEN t IN ('"NULL"', 'NULL') THEN 'void'
  WHEN t IN ('UUID', 'JSON', 'INTERVAL', 'TIME', 'BIT') THEN 'string' ELSE
  kiln.main.nested_words(kiln.main.plain_words(kiln.main.marked_arrays(t))) END;
CREATE MACRO kiln.main.typeof(x) AS kiln.main.type_text(system.main.typeof(x));

-- DuckDB knows no types of aggregates when it picks a form, but those of a lambda's variable.
CREATE MACRO kiln.main.whole_of_aggregate(x, kind) AS
  list_transform([x], lambda v : kiln.main.whole(v, kind))[1];
CREATE MACRO kiln.main.number_beside_of_aggregate(t, x) AS
  list_transform([x], lambda v : kiln.main.number_beside(t, v))[1];
CREATE MACRO kiln.main.ceil_of_aggregate(x) AS list_transform([x], lambda v : kiln.main.ceil(v))[1];
CREATE MACRO kiln.main.floor_of_aggregate(x) AS list_transform([x], lambda v : kiln.main.floor(v))[1];
CREATE MACRO kiln.main.as_text_of_aggregate(x) AS
  list_transform([x], lambda v : kiln.main.as_text(v))[1];
CREATE MACRO kiln.main.add_interval_of_aggregate(d, i) AS
  list_transform([d], lambda v : kiln.main.add_interval(v, i))[1];
CREATE MACRO kiln.main.subtract_interval_of_aggregate(d, i) AS
  list_transform([d], lambda v : kiln.main.subtract_interval(v, i))[1];
CREATE MACRO kiln.main.unix_seconds_of_aggregate(x) AS
  list_transform([x], lambda v : kiln.main.unix_seconds(v))[1];
CREATE MACRO kiln.main.cardinality_of_aggregate(x) AS
  list_transform([x], lambda v : kiln.main.cardinality(v))[1];

-- A text as SHOW CREATE TABLE writes it.
CREATE MACRO kiln.main.quoted_text(t) AS
  '''' || replace(replace(t, '\', '\\'), '''', '\''') || '''';

-- A view's text with the catalogs' names that users know.
CREATE MACRO kiln.main.outer_names(t) AS
  regexp_replace(t, '\bk_(\w+)"?\.', '\1.', 'g');

-- What information_schema shows, of all catalogs at once.
CREATE VIEW kiln.main.information_schemata AS
  SELECT substr(database_name, 3) AS catalog_name, substr(database_name, 3) AS table_catalog,
    schema_name, 'kiln' AS schema_owner, comment, CAST(NULL AS TIMESTAMPTZ) AS created
  FROM duckdb_schemas() WHERE starts_with(database_name, 'k_') AND schema_name <> 'main' AND NOT internal;
CREATE VIEW kiln.main.information_tables AS
  SELECT substr(database_name, 3) AS table_catalog, schema_name AS table_schema, table_name,
    'MANAGED' AS table_type, 'YES' AS is_insertable_into, 'kiln' AS table_owner, comment,
    'DELTA' AS data_source_format
  FROM duckdb_tables() WHERE starts_with(database_name, 'k_')
  UNION ALL SELECT substr(database_name, 3), schema_name, view_name, 'VIEW', 'NO', 'kiln', comment,
    'UNKNOWN_DATA_SOURCE_FORMAT'
  FROM duckdb_views() WHERE starts_with(database_name, 'k_') AND NOT internal;
CREATE VIEW kiln.main.information_columns AS
  SELECT substr(database_name, 3) AS table_catalog, schema_name AS table_schema, table_name,
    column_name, CAST(column_index - 1 AS INTEGER) AS ordinal_position, column_default,
    CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable,
    kiln.main.type_text(data_type) AS full_data_type,
    upper(regexp_extract(kiln.main.type_text(data_type), '^[a-z_]+')) AS data_type,
    numeric_precision, numeric_scale, comment
  FROM duckdb_columns() WHERE starts_with(database_name, 'k_') AND NOT internal;
CREATE VIEW kiln.main.information_views AS
  SELECT substr(database_name, 3) AS table_catalog, schema_name AS table_schema,
    view_name AS table_name, kiln.main.outer_names(sql) AS view_definition, 'NONE' AS check_option
  FROM duckdb_views() WHERE starts_with(database_name, 'k_') AND NOT internal;
CREATE VIEW kiln.main.information_catalogs AS
  SELECT substr(database_name, 3) AS catalog_name, substr(database_name, 3) AS table_catalog,
    'kiln' AS catalog_owner
  FROM duckdb_databases() WHERE starts_with(database_name, 'k_');

-- What metadata calls show (kiln/engine/duckdb/duck_metadata.c), of all catalogs at once, in the
-- columns that a warehouse answers with. Temporary views are in no catalog, and so in none of them.

-- DuckDB's name of a type as metadata calls have it: STRUCT<a: INT, b: MAP<STRING, INT>>.
CREATE MACRO kiln.main.type_name(t) AS CASE WHEN t IN ('"NULL"', 'NULL') THEN 'VOID'
  WHEN t IN ('UUID', 'JSON', 'INTERVAL', 'TIME', 'BIT') THEN 'STRING' ELSE
  replace(replace(replace(replace(replace(replace(regexp_replace(
  regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
  kiln.main.marked_arrays(t), '\bINTEGER\b', 'INT', 'g'), '\bVARCHAR\b', 'STRING', 'g'),
  '\bBLOB\b', 'BINARY', 'g'), '\bTIMESTAMP\b', 'TIMESTAMP_NTZ', 'g'),
  '\bTIMESTAMPTZ\b', 'TIMESTAMP', 'g'), '\bHUGEINT\b', 'BIGINT', 'g'),
  '([^,]) ', '\1: ', 'g'), 'STRUCT(', 'STRUCT<'), 'MAP(', 'MAP<'), 'ARRAY(', 'ARRAY<'), ')', '>'),
  'decimal{', 'DECIMAL('), '}', ')') END;

-- A type's number in java.sql.Types; its size in bytes; digits, scale and radix of numbers.
CREATE TABLE kiln.main.jdbc_types (name VARCHAR, code INTEGER, bytes INTEGER, digits INTEGER,
  scale INTEGER, radix INTEGER);
INSERT INTO kiln.main.jdbc_types VALUES
  ('VOID', 0, 1, NULL, NULL, NULL),
  ('BOOLEAN', 16, 1, NULL, NULL, NULL),
  ('TINYINT', -6, 1, 3, 0, 10),
  ('SMALLINT', 5, 2, 5, 0, 10),
  ('INT', 4, 4, 10, 0, 10),
  ('BIGINT', -5, 8, 19, 0, 10),
  ('FLOAT', 6, 4, 7, 7, 10),
  ('DOUBLE', 8, 8, 15, 15, 10),
  ('DECIMAL', 3, 16, 38, NULL, 10),
  ('STRING', 12, NULL, NULL, NULL, NULL),
  ('CHAR', 1, NULL, NULL, NULL, NULL),
  ('VARCHAR', 12, NULL, NULL, NULL, NULL),
  ('BINARY', -2, NULL, NULL, NULL, NULL),
  ('DATE', 91, 4, NULL, NULL, NULL),
  ('TIMESTAMP', 93, 8, NULL, 6, NULL),
  ('TIMESTAMP_NTZ', 93, 8, NULL, 6, NULL),
  ('ARRAY', 2003, NULL, NULL, NULL, NULL),
  ('MAP', 2000, NULL, NULL, NULL, NULL),
  ('STRUCT', 2002, NULL, NULL, NULL, NULL);

CREATE VIEW kiln.main.metadata_catalogs AS
  SELECT catalog_name AS TABLE_CAT FROM kiln.main.information_catalogs;
CREATE VIEW kiln.main.metadata_schemas AS
  SELECT schema_name AS TABLE_SCHEM, catalog_name AS TABLE_CATALOG
  FROM kiln.main.information_schemata
  UNION ALL SELECT 'information_schema', catalog_name FROM kiln.main.information_catalogs;
CREATE VIEW kiln.main.metadata_tables AS
  SELECT table_catalog AS TABLE_CAT, table_schema AS TABLE_SCHEM, table_name AS TABLE_NAME,
    CASE table_type WHEN 'VIEW' THEN 'VIEW' ELSE 'TABLE' END AS TABLE_TYPE,
    coalesce(comment, '') AS REMARKS, CAST(NULL AS VARCHAR) AS TYPE_CAT,
    CAST(NULL AS VARCHAR) AS TYPE_SCHEM, CAST(NULL AS VARCHAR) AS TYPE_NAME,
    CAST(NULL AS VARCHAR) AS SELF_REFERENCING_COL_NAME, CAST(NULL AS VARCHAR) AS REF_GENERATION
  FROM kiln.main.information_tables;
CREATE VIEW kiln.main.metadata_table_types AS
  SELECT unnest(['TABLE', 'VIEW']) AS TABLE_TYPE;
CREATE VIEW kiln.main.metadata_columns AS
  SELECT substr(c.database_name, 3) AS TABLE_CAT, c.schema_name AS TABLE_SCHEM,
    c.table_name AS TABLE_NAME, c.column_name AS COLUMN_NAME, coalesce(j.code, 1111) AS DATA_TYPE,
    c.shown AS TYPE_NAME,
    CASE WHEN j.name = 'DECIMAL' AND c.numeric_precision <= 18 THEN 8 ELSE j.bytes END
      AS COLUMN_SIZE,
    CAST(NULL AS TINYINT) AS BUFFER_LENGTH,
    CASE j.name WHEN 'DECIMAL' THEN c.numeric_scale ELSE j.scale END AS DECIMAL_DIGITS,
    j.radix AS NUM_PREC_RADIX, CAST(c.is_nullable AS INTEGER) AS NULLABLE,
    coalesce(c.comment, '') AS REMARKS, CAST(NULL AS VARCHAR) AS COLUMN_DEF,
    CAST(NULL AS INTEGER) AS SQL_DATA_TYPE, CAST(NULL AS INTEGER) AS SQL_DATETIME_SUB,
    CAST(NULL AS INTEGER) AS CHAR_OCTET_LENGTH, c.column_index - 1 AS ORDINAL_POSITION,
    CASE WHEN c.is_nullable THEN 'YES' ELSE 'NO' END AS IS_NULLABLE,
    CAST(NULL AS VARCHAR) AS SCOPE_CATALOG, CAST(NULL AS VARCHAR) AS SCOPE_SCHEMA,
    CAST(NULL AS VARCHAR) AS SCOPE_TABLE, CAST(NULL AS SMALLINT) AS SOURCE_DATA_TYPE,
    'NO' AS IS_AUTO_INCREMENT
  FROM (SELECT *, kiln.main.type_name(data_type) AS shown FROM duckdb_columns()
    WHERE starts_with(database_name, 'k_') AND NOT internal) c
  LEFT JOIN kiln.main.jdbc_types j ON j.name = regexp_extract(c.shown, '^[A-Z_]+');
CREATE VIEW kiln.main.metadata_type_info AS
  SELECT name AS TYPE_NAME, code AS DATA_TYPE, digits AS PRECISION,
    CAST(NULL AS VARCHAR) AS LITERAL_PREFIX, CAST(NULL AS VARCHAR) AS LITERAL_SUFFIX,
    CAST(NULL AS VARCHAR) AS CREATE_PARAMS, 1::SMALLINT AS NULLABLE,
    name = 'STRING' AS CASE_SENSITIVE,
    CASE WHEN code >= 2000 THEN 0 ELSE 3 END::SMALLINT AS SEARCHABLE,
    radix IS NULL AS UNSIGNED_ATTRIBUTE, false AS FIXED_PREC_SCALE, false AS AUTO_INCREMENT,
    CAST(NULL AS VARCHAR) AS LOCAL_TYPE_NAME, 0::SMALLINT AS MINIMUM_SCALE,
    0::SMALLINT AS MAXIMUM_SCALE, CAST(NULL AS INTEGER) AS SQL_DATA_TYPE,
    CAST(NULL AS INTEGER) AS SQL_DATETIME_SUB, radix AS NUM_PREC_RADIX
  FROM kiln.main.jdbc_types;
CREATE VIEW kiln.main.metadata_functions AS
  SELECT DISTINCT CAST(NULL AS VARCHAR) AS FUNCTION_CAT, CAST(NULL AS VARCHAR) AS FUNCTION_SCHEM,
    function_name AS FUNCTION_NAME, '' AS REMARKS, 0 AS FUNCTION_TYPE,
    function_name AS SPECIFIC_NAME
  FROM duckdb_functions() WHERE regexp_full_match(function_name, '[a-z][a-z0-9_]*');

-- Keys are those that DuckDB has: a foreign one names a table of its own schema.
CREATE VIEW kiln.main.metadata_primary_keys AS
  SELECT substr(database_name, 3) AS TABLE_CAT, schema_name AS TABLE_SCHEM,
    table_name AS TABLE_NAME, unnest(constraint_column_names) AS COLUMN_NAME,
    CAST(generate_subscripts(constraint_column_names, 1) AS INTEGER) AS KEQ_SEQ,
    constraint_name AS PK_NAME
  FROM duckdb_constraints()
  WHERE starts_with(database_name, 'k_') AND constraint_type = 'PRIMARY KEY';
CREATE VIEW kiln.main.metadata_cross_reference AS
  SELECT p.TABLE_CAT AS PKTABLE_CAT, p.TABLE_SCHEM AS PKTABLE_SCHEM, p.TABLE_NAME AS PKTABLE_NAME,
    f.there AS PKCOLUMN_NAME, substr(f.database_name, 3) AS FKTABLE_CAT,
    f.schema_name AS FKTABLE_SCHEM, f.table_name AS FKTABLE_NAME, f.here AS FKCOLUMN_NAME,
    f.place AS KEQ_SEQ, 3 AS UPDATE_RULE, 3 AS DELETE_RULE, f.constraint_name AS FK_NAME,
    p.PK_NAME, 7 AS DEFERRABILITY
  FROM (SELECT *, unnest(constraint_column_names) AS here,
      unnest(referenced_column_names) AS there,
      CAST(generate_subscripts(constraint_column_names, 1) AS INTEGER) AS place
    FROM duckdb_constraints()
    WHERE starts_with(database_name, 'k_') AND constraint_type = 'FOREIGN KEY') f
  JOIN kiln.main.metadata_primary_keys p ON p.TABLE_CAT = substr(f.database_name, 3)
    AND p.TABLE_SCHEM = f.schema_name AND p.TABLE_NAME = f.referenced_table
    AND p.COLUMN_NAME = f.there;

SET enable_external_access = false;
