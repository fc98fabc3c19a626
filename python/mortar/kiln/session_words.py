"""Statements that Kiln answers itself, told by their first words: USE, SET, SHOW, DESCRIBE.

sqlglot leaves these unread or misreads them. A statement that starts like one of them but has
another form is left to the translation, which refuses it by name.
"""

from __future__ import annotations

import re
from typing import Callable, Match

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from .catalogs import PREFIX, SAMPLES, inner, literal, quoted
from .plan import Plan

_NAME = r"((?:`(?:[^`]|``)+`|[\w$]+)(?:\s*\.\s*(?:`(?:[^`]|``)+`|[\w$]+))*)"
_IN = rf"(?:\s+(?:IN|FROM)\s+{_NAME})?"
_LIKE = r"(?:\s+(?:LIKE\s+)?(?:'([^']*)'|\"([^\"]*)\"))?"
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.S)

Names = tuple[str, str]


def answer(sql: str, catalog: str, schema: str) -> Plan | None:
    """The plan for a session word; None when the statement is none."""
    text = _COMMENTS.sub("", sql).rstrip("; \t\r\n")
    for pattern, build in _WORDS:
        match = pattern.fullmatch(text)
        if match:
            return build(match, (catalog, schema))
    return None


def _parts(name: str) -> list[str]:
    try:
        table = sqlglot.parse_one(name, into=exp.Table, dialect="databricks")
    except SqlglotError:
        return [name]
    return [part.name for part in table.parts]


def _use_catalog(match: Match[str], names: Names) -> Plan:
    return Plan("none", use=(_parts(match[1])[0], "default"))


def _use_schema(match: Match[str], names: Names) -> Plan:
    *catalog, schema = _parts(match[1])
    use = (catalog[0] if catalog else names[0], schema)
    return Plan("none", use=use, samples=use[0].lower() == SAMPLES)


def _set(match: Match[str], names: Names) -> Plan:
    key, value = match[1], match[2].strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return Plan("rows", [f"SELECT {literal(key)} AS key, {literal(value)} AS value"])


def _pattern(match: Match[str], first: int) -> str | None:
    return match[first] if match[first] is not None else match[first + 1]


def _like(column: str, pattern: str | None) -> str:
    """SHOW's patterns: `*` is any text, `|` separates alternatives, case does not matter."""
    if pattern is None:
        return "true"
    parts = (re.escape(part).replace(r"\*", ".*") for part in pattern.lower().split("|"))
    return f"regexp_full_match(lower({column}), {literal('|'.join(parts))})"


def _show_catalogs(match: Match[str], names: Names) -> Plan:
    return _rows(
        f"SELECT substr(database_name, {len(PREFIX) + 1}) AS catalog FROM duckdb_databases() "
        f"WHERE starts_with(database_name, '{PREFIX}') AND {_like('catalog', _pattern(match, 1))} "
        "ORDER BY 1"
    )


def _show_schemas(match: Match[str], names: Names) -> Plan:
    catalog = _parts(match[1])[0] if match[1] else names[0]
    return _rows(
        'SELECT schema_name AS "databaseName" FROM duckdb_schemas() '
        f"WHERE database_name = {literal(inner(catalog))} AND schema_name <> 'main' "
        f"AND NOT internal AND {_like('schema_name', _pattern(match, 2))} ORDER BY 1",
        catalog,
    )


def _show_tables(match: Match[str], names: Names) -> Plan:
    catalog, schema = _schema(match[1], names)
    return _rows(
        'SELECT table_schema AS "database", table_name AS "tableName", false AS "isTemporary" '
        f"FROM system.information_schema.tables WHERE table_catalog = {literal(inner(catalog))} "
        f"AND lower(table_schema) = {literal(schema.lower())} "
        f"AND {_like('table_name', _pattern(match, 2))} ORDER BY 2",
        catalog,
    )


def _show_columns(match: Match[str], names: Names) -> Plan:
    catalog, schema, table = _table(match[1], names)
    return _columns(catalog, schema, table, "column_name AS col_name")


def _describe(match: Match[str], names: Names) -> Plan:
    catalog, schema, table = _table(match[1], names)
    wanted = "column_name AS col_name, kiln.main.type_text(data_type) AS data_type, comment"
    return _columns(catalog, schema, table, wanted)


def _schema(name: str | None, names: Names) -> Names:
    parts = _parts(name) if name else []
    catalog, schema = [*names[: 2 - len(parts)], *parts[-2:]]
    return catalog, schema


def _table(name: str, names: Names) -> tuple[str, str, str]:
    *parts, table = _parts(name)
    return *_schema(".".join(f"`{part}`" for part in parts) or None, names), table


def _columns(catalog: str, schema: str, table: str, wanted: str) -> Plan:
    """The first statement is there to fail where the table is missing."""
    probe = ".".join(quoted(part) for part in (inner(catalog), schema, table))
    where = " AND ".join(
        f"lower({column}) = {literal(value.lower())}"
        for column, value in (
            ("database_name", inner(catalog)),
            ("schema_name", schema),
            ("table_name", table),
        )
    )
    query = f"SELECT {wanted} FROM duckdb_columns() WHERE {where} ORDER BY column_index"
    return Plan(
        "rows", [f"SELECT 1 FROM {probe} LIMIT 0", query], samples=catalog.lower() == SAMPLES
    )


def _rows(sql: str, catalog: str = "") -> Plan:
    return Plan("rows", [sql], samples=catalog.lower() == SAMPLES)


def _current(match: Match[str], names: Names) -> Plan:
    catalog, schema = (literal(name) for name in names)
    return _rows(f"SELECT {catalog} AS catalog, {schema} AS namespace")


_Build = Callable[[Match[str], Names], Plan]
_WORDS: list[tuple[re.Pattern[str], _Build]] = [
    (re.compile(text, re.I | re.S), build)
    for text, build in (
        (rf"(?:USE|SET)\s+CATALOG\s+{_NAME}", _use_catalog),
        (rf"USE\s+(?:(?:SCHEMA|DATABASE|NAMESPACE)\s+)?{_NAME}", _use_schema),
        (r"SET\s+([\w.]+)\s*=\s*(.*)", _set),
        (rf"SHOW\s+CATALOGS{_LIKE}", _show_catalogs),
        (rf"SHOW\s+(?:SCHEMAS|DATABASES){_IN}{_LIKE}", _show_schemas),
        (rf"SHOW\s+TABLES{_IN}{_LIKE}", _show_tables),
        (rf"SHOW\s+COLUMNS\s+(?:IN|FROM)\s+{_NAME}", _show_columns),
        (r"SHOW\s+CURRENT\s+(?:NAMESPACE|SCHEMA|DATABASE)", _current),
        (rf"(?:DESCRIBE|DESC)\s+(?:TABLE\s+)?(?:EXTENDED\s+)?{_NAME}", _describe),
    )
]
