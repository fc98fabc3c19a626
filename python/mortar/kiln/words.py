"""What the modules that answer session words share: patterns for names, and plans of one query.

A word is a pattern for a whole statement and the function that builds its plan.
"""

from __future__ import annotations

import re
from typing import Callable, Match

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from .catalogs import SAMPLES, inner, literal, quoted
from .plan import Plan, Refused

Names = tuple[str, str]
"""The current catalog and schema."""

Word = tuple["re.Pattern[str]", Callable[[Match[str], Names], Plan]]

_PART = r"(?:`(?:[^`]|``)+`|[\w$]+)"
NAME = rf"({_PART}(?:\s*\.\s*{_PART}){{0,3}})"
IN = rf"(?:\s+(?:IN|FROM)\s+{NAME})?"
LIKE = r"(?:\s+(?:LIKE\s+)?(?:'([^']*)'|\"([^\"]*)\"))?"


def words(*pairs: tuple[str, Callable[[Match[str], Names], Plan]]) -> list[Word]:
    return [(re.compile(text, re.I | re.S), build) for text, build in pairs]


def parts(name: str) -> list[str]:
    """The parts of a dotted name, without their quotes."""
    try:
        table = sqlglot.parse_one(name, into=exp.Table, dialect="databricks")
    except SqlglotError:
        return [name]
    return [part.name for part in table.parts]


def schema_of(name: str | None, names: Names) -> Names:
    given = parts(name) if name else []
    catalog, schema = [*names[: 2 - len(given)], *given[-2:]]
    return catalog, schema


def table_of(name: str, names: Names) -> tuple[str, str, str]:
    *given, table = parts(name)
    catalog, schema = [*names[: 2 - len(given)], *given[-2:]]
    return catalog, schema, table


def inner_name(name: str, names: Names) -> str:
    """A table's name inside DuckDB. One without a schema is left to the search path, where the
    session's temporary views come first."""
    given = parts(name)
    if len(given) == 1:
        return quoted(given[0])
    catalog, schema, table = table_of(name, names)
    return ".".join(quoted(part) for part in (inner(catalog), schema, table))


def text_of(quoted_text: str) -> str:
    """A word or string literal as text."""
    text = quoted_text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace("\\" + text[0], text[0])
    return text


def like(column: str, match: Match[str], first: int) -> str:
    """SHOW's patterns: `*` is any text, `|` separates alternatives, case does not matter. The
    pattern stands in one of two groups, by its quotes."""
    pattern = match[first] if match[first] is not None else match[first + 1]
    if pattern is None:
        return "true"
    escaped = (re.escape(part).replace(r"\*", ".*") for part in pattern.lower().split("|"))
    return f"regexp_full_match(lower({column}), {literal('|'.join(escaped))})"


def rows(*statements: str, catalog: str = "") -> Plan:
    return Plan("rows", list(statements), samples=catalog.lower() == SAMPLES)


def same(column: str, value: str) -> str:
    """Names are compared without case."""
    return f"lower({column}) = {literal(value.lower())}"


def keep_samples(catalog: str) -> None:
    """Refuses to change something in a catalog that cannot be written."""
    if catalog.lower() == SAMPLES:
        text = f"Insufficient privileges: the catalog `{catalog}` can only be read."
        raise Refused("INSUFFICIENT_PERMISSIONS", "42501", text)


def probe(name: str, names: Names) -> str:
    """A statement that fails where the table is missing."""
    return f"SELECT 1 FROM {inner_name(name, names)} LIMIT 0"


def probe_schema(catalog: str, schema: str) -> str:
    """A statement that fails where the schema is missing."""
    return f"SELECT kiln.main.require_schema({literal(catalog)}, {literal(schema)})"


def probe_catalog(catalog: str) -> str:
    """A statement that fails where the catalog is missing."""
    return f"SELECT kiln.main.require_catalog({literal(catalog)})"


def remember(table: tuple[str, str, str], pairs: dict[str, str]) -> list[str]:
    """Statements that keep properties of a table, of a schema (no table) or of a catalog."""
    where = " AND ".join(same(c, v) for c, v in zip(("catalog", "schema", "name"), table))
    statements = []
    for key, value in pairs.items():
        statements.append(
            f"DELETE FROM kiln.main.properties WHERE {where} AND key = {literal(key)}"
        )
        row = ", ".join(literal(text) for text in (*table, key, value))
        statements.append(f"INSERT INTO kiln.main.properties VALUES ({row})")
    return statements
