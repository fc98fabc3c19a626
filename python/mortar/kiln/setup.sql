-- What Kiln makes of an empty DuckDB before the first statement. {work_folder} is the only folder
-- that statements may read files from, and where DuckDB puts what does not fit into memory.
SET autoinstall_known_extensions = false;
SET autoload_known_extensions = false;
SET GLOBAL TimeZone = 'Etc/UTC';
SET temp_directory = {temp_folder};
SET allowed_directories = [{work_folder}];

ATTACH ':memory:' AS k_main;
ATTACH ':memory:' AS k_samples;
CREATE SCHEMA k_main."default";
CREATE SCHEMA k_samples."default";

-- Macros stand last on the search path of every connection, and win over built-in functions.
ATTACH ':memory:' AS kiln;
CREATE MACRO kiln.main.checked_divide(a, b) AS
  CASE WHEN b = 0 THEN error('[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate '
    || 'divisor being 0 and return NULL instead. SQLSTATE: 22012') ELSE a / b END;
CREATE MACRO kiln.main.checked_remainder(a, b) AS
  CASE WHEN b = 0 THEN error('[REMAINDER_BY_ZERO] Remainder by zero. Use `try_mod` to tolerate '
    || 'divisor being 0 and return NULL instead. SQLSTATE: 22012') ELSE a % b END;
CREATE MACRO kiln.main.range(n) AS TABLE (SELECT range AS id FROM system.main.range(n)),
  (a, b) AS TABLE (SELECT range AS id FROM system.main.range(a, b)),
  (a, b, step) AS TABLE (SELECT range AS id FROM system.main.range(a, b, step));

-- DuckDB's name of a type as a warehouse writes it. Structs and maps keep DuckDB's form.
CREATE MACRO kiln.main.plain_type_text(t) AS
  CASE t WHEN 'INTEGER' THEN 'int' WHEN 'VARCHAR' THEN 'string' WHEN 'BLOB' THEN 'binary'
    WHEN 'TIMESTAMP' THEN 'timestamp_ntz' WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'timestamp'
    ELSE lower(t) END;
CREATE MACRO kiln.main.type_text(t) AS
  CASE WHEN ends_with(t, '[]') THEN 'array<' || kiln.main.plain_type_text(t[:-3]) || '>'
    ELSE kiln.main.plain_type_text(t) END;

SET enable_external_access = false;
