"""Long INSERT statements of literal VALUES, translated without a parser.

A parser takes seconds for ten thousand rows of which nothing has to change but a few spellings. So
the rows are proven to be literals, by one pattern for each row, and carried over; only the head
goes through the translation. Anything else in the rows, and any other form of the statement, is
left to the parser, which says what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Match

from .catalogs import literal
from .plan import Plan
from .translate import Names, translate

# Below this the parser is quick enough, and its errors are better than none.
LONG = 8 << 10

_NAME = r"(?:`(?:[^`]|``)+`|[A-Za-z_]\w*)"
_HEAD = re.compile(
    rf"\s*INSERT\s+(?:INTO|OVERWRITE)\s+(?:TABLE\s+)?{_NAME}(?:\s*\.\s*{_NAME}){{0,2}}"
    rf"(?:\s*\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\))?\s*\bVALUES\s*(?=\()",
    re.I,
)

# Literals that follow each other without a space are one string, as the parser has it.
_STRING = r"""(?:(?:'[^'\\]*(?:\\.[^'\\]*)*')+|(?:"[^"\\]*(?:\\.[^"\\]*)*")+)"""
_TYPED = rf"(?:\b(DATE|TIMESTAMP_NTZ|TIMESTAMP)\s*)?({_STRING})"
_NUMBER = r"[-+]?\s*(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_LITERAL = rf"(?:{_NUMBER}|NULL|TRUE|FALSE|(?:(?:DATE|TIMESTAMP_NTZ|TIMESTAMP)\s*)?{_STRING})"
_ROW = re.compile(rf"\s*\(\s*{_LITERAL}(?:\s*,\s*{_LITERAL})*\s*\)\s*(?:(,)|;?\s*\Z)", re.I | re.S)
_TYPED_STRING = re.compile(_TYPED, re.I | re.S)

# What DuckDB would read in another way; without these the rows stay as they are.
_DIFFERENT = re.compile(r"""\\|"|''|TIMESTAMP""", re.I)

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})|(.))", re.S)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": r"\%", "_": r"\_",
}  # fmt: skip
_TYPES = {"DATE": "DATE ", "TIMESTAMP": "TIMESTAMPTZ ", "TIMESTAMP_NTZ": "TIMESTAMP ", "": ""}


def literal_insert(sql: str, names: Names) -> Plan | None:
    """The plan for a long INSERT of literals; None when the statement is none. Raises Refused."""
    if len(sql) < LONG:
        return None
    head = _HEAD.match(sql)
    if head is None or not _only_literals(sql, head.end()):
        return None
    rows = sql[head.end() :].rstrip().rstrip(";")
    if _DIFFERENT.search(rows):
        rows = _TYPED_STRING.sub(_respell, rows)
    if "\0" in rows:
        return None  # DuckDB's texts end with NUL
    plan = translate(f"{head[0]}(NULL)", names, [])
    plan.statements[-1] = plan.statements[-1].removesuffix("(NULL)") + rows
    return plan


def _only_literals(sql: str, at: int) -> bool:
    while row := _ROW.match(sql, at):
        at = row.end()
        if not row[1]:
            return True
    return False


def _respell(match: Match[str]) -> str:
    """A string as DuckDB writes it: in single quotes, which are doubled inside; no escapes."""
    text = match[2]
    body = text[1:-1].replace(text[0] * 2, "") if text[0] * 2 in text else text[1:-1]
    return _TYPES[(match[1] or "").upper()] + literal(_ESCAPE.sub(_unescape, body))


def _unescape(match: Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return _character(int(code, 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPED.get(match[4], match[4])


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"
