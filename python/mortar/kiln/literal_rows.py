"""Long INSERT statements of VALUES, translated by the shapes of their rows.

A parser takes seconds for ten thousand rows of which few differ in more than their literals. So the
literals are taken out of the rows, what is left of a row, its shape, is translated once, and the
literals are put back, spelled as DuckDB writes them.

That is right where a translation does not depend on what the literals are. So a shape may have only
words and signs of which this is known, and it is translated with two sets of literals, which have to
give the same text. Any other row, and any other form of the statement, is left to the parser, which
also says what is wrong with it.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import count
from typing import Match

from .catalogs import text_literal
from .plan import Plan, Refused
from .translate import Names, translate

# Below this the parser is quick enough, and its errors are better than none.
LONG = 8 << 10

# As many are translated in half a second.
MAX_SHAPES = 128

_NAME = r"(?:`(?:[^`]|``)+`|[A-Za-z_]\w*)"
_HEAD = re.compile(
    rf"\s*INSERT\s+(?:INTO|OVERWRITE)\s+(?:TABLE\s+)?{_NAME}(?:\s*\.\s*{_NAME}){{0,2}}"
    rf"(?:\s*\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\))?\s*\bVALUES\s*(?=\()",
    re.I,
)

# ---- Literals -----------------------------------------------------------------------------------

_LITERAL = re.compile(
    r"""('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")"""
    r"|(?<!\w)[xX]'([0-9A-Fa-f]*)'"
    r"|(?<![\w.])(?:((?:\d+\.?\d*|\.\d+)[eE][-+]?\d+)|(\d+\.\d*|\.\d+)|(\d{1,18}|[1-8]\d{18})(?!\d))",
    re.S,
)
# Whole numbers that may not fit a BIGINT are none of these: the parser makes DECIMALs of them.
#
# What stands for a literal in a shape, by the pattern's groups, and examples of each: two numbers
# are put in, which are found again in the translation.
_MARKS = "\1\2\3\4\5"
_EXAMPLES = ("'kiln{}'", "X'{}'", "{}e1", "{}.25", "{}")
_NUMBERS = ("90{:06}", "8765{:06}")

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([0-3][0-7]{2})|(.))", re.S)
_ESCAPED = {
    "n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": r"\%", "_": r"\_",
}  # fmt: skip


def _take(literals: list[str], match: Match[str]) -> str:
    """Takes a literal out of a row, as DuckDB spells it."""
    kind = match.lastindex or 0
    text = match[kind]
    if kind == 1:
        if "\\" in text or text[0] == '"' or "\0" in text:
            text = text_literal(_ESCAPE.sub(_unescape, text[1:-1]))
    elif text[:1] == ".":
        text = "0" + text
    literals.append(text)
    return _MARKS[kind - 1]


def _unescape(match: Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return _character(int(code, 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPED.get(match[4], match[4])


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"


# ---- Shapes -------------------------------------------------------------------------------------


def _nested(depth: int) -> str:
    """A pattern for parentheses within parentheses."""
    inner = rf"(?:{_nested(depth - 1)}[^()]*)*" if depth else ""
    return rf"\([^()]*{inner}\)"


_ROW = re.compile(rf" ?({_nested(6)}) ?(?:(,)|;? ?\Z)")

_WORDS = (
    "NULL TRUE FALSE DEFAULT CAST TRY_CAST AS ARRAY MAP STRUCT NAMED_STRUCT CONCAT COALESCE "
    "CURRENT_DATE CURRENT_TIMESTAMP NOW UUID TINYINT SMALLINT INT INTEGER BIGINT FLOAT REAL DOUBLE "
    "DECIMAL DEC NUMERIC STRING VARCHAR CHAR BINARY BOOLEAN DATE TIMESTAMP TIMESTAMP_NTZ L S Y D F"
)
_KNOWN = re.compile(
    rf"(?:[ (),+*<>{_MARKS}]|-(?!-)|\|\||::|(?:{'|'.join(_WORDS.split())})\b)*", re.I
)

Shape = tuple[str, "list[int]"]
"""A shape's translation as a format, and which of the row's literals go into it."""


def literal_insert(sql: str, names: Names) -> Plan | None:
    """The plan for a long INSERT of rows of known shapes; None when it is none. Raises Refused."""
    if len(sql) < LONG:
        return None
    head = _HEAD.match(sql)
    if head is None:
        return None
    literals: list[str] = []
    left = _LITERAL.sub(partial(_take, literals), sql[head.end() :])
    rows = _split(" ".join(left.split()))
    if not rows or _count(left) != len(literals):
        return None
    plan = translate(f"{head[0]}(NULL)", names, [])
    start = plan.statements[-1].removesuffix("(NULL)")
    shapes = {row: _translated(row, head[0], start, names) for row in set(rows)}
    if None in shapes.values():
        return None
    plan.statements[-1] = start + _filled(rows, shapes, literals)
    return plan


def _count(text: str) -> int:
    return sum(text.count(mark) for mark in _MARKS)


def _split(left: str) -> list[str]:
    """All rows without their literals; none when there are too many shapes, or one not known."""
    rows, known, at = [], set(), 0
    while row := _ROW.match(left, at):
        shape, at = row[1], row.end()
        if shape not in known:
            if len(known) == MAX_SHAPES or not _KNOWN.fullmatch(shape):
                return []
            known.add(shape)
        rows.append(shape)
        if not row[2]:
            return rows
    return []


def _translated(row: str, head: str, start: str, names: Names) -> Shape | None:
    """None when the translation fails or depends on the literals."""
    made = [_with_examples(row, head, start, names, number) for number in _NUMBERS]
    return made[0] if made[0] == made[1] else None


def _with_examples(row: str, head: str, start: str, names: Names, number: str) -> Shape | None:
    at = count()
    examples = re.sub(
        f"[{_MARKS}]",
        lambda mark: _EXAMPLES[_MARKS.index(mark[0])].format(number.format(next(at))),
        row,
    )
    try:
        text = translate(head + examples, names, []).statements[-1]
    except Refused:
        return None
    if not text.startswith(start):
        return None
    order: list[int] = []

    def put_back(match: Match[str]) -> str:
        order.append(int(match[1] or match[2]))
        return "%s"

    found = number.replace("{:06}", r"(\d{6})")
    text = text.removeprefix(start).replace("%", "%%")
    return re.sub(rf"'kiln{found}'|\b{found}(?:e1|\.25)?\b", put_back, text), order


def _filled(rows: list[str], shapes: dict[str, Shape], literals: list[str]) -> str:
    counts = {shape: _count(shape) for shape in shapes}
    texts, at = [], 0
    for row in rows:
        text, order = shapes[row]
        texts.append(text % tuple([literals[at + i] for i in order]))
        at += counts[row]
    return ", ".join(texts)
