"""How the catalogs of the warehouse are called inside DuckDB.

DuckDB reserves ``main``, ``system`` and ``temp``, so every catalog gets a prefix there.
"""

from __future__ import annotations

from sqlglot import exp

PREFIX = "k_"
SAMPLES = "samples"


def inner(catalog: str) -> str:
    """The name of a catalog inside DuckDB."""
    return PREFIX + catalog.lower()


def identifier(catalog: str) -> exp.Identifier:
    return exp.to_identifier(inner(catalog), quoted=True)


def quoted(name: str) -> str:
    """A name as a DuckDB identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a DuckDB string literal."""
    return "'" + text.replace("'", "''") + "'"


def text_literal(text: str) -> str:
    """A text as a DuckDB expression. Its string literals can't hold NUL."""
    parts = [literal(part) for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || CHR(0) || ".join(parts) + ")"
