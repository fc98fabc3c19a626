"""SHOW and DESCRIBE: what there is, in a warehouse's columns and spelling of types."""

from __future__ import annotations

from typing import Match

from .catalogs import PREFIX, inner, literal
from .plan import Plan
from .translate import translate
from .words import (
    IN, LIKE, NAME, Names, inner_name, like, parts, probe, probe_catalog, probe_schema, rows, same,
    schema_of, table_of, text_of, words,
)  # fmt: skip

# Inside a session that has a schema of its own, that one is DuckDB's current schema.
_OWN = "database_name = 'kiln' AND schema_name = current_schema() AND schema_name <> 'main'"
_HIDDEN = "schema_name <> 'main' AND NOT internal"


def _catalogs(match: Match[str], names: Names) -> Plan:
    return rows(
        f"SELECT substr(database_name, {len(PREFIX) + 1}) AS catalog FROM duckdb_databases() "
        f"WHERE starts_with(database_name, '{PREFIX}') AND {like('catalog', match, 1)} ORDER BY 1"
    )


def _schemas(match: Match[str], names: Names) -> Plan:
    catalog = parts(match[1])[0] if match[1] else names[0]
    return rows(
        probe_catalog(catalog),
        'SELECT schema_name AS "databaseName" FROM (SELECT schema_name FROM duckdb_schemas() '
        f"WHERE database_name = {literal(inner(catalog))} AND {_HIDDEN} "
        "UNION ALL SELECT 'information_schema') "
        f"WHERE {like('schema_name', match, 2)} ORDER BY 1",
        catalog=catalog,
    )


def _in_schema(catalog: str, schema: str) -> str:
    return f"database_name = {literal(inner(catalog))} AND {same('schema_name', schema)}"


def _tables(match: Match[str], names: Names) -> Plan:
    catalog, schema = schema_of(match[1], names)
    here = _in_schema(catalog, schema)
    return rows(
        probe_schema(catalog, schema),
        'SELECT here AS "database", table_name AS "tableName", temporary AS "isTemporary" FROM ('
        "SELECT schema_name AS here, table_name, false AS temporary FROM duckdb_tables() "
        f"WHERE {here} "
        f"UNION ALL SELECT schema_name, view_name, false FROM duckdb_views() WHERE {here} "
        f"UNION ALL SELECT '', view_name, true FROM duckdb_views() WHERE {_OWN}) "
        f"WHERE {like('table_name', match, 2)} ORDER BY 1, 2",
        catalog=catalog,
    )


def _views(match: Match[str], names: Names) -> Plan:
    catalog, schema = schema_of(match[1], names)
    return rows(
        probe_schema(catalog, schema),
        'SELECT here AS namespace, view_name AS "viewName", temporary AS "isTemporary", '
        'false AS "isMaterialized" FROM (SELECT schema_name AS here, view_name, false AS temporary '
        f"FROM duckdb_views() WHERE {_in_schema(catalog, schema)} "
        f"UNION ALL SELECT '', view_name, true FROM duckdb_views() WHERE {_OWN}) "
        f"WHERE {like('view_name', match, 2)} ORDER BY 1, 2",
        catalog=catalog,
    )


def _columns(match: Match[str], names: Names) -> Plan:
    given = [*(parts(match[2]) if match[2] else []), *parts(match[1])]
    name = ".".join(f"`{part}`" for part in given)
    table = inner_name(name, names)
    return rows(
        f"SELECT column_name AS col_name FROM (DESCRIBE {table})",
        catalog=table_of(name, names)[0],
    )


def _functions(match: Match[str], names: Names) -> Plan:
    user = "false" if (match[1] or "").strip().upper() == "USER" else "true"
    return rows(
        "SELECT DISTINCT function_name AS function FROM duckdb_functions() WHERE "
        f"regexp_full_match(function_name, '[a-z_][a-z0-9_]*') AND {user} "
        f"AND {like('function_name', match, 2)} ORDER BY 1"
    )


def _properties(match: Match[str], names: Names) -> Plan:
    catalog, schema, table = table_of(match[1], names)
    wanted = f" AND key = {literal(text_of(match[2]))}" if match[2] else ""
    return rows(
        probe(match[1], names),
        f"SELECT key, value FROM kiln.main.properties WHERE {same('catalog', catalog)} "
        f"AND {same('schema', schema)} AND {same('name', table)}{wanted} ORDER BY 1",
        catalog=catalog,
    )


def _current(match: Match[str], names: Names) -> Plan:
    catalog, schema = (literal(name) for name in names)
    return rows(f"SELECT {catalog} AS catalog, {schema} AS namespace")


def _this_table(catalog: str, schema: str, table: str) -> str:
    return f"{_in_schema(catalog, schema)} AND {same('table_name', table)}"


def _create_table(match: Match[str], names: Names) -> Plan:
    """A view's text is DuckDB's, with the catalogs' outer names."""
    catalog, schema, table = table_of(match[1], names)
    columns = (
        "SELECT string_agg('  ' || column_name || ' ' || CASE WHEN contains(shown, '<') THEN shown "
        "ELSE upper(shown) END || CASE WHEN is_nullable THEN '' ELSE ' NOT NULL' END || "
        "coalesce(' COMMENT ' || kiln.main.quoted_text(comment), ''), "
        "chr(44) || chr(10) ORDER BY column_index) "
        "FROM (SELECT *, kiln.main.type_text(data_type) AS shown FROM duckdb_columns()) "
        f"WHERE {_this_table(catalog, schema, table)}"
    )
    comment = (
        "SELECT chr(10) || 'COMMENT ' || kiln.main.quoted_text(comment) FROM duckdb_tables() "
        f"WHERE {_this_table(catalog, schema, table)}"
    )
    properties = (
        "SELECT chr(10) || 'TBLPROPERTIES (' || string_agg(chr(10) || '  ' || "
        "kiln.main.quoted_text(key) || ' = ' || kiln.main.quoted_text(value), ',' ORDER BY key) "
        f"|| ')' FROM kiln.main.properties WHERE {same('catalog', catalog)} "
        f"AND {same('schema', schema)} AND {same('name', table)}"
    )
    head = literal(f"CREATE TABLE {catalog}.{schema}.{table} (\n")
    view = f"{_in_schema(catalog, schema)} AND {same('view_name', table)}"
    return rows(
        probe(match[1], names),
        f"SELECT coalesce((SELECT kiln.main.outer_names(sql) FROM duckdb_views() WHERE {view}), "
        f"{head} || ({columns}) || ')' || chr(10) || 'USING delta' "
        f"|| coalesce(({comment}), '') || coalesce(({properties}), '')) AS createtab_stmt",
        catalog=catalog,
    )


# ---- DESCRIBE -----------------------------------------------------------------------------------


def _described(name: str, names: Names) -> str:
    """The columns of a table with their comments, numbered."""
    catalog, schema, table = table_of(name, names)
    return (
        "SELECT row_number() OVER () AS n, d.column_name AS col_name, "
        "kiln.main.type_text(d.column_type) AS data_type, c.comment AS comment "
        f"FROM (DESCRIBE {inner_name(name, names)}) d LEFT JOIN (SELECT column_name, comment "
        f"FROM duckdb_columns() WHERE {_this_table(catalog, schema, table)}) c "
        "ON c.column_name = d.column_name"
    )


def _describe(match: Match[str], names: Names) -> Plan:
    catalog, schema, table = table_of(match[2], names)
    described = _described(match[2], names)
    if not match[1]:
        query = f"SELECT col_name, data_type, comment FROM ({described}) ORDER BY n"
        return rows(query, catalog=catalog)
    here = f"{_in_schema(catalog, schema)} AND {same('view_name', table)}"
    is_view = f"SELECT count(*) > 0 FROM duckdb_views() WHERE {here}"
    details = (
        f"(1000000, '', '', ''), (1000001, '# Detailed Table Information', '', ''), "
        f"(1000002, 'Catalog', {literal(catalog)}, ''), "
        f"(1000003, 'Database', {literal(schema)}, ''), "
        f"(1000004, 'Table', {literal(table)}, ''), "
        f"(1000005, 'Type', CASE WHEN ({is_view}) THEN 'VIEW' ELSE 'MANAGED' END, ''), "
        "(1000006, 'Provider', 'delta', ''), (1000007, 'Owner', 'kiln', '')"
    )
    return rows(
        f"SELECT col_name, data_type, comment FROM ({described} UNION ALL SELECT * FROM "
        f"(VALUES {details})) ORDER BY n",
        catalog=catalog,
    )


def _comment_of(catalog: str, schema: str) -> str:
    return (
        f"coalesce((SELECT max(value) FROM kiln.main.properties WHERE {same('catalog', catalog)} "
        f"AND {same('schema', schema)} AND name = '' AND key = 'comment'), '')"
    )


def _describe_schema(match: Match[str], names: Names) -> Plan:
    catalog, schema = schema_of(match[2], names)
    items = [
        ("Catalog Name", literal(catalog)),
        ("Namespace Name", literal(schema)),
        ("Comment", _comment_of(catalog, schema)),
        ("Location", "''"),
        ("Owner", "'kiln'"),
    ]
    if match[1]:
        items.append(("Properties", "''"))
    return _items(
        probe_schema(catalog, schema),
        items,
        "database_description_item, database_description_value",
        catalog,
    )


def _describe_catalog(match: Match[str], names: Names) -> Plan:
    catalog = parts(match[2])[0]
    items = [("Catalog Name", literal(catalog)), ("Comment", _comment_of(catalog, ""))]
    if match[1]:
        items += [("Owner", "'kiln'"), ("Catalog Type", "'Regular'")]
    return _items(probe_catalog(catalog), items, "info_name, info_value", catalog)


def _items(first: str, items: list[tuple[str, str]], columns: str, catalog: str) -> Plan:
    values = ", ".join(f"({literal(name)}, {value})" for name, value in items)
    return rows(first, f"SELECT * FROM (VALUES {values}) AS items({columns})", catalog=catalog)


def _describe_query(match: Match[str], names: Names) -> Plan:
    plan = translate(match[1], names, [])
    plan.statements[-1] = (
        "SELECT column_name AS col_name, kiln.main.type_text(column_type) AS data_type, "
        f"CAST(NULL AS VARCHAR) AS comment FROM (DESCRIBE {plan.statements[-1]})"
    )
    return plan


_DESCRIBE = r"(?:DESCRIBE|DESC)"
_EXTENDED = r"(?:(EXTENDED|FORMATTED)\s+)?"

WORDS = words(
    (rf"SHOW\s+CATALOGS{LIKE}", _catalogs),
    (rf"SHOW\s+(?:SCHEMAS|DATABASES){IN}{LIKE}", _schemas),
    (rf"SHOW\s+TABLES{IN}{LIKE}", _tables),
    (rf"SHOW\s+VIEWS{IN}{LIKE}", _views),
    (rf"SHOW\s+COLUMNS\s+(?:IN|FROM)\s+{NAME}{IN}", _columns),
    (rf"SHOW\s+((?:USER|SYSTEM|ALL)\s+)?FUNCTIONS{LIKE}", _functions),
    (rf"SHOW\s+TBLPROPERTIES\s+{NAME}(?:\s*\(\s*(.+?)\s*\))?", _properties),
    (rf"SHOW\s+CREATE\s+TABLE\s+{NAME}", _create_table),
    (r"SHOW\s+CURRENT\s+(?:NAMESPACE|SCHEMA|DATABASE|CATALOG)", _current),
    (rf"{_DESCRIBE}\s+(?:SCHEMA|DATABASE)\s+{_EXTENDED}{NAME}", _describe_schema),
    (rf"{_DESCRIBE}\s+CATALOG\s+{_EXTENDED}{NAME}", _describe_catalog),
    (rf"{_DESCRIBE}\s+(?:QUERY\s+)?((?:SELECT|WITH|VALUES)\b.+)", _describe_query),
    (rf"{_DESCRIBE}\s+(?:TABLE\s+)?{_EXTENDED}{NAME}", _describe),
)
