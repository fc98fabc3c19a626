"""Statements that Kiln answers itself, told by their first words: USE, SET, SHOW, DESCRIBE and
what keeps a warehouse's files in order.

sqlglot leaves these unread or misreads them. A statement that starts like one of them but has
another form is left to the translation, which refuses it by name.
"""

from __future__ import annotations

import re
from typing import Match

from . import show
from .catalogs import SAMPLES, inner, literal, quoted
from .plan import Plan, Refused
from .translate import translate
from .words import (
    NAME, Names, keep_samples, parts, probe, probe_catalog, probe_schema, remember, rows, same,
    schema_of, table_of, text_of, words,
)  # fmt: skip

_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.S)


def answer(sql: str, catalog: str, schema: str) -> Plan | None:
    """The plan for a session word; None when the statement is none. Raises Refused."""
    text = _COMMENTS.sub("", sql).rstrip("; \t\r\n")
    for pattern, build in _WORDS:
        match = pattern.fullmatch(text)
        if match:
            return build(match, (catalog, schema))
    return None


# ---- Names and settings -------------------------------------------------------------------------


def _use_catalog(match: Match[str], names: Names) -> Plan:
    return Plan("none", use=(parts(match[1])[0], "default"))


def _use_schema(match: Match[str], names: Names) -> Plan:
    use = schema_of(match[1], names)
    return Plan("none", use=use, samples=use[0].lower() == SAMPLES)


_DEFAULTS = {"ansi_mode": "true", "timezone": "Etc/UTC", "statement_timeout": "172800"}


def _forget(key: str) -> str:
    return f"DELETE FROM kiln_settings WHERE {same('key', key)}"


def _is_timeout(key: str) -> bool:
    return key.lower() == "statement_timeout"


def _seconds(key: str, value: str) -> int:
    if value.isascii() and value.isdigit() and int(value) <= int(_DEFAULTS["statement_timeout"]):
        return int(value)
    raise Refused(
        "INVALID_CONF_VALUE.DEFAULT", "22022", f"The value '{value}' in the config \"{key}\" is invalid."
    )


def _set(match: Match[str], names: Names) -> Plan:
    key, value = match[1].strip("`"), text_of(match[2])
    pair = f"{literal(key)} AS key, {literal(value)} AS value"
    insert = f"INSERT INTO kiln_settings SELECT {pair}"
    timeout = _seconds(key, value) if _is_timeout(key) else None
    return Plan("rows", [_forget(key), insert, f"SELECT {pair}"], own=True, timeout=timeout)


def _set_time_zone(match: Match[str], names: Names) -> Plan:
    key, value = "spark.sql.session.timeZone", literal(text_of(match[1]))
    pair = f"{literal(key)} AS key, {value} AS value"
    insert = f"INSERT INTO kiln_settings SELECT {pair}"
    return Plan("rows", [_forget(key), insert, f"SELECT {pair}"], own=True)


def _show_setting(match: Match[str], names: Names) -> Plan:
    key = match[1].strip("`")
    otherwise = _DEFAULTS.get(key.lower(), "<undefined>")
    query = (
        f"SELECT {literal(key)} AS key, coalesce(max(value), {literal(otherwise)}) AS value "
        f"FROM kiln_settings WHERE {same('key', key)}"
    )
    return Plan("rows", [query], own=True)


def _show_settings(match: Match[str], names: Names) -> Plan:
    return Plan("rows", ["SELECT key, value FROM kiln_settings ORDER BY lower(key)"], own=True)


def _reset(match: Match[str], names: Names) -> Plan:
    key = match[1].strip("`") if match[1] else None
    delete = _forget(key) if key else "DELETE FROM kiln_settings"
    return Plan("none", [delete], own=True, timeout=0 if key is None or _is_timeout(key) else None)


# ---- Catalogs, comments, properties --------------------------------------------------------------


def _create_catalog(match: Match[str], names: Names) -> Plan:
    name = parts(match[2])[0]
    database = inner(name)
    maybe = "IF NOT EXISTS " if match[1] else ""
    statements = [f"ATTACH {maybe}':memory:' AS {quoted(database)}"]
    statements.append(f'CREATE SCHEMA IF NOT EXISTS {quoted(database)}."default"')
    if match[3]:
        statements += remember((name, "", ""), {"comment": text_of(match[3])})
    return Plan("none", statements)


def _drop_catalog(match: Match[str], names: Names) -> Plan:
    name = parts(match[2])[0]
    if name.lower() in ("main", SAMPLES):
        raise Refused("INVALID_PARAMETER_VALUE", "22023", f"The catalog `{name}` belongs to Kiln.")
    maybe = "IF EXISTS " if match[1] else ""
    forget = f"DELETE FROM kiln.main.properties WHERE {same('catalog', name)}"
    first = [] if match[1] else [probe_catalog(name)]
    if (match[3] or "").upper() != "CASCADE":
        first.append(f"SELECT kiln.main.require_empty({literal(name)})")
    return Plan("none", [*first, f"DETACH DATABASE {maybe}{quoted(inner(name))}", forget])


def _comment(match: Match[str], names: Names) -> Plan:
    value = "" if match[3].upper() == "NULL" else text_of(match[3])
    if match[1].upper() == "CATALOG":
        catalog, schema = parts(match[2])[0], ""
        first = probe_catalog(catalog)
    else:
        catalog, schema = schema_of(match[2], names)
        first = probe_schema(catalog, schema)
    keep_samples(catalog)
    return Plan("none", [first, *remember((catalog, schema, ""), {"comment": value})])


_PAIR = re.compile(
    r"\s*('[^']*'|\"[^\"]*\"|[\w.]+)\s*(?:=?\s*('[^']*'|\"[^\"]*\"|[\w.]+))?\s*(?:,|\Z)"
)


def _set_properties(match: Match[str], names: Names) -> Plan:
    pairs = {text_of(pair[1]): text_of(pair[2] or "") for pair in _PAIR.finditer(match[2])}
    table = table_of(match[1], names)
    keep_samples(table[0])
    return Plan("none", [probe(match[1], names), *remember(table, pairs)])


def _unset_properties(match: Match[str], names: Names) -> Plan:
    table = table_of(match[1], names)
    keep_samples(table[0])
    where = " AND ".join(same(c, v) for c, v in zip(("catalog", "schema", "name"), table))
    keys = ", ".join(literal(text_of(pair[1])) for pair in _PAIR.finditer(match[2]))
    delete = f"DELETE FROM kiln.main.properties WHERE {where} AND key IN ({keys})"
    return Plan("none", [probe(match[1], names), delete])


# ---- Keeping in order: nothing to do in memory ---------------------------------------------------


def _optimize(match: Match[str], names: Names) -> Plan:
    counts = ", ".join(
        f"{literal(name)}: 0::BIGINT"
        for name in ("numFilesAdded", "numFilesRemoved", "partitionsOptimized", "numBatches")
    )
    return rows(probe(match[1], names), f"SELECT '' AS path, {{{counts}}} AS metrics")


def _vacuum(match: Match[str], names: Names) -> Plan:
    return rows(probe(match[1], names), "SELECT '' AS path")


def _nothing_for(match: Match[str], names: Names) -> Plan:
    return Plan("none", [probe(match[1], names)])


def _nothing(match: Match[str], names: Names) -> Plan:
    return Plan("none", ["SELECT 1"])


def _transaction(match: Match[str], names: Names) -> Plan:
    word = match[0].split()[0].upper()
    raise Refused(
        "UNSUPPORTED_FEATURE",
        "0A000",
        f"{word}: every statement is a transaction of its own; there are none of several.",
    )


def _refused(match: Match[str], names: Names) -> Plan:
    """Said here, since sqlglot would take some of them for something else."""
    text = f"Kiln does not answer {match[1].upper()} statements."
    raise Refused("UNSUPPORTED_FEATURE", "0A000", text)


def _table(match: Match[str], names: Names) -> Plan:
    return translate(f"SELECT * FROM {match[1]}", names, [])


def _explain(match: Match[str], names: Names) -> Plan:
    """DuckDB's statement stands for the plan; asking for DuckDB's plan finds what is wrong."""
    plan = answer(match[1], *names) or translate(match[1], names, [])
    text = "== Physical Plan ==\n" + ";\n".join(plan.statements)
    explained = [f"EXPLAIN {plan.statements[-1]}"] if plan.statements else []
    statements = [*explained, f"SELECT {literal(text)} AS plan"]
    return Plan("rows", statements, samples=plan.samples, own=plan.own)


_KEY = r"(`[^`]+`|[A-Za-z_][\w.:-]*)"
_TEXT = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"

_WORDS = [
    *words(
        (rf"(?:USE|SET)\s+CATALOG\s+{NAME}", _use_catalog),
        (rf"USE\s+(?:(?:SCHEMA|DATABASE|NAMESPACE)\s+)?{NAME}", _use_schema),
        (rf"SET\s+TIME\s+ZONE\s+({_TEXT}|LOCAL|INTERVAL\s+.+)", _set_time_zone),
        (r"SET(?:\s+-v)?", _show_settings),
        (rf"SET\s+{_KEY}", _show_setting),
        (rf"SET\s+{_KEY}\s*=\s*(.*)", _set),
        (rf"RESET(?:\s+{_KEY})?", _reset),
    ),
    *show.WORDS,
    *words(
        (
            rf"CREATE\s+CATALOG\s+(IF\s+NOT\s+EXISTS\s+)?{NAME}(?:\s+COMMENT\s+{_TEXT})?",
            _create_catalog,
        ),
        (rf"DROP\s+CATALOG\s+(IF\s+EXISTS\s+)?{NAME}(?:\s+(CASCADE|RESTRICT))?", _drop_catalog),
        (rf"COMMENT\s+ON\s+(CATALOG|SCHEMA|DATABASE)\s+{NAME}\s+IS\s+({_TEXT}|NULL)", _comment),
        (rf"ALTER\s+(?:TABLE|VIEW)\s+{NAME}\s+SET\s+TBLPROPERTIES\s*\((.*)\)", _set_properties),
        (
            rf"ALTER\s+(?:TABLE|VIEW)\s+{NAME}\s+UNSET\s+TBLPROPERTIES\s*(?:IF\s+EXISTS\s*)?\((.*)\)",
            _unset_properties,
        ),
        (rf"OPTIMIZE\s+{NAME}(?:\s+(?:WHERE|ZORDER|FULL)\b.*)?", _optimize),
        (rf"VACUUM\s+{NAME}(?:\s+(?:RETAIN|DRY|LITE|FULL)\b.*)?", _vacuum),
        (rf"ANALYZE\s+TABLE\s+{NAME}\s+(?:PARTITION\b.*|COMPUTE\b.*)", _nothing_for),
        (rf"REFRESH\s+(?:TABLE\s+)?{NAME}", _nothing_for),
        (rf"(?:CACHE|UNCACHE)\s+TABLE\s+(?:IF\s+EXISTS\s+)?{NAME}", _nothing_for),
        (rf"MSCK\s+REPAIR\s+TABLE\s+{NAME}(?:\s+\w+\s+PARTITIONS)?", _nothing_for),
        (r"CLEAR\s+CACHE", _nothing),
        (rf"TABLE\s+{NAME}", _table),
        (
            r"(?:BEGIN|COMMIT|ROLLBACK)(?:\s+(?:WORK|TRANSACTION))?|START\s+TRANSACTION.*",
            _transaction,
        ),
        (
            r"(GRANT|REVOKE|DENY|UNDROP|RESTORE|CALL|KILL|DECLARE|EXECUTE|COPY|PUT|GET|REMOVE|LIST|FSCK|"
            r"REORG|(?:CREATE|ALTER|DROP)\s+(?:EXTERNAL\s+)?VOLUME|ALTER\s+(?:CATALOG|SCHEMA))\s.*",
            _refused,
        ),
        (r"EXPLAIN\s+(?:(?:EXTENDED|FORMATTED|CODEGEN|COST)\s+)?(.+)", _explain),
    ),
]
